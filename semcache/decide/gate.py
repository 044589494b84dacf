"""The gate: does the wording show that two questions need different answers?

Runs after a vector match and can only object. It speaks in category words, never in text, is
symmetric, never objects to a text compared with itself, takes any Unicode, and costs a fraction
of a millisecond. Rules are conservative: each objects only where both readings are plain. A
policy says of each rule whether its difference vetoes, raises the bar, or is left alone. Knows
nothing of vectors, entries or policies beyond that; `spans` finds the places in the texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from semcache.core import Effect, GateRules
from semcache.decide import (
    dates,
    formats,
    kinds,
    language,
    longer,
    names,
    order,
    payload,
    places,
    polarity,
    quantities,
    questions,
    units,
)
from semcache.decide.features import Features, features
from semcache.decide.reasons import Veto

Rule = Callable[[Features, Features], bool]
"""Says whether two texts differ; symmetric."""

__all__ = ["Comparison", "Features", "compare", "features", "raised_bar", "vetoes"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The words (`reasons.Veto`) of the rules that veto, and of those that only raise the bar."""

    vetoes: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()


_NOTHING = Comparison()


def _units(one: Features, other: Features, *, money: bool) -> bool:
    return units.conflict(
        quantities.open_units(one.quantities, other.quantities),
        quantities.open_units(other.quantities, one.quantities),
        money=money,
    )


def _dates(one: Features, other: Features) -> bool:
    return (
        dates.conflict(one.dates, other.dates)
        or quantities.open_months(one.quantities, one.dates.months, other.dates.months)
        or quantities.open_months(other.quantities, other.dates.months, one.dates.months)
    )


def _numbers(one: Features, other: Features, sort: str) -> bool:
    return sort in quantities.conflicts(
        one.quantities, other.quantities, one.dates.months, other.dates.months
    )


@lru_cache(maxsize=1)
def _rules() -> dict[Veto, Rule]:
    """Give the rules by the word that they object with."""
    return {
        Veto.NUMBERS: lambda a, b: _numbers(a, b, quantities.PLAIN),
        Veto.UNITS: lambda a, b: _units(a, b, money=False),
        Veto.MONEY: lambda a, b: _numbers(a, b, quantities.MONEY) or _units(a, b, money=True),
        Veto.DATES: _dates,
        Veto.NEGATION: lambda a, b: polarity.negated(a.polarity, b.polarity),
        Veto.ANTONYMS: lambda a, b: polarity.opposed(a.polarity, b.polarity),
        Veto.QUANTIFIERS: lambda a, b: kinds.conflict(a.kinds, b.kinds, kinds.QUANTIFIERS),
        Veto.COMPARISON: lambda a, b: polarity.turned(a.polarity, b.polarity),
        Veto.ORDER: lambda a, b: order.conflict(a.order, b.order),
        Veto.NAMES: lambda a, b: names.conflict(a.names, b.names),
        Veto.CODES: lambda a, b: names.code_conflict(a.names, b.names),
        Veto.PERSONS: lambda a, b: kinds.conflict(a.kinds, b.kinds, kinds.PERSONS),
        Veto.PLACES: lambda a, b: places.conflict(a.places, b.places, a.words, b.words),
        Veto.KIND: lambda a, b: kinds.conflict(a.kinds, b.kinds, kinds.THINGS),
        Veto.FORMAT: lambda a, b: formats.conflict(a.formats, b.formats),
        Veto.LENGTH: lambda a, b: a.lengths != b.lengths or _numbers(a, b, quantities.LENGTH),
        Veto.LANGUAGE: lambda a, b: language.conflict(a.language, b.language),
        Veto.QUESTION: lambda a, b: questions.conflict(a.questions, b.questions),
        Veto.FRAGMENT: lambda a, b: a.fragment or b.fragment,
        Veto.PAYLOAD: lambda a, b: payload.conflict(a.payload, b.payload, a.plain, b.plain),
        Veto.LONG: lambda a, b: longer.conflict(a.long, b.long),
    }


_TOLD = frozenset(
    (
        Veto.NUMBERS,
        Veto.UNITS,
        Veto.MONEY,
        Veto.DATES,
        Veto.NEGATION,
        Veto.ANTONYMS,
        Veto.COMPARISON,
        Veto.QUANTIFIERS,
    )
)
"""What a story may tell without changing the answer."""


@lru_cache(maxsize=1)
def _hints() -> dict[Veto, Rule]:
    """Give the rules for differences that mean less: they never do more than raise the bar."""
    return {
        Veto.NUMBERS: lambda a, b: _numbers(a, b, quantities.TYPE),
        Veto.NAMES: lambda a, b: names.unmatched(a.names, b.names),
        Veto.PERSONS: lambda a, b: kinds.one_sided(a.kinds, b.kinds),
        Veto.FORMAT: lambda a, b: a.formats != b.formats,
    }


def compare(one: Features, other: Features, rules: GateRules) -> Comparison:
    """Give the words of all rules that object to answering one text with the other's answer."""
    if one.plain == other.plain and one.tail == other.tail and names.same(one.names, other.names):
        # Only case, blanks, punctuation or contractions differ.
        return _NOTHING
    vetoed: list[str] = []
    raised: list[str] = []
    hints = _hints()
    story = one.asked is not None or other.asked is not None
    for word, differs in _rules().items():
        effect: Effect = getattr(rules, word.value)
        if effect is Effect.OFF:
            continue
        if not differs(one, other):
            if word in hints and hints[word](one, other):
                raised.append(word.value)
            continue
        if story and word in _TOLD and not differs(one.question, other.question):
            effect = min(effect, rules.stories, key=lambda effect: effect.strictness)
        if effect is not Effect.OFF:
            (vetoed if effect is Effect.VETO else raised).append(word.value)
    if one.tail != other.tail:
        vetoed.append(Veto.UNREAD.value)
    return Comparison(tuple(vetoed), tuple(raised))


def raised_bar(bar: float, found: Comparison, rules: GateRules) -> float:
    """Give the threshold that applies in view of differences that only raise it.

    However many differences there are, the bar goes the share `rules.raise_by` of its way to 1.
    """
    return max(bar, bar + (1.0 - bar) * rules.raise_by) if found.raised else bar


def vetoes(asked: str, stored: str, rules: GateRules) -> tuple[str, ...]:
    """Give the category words (`reasons.Veto`) of the rules that veto; empty when none does."""
    return compare(features(asked), features(stored), rules).vetoes
