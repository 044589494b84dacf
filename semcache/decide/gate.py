"""The gate: does the wording show that two questions need different answers?

Runs after a vector match and can only object. It speaks in category words, never in text, is
symmetric, never objects to a text compared with itself, takes any Unicode, and costs a fraction
of a millisecond. Rules are conservative: each objects only where both readings are plain.
Knows nothing of vectors, entries or policies beyond which rules are switched on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from semcache.core import GateRules
from semcache.decide import (
    dates,
    formats,
    kinds,
    language,
    names,
    negation,
    order,
    places,
    polarity,
    poles,
    quantities,
    questions,
    reading,
    sentences,
    units,
)
from semcache.decide.marks import Found, Lexicon, build
from semcache.decide.reasons import Veto
from semcache.decide.text import Text, read

_REMEMBERED_LENGTH = 2_000
"""Characters up to which the features of a text are kept: a bound on memory, not on what is read."""


@dataclass(frozen=True, slots=True)
class Features:
    """Everything that the rules compare, extracted once from one text."""

    quantities: quantities.Quantities
    dates: dates.Dates
    polarity: polarity.Polarity
    names: names.Names
    kinds: dict[str, frozenset[str]]
    places: frozenset[str]
    formats: frozenset[str]
    language: str
    order: order.Order
    questions: frozenset[str]
    plain: str
    tail: bytes


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return build(
        chain(
            dates.entries(),
            formats.entries(),
            kinds.entries(),
            negation.entries(),
            places.entries(),
            poles.entries(),
        )
    )


@lru_cache(maxsize=1)
def _phrasal() -> dict[str, str]:
    return poles.phrasal_bases()


def features(text: str) -> Features:
    """Read a text for comparison with many others."""
    return _remembered(text) if len(text) <= _REMEMBERED_LENGTH else _extract(text)


@lru_cache(maxsize=4096)
def _remembered(text: str) -> Features:
    return _extract(text)


def _extract(text: str) -> Features:
    seen = read(text)
    found = _families(seen)
    asides = sentences.asides(seen.tokens)
    amounts = reading.extract(seen, asides)
    negated = negation.of(found[negation.FAMILY], seen.tokens, asides)
    known = {
        i
        for family in (kinds.FAMILY, places.FAMILY, dates.FAMILY)
        for item in found[family]
        for i in range(item.start, item.end)
    }
    return Features(
        quantities=amounts,
        dates=dates.of(found[dates.FAMILY], seen.tokens, amounts.months, amounts.times, asides),
        polarity=polarity.Polarity(
            poles.sides(found[poles.FAMILY]),
            negated,
            frozenset(seen.words),
            frozenset(order.stem(word) for word in seen.words),
        ),
        names=names.of(seen, frozenset(known), asides | sentences.glosses(seen.tokens)),
        kinds=kinds.members(found[kinds.FAMILY]),
        places=places.named(found[places.FAMILY]),
        formats=formats.wanted(found[formats.FAMILY]),
        language=language.detect(seen),
        order=order.of(seen.words),
        questions=questions.kinds(seen.tokens),
        plain=seen.compact,
        tail=seen.tail,
    )


def _families(seen: Text) -> dict[str, list[Found]]:
    """Scan once and sort the marks by rule family."""
    found: dict[str, list[Found]] = {
        family: []
        for family in (
            dates.FAMILY,
            formats.FAMILY,
            kinds.FAMILY,
            negation.FAMILY,
            places.FAMILY,
            poles.FAMILY,
        )
    }
    lexicon = _lexicon()
    for item in lexicon.scan(seen.words):
        found[item.mark.family].append(item)
    for phrase in poles.join_particles(seen.words, _phrasal()):
        found[poles.FAMILY] += [
            Found(mark, 0, 0) for mark in lexicon.phrases.get(phrase, ()) if mark.family == poles.FAMILY
        ]
    return found


def compare(one: Features, other: Features, rules: GateRules) -> tuple[str, ...]:
    """Give the words of all rules that object to answering one text with the other's answer."""
    if one.plain == other.plain and one.tail == other.tail and not names.conflict(one.names, other.names):
        # Only case, blanks, punctuation or contractions differ.
        return ()
    unread = one.tail != other.tail
    objections = {
        Veto.NUMBERS: rules.numbers and quantities.conflict(
            one.quantities, other.quantities, one.dates.months, other.dates.months
        ),
        Veto.UNITS: rules.units and units.conflict(
            quantities.open_units(one.quantities, other.quantities),
            quantities.open_units(other.quantities, one.quantities),
        ),
        Veto.DATES: rules.dates and (
            dates.conflict(one.dates, other.dates)
            or quantities.open_months(one.quantities, one.dates.months, other.dates.months)
            or quantities.open_months(other.quantities, other.dates.months, one.dates.months)
        ),
        Veto.NEGATION: rules.negation and polarity.conflict(one.polarity, other.polarity),
        Veto.NAMES: rules.names and (one.places != other.places or names.conflict(one.names, other.names)),
        Veto.KIND: rules.names and kinds.conflict(one.kinds, other.kinds),
        Veto.QUESTION: rules.order and questions.conflict(one.questions, other.questions),
        Veto.FORMAT: rules.language and one.formats != other.formats,
        Veto.LANGUAGE: rules.language and language.conflict(one.language, other.language),
        Veto.ORDER: rules.order and order.conflict(one.order, other.order),
        Veto.UNREAD: unread,
    }  # fmt: skip
    return tuple(word.value for word, objects in objections.items() if objects)


def vetoes(asked: str, stored: str, rules: GateRules) -> tuple[str, ...]:
    """Give the category words (`reasons.Veto`) under which the two texts differ; empty when none."""
    return compare(features(asked), features(stored), rules)
