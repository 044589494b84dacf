"""Reading numbers where they stand in a text, with the unit beside them.

Digits (separators, decimals, ordinals, multipliers), number words, Chinese numerals where a
measure word says that they are numerals, halves, clock times and calendar dates. Knows
nothing of comparing them (see `quantities`).
"""

from __future__ import annotations

from dataclasses import replace

from semcache.decide import numerals
from semcache.decide.number_digits import digits
from semcache.decide.number_han import han
from semcache.decide.number_words import (
    MULTIPLES,
    article,
    cardinal,
    decade,
    fraction,
    multiple,
    ordinal,
    starts,
    year,
)
from semcache.decide.quantities import Number, Quantities
from semcache.decide.reader import Reader
from semcache.decide.text import Text, is_han
from semcache.decide.units import Unit, free_units, longest_forms
from semcache.decide.wordlist import split

_ROMAN = {"ii": 2, "iii": 3, "iv": 4, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "xi": 11, "xii": 12}
_RATES = frozenset(split("per a an each every in many"))
_JOINED = frozenset(("time", "length", "mass"))


def extract(text: Text, asides: frozenset[int]) -> Quantities:
    """Read all quantities of a text, left to right."""
    reader = Reader(text, asides)
    i = 0
    while i < len(text.words):
        i = max(i + 1, _step(reader, i))
    reader.found.numbers = _joined(reader)
    _free_standing(reader)
    reader.found.taken = reader.used
    return reader.found


def _joined(reader: Reader) -> list[Number]:
    """Read `1 hour and 30 minutes`, `5 ft 10 in` as one amount each."""
    joined: list[Number] = []
    for number in reader.found.numbers:
        before = joined[-1] if joined else None
        if before is None or not _continues(reader, before, number):
            joined.append(number)
            continue
        one, other = before.measure, number.measure
        total = (one[0], float(f"{one[1] + other[1]:.9g}")) if one and other else None
        joined[-1] = replace(
            before, text=f"{before.text}+{number.text}", measure=total, at=(before.at[0], number.at[1])
        )
        reader.found.units = [
            (unit, total if measure in (one, other) else measure)
            for unit, measure in reader.found.units
            if measure != other
        ]
    return joined


def _continues(reader: Reader, one: Number, other: Number) -> bool:
    if one.measure is None or other.measure is None or one.measure[0] not in _JOINED:
        return False
    between = reader.text.words[one.at[1] : other.at[0]]
    return (
        one.measure[0] == other.measure[0]
        and one.measure[1] > other.measure[1]
        and between in ((), ("and",), ("零",))
    )


def _step(reader: Reader, i: int) -> int:
    """Read what begins at token i; gives the place behind it (i when nothing begins here)."""
    words = reader.text.words
    if words[i][0].isdigit():
        return digits(reader, i)
    if is_han(words[i]):
        return han(reader, i) if words[i] in numerals.HAN_NUMERALS or words[i] == "半" else i
    if words[i] in starts():
        for read in (decade, fraction, year, cardinal):
            end = read(reader, i)
            if end is not None:
                return end
    if words[i] in numerals.ordinals():
        return ordinal(reader, i)
    if words[i] in _ROMAN and reader.text.tokens[i].raw.isupper():
        return reader.note(i, i + 1, float(_ROMAN[words[i]]), str(_ROMAN[words[i]]))
    if words[i] in ("a", "an"):
        return article(reader, i)
    return multiple(reader, i) if words[i] in MULTIPLES else i


def _free_standing(reader: Reader) -> None:
    """Note the units named without a number."""
    words = reader.text.words
    i = 0
    while i < len(words):
        glue = "" if is_han(words[i]) else " "
        for size in range(min(longest_forms().get(words[i], 0), len(words) - i), 0, -1):
            unit = free_units().get(glue.join(words[i : i + size]))
            if unit is not None:
                if i not in reader.used and i not in reader.asides and _is_meant(reader, i, unit):
                    reader.found.units.append((unit, None))
                i += size - 1
                break
        i += 1


def _is_meant(reader: Reader, i: int, unit: Unit) -> bool:
    """True for a unit that the question is about: `per month`, `daily`, `in minutes`, not `these days`."""
    if unit.dimension != "time" or is_han(reader.word(i)):
        return True
    return (
        reader.word(i).endswith("ly")
        or reader.word(i) == "per"
        or reader.word(i) == "annual"
        or reader.word(i - 1) in _RATES
    )
