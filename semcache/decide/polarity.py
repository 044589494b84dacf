"""Polarity: negations and opposites weighed together.

Two texts disagree when one is on the other side of an opposite, or when one holds an odd and
the other an even number of negations; both at once cancel (`not open` and `closed`). Knows
nothing of the tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.decide import poles
from semcache.decide.negation import Negation


@dataclass(frozen=True, slots=True)
class Polarity:
    """Sides taken (concept to `+` or `-`) and negations of one text."""

    sides: dict[str, str]
    negation: Negation


def conflict(one: Polarity, other: Polarity) -> bool:
    """True when the two texts ask for opposite things."""
    flipped = poles.flips(one.sides, other.sides) > 0
    odd = (one.negation.count - other.negation.count) % 2 == 1
    if flipped or not odd:
        return flipped and not odd
    # `I can't log in` and `trouble logging in` say one thing, with and without a negation.
    return not (one.negation.trouble and other.negation.trouble)
