"""The `gate` part of a domain: what each kind of difference between two questions does.

Knows the knobs and their built-in defaults, not the rules behind them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from semcache.core import Effect
from semcache.policy.parts import Knobs
from semcache.policy.values import as_effect

GateEffect = Annotated[Effect, BeforeValidator(as_effect)]


class Gate(Knobs):
    """What the differences between two questions do: veto a match, raise the bar for it, or nothing (off)."""

    numbers: GateEffect = Field(Effect.VETO, description="Different numbers.")
    units: GateEffect = Field(Effect.VETO, description="Different units.")
    money: GateEffect = Field(Effect.VETO, description="Different amounts of money or currencies.")
    dates: GateEffect = Field(Effect.VETO, description="Different dates, times of day, or relative times.")
    negation: GateEffect = Field(Effect.VETO, description="One question negates, the other does not.")
    antonyms: GateEffect = Field(Effect.VETO, description="Opposites: enable and disable, buy and sell.")
    quantifiers: GateEffect = Field(
        Effect.VETO, description="Another scope: all, some, only, each, at least."
    )
    comparison: GateEffect = Field(
        Effect.VETO, description="The other direction: more and less, before and after, cheaper and dearer."
    )
    order: GateEffect = Field(Effect.VETO, description="The same words in swapped roles.")
    names: GateEffect = Field(Effect.VETO, description="Different names.")
    codes: GateEffect = Field(
        Effect.VETO, description="Different identifiers, options, file names, addresses, quotes, operators."
    )
    persons: GateEffect = Field(Effect.VETO, description="Other people: adult and child, patient and nurse.")
    places: GateEffect = Field(Effect.VETO, description="Different countries, states, cities, jurisdictions.")
    kind: GateEffect = Field(
        Effect.VETO, description="Another member of one group: dog and cat, Java and Python."
    )
    format: GateEffect = Field(Effect.VETO, description="Another form of answer is asked for.")
    length: GateEffect = Field(Effect.VETO, description="Another length of answer is asked for.")
    language: GateEffect = Field(
        Effect.VETO, description="Different languages, of the questions or of the answers asked for."
    )
    question: GateEffect = Field(Effect.VETO, description="Another kind of question: what is and how to.")
    fragment: GateEffect = Field(
        Effect.VETO, description='A question that needs what was said before: "and in Canada?".'
    )
    payload: GateEffect = Field(Effect.VETO, description="Another text to translate, summarise, classify.")
    long: GateEffect = Field(Effect.VETO, description="Long texts that differ in more than a few words.")
    stories: GateEffect = Field(
        Effect.RAISE,
        description="Numbers, units, money, dates, negations, opposites, comparisons and quantifiers that are told in a long"
        " story beside the question; never more than they do elsewhere.",
    )
    raise_by: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        0.5,
        description="How far towards 1 a difference moves the thresholds that only raises: 0 not at all, 1 shut.",
    )
