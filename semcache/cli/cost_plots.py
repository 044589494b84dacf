"""What `semcache report cost --plot` draws: money, ratios and tokens by day, and savings by label.

Works the series out; drawing is `semcache.evaluate.plot`'s. Knows no store.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from math import isnan
from pathlib import Path

from semcache.cost.report import MILLION, Book, By, Group, by_day, grouped
from semcache.cost_port import CostSums
from semcache.evaluate.plot import BLUE, DARK, GREEN, ORANGE, PINK, SKY, Bars, Layer, Line, Panel, draw

_MOST_NAMES = 10
_MOST_TICKS = 8
_NAN = float("nan")
SAVINGS = (("response cache", "by_response", BLUE), ("provider cache", "by_provider", ORANGE), ("local prefix", "by_local", GREEN))  # fmt: skip
"""The three savings: a name, the counter of `CostSums`, a colour."""


def draw_costs(path: Path, book: Book, first: int, last: int, by: By) -> None:
    """Draw four diagrams of the days `first` to `last` into a file, the last one by what `by` tells apart.

    Raises:
        SemcacheError: matplotlib is not installed, or the file cannot be written.
    """
    days = by_day(book, first, last)
    draw(path, (money_panel(days), ratio_panel(days), token_panel(days), label_panel(book, by)))


def money_panel(days: Sequence[Group]) -> Bars:
    """Give what was paid a day, and the savings upon it: together what it would have cost without caches."""
    paid = Layer("paid", [day.sums.cost / MILLION for day in days], DARK)
    return Bars("Cost a day: paid and saved", "US dollars", (paid, *_savings(days)), _ticks(days), unit="$")


def ratio_panel(days: Sequence[Group]) -> Panel:
    """Give how many requests were hits, and how much of the input providers had cached; days without any have gaps."""
    places = list(range(len(days)))
    hits = [_NAN if day.hit_ratio is None else day.hit_ratio for day in days]
    cached = [_NAN if day.cached_share is None else day.cached_share for day in days]
    lines = (
        Line("hits of all requests", places, hits, colour=BLUE),
        Line("cached input of all input tokens", places, cached, dashed=True, colour=ORANGE),
    )
    dots = tuple(Line("", places, _alone(line.y), mark=True, colour=line.colour) for line in lines)
    return Panel("Reuse a day", "", "share", (*lines, *dots), _ticks(days), share=True)


def token_panel(days: Sequence[Group]) -> Bars:
    """Give the tokens that were billed a day, and those that hits made needless."""
    told = [day.sums for day in days]
    layers = (
        Layer("input", [float(one.input - one.cached) for one in told], DARK),
        Layer("input from cache", [float(one.cached) for one in told], ORANGE),
        Layer("output", [float(one.output) for one in told], PINK),
        Layer("saved by hits", [float(one.saved_input + one.saved_output) for one in told], SKY),
    )
    return Bars("Tokens a day: billed and saved", "tokens", layers, _ticks(days))


def label_panel(book: Book, by: By) -> Bars:
    """Give the savings by label, the largest first; what does not fit is added up."""
    groups = sorted(grouped(book, (by,)), key=lambda group: (-abs(group.saved or 0), group.names))
    shown, rest = groups[:_MOST_NAMES], groups[_MOST_NAMES:]
    names = [f"{group.names[0] or '(none)'}{' (no price)' if group.has_no_price else ''}" for group in shown]
    if rest:
        shown = [*shown, _added(rest)]
        names.append(f"{len(rest)} more")
    ticks = [(float(at), name) for at, name in enumerate(names)]
    word = by.value.replace("_", " ")
    return Bars(f"Saved by {word}", "US dollars", _savings(shown), ticks, lying=True, unit="$")


def _savings(groups: Sequence[Group]) -> tuple[Layer, ...]:
    return tuple(
        Layer(name, [getattr(group.sums, counter) / MILLION for group in groups], colour)
        for name, counter, colour in SAVINGS
    )


def _alone(values: Sequence[float]) -> list[float]:
    """Keep what has a gap on either side: a line does not show it."""
    around = [_NAN, *values, _NAN]
    return [
        value if isnan(before) and isnan(after) else _NAN
        for before, value, after in zip(around, values, around[2:], strict=False)
    ]


def _ticks(days: Sequence[Group]) -> list[tuple[float, str]]:
    """Name some days, evenly, the last one among them."""
    step = max(1, -(-len(days) // _MOST_TICKS))
    places = range(len(days) - 1, -1, -step)
    return [(float(at), _day(days[at].names[0])) for at in sorted(places)]


def _day(name: str) -> str:
    found = date.fromisoformat(name)
    return f"{found.day} {found:%b}"


def _added(groups: Sequence[Group]) -> Group:
    sums = CostSums()
    for group in groups:
        sums.add(group.sums)
    return Group((), sums, sum(group.hits for group in groups))
