"""What speaks for and against two answers telling the same: one small function a kind of fact.

Each gives signals or none; a signal has a closed word, and a weight in units of log odds: above 0 for the
same, below 0 for another fact. Facts weigh by themselves; wording is only heard where no fact speaks
against it, since another fact in the same sentence is what a wrong answer looks like. The weights are set
by hand on the development pairs (tests/decide/answers). Knows nothing of the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from semcache.decide import language
from semcache.decide.answers import code
from semcache.decide.answers.facts import Facts, amounts_of, overlap, says, shared, words_of
from semcache.decide.answers.frames import replaced
from semcache.decide.answers.reading import Answer, is_closed
from semcache.decide.features import Features, features

_ALIKE = 0.6
"""Share of common words from which two sentences speak of one thing."""
_SHORT = 7
"""Words of news up to which an answer is nothing but its fact."""
_PLAIN = 10
"""Words of news up to which a negation is about the answer itself."""
_LONG = 15
"""Words of news from which an answer tells more than its fact."""
_FEWEST = 3
"""Words of news from which a sentence has a frame."""
_BRIEF = 24
"""Letters and digits up to which an answer is looked for inside the other."""
_PAIRS = 64
_OPPOSITES = "o"
"""How the gate names concepts that are opposites proper."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One observation: its word, how much it says, and whether it is about facts or about wording only."""

    word: str
    weight: float
    wording: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """An answer, read, and its facts."""

    answer: Answer
    facts: Facts


def collect(question: str, one: Side, other: Side) -> Iterator[Signal]:
    """Yield everything that the two texts show."""
    yield from _languages(one, other)
    yield from _polarity(question, one, other)
    yield from _amounts(question, one, other)
    yield from _identifiers(one, other)
    yield from _dates(one, other)
    yield from _names(question, one, other)
    yield from _opposites(question, one, other)
    yield from _sentences(one, other)
    yield from _code(one, other)
    yield from _words(one, other)


def _languages(one: Side, other: Side) -> Iterator[Signal]:
    if language.conflict(one.facts.whole.language, other.facts.whole.language):
        yield Signal("language", -3.0)


def _polarity(question: str, one: Side, other: Side) -> Iterator[Signal]:
    """Yes against no; where only one side says the word, the other's first sentence stands for it."""
    left, right = one.answer.lead, other.answer.lead
    if left and right:
        yield Signal("polarity-agrees", 0.8) if left == right else Signal("polarity", -3.5)
        return
    if not is_closed(question):
        if _denies(one) != _denies(other) and len(one.facts.words | other.facts.words) <= 2:
            yield Signal("negation", -2.5)
        return
    said = (left or _implied(question, one), right or _implied(question, other))
    if all(said):
        agree = said[0] == said[1]
        yield Signal("polarity-agrees", 0.6) if agree else Signal("polarity", -2.2)


def _implied(question: str, side: Side) -> str:
    """Give what the first sentence says to a closed question: no, if it denies what was asked; "" if unclear."""
    first = features(side.answer.sentences[0]) if side.answer.sentences else side.facts.first
    asked = features(question).polarity.stems
    scopes = first.polarity.negation.scopes
    if not scopes:
        return "yes"
    return "no" if len(scopes) == 1 and any(stem in asked for stem in scopes[0]) else ""


def _denies(side: Side) -> bool:
    first = features(side.answer.sentences[0]) if side.answer.sentences else side.facts.first
    return len(first.polarity.negation.scopes) % 2 == 1


def _amounts(question: str, one: Side, other: Side) -> Iterator[Signal]:
    """Amounts of one kind: one that both state speaks for, none in common speaks against."""
    agreed = 0
    differ: list[str] = []
    for kind in one.facts.amounts.keys() & other.facts.amounts.keys():
        if shared(one.facts.amounts[kind], other.facts.amounts[kind]):
            agreed += 1
        else:
            differ.append(kind)
    if differ and not agreed:
        agreed = bool(one.facts.figures & other.facts.figures)
    if agreed and not differ:
        yield Signal("numbers-agree", 1.6 + 0.4 * min(agreed - 1, 2))
    elif differ and agreed:
        # 4 g a day, and so many hours between doses: another detail, if not another figure in the same sentence.
        framed = _in_one_frame(question, one, other, differ)
        same_figure = bool(one.facts.figures & other.facts.figures)
        yield Signal("numbers", -0.5 if not framed else -1.0 if same_figure else -2.0)
    elif differ:
        told_first = any(kind in one.facts.head and kind in other.facts.head for kind in differ)
        # Long texts hold figures of many things; there only those about the same thing speak.
        plain = told_first and not (_is_long(one) and _is_long(other))
        heavy = plain or _in_one_frame(question, one, other, differ)
        yield Signal("numbers", (-2.8 if heavy else -1.2) - 0.4 * min(len(differ) - 1, 1))
    elif one.facts.head and other.facts.head:
        # The same figure read with another unit or none, or figures that have nothing to do with each other.
        same = shared(_all(one.facts), _all(other.facts)) or bool(one.facts.figures & other.facts.figures)
        yield Signal("numbers-agree", 1.4) if same else Signal("numbers", -0.9)


def _in_one_frame(question: str, one: Side, other: Side, kinds: Sequence[str]) -> bool:
    """True when two sentences in nearly the same words state other amounts of such a kind."""
    asked = features(question)
    for a, b in _aligned(one, other):
        left, right = amounts_of(features(a), asked), amounts_of(features(b), asked)
        if any(kind in left and kind in right and not shared(left[kind], right[kind]) for kind in kinds):
            return True
    return False


