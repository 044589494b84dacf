"""Quantities in angle brackets ("<30 days>"): equal wordings, and other amounts or units."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

MARK = re.compile(r"<([^<>]+)>")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
).split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_EQUAL = {
    "14 days": ["2 weeks", "two weeks", "a fortnight"],
    "2 weeks": ["14 days", "two weeks", "a fortnight"],
    "3 weeks": ["21 days", "three weeks"],
    "6 weeks": ["42 days", "six weeks"],
    "48 hours": ["2 days", "two days"],
    "24 hours": ["1 day", "one day"],
    "12 months": ["1 year", "one year", "a year"],
    "1 year": ["12 months", "one year", "a year"],
    "2 years": ["24 months", "two years"],
    "1 hour": ["60 minutes", "one hour", "an hour"],
    "30 minutes": ["half an hour", "thirty minutes"],
    "8 hours": ["eight hours", "8 hrs"],
    "1 week": ["7 days", "one week", "a week"],
    "1 month": ["one month", "a month"],
    "2 kg": ["2,000 g", "two kilograms", "2 kilos"],
    "20 kg": ["20 kilos", "twenty kilograms"],
    "23 kg": ["23 kilograms", "23 kilos"],
    "1,000 km": ["1000 kilometres", "one thousand kilometres", "1,000 kilometers"],
    "10,000 km": ["10000 kilometres", "ten thousand kilometres", "10k km"],
    "3 months": ["three months", "a quarter of a year"],
    "6 months": ["six months", "half a year"],
    "50 euros": ["€50", "50 EUR", "fifty euros"],
    "100 euros": ["€100", "100 EUR", "one hundred euros"],
    "250 euros": ["€250", "250 EUR"],
    "500 euros": ["€500", "500 EUR", "five hundred euros"],
    "1,000 euros": ["€1,000", "1000 EUR", "one thousand euros", "1k euros"],
    "5,000 euros": ["€5000", "5000 EUR", "five thousand euros", "5k euros"],
    "200 dollars": ["$200", "200 USD", "two hundred dollars"],
    "1,000 dollars": ["$1,000", "1000 USD", "a thousand dollars", "1k dollars"],
    "2 TB": ["2 terabytes", "2000 GB", "two terabytes"],
    "20 euros": ["€20", "20 EUR", "twenty euros"],
    "150 euros": ["€150", "150 EUR"],
    "10,000 euros": ["€10,000", "10000 EUR", "ten thousand euros", "10k euros"],
    "15,000 euros": ["€15,000", "15000 EUR", "fifteen thousand euros", "15k euros"],
    "1 May": ["May 1", "the first of May", "1st of May", "May 1st"],
    "2 June": ["June 2", "the second of June", "2nd of June", "June 2nd"],
}
_UNITS = [
    ["minutes", "hours", "days", "weeks", "months", "years"],
    ["hour", "day", "week", "month", "year"],
    ["euros", "dollars", "pounds", "francs"],
    ["kg", "g", "pounds"],
    ["km", "miles", "metres"],
    ["TB", "GB"],
    ["May", "June", "July", "August", "September", "October"],
]
_COMPARE = [
    ["under", "below", "less than"],
    ["over", "above", "more than"],
    ["at least", "no less than", "a minimum of"],
    ["at most", "no more than", "a maximum of", "up to"],
    ["exactly"],
]


def number_word(number: int) -> str | None:
    """A number below one hundred in words."""
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_SMALL[ones]}" if ones else "")
    return None


def plain(text: str) -> str:
    """The text as written, without the marks."""
    return MARK.sub(r"\1", text)


def equal(text: str, rng: random.Random) -> str:
    """The quantities of a text in other, equal words; comparisons too ("under" - "less than")."""

    def other(match: re.Match[str]) -> str:
        return rng.choice(_equals(match.group(1)) or [match.group(1)])

    return _compare(MARK.sub(lambda m: "<" + other(m) + ">", text), rng, same=True) or text


def _equals(quantity: str) -> list[str]:
    found = list(_EQUAL.get(quantity, ()))
    first = _NUMBER.search(quantity)
    if first and first.group().isdigit():
        word = number_word(int(first.group()))
        if word:
            found.append(quantity.replace(first.group(), word, 1))
    if first and "," in first.group():
        found.append(quantity.replace(",", ""))
    return found


def _compare(text: str, rng: random.Random, *, same: bool) -> str | None:
    for group in _COMPARE:
        for word in group:
            if re.search(rf"\b{word} <", text):
                pool = group if same else [w for g in _COMPARE if g is not group for w in g]
                others = [w for w in pool if w != word]
                return re.sub(rf"\b{word} <", f"{rng.choice(others)} <", text, count=1) if others else None
    return None


def other_comparison(text: str, rng: random.Random) -> str | None:
    """Another comparison with the same amount, or None where there is none."""
    return _compare(text, rng, same=False)


def other_number(text: str, rng: random.Random) -> str | None:
    """The first quantity with another number."""

    def change(quantity: str) -> str | None:
        found = _NUMBER.search(quantity)
        if not found:
            return None
        if "." in found.group():
            major, minor = found.group().split(".", 1)
            other = int(minor) + rng.choice((1, 2, 3))
            return f"{quantity[: found.start()]}{major}.{other}{quantity[found.end() :]}"
        old = int(found.group().replace(",", ""))
        new = rng.choice([n for n in _near_numbers(old) if n > 0 and n != old])
        return (
            quantity[: found.start()]
            + (f"{new:,}" if "," in found.group() else str(new))
            + quantity[found.end() :]
        )

    return _first(text, change)


def _near_numbers(old: int) -> list[int]:
    if 1900 < old < 2100:
        return [old - 1, old + 1, old - 3, old + 2]
    step = 1 if old < 10 else 5 if old < 100 else 50 if old < 1000 else 500
    return [old + step, old - step, old * 2, old * 10, old + 3 * step]


def other_unit(text: str, rng: random.Random) -> str | None:
    """The first quantity in another unit, the number left as it is."""

    def change(quantity: str) -> str | None:
        for units in _UNITS:
            for unit in units:
                if re.search(rf"\b{unit}$", quantity):
                    return re.sub(rf"\b{unit}$", rng.choice([u for u in units if u != unit]), quantity)
        return None

    return _first(text, change)


def _first(text: str, change: Callable[[str], str | None]) -> str | None:
    match = MARK.search(text)
    new = change(match.group(1)) if match else None
    return None if match is None or new is None else text[: match.start()] + f"<{new}>" + text[match.end() :]
