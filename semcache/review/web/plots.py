"""A picture of what thresholds would have done: lines on a plane, as SVG takes points. Pure.

Counting is `semcache.review.whatif`'s; here it is done for many thresholds at once, and the band around the wrong
ones is Wilson's 95 % interval ("Probable Inference", 1927), which costs nothing; the figure beside the plot is exact.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from semcache.review_port import Decided

_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 704, 14, 224
_POINTS = 41
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines in a plane of `width` x `height`; "" where there is nothing to draw."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    levels: tuple[Tick, ...]
    steps: tuple[Tick, ...]
    hits: str
    wrong: str
    interval: str
    now: float
    chosen: float


@dataclass(frozen=True, slots=True)
class _At:
    """At a threshold: share of all that would be served; of these, judged and wrong ones."""

    threshold: float
    share: float
    judged: int
    wrong: int


def plot(decisions: Sequence[Decided], threshold: float, min_score: float, now: float) -> Plot | None:
    """Draw what would be served, and what of it was wrong, by threshold; None without decisions.

    Args:
        decisions: recorded ones, in any order.
        threshold: the one asked about, marked.
        min_score: least probability of the verifier, at every threshold.
        now: the threshold in force, marked too.
    """
    if not decisions:
        return None
    start = _start(decisions, min(threshold, now))
    points = _counted(decisions, min_score, [start + (1 - start) * i / (_POINTS - 1) for i in range(_POINTS)])
    known = [point for point in points if point.judged]
    bounds = [(point.threshold, *_interval(point.wrong, point.judged)) for point in known]
    band = [(at, high) for at, _, high in bounds] + [(at, low) for at, low, _ in reversed(bounds)]
    return Plot(
        _WIDTH,
        _HEIGHT,
        _LEFT,
        _RIGHT,
        _TOP,
        _BOTTOM,
        levels=tuple(Tick(_y(level), f"{level:.0%}") for level in (0.0, 0.25, 0.5, 0.75, 1.0)),
        steps=tuple(_steps(start)),
        hits=_line(((point.threshold, point.share) for point in points), start),
        wrong=_line(((point.threshold, point.wrong / point.judged) for point in known), start),
        interval=_line(band, start),
        now=_x(now, start),
        chosen=_x(threshold, start),
    )


def _counted(decisions: Sequence[Decided], min_score: float, thresholds: Iterable[float]) -> list[_At]:
    kept = sorted(
        (one for one in decisions if one.score is None or one.score >= min_score),
        key=lambda one: -one.similarity,
    )
    heights = [-one.similarity for one in kept]
    judged = list(accumulate((one.wrong is not None for one in kept), initial=0))
    wrong = list(accumulate((one.wrong is True for one in kept), initial=0))
    out = []
    for threshold in thresholds:
        count = bisect_right(heights, -threshold)
        out.append(_At(threshold, count / len(decisions), judged[count], wrong[count]))
    return out


def _interval(wrong: int, judged: int) -> tuple[float, float]:
    share, square = wrong / judged, _Z * _Z
    middle = share + square / (2 * judged)
    spread = _Z * math.sqrt(share * (1 - share) / judged + square / (4 * judged * judged))
    whole = 1 + square / judged
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


def _start(decisions: Iterable[Decided], least: float) -> float:
    """Give where the axis begins: a round number below all that is to be seen, with some room to 1."""
    lowest = min(min((one.similarity for one in decisions), default=least), least)
    return min(0.9, max(0.0, math.floor(lowest * 20) / 20))


def _steps(start: float) -> Iterable[Tick]:
    step = 0.02 if start >= 0.89 else 0.05 if start >= 0.6 else 0.1 if start >= 0.3 else 0.2
    count = math.floor((1 - start) / step + 1e-6)
    return (Tick(_x(1 - i * step, start), f"{1 - i * step:.2f}") for i in range(count + 1))


def _x(value: float, start: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * min(max((value - start) / (1 - start), 0.0), 1.0), 1)


def _y(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * share, 1)


def _line(points: Iterable[tuple[float, float]], start: float) -> str:
    return " ".join(f"{_x(at, start)},{_y(share)}" for at, share in points)
