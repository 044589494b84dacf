"""Diagrams as places on a plane, for templates that write SVG of them. Pure; knows no colours.

Each gives None where there is nothing to draw. Lengths are SVG user units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from semcache.advise.telling import count, share, size

WIDTH = 720
_LEFT, _RIGHT = 150, 640
_ROW, _BAR, _TOP, _FOOT = 30, 18, 8, 24
_NAME = 20
"""Letters of a name that fit beside a bar."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar: `kind` is a class of the style sheet, `told` what it stands for."""

    x: float
    width: float
    kind: str
    told: str


@dataclass(frozen=True, slots=True)
class Row:
    """A bar with its name to the left and a note to the right; `y` is the bar's upper edge, `middle` its middle."""

    y: float
    middle: float
    name: str
    pieces: tuple[Piece, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stack:
    """Bars under each other on one scale."""

    width: int
    height: int
    left: int
    right: int
    bottom: float
    bar: int
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar before it has a place: how much it is, of the row's whole or of the scale."""

    kind: str
    name: str
    value: float


def stack(rows: Sequence[tuple[str, Sequence[Part], str]], *, whole: bool) -> Stack | None:
    """Give bars of parts.

    Args:
        rows: (name, parts, note) each.
        whole: each row is as long as all others, its parts are shares of it; else lengths can be compared.
    """
    totals = [sum(part.value for part in parts) for _, parts, _ in rows]
    longest = max(totals, default=0.0)
    if not longest > 0:
        return None
    placed = tuple(
        _row(number, row, (totals[number] or 1.0) if whole else longest, total=totals[number])
        for number, row in enumerate(rows)
    )
    top = 1.0 if whole else longest
    ticks = tuple(Tick(_x(at / top), share(at) if whole else _short(at)) for at in _steps(top))
    bottom = _TOP + _ROW * len(rows)
    return Stack(WIDTH, bottom + _FOOT, _LEFT, _RIGHT, bottom, _BAR, placed, ticks)


def _row(number: int, row: tuple[str, Sequence[Part], str], scale: float, total: float) -> Row:
    name, parts, note = row
    y, at = _TOP + number * _ROW + (_ROW - _BAR) / 2, 0.0
    pieces = []
    for part in parts:
        if part.value > 0:
            told = f"{name}, {part.name}: {count(part.value)} ({share(part.value / total)})"
            pieces.append(
                Piece(_x(at / scale), _x((at + part.value) / scale) - _x(at / scale), part.kind, told)
            )
        at += part.value
    return Row(y, y + _BAR / 2, _cut(name), tuple(pieces), note)


@dataclass(frozen=True, slots=True)
class Span:
    """An interval on a line: its ends, what is likely, and what is allowed."""

    y: float
    name: str
    low: float
    high: float
    likely: float
    allowed: float
    told: str
    note: str
    is_over: bool


@dataclass(frozen=True, slots=True)
class Spans:
    """Intervals under each other on one scale."""

    width: int
    height: int
    left: int
    right: int
    bottom: float
    rows: tuple[Span, ...]
    ticks: tuple[Tick, ...]


def spans(rows: Sequence[tuple[str, float, float, float, float, str]]) -> Spans | None:
    """Give intervals of shares: (name, low, likely, high, allowed, note) each."""
    if not rows:
        return None
    top = min(1.0, max(max(high, 1.5 * allowed) for _, _, _, high, allowed, _ in rows) or 1.0)
    placed = []
    for number, (name, low, likely, high, allowed, note) in enumerate(rows):
        told = f"{name}: {share(low)} to {share(high)}, likely {share(likely)}; allowed {share(allowed)}"
        ends = [_x(min(1.0, end / top)) for end in (low, high, likely, allowed)]
        y = _TOP + (number + 0.5) * _ROW
        placed.append(
            Span(y, _cut(name), ends[0], ends[1], ends[2], ends[3], told, note, is_over=low > allowed)
        )
    bottom = _TOP + _ROW * len(rows)
    ticks = tuple(Tick(_x(at / top), share(at)) for at in _steps(top))
    return Spans(WIDTH, bottom + _FOOT, _LEFT, _RIGHT, bottom, tuple(placed), ticks)


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a curve that has a name; `anchor` says on which side of it that is written (SVG's text-anchor)."""

    x: float
    y: float
    name: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A rising line with marks; `area` is what lies under it, both as SVG points."""

    width: int
    height: int
    left: int
    right: int
    top: float
    bottom: float
    line: str
    area: str
    marks: tuple[Mark, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


_CURVE = 240
_CURVE_LEFT, _CURVE_TOP, _CURVE_FOOT = 60, 26, 34


def curve(
    points: Sequence[tuple[int, float]], marked: Sequence[tuple[float, int, int]], item_bytes: int
) -> Curve | None:
    """Give how much of the gain a cache of so many items has.

    Args:
        points: (items, share), both rising.
        marked: (share, items, bytes) to be written beside the line.
        item_bytes: what an item takes, about.
    """
    most = max((items for items, _ in points), default=0)
    if most <= 0 or len(points) < 2:
        return None
    bottom = _CURVE - _CURVE_FOOT

    def place(items: float, part: float) -> tuple[float, float]:
        x = _CURVE_LEFT + (WIDTH - 16 - _CURVE_LEFT) * items / most
        return round(x, 1), round(bottom - (bottom - _CURVE_TOP) * min(1.0, max(0.0, part)), 1)

    line = " ".join(f"{x},{y}" for x, y in (place(*point) for point in points))
    first, last = place(points[0][0], 0.0), place(points[-1][0], 0.0)
    marks = tuple(
        _mark(*place(items, part), part, items, held) for part, items, held in marked if 0 < items <= most
    )
    across = tuple(Tick(place(at, 0)[0], f"{_short(at)} ({size(at * item_bytes)})") for at in _steps(most, 4))
    up = tuple(Tick(place(0, at)[1], share(at)) for at in (0.0, 0.25, 0.5, 0.75, 1.0))
    area = f"{first[0]},{first[1]} {line} {last[0]},{last[1]}"
    return Curve(WIDTH, _CURVE, _CURVE_LEFT, WIDTH - 16, _CURVE_TOP, bottom, line, area, marks, across, up)


def _mark(x: float, y: float, part: float, items: int, held: int) -> Mark:
    return Mark(x, y, f"{share(part)}: {count(items)} ({size(held)})", "start" if x < WIDTH * 0.6 else "end")


def _x(part: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * part, 2)


def _steps(top: float, most: int = 5) -> Iterator[float]:
    """Give round numbers from 0 up to `top`."""
    rough = top / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough * 0.999)
    return (round(number * step, 12) for number in range(math.floor(top / step + 1e-9) + 1))


def _short(value: float) -> str:
    """Give a large number in few letters."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.3g}"


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def legend(parts: Iterable[Part]) -> tuple[tuple[str, str], ...]:
    """Give (class, name) of each kind of part, once, in order."""
    return tuple(dict.fromkeys((part.kind, part.name) for part in parts))
