"""Numbers with their units, and when two texts disagree in them.

Two texts agree when each number of one has its equal in the other, whatever the spelling:
`1.5 hours` and `90 minutes`, `twice` and `2 times`, `$5` and `USD 5`. Knows nothing of how
they are read from a text (see `reading`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.decide.units import Unit

Measure = tuple[str, float]
"""What is measured and how much, so that equal amounts are equal."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number. `text` is its canonical spelling, `measure` what it amounts to with its unit.

    `soft` numbers (one, first, a second, a duration told in an aside) are dropped by
    paraphrase; they count only against another number.
    """

    text: str
    measure: Measure | None = None
    soft: bool = False


@dataclass(slots=True)
class Quantities:
    """All numbers, units, clock times (`17:00`) and months (1 to 12) in one text."""

    numbers: list[Number] = field(default_factory=list)
    units: list[tuple[Unit, Measure | None]] = field(default_factory=list)
    times: set[str] = field(default_factory=set)
    months: set[int] = field(default_factory=set)


def conflict(
    one: Quantities, other: Quantities, months: frozenset[int], other_months: frozenset[int]
) -> bool:
    """True when a number of one text has no equal in the other.

    A month by name (`months`) may stand as a bare number on the other side: `3 May`, `5/3`.
    """
    shared = _measures(one) & _measures(other)
    left = {n.text: n.soft for n in one.numbers if n.measure not in shared}
    right = {n.text: n.soft for n in other.numbers if n.measure not in shared}
    left_months = {str(month) for month in months - other_months}
    right_months = {str(month) for month in other_months - months}
    only_left = {text: soft for text, soft in left.items() if text not in right and text not in right_months}
    only_right = {text: soft for text, soft in right.items() if text not in left and text not in left_months}
    if only_left and only_right:
        return True
    return not all((*only_left.values(), *only_right.values()))


def open_months(one: Quantities, months: frozenset[int], other_months: frozenset[int]) -> bool:
    """True when the other text names a month that `one` has neither by name nor as a number."""
    numbers = {number.text for number in one.numbers}
    return any(str(month) not in numbers for month in other_months - months)


def _measures(found: Quantities) -> set[Measure]:
    return {number.measure for number in found.numbers if number.measure is not None}


def open_units(one: Quantities, other: Quantities) -> frozenset[Unit]:
    """Give the units of `one` that no equal amount in `other` accounts for."""
    shared = _measures(one) & _measures(other)
    return frozenset(unit for unit, measure in one.units if measure not in shared)
