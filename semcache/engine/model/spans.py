"""Where the keys of a sequence lie, cut so that sums never depend on the cut: pure integers.

Knows runs and positions, no tensors. A sequence's keys are summed in blocks of `BLOCK` at
absolute positions. A block that lies in one run is read where it is; one that straddles runs is
gathered. So the same numbers are added in the same order, whatever the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.engine.runs import Run, cut

BLOCK = 128
"""Keys to a block. Sums over up to 255 keys have one order in the matrix products at hand."""

LEAST_KEYS = 16
"""No matrix product sees fewer keys than this: narrower ones take other code, with other bits."""


@dataclass(frozen=True, slots=True)
class Span:
    """Keys at positions `column` up to `column + length` of one or more sequences.

    `runs` has one run that is read in place, or, when `is_gathered`, those to copy together.
    A gathered span is at least `LEAST_KEYS` long; what its runs lack is filled up with zeros.
    """

    column: int
    length: int
    runs: tuple[Run, ...]
    is_gathered: bool


def joined(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Join runs that continue one another."""
    result: list[Run] = []
    for run in runs:
        if result and result[-1].end == run.start:
            result[-1] = Run(result[-1].start, result[-1].length + run.length)
        elif run.length:
            result.append(run)
    return tuple(result)


def common(left: Sequence[Run], right: Sequence[Run]) -> int:
    """Count the leading slots that two joined sequences of runs share."""
    shared = 0
    for one, other in zip(left, right, strict=False):
        if one.start != other.start:
            break
        shared += min(one.length, other.length)
        if one.length != other.length:
            break
    return shared


def spans(runs: tuple[Run, ...], start: int, end: int) -> list[Span]:
    """Cover positions `start` (a multiple of BLOCK) up to `end` of a sequence, in order.

    Every span begins at a multiple of BLOCK; runs must be joined.
    """
    found: list[Span] = []
    covered, position = start, start
    for run in cut(runs, start, end):
        low, high = -(-position // BLOCK) * BLOCK, _readable_end(position + run.length, end)
        if high > low:
            if low > covered:
                found.append(gathered(runs, covered, low))
            found.append(Span(low, high - low, (Run(run.start + low - position, high - low),), False))
            covered = high
        position += run.length
    if covered < end:
        found.append(gathered(runs, covered, end))
    return found


def _readable_end(run_end: int, end: int) -> int:
    """Give the position up to which a run's keys can be read in place: whole blocks, or a last one long enough."""
    rest = run_end % BLOCK
    if run_end == end and rest >= LEAST_KEYS:
        return end
    return run_end - rest


def gathered(runs: tuple[Run, ...], start: int, end: int) -> Span:
    """Give a span to be copied together: positions `start` (a multiple of BLOCK) up to `end`."""
    rest = (end - start) % BLOCK
    lacking = max(0, LEAST_KEYS - rest) if rest else 0
    return Span(start, end - start + lacking, cut(runs, start, end), True)
