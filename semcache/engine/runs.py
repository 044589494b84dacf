"""The smallest word of the engine's memory: a contiguous run of KV slots.

A slot holds the keys and values of one token in every layer. Pure.
"""

from __future__ import annotations

from typing import NamedTuple


class Run(NamedTuple):
    """Slots `start` up to, not including, `start + length`. A tuple, since there may be millions."""

    start: int
    length: int

    @property
    def end(self) -> int:
        """Give the first slot behind the run."""
        return self.start + self.length


def total(runs: tuple[Run, ...] | list[Run]) -> int:
    """Count the slots of several runs."""
    return sum(run.length for run in runs)


def cut(runs: tuple[Run, ...], start: int, end: int) -> tuple[Run, ...]:
    """Give the part of a concatenation of runs that lies between two positions (in slots).

    Positions outside are clipped; an empty range gives no runs.
    """
    kept: list[Run] = []
    at = 0
    for run in runs:
        low, high = max(start - at, 0), min(end - at, run.length)
        if low < high:
            kept.append(Run(run.start + low, high - low))
        at += run.length
    return tuple(kept)
