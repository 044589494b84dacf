"""Figures as people read them: shares, counts, money, time, bytes. Pure."""

from __future__ import annotations

import math

_MICRO = 1_000_000


def share(value: float) -> str:
    """Give a share in percent: two figures that matter, so that 0.4 % is not 0 %."""
    if not math.isfinite(value):
        return "?"
    percent = 100.0 * value
    if percent == 0 or abs(percent) >= 10:
        return f"{percent:.0f} %"
    return (
        f"{percent:.1f} %"
        if abs(percent) >= 1
        else f"{percent:.2g} %"
        if abs(percent) >= 0.01
        else "< 0.01 %"
    )


def count(value: float) -> str:
    """Give a number of things: whole, with separators; small ones that are not whole with a digit."""
    if not math.isfinite(value):
        return "?"
    if value != int(value) and abs(value) < 10:
        return f"{value:.1f}"
    return f"{value:,.0f}"


def several(number: float, thing: str) -> str:
    """Give a number of things with their name, which is one thing's: "1 row", "2 rows"."""
    return f"{count(number)} {thing if number == 1 else f'{thing}s'}"


def money(micro: float | None) -> str:
    """Give micro-USD as dollars; "unknown" for None."""
    if micro is None:
        return "unknown"
    dollars = micro / _MICRO
    if dollars == 0:
        return "$0"
    size, sign = abs(dollars), "-" if dollars < 0 else ""
    if size < 0.005:
        return f"{sign}<$0.01"
    return f"{sign}${size:,.0f}" if size >= 100 else f"{sign}${size:.2f}"


def seconds(value: float) -> str:
    """Give a duration in the unit that fits."""
    if not math.isfinite(value):
        return "?"
    for unit, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if abs(value) >= 2 * unit or (unit == 86_400.0 and abs(value) >= unit):
            return f"{value / unit:,.1f} {name}".replace(".0 ", " ")
    if abs(value) >= 1 or value == 0:
        return f"{value:.3g} s"
    return f"{1000 * value:.3g} ms"


def size(value: float) -> str:
    """Give bytes in the unit that fits (binary)."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"


def between(low: float, high: float) -> str:
    """Give an interval of a share."""
    return f"{share(low)} to {share(high)}"


def of_all(low: float, high: float, known: float) -> str:
    """Give an interval of the share of hits in a whole log, of which `known` are certain; nothing is known above 1."""
    least = max(low, known)
    return f"at least {share(least)}" if high >= 1 else between(least, max(high, least))
