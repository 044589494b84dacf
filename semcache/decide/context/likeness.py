"""Is it one case in other words? What speaks against it, with a dictionary and a judge of wording at hand.

Sentences are set side by side, each with the nearest of the other chat. A word without a counterpart speaks
against them where the other sentence has one too (an exchange), not where it only was left
out; a figure, a name, a denial, a person and what an assistant alone said always do. What remains,
added facts above all, is for the judge, who hears the whole of both chats. Knows nothing of kinds of readings.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.decide.context.clauses import asks
from semcache.decide.context.kin import Kin, are_kin, plain_words, without_counterpart
from semcache.decide.context.matter import Matter, value, wishes
from semcache.decide.context.pairing import FIGURES, PERSONS, WEIGHED, differences, edited, overlap
from semcache.decide.context.standing import Standing, standing
from semcache.decide.context.words import base, is_function, units, words_of
from semcache.decide.features import Features, features
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

LEAST = 0.7
"""Least score of two whole chats that are one case."""
_SAID_BY_EITHER = frozenset(split("numbers money dates names codes"))
_ANSWERED = ("Yes: ", "No: ")
_CONCERNED = frozenset(split("i we he she they me us my our him them his their its both"))
_ANOTHER = 0.2
_CROSSED = 0.3
_POINTING = frozenset(split("it its they them their he him his she her that this there 它 他 她 这 那"))
_SIDE_BY_SIDE = 0.34
_POINTERS = frozenset(split("it them"))
_TELLING = WEIGHED - frozenset(split("codes quantifiers order"))
"""Rules of the gate that weigh sentences told in other words: an order and an amount may be worded anew."""
_SPEAKERS = frozenset(split("i we my our"))

Sides = Sequence[tuple[str, frozenset[str], frozenset[tuple[str, ...]]]]
"""Sentences with their units and those words that have no counterpart."""


def exchanges(one: Matter, other: Matter, kin: Kin) -> bool:
    """True when sentences side by side each have words without a counterpart, or differ by a rule of the gate."""
    left, right = _side(one, other, kin), _side(other, one, kin)
    known = one.every & other.every
    return any(_is_exchange(mine, right, known, kin) for mine in left) or any(
        _is_exchange(mine, left, known, kin) for mine in right
    )


def figures_differ(one: Matter, other: Matter) -> frozenset[str]:
    """Give the rules of the gate about figures and names by which the users' words differ.

    A figure that only the assistant of the other chat has said is said there, and one in a sentence
    by the way does not count.
    """
    mine, others = _of_the_case(one, other), _of_the_case(other, one)
    found = FIGURES.intersection(differences(mine, others))
    if found and found <= _SAID_BY_EITHER and not (_unsaid(mine, other) or _unsaid(others, one)):
        return frozenset()
    return found


def _of_the_case(one: Matter, other: Matter) -> str:
    return "\n".join(part for part in one.told if not _is_by_the_way(part, other))


def _unsaid(mine: str, other: Matter) -> bool:
    said = "\n".join((*other.told, *other.heard, *other.record.asides))
    return bool(_figures(features(mine)) - _figures(features(said)))


def _figures(seen: Features) -> frozenset[object]:
    numbers = [number.measure or number.text for number in seen.quantities.numbers]
    dates = (*seen.dates.days, *seen.dates.months, *seen.dates.times)
    return frozenset((*numbers, *dates, *seen.names.names, *seen.names.codes))


def turned_round(one: Matter, other: Matter) -> bool:
    """True when what was spoken of last before the question is not the same, of the same things."""
    pointing = not _POINTING.isdisjoint(words_of(one.record.last))
    left, right = _before(one, pointing), _before(other, pointing)
    if not left or not right:
        return False
    crossed = min(
        max((overlap(left[-1], part) for part in right[:-1]), default=0.0),
        max((overlap(right[-1], part) for part in left[:-1]), default=0.0),
    )
    return crossed > max(_CROSSED, overlap(left[-1], right[-1]))


def adds_figure(one: Matter, other: Matter) -> bool:
    """True when one user gives a figure of himself, in words that say nothing else, that the other chat knows nothing of."""
    return any(
        _is_figure_apart(part, theirs)
        for mine, theirs in ((one, other), (other, one))
        for part in mine.record.told
    )


def adds_person(one: Matter, other: Matter) -> bool:
    """True when one user tells of himself, or lays down, what the other says nothing of."""
    return any(
        _is_apart(part, theirs) and _tells_of_the_case(part)
        for mine, theirs in ((one, other), (other, one))
        for part in mine.record.told
    )


def _tells_of_the_case(part: str) -> bool:
    """True for what the user says of himself, lays down, or says of somebody and something spoken of: `the walls are damp`."""
    words = words_of(part)
    return (
        standing(part) >= Standing.PERSON
        or _is_han(part)
        or not _CONCERNED.isdisjoint(words)
        or words[:1] == ("the",)
    )


def _is_figure_apart(part: str, other: Matter) -> bool:
    """True for `I work three days a week`: a figure of the asker that the other chat knows nothing of."""
    if units(part) or standing(part) < Standing.PERSON:
        return False
    said = {value(word) for word in words_of(other.all_text)}
    return any(value(word) not in said for word in words_of(part) if value(word))


def _is_by_the_way(part: str, other: Matter) -> bool:
    return _is_apart(part, other) and not asks(part) and not _tells_of_the_case(part)


def _is_apart(part: str, other: Matter) -> bool:
    """True for a sentence that has no counterpart in the other chat."""
    found = frozenset(units(part))
    if part.startswith(_ANSWERED) or found <= other.every:
        return False
    return all(overlap(found, frozenset(units(against))) < _ANOTHER for against in other.told)


def _before(matter: Matter, every: bool) -> list[frozenset[str]]:
    """Give the units of what the user asked before the last question, or of all that he said."""
    parts = [part for part in matter.record.told if not part.startswith(_ANSWERED)]
    found = [frozenset(units(part)) for part in parts if every or asks(part)]
    return [part for part in found if part]


def denials_differ(one: Matter, other: Matter) -> bool:
    """True when one user answered more questions with a plain no."""
    return _denials(one) != _denials(other)


def adds_own_fact(one: Matter, other: Matter, kin: Kin) -> bool:
    """True when one user says something of himself, about a thing named before, that the other does not."""
    return _adds(one, other, kin) or _adds(other, one, kin)


def offers_differ(one: Matter, other: Matter, kin: Kin) -> bool:
    """True when what is proposed has a word on one side that the other side has not, or an opposite."""
    left, right = _offered(one), _offered(other)
    if not left or not right:
        return bool(left or right)
    return not (_is_within(left, right, kin) and _is_within(right, left, kin)) or not FIGURES.isdisjoint(
        differences("\n".join(one.offered), "\n".join(other.offered))
    )


def _side(one: Matter, other: Matter, kin: Kin) -> Sides:
    others = plain_words((*other.told, *other.heard, *other.record.asides), one.every)
    return [
        (part, frozenset(units(part)), without_counterpart(part, other.every, others, kin))
        for part in one.told
    ]


def _is_exchange(
    mine: tuple[str, frozenset[str], frozenset[tuple[str, ...]]],
    others: Sides,
    known: frozenset[str],
    kin: Kin,
) -> bool:
    text, found, alone = mine
    best = max(others, key=lambda side: (len(found & side[1]), overlap(found, side[1])), default=None)
    if best is None or best[0] == text:
        return False
    if alone and best[2]:
        return True
    if overlap(found, best[1]) < _SIDE_BY_SIDE:
        return False
    return (
        bool((found ^ best[1]) & PERSONS)
        or not _TELLING.isdisjoint(differences(text, best[0]))
        or (not _is_han(text) and edited(text, best[0], known, lambda a, b: are_kin(a, b, kin)))
    )


def _is_han(text: str) -> bool:
    return any(is_han(word) for word in words_of(text))


def _denials(matter: Matter) -> int:
    return sum(part.startswith("No: ") for part in matter.told)


def _adds(one: Matter, other: Matter, kin: Kin) -> bool:
    return any(
        alone
        and not _POINTERS.isdisjoint(words_of(part))
        and not _SPEAKERS.isdisjoint(words_of(part)[:3])
        and not found & other.own
        for part, found, alone in _side(one, other, kin)
    )


def _offered(matter: Matter) -> tuple[str, ...]:
    words = dict.fromkeys(word for part in matter.offered for word in words_of(part))
    return tuple(
        word
        for word in words
        if word[0].isalnum()
        and not is_function(word)
        and (word if is_han(word) else base(word)) not in wishes()
    )


def _is_within(one: Sequence[str], other: Sequence[str], kin: Kin) -> bool:
    return all(
        word in other
        or (not is_han(word) and any(not is_han(x) and are_kin(word, x, kin) for x in other))
        or bool(set(units(word)) & {unit for x in other for unit in units(x)})
        for word in one
    )