def _aligned(one: Side, other: Side) -> Iterator[tuple[str, str]]:
    """Yield the pairs of sentences that speak of one thing in nearly the same words."""
    for a, b in islice(((a, b) for a in one.answer.sentences for b in other.answer.sentences), _PAIRS):
        left, right = words_of(a), words_of(b)
        if overlap(left, right) >= _ALIKE and min(len(left), len(right)) >= _FEWEST:
            yield a, b


def _all(facts: Facts) -> frozenset[float]:
    return frozenset(value for values in facts.amounts.values() for value in values)


def _identifiers(one: Side, other: Side) -> Iterator[Signal]:
    left, right = one.facts.identifiers, other.facts.identifiers
    if not left or not right:
        return
    same = any(
        a.endswith(b) or b.endswith(a) or a.startswith(b) or b.startswith(a) for a in left for b in right
    )
    yield Signal("identifiers-agree", 2.0) if same else Signal("identifiers", -2.5)


def _dates(one: Side, other: Side) -> Iterator[Signal]:
    for word, left, right in (
        ("months", one.facts.months, other.facts.months),
        ("days", one.facts.days, other.facts.days),
    ):
        if left and right:
            yield Signal(f"{word}-agree", 0.8) if frozenset(left) & frozenset(right) else Signal(word, -1.2)


def _names(question: str, one: Side, other: Side) -> Iterator[Signal]:
    """Names that are news: found on the other side, or another one in their place."""
    left, right = one.facts.names, other.facts.names
    found = sum(says(name, other.facts) for name in left) + sum(says(name, one.facts) for name in right)
    lost = [
        sum(not says(name, there) for name in names)
        for names, there in ((left, other.facts), (right, one.facts))
    ]
    long = _is_long(one) and _is_long(other)
    if found and not min(lost):
        yield Signal("names-agree", 1.4)
    elif found:
        yield Signal("names-agree", 0.7) if long else Signal("names", -0.85)
    elif all(lost):
        yield Signal("names", -1.0 if long else -2.6)
    elif any(lost) and _left_subject(question, one, other):
        yield Signal("subject", -1.8)


def _is_long(side: Side) -> bool:
    return len(side.facts.words) > _LONG


def _left_subject(question: str, one: Side, other: Side) -> bool:
    """True when the side that brings a new name speaks of none of what the question names, and the other does."""
    asked = features(question)
    subjects = {part for name in asked.names.names for part in name} | asked.places | asked.names.literals
    if not subjects:
        return False
    spoken = [any(says(name, side.facts) for name in subjects) for side in (one, other)]
    brings = [
        any(not says(name, there) for name in side.facts.names)
        for side, there in ((one, other.facts), (other, one.facts))
    ]
    return (spoken == [True, False] and brings[1]) or (spoken == [False, True] and brings[0])


def _opposites(question: str, one: Side, other: Side) -> Iterator[Signal]:
    """The other side of an opposite that the question speaks of, or that one sentence is about."""
    asked = features(question)
    against = [_flipped(asked, side.facts.first) for side in (one, other)]
    in_one = _one_sentence(one, other) and _flipped(one.facts.first, other.facts.first)
    if against[0] != against[1] or in_one:
        yield Signal("opposites", -2.0)


def _one_sentence(one: Side, other: Side) -> bool:
    return max(len(one.answer.sentences), len(other.answer.sentences)) == 1


def _flipped(one: Features, other: Features) -> bool:
    """True for opposites (enable, disable); words of degree and direction (more, before) stand anywhere."""
    sides = other.polarity.sides
    return any(
        name in sides and sides[name] != side
        for name, side in one.polarity.sides.items()
        if name.startswith(_OPPOSITES)
    )


def _sentences(one: Side, other: Side) -> Iterator[Signal]:
    """Two sentences in nearly the same words: one denies, or has another word in the place of a word."""
    denied = [_denied(a, b) for a, b in _aligned(one, other)]
    if denied and all(denied):
        brief = max(len(one.facts.words), len(other.facts.words)) <= _PLAIN
        yield Signal("negation", -2.0 if brief else -1.0)
    elif denied and not any(denied):
        yield Signal("sentences-agree", 0.4, wording=True)
    if _one_sentence(one, other) and replaced(one.answer.sentences, other.answer.sentences):
        yield Signal("replaced", -0.9)


def _denied(one: str, other: str) -> bool:
    """True when one sentence denies something that the other speaks of (`not the euro` says no more than francs)."""
    left, right = features(one).polarity, features(other).polarity
    counts = [
        sum(not scope or scope[0] in there.stems for scope in here.negation.scopes)
        for here, there in ((left, right), (right, left))
    ]
    return (counts[0] - counts[1]) % 2 == 1


def _code(one: Side, other: Side) -> Iterator[Signal]:
    match code.verdict(one.answer.code, other.answer.code):
        case True:
            yield Signal("code-agrees", 1.4)
        case False:
            yield Signal("code", -2.4)


def _words(one: Side, other: Side) -> Iterator[Signal]:
    """What both say that the question did not; of a short answer all of it counts."""
    if _contains(one, other) or _contains(other, one):
        yield Signal("contained", 1.6, wording=True)
        return
    left, right = one.facts.words, other.facts.words
    if not left or not right:
        return
    share, least = overlap(left, right), min(len(left), len(right))
    if least <= _SHORT:
        agrees = share >= 0.75
        yield Signal("words-agree" if agrees else "words", 1.8 if agrees else 2.6 * share - 1.1, wording=True)
    else:
        weight = max(-0.8, min(1.6, 5.0 * share - 1.2))
        yield Signal("words-agree" if weight > 0 else "words", weight, wording=True)


def _contains(one: Side, other: Side) -> bool:
    """True when one answer is so short that it stands as a whole in the other: `144`, `Spam`."""
    short = one.facts.compact
    return 0 < len(short) <= _BRIEF and short in other.facts.compact and _denies(one) == _denies(other)
