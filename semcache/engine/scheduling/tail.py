"""Slots that one sequence holds for itself: what is being computed and not in the tree yet. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from semcache.engine.runs import Run, cut, total


def joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Write runs that touch as one: a network reads few long runs faster than many short ones."""
    out: list[Run] = []
    for run in runs:
        if out and out[-1].end == run.start:
            out[-1] = Run(out[-1].start, out[-1].length + run.length)
        else:
            out.append(run)
    return tuple(out)


class Tail:
    """An ordered row of private slots; how many of them are in use is its sequence's to know."""

    __slots__ = ("capacity", "runs")

    def __init__(self) -> None:
        self.runs: tuple[Run, ...] = ()
        self.capacity = 0

    @property
    def end(self) -> int | None:
        """Give the slot behind the last one: where it grows best."""
        return self.runs[-1].end if self.runs else None

    def grow(self, runs: Iterable[Run]) -> None:
        """Append slots."""
        self.runs = joined((*self.runs, *runs))
        self.capacity = total(self.runs)

    def first(self, count: int) -> tuple[Run, ...]:
        """Give the first `count` slots."""
        if len(self.runs) == 1:  # nearly always
            return (Run(self.runs[0].start, count),) if count else ()
        return cut(self.runs, 0, count)

    def cut_first(self, count: int) -> tuple[Run, ...]:
        """Hand over the first `count` slots."""
        first, self.runs = cut(self.runs, 0, count), cut(self.runs, count, self.capacity)
        self.capacity -= count
        return first

    def cut_behind(self, count: int) -> tuple[Run, ...]:
        """Hand over all but the first `count` slots."""
        rest, self.runs = cut(self.runs, count, self.capacity), cut(self.runs, 0, count)
        self.capacity = count
        return rest


class Lease:
    """Private slots that several choices of one request read: given back when the last one ends."""

    __slots__ = ("holders", "length", "runs")

    def __init__(self, runs: tuple[Run, ...], holders: int) -> None:
        self.runs = runs
        self.length = total(runs)
        self.holders = holders
