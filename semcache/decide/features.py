"""Everything that the gate's rules compare, extracted once from one text.

Knows the rule families and how each reads a text; knows nothing of comparing two texts (see
`gate`). Linear in the text, takes any Unicode, never raises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from semcache.decide import (
    conditions,
    dates,
    formats,
    fragments,
    kinds,
    language,
    longer,
    names,
    negation,
    order,
    payload,
    places,
    polarity,
    poles,
    quantities,
    questions,
    reading,
    sentences,
)
from semcache.decide.hidden import pictured
from semcache.decide.marks import Found, Lexicon, build
from semcache.decide.number_digits import negatives
from semcache.decide.rereading import remembered
from semcache.decide.text import Text, read, without

_FAMILIES = (
    dates.FAMILY,
    formats.FAMILY,
    kinds.FAMILY,
    negation.FAMILY,
    places.FAMILY,
    poles.FAMILY,
)


@dataclass(frozen=True, slots=True)
class Features:
    """What each family read in one text; `plain`, `tail` and `pictures` tell texts of equal letters."""

    quantities: quantities.Quantities
    dates: dates.Dates
    polarity: polarity.Polarity
    names: names.Names
    kinds: dict[str, frozenset[str]]
    places: frozenset[str]
    words: frozenset[str]
    formats: frozenset[str]
    lengths: frozenset[str]
    language: str
    order: order.Order
    questions: frozenset[str]
    payload: payload.Payload | None
    fragment: bool
    long: tuple[str, ...]
    plain: str
    tail: bytes
    pictures: str
    asked: Features | None = None
    """Of a long story: what is left of it when all that it merely tells is taken away."""

    @property
    def question(self) -> Features:
        """What is asked: the whole of a direct question, the end of a story."""
        return self.asked or self


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Give all phrases of all families."""
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


@remembered(len)
def features(text: str) -> Features:
    """Read a text for comparison with many others."""
    return extract(text)


def extract(text: str) -> Features:
    """Read a text, remembering nothing."""
    seen = read(text)
    told = sentences.asides(seen.tokens)
    whole = _extract(seen, told)
    if not sentences.is_story(seen.tokens, told):
        return whole
    asked = without(seen, told)
    return replace(whole, asked=_extract(asked, sentences.asides(asked.tokens)))


def _extract(seen: Text, asides: frozenset[int]) -> Features:
    found = families(seen)
    amounts = reading.extract(seen, asides)
    for item in found[dates.FAMILY]:
        if item.mark.name == dates.FEAST:
            month, _, day = item.mark.member.partition("-")
            amounts.months.add(int(month))
            amounts.numbers.append(quantities.Number(day, soft=True, at=(item.start, item.end)))
    terms = conditions.places(seen.tokens)
    if terms:
        amounts.numbers = [
            quantities.typed(number) if number.at[0] in terms else number for number in amounts.numbers
        ]
    negated = negation.of(found[negation.FAMILY], seen.tokens, asides)
    known = {
        i
        for family in (kinds.FAMILY, places.FAMILY, dates.FAMILY)
        for item in found[family]
        if not kinds.is_ambiguous(item, seen.tokens)
        for i in range(item.start, item.end)
    }
    forms = formats.wanted(found[formats.FAMILY])
    return Features(
        quantities=amounts,
        dates=dates.of(found[dates.FAMILY], seen.tokens, amounts.months, amounts.times, asides),
        polarity=polarity.Polarity(
            poles.sides(found[poles.FAMILY]),
            negated,
            frozenset(seen.words),
            frozenset(order.stem(word) for word in seen.words),
            polarity.undone(seen.compact),
            seen.compact,
        ),
        names=names.of(
            seen,
            frozenset(known | amounts.taken),
            asides | sentences.glosses(seen.tokens),
            terms,
        ),
        kinds=kinds.members(found[kinds.FAMILY]),
        places=places.of(found[places.FAMILY], seen.tokens),
        words=frozenset(seen.words),
        formats=forms - formats.LENGTHS,
        lengths=forms & formats.LENGTHS,
        language=language.detect(seen),
        order=order.of(seen.tokens),
        questions=questions.kinds(seen.tokens),
        payload=payload.find(seen),
        fragment=fragments.is_fragment(seen.tokens),
        long=longer.content(seen.words),
        plain=f"{seen.compact}{''.join(f'-{place}' for place in negatives(seen))}",
        tail=seen.tail,
        pictures=pictured(seen.head),
    )


def families(seen: Text) -> dict[str, list[Found]]:
    """Scan once and sort the marks by rule family."""
    found: dict[str, list[Found]] = {family: [] for family in _FAMILIES}
    phrases = lexicon()
    for item in phrases.scan(seen.words):
        found[item.mark.family].append(item)
    for phrase, start, end in poles.join_particles(seen.words, _phrasal()):
        found[poles.FAMILY] += [
            Found(mark, start, end) for mark in phrases.phrases.get(phrase, ()) if mark.family == poles.FAMILY
        ]
    return found
