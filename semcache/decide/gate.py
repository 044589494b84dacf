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

__all__ = ["Comparison", "Features", "compare", "features", "raised_bar", "vetoes"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The words (`reasons.Veto`) of the rules that veto, and of those that only raise the bar."""

    vetoes: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()


_NOTHING = Comparison()


class _Pair:
    """Two texts, with what several rules need of both: worked out once, when first asked for."""

    __slots__ = ("_flips", "_sorts", "_units", "one", "other")

    def __init__(self, one: Features, other: Features) -> None:
        self.one, self.other = one, other
        self._sorts: frozenset[str] | None = None
        self._flips: tuple[bool, bool, bool] | None = None
        self._units: tuple[frozenset[units.Unit], frozenset[units.Unit]] | None = None

    @property
    def sorts(self) -> frozenset[str]:
        """Which sorts of numbers differ (see `quantities.conflicts`)."""
        if self._sorts is None:
            one, other = self.one, self.other
            self._sorts = quantities.conflicts(
                one.quantities, other.quantities, one.dates.months, other.dates.months
            )
        return self._sorts

    @property
    def flips(self) -> tuple[bool, bool, bool]:
        """Whether opposites, directions and negations stand against each other."""
        if self._flips is None:
            self._flips = polarity.compare(self.one.polarity, self.other.polarity)
        return self._flips

    @property
    def units(self) -> tuple[frozenset[units.Unit], frozenset[units.Unit]]:
        """Give the units of either text that the other does not account for."""
        if self._units is None:
            one, other = self.one.quantities, self.other.quantities
            self._units = quantities.open_units(one, other), quantities.open_units(other, one)
        return self._units


Rule = Callable[[_Pair], bool]
"""Says whether two texts differ; symmetric."""


def _dates(pair: _Pair) -> bool:
    one, other = pair.one, pair.other
    return (
        dates.conflict(one.dates, other.dates)
        or quantities.open_months(one.quantities, one.dates.months, other.dates.months)
        or quantities.open_months(other.quantities, other.dates.months, one.dates.months)
    )


def _payload(pair: _Pair) -> bool:
    return payload.conflict(pair.one.payload, pair.other.payload, pair.one.plain, pair.other.plain)


def _places(pair: _Pair) -> bool:
    return places.conflict(pair.one.places, pair.other.places, pair.one.words, pair.other.words)


@lru_cache(maxsize=1)
def _rules() -> dict[Veto, Rule]:
    """Give the rules by the word that they object with."""
    return {
        Veto.NUMBERS: lambda p: quantities.PLAIN in p.sorts,
        Veto.UNITS: lambda p: units.conflict(*p.units, money=False),
        Veto.MONEY: lambda p: quantities.MONEY in p.sorts or units.conflict(*p.units, money=True),
        Veto.DATES: _dates,
        Veto.NEGATION: lambda p: p.flips[2],
        Veto.ANTONYMS: lambda p: p.flips[0],
        Veto.QUANTIFIERS: lambda p: kinds.conflict(p.one.kinds, p.other.kinds, kinds.QUANTIFIERS),
        Veto.COMPARISON: lambda p: p.flips[1],
        Veto.ORDER: lambda p: order.conflict(p.one.order, p.other.order),
        Veto.NAMES: lambda p: names.conflict(p.one.names, p.other.names),
        Veto.CODES: lambda p: names.code_conflict(p.one.names, p.other.names),
        Veto.PERSONS: lambda p: kinds.conflict(p.one.kinds, p.other.kinds, kinds.PERSONS),
        Veto.PLACES: _places,
        Veto.KIND: lambda p: kinds.conflict(p.one.kinds, p.other.kinds, kinds.THINGS),
        Veto.FORMAT: lambda p: formats.conflict(p.one.formats, p.other.formats),
        Veto.LENGTH: lambda p: p.one.lengths != p.other.lengths or quantities.LENGTH in p.sorts,
        Veto.LANGUAGE: lambda p: language.conflict(p.one.language, p.other.language),
        Veto.QUESTION: lambda p: questions.conflict(p.one.questions, p.other.questions),
        Veto.FRAGMENT: lambda p: p.one.fragment or p.other.fragment,
        Veto.PAYLOAD: _payload,
        Veto.LONG: lambda p: longer.conflict(p.one.long, p.other.long),
    }


@lru_cache(maxsize=1)
def _hints() -> dict[Veto, Rule]:
    """Give the rules for differences that mean less: they never do more than raise the bar."""
    return {
        Veto.NUMBERS: lambda p: quantities.TYPE in p.sorts,
        Veto.NAMES: lambda p: names.unmatched(p.one.names, p.other.names),
        Veto.PERSONS: lambda p: kinds.one_sided(p.one.kinds, p.other.kinds),
        Veto.FORMAT: lambda p: p.one.formats != p.other.formats,
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


def compare(one: Features, other: Features, rules: GateRules) -> Comparison:
    """Give the words of all rules that object to answering one text with the other's answer."""
    unread = one.tail != other.tail or one.pictures != other.pictures
    if not unread and one.plain == other.plain and names.same(one.names, other.names):
        # Only case, blanks, punctuation or contractions differ.
        return _NOTHING
    vetoed: list[str] = []
    raised: list[str] = []
    hints = _hints()
    pair = _Pair(one, other)
    asked = _Pair(one.question, other.question) if one.asked or other.asked else None
    for word, differs in _rules().items():
        effect: Effect = getattr(rules, word.value)
        if effect is Effect.OFF:
            continue
        if not differs(pair):
            if word in hints and hints[word](pair):
                raised.append(word.value)
            continue
        if asked is not None and word in _TOLD and not differs(asked):
            effect = min(effect, rules.stories, key=lambda effect: effect.strictness)
        if effect is not Effect.OFF:
            (vetoed if effect is Effect.VETO else raised).append(word.value)
    if unread:
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
