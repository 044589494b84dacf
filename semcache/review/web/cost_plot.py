"""Pictures of costs as SVG takes them: bars of a day upon each other, and lines with gaps. Pure.

Money is drawn in micro-USD; numbers on axes are round ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from semcache.cost.report import Group
from semcache.review.web.plots import Tick

_WIDTH, _HEIGHT = 500, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 478, 12, 188
_DOT = 2
_STEPS = 5
_MOST_NAMES = 6
LAYERS = ("paid", "response", "provider", "local")
"""What lies on what, from below."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A part of a bar; `layer` says of what."""

    layer: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A day: its parts, and what is said when somebody points at it."""

    parts: tuple[Rect, ...]
    said: str


@dataclass(frozen=True, slots=True)
class Plane:
    """The plane, and the marks on its axes."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    zero: float
    levels: tuple[Tick, ...]
    steps: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars in a plane."""

    plane: Plane
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines in a plane, each in pieces: a name, and the points of each piece."""

    plane: Plane
    lines: tuple[tuple[str, tuple[str, ...]], ...]


def cost_bars(
    days: Sequence[Group],
    name: Callable[[str], str],
    said: Callable[[Group], str],
    money: Callable[[float], str],
) -> Bars | None:
    """Draw what was paid a day and the savings upon it, losses below zero; None where nothing costs or saves anything.

    Args:
        days: one group a day.
        name: writes a day for the axis.
        said: says what a bar shows.
        money: writes micro-USD.
    """
    stacks = [_layers(day) for day in days]
    highest = max((sum(max(part, 0) for part in stack) for stack in stacks), default=0)
    lowest = min((sum(min(part, 0) for part in stack) for stack in stacks), default=0)
    if highest == 0 and lowest == 0:
        return None
    step = _round((highest - lowest) / _STEPS)
    bottom, top = math.floor(lowest / step), math.ceil(highest / step)
    scale = (_BOTTOM - _TOP) / ((top - bottom) * step)

    def place(value: float) -> float:
        return round(_BOTTOM - (value - bottom * step) * scale, 2)

    levels = tuple(Tick(place(at * step), money(at * step)) for at in range(bottom, top + 1))
    plane = _plane(place(0), levels, _steps(days, name))
    bars = tuple(
        Bar(tuple(_parts(stack, at, len(days), place)), said(day))
        for at, (stack, day) in enumerate(zip(stacks, days, strict=True))
    )
    return Bars(plane, bars)


def reuse_lines(days: Sequence[Group], name: Callable[[str], str]) -> Lines | None:
    """Draw the share of hits, and of input that was cached; days without any are gaps. None where there is nothing."""
    series = {
        "hits": [day.hit_ratio for day in days],
        "cached": [day.cached_share for day in days],
    }
    if all(value is None for values in series.values() for value in values):
        return None
    levels = tuple(Tick(_share_at(share), f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    plane = _plane(_BOTTOM, levels, _steps(days, name))
    return Lines(plane, tuple((word, tuple(_pieces(values))) for word, values in series.items()))


def _layers(day: Group) -> tuple[int, ...]:
    told = day.sums
    return told.cost, told.by_response, told.by_provider, told.by_local


def _parts(stack: Sequence[int], at: int, count: int, place: Callable[[float], float]) -> list[Rect]:
    up = down = 0
    room = (_RIGHT - _LEFT) / count
    x, width = round(_LEFT + room * (at + 0.12), 2), round(min(room * 0.76, 48.0), 2)
    x += round((room * 0.76 - width) / 2, 2)
    found = []
    for layer, value in zip(LAYERS, stack, strict=True):
        low, high = (up, up + value) if value >= 0 else (down + value, down)
        up, down = up + max(value, 0), down + min(value, 0)
        height = round(place(low) - place(high), 2)
        if height > 0:
            found.append(Rect(layer, round(x, 2), place(high), width, height))
    return found


def _pieces(values: Sequence[float | None]) -> list[str]:
    """Cut a line at its gaps; each piece is a list of points."""
    found = []
    for is_gap, run in groupby(enumerate(values), key=lambda item: item[1] is None):
        if not is_gap:
            points = [(_day_at(at, len(values)), _share_at(value or 0.0)) for at, value in run]
            if len(points) == 1:  # a line through one point shows nothing
                (x, y) = points[0]
                points = [(x - _DOT, y), (x + _DOT, y)]
            found.append(" ".join(f"{x:g},{y:g}" for x, y in points))
    return found


def _steps(days: Sequence[Group], name: Callable[[str], str]) -> tuple[Tick, ...]:
    """Name some days, evenly, the last one among them."""
    step = max(1, -(-len(days) // _MOST_NAMES))
    return tuple(
        Tick(_day_at(at, len(days)), name(days[at].names[0]))
        for at in sorted(range(len(days) - 1, -1, -step))
    )


def _plane(zero: float, levels: tuple[Tick, ...], steps: tuple[Tick, ...]) -> Plane:
    return Plane(_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM, zero, levels, steps)


def _day_at(at: int, count: int) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * (at + 0.5) / max(count, 1), 2)


def _share_at(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * min(max(share, 0.0), 1.0), 2)


def _round(step: float) -> float:
    """Give a round number (1, 2 or 5 times a power of ten) that is not less."""
    power = 10.0 ** math.floor(math.log10(step))
    return next((times * power for times in (1, 2, 5) if times * power >= step * 0.999), 10 * power)
