"""Numbers with their units, and when two texts disagree in them.

Two texts agree when each number of one has its equal in the other, whatever the spelling:
`1.5 hours` and `90 minutes`, `twice` and `2 times`, `$5` and `USD 5`. Knows nothing of how
they are read from a text (see `reading`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from semcache.decide.units import Unit

Measure = tuple[str, float]
"""What is measured and how much, so that equal amounts are equal."""
PLAIN, MONEY, LENGTH, TYPE = "plain", "money", "length", "type"
"""What a number counts: anything, money, words or pages of an answer, the type of a disease."""
_CLOSE, _CLOSE_DATA, _MOST_PAIRS = 0.01, 0.025, 1024


@dataclass(frozen=True, slots=True)
class Number:
    """One number. `text` is its canonical spelling, `measure` what it amounts to with its unit.

    `soft` numbers (one, first, a second, a duration told in an aside) are dropped by
    paraphrase; they count only against another number. `sort` is what it counts, `at` its tokens [start, end),
    `unit` the name of its unit.
    """

    text: str
    measure: Measure | None = None
    soft: bool = False
    sort: str = PLAIN
    at: tuple[int, int] = (0, 0)
    unit: str = ""


@dataclass(slots=True)
class Quantities:
    """All numbers, units, clock times (`17:00`) and months (1 to 12) in one text; `taken` are the tokens of units."""

    numbers: list[Number] = field(default_factory=list)
    units: list[tuple[Unit, Measure | None]] = field(default_factory=list)
    times: set[str] = field(default_factory=set)
    months: set[int] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)


def typed(number: Number) -> Number:
    """Give a number in the name of a disease, where it tells forms of it apart: `Noonan syndrome 3`."""
    return replace(number, sort=TYPE) if number.sort == PLAIN and not number.unit else number


def conflicts(
    one: Quantities, other: Quantities, months: frozenset[int], other_months: frozenset[int]
) -> frozenset[str]:
    """Give the sorts of the numbers that have no equal in the other text; none where the texts agree.

    A month by name (`months`) may stand as a bare number on the other side: `3 May`, `5/3`.
    """
    left, right = odd_numbers(one, other, months, other_months)
    hard = [number for number in (*left, *right) if not number.soft]
    if left and right and any(number.sort == TYPE for number in hard):
        return frozenset(PLAIN if number.sort == TYPE else number.sort for number in hard)
    if not hard and not (left and right):
        return frozenset()
    return frozenset(number.sort for number in hard or (*left, *right))


def odd_numbers(
    one: Quantities, other: Quantities, months: frozenset[int], other_months: frozenset[int]
) -> tuple[list[Number], list[Number]]:
    """Give the numbers of either text that have no equal in the other."""
    if not one.numbers and not other.numbers:
        return [], []
    shared = _shared(one, other)
    left = [number for number in one.numbers if number.measure not in shared]
    right = [number for number in other.numbers if number.measure not in shared]
    known_left = {number.text for number in left} | {str(month) for month in months - other_months}
    known_right = {number.text for number in right} | {str(month) for month in other_months - months}
    return (
        [number for number in left if number.text not in known_right],
        [number for number in right if number.text not in known_left],
    )


def open_months(one: Quantities, months: frozenset[int], other_months: frozenset[int]) -> bool:
    """True when the other text names a month that `one` has neither by name nor as a number."""
    numbers = {number.text for number in one.numbers}
    return any(str(month) not in numbers for month in other_months - months)


def _measures(found: Quantities) -> dict[Measure, str]:
    return {number.measure: number.unit for number in found.numbers if number.measure is not None}


def _shared(one: Quantities, other: Quantities) -> set[Measure]:
    """Give the amounts that both texts hold; in different units they may be rounded (5 miles, 8 km)."""
    left, right = _measures(one), _measures(other)
    shared = set(left.keys() & right.keys())
    if len(left) * len(right) > _MOST_PAIRS:
        return shared
    for measure, unit in left.items():
        for measure2, unit2 in right.items():
            if unit != unit2 and _are_close(measure, measure2):
                shared |= {measure, measure2}
    return shared


def _are_close(one: Measure, other: Measure) -> bool:
    if one[0] != other[0]:
        return False
    limit = _CLOSE_DATA if one[0] == "data" else _CLOSE
    return abs(one[1] - other[1]) <= limit * max(abs(one[1]), abs(other[1]))


def open_units(one: Quantities, other: Quantities) -> frozenset[Unit]:
    """Give the units of `one` that no equal amount in `other` accounts for."""
    if not one.units:
        return frozenset()
    shared = _shared(one, other)
    return frozenset(unit for unit, measure in one.units if measure not in shared)
