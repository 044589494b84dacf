"""What a policy says about the gate: one effect a rule. Values only; `core` passes them on.

Knows nothing of how a rule compares two texts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any


class Effect(StrEnum):
    """What a difference that a gate rule finds does to a match."""

    VETO = "veto"
    RAISE = "raise"
    OFF = "off"

    @property
    def strictness(self) -> int:
        """Greater is stricter."""
        return 2 if self is Effect.VETO else int(self is Effect.RAISE)


@dataclass(frozen=True, slots=True)
class GateRules:
    """What each deterministic rule may do after a vector match: one field a rule, named as `reasons.Veto` names it.

    `stories` is what numbers, units, money, dates, negations, opposites, comparisons and quantifiers do that are told
    in a long story beside the question (never more than they may do in a direct question). `raise_by` is how far towards 1 a difference moves the
    thresholds that only raises: 0 not at all, 1 shut.
    """

    numbers: Effect = Effect.VETO
    units: Effect = Effect.VETO
    money: Effect = Effect.VETO
    dates: Effect = Effect.VETO
    negation: Effect = Effect.VETO
    antonyms: Effect = Effect.VETO
    quantifiers: Effect = Effect.VETO
    comparison: Effect = Effect.VETO
    order: Effect = Effect.VETO
    names: Effect = Effect.VETO
    codes: Effect = Effect.VETO
    persons: Effect = Effect.VETO
    places: Effect = Effect.VETO
    kind: Effect = Effect.VETO
    format: Effect = Effect.VETO
    length: Effect = Effect.VETO
    language: Effect = Effect.VETO
    question: Effect = Effect.VETO
    fragment: Effect = Effect.VETO
    payload: Effect = Effect.VETO
    long: Effect = Effect.VETO
    stories: Effect = Effect.RAISE
    raise_by: float = 0.5

    @classmethod
    def all(cls, effect: Effect) -> GateRules:
        """Give rules that all do the same."""
        effects: dict[str, Any] = {field.name: effect for field in fields(cls) if field.name != "raise_by"}
        return replace(cls(), **effects)
