"""Do two chats come to the same? The reasons why not, as category words without any text.

What was said before the very same words agrees. Else, with a judge of chats (`kin`), each clause of one user is set
against those of the other: what has no counterpart, what was added, what the assistants said and proposed become a
row of numbers, and the judge says how likely both are one case; figures, names, corrections and refusals must
agree whatever it says. Without a judge both must hold the same matter, item by item, in both directions.
Symmetric; a chat agrees with itself. Knows nothing of vectors but what the caller has measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from semcache.decide.context import likeness
from semcache.decide.context.comparing import Closeness, Side, is_retouched, row
from semcache.decide.context.kin import Judge
from semcache.decide.context.last import meant
from semcache.decide.context.matter import Matter, matter
from semcache.decide.context.pairing import FIGURES, differences, exchanged, sentences_differ
from semcache.decide.context.resolve import Reading, resolved, settle
from semcache.decide.context.saying import Telling, telling
from semcache.decide.context.sides import Talk, sides, unsure
from semcache.decide.context.words import words_of

ONE_CASE = 0.8
"""Least probability of chats that are one case."""
_IN_BETWEEN = 0.5
_MOST_SAID, _MOST_HEARD, _LONGEST = 32, 64, 80
"""Clauses of one teller that are set against another's, every one against every one, and words of one of them."""
_MOST_WORDS = 250
"""Words of one user: what is compared takes some 50 ms at most."""


class Reason(StrEnum):
    """Why two chats do not agree."""

    KIND = "context-kind"
    SYSTEM = "context-system"
    HISTORY = "context-history"
    REPLY = "context-reply"
    ITEM = "context-item"
    OFFER = "context-offer"
    CORRECTION = "context-correction"
    NEGATION = "context-negation"
    NUMBER = "context-number"
    DETAIL = "context-detail"
    TOPIC = "context-topic"
    UNREAD = "context-unread"


@dataclass(frozen=True, slots=True)
class Nearness:
    """Cosines on the reference scale: of the two resolved texts, and of the two last questions."""

    resolved: float
    last: float


NEAR = Nearness(resolved=0.75, last=0.70)
"""Least nearness of bound chats that agree: the record decides, vectors only rule out the unlike."""


RETOLD = Nearness(resolved=0.6, last=0.4)
"""Least nearness of chats of which a judge of wording may say that they are one."""


def agree(
    asked: Reading,
    stored: Reading,
    nearness: Nearness | None = None,
    kin: Judge | None = None,
    talk: Talk | None = None,
) -> tuple[str, ...]:
    """Give the reasons against answering one chat with the other's answer; none means that they agree.

    A reading that was not settled (see `resolve.settle`) counts as bound.

    Args:
        asked: The chat of the request.
        stored: The chat of the entry.
        nearness: What was measured, where both are bound and their histories differ. None: only what needs no
            measure is looked at, and none may still mean a no.
        kin: The judge of chats; without it every content word needs its own like.
        talk: Tells small talk, of the texts that `open_texts` gives; None: nothing is small talk.
    """
    asked, stored = settle(asked, None), settle(stored, None)
    if asked.kind != stored.kind:
        return (Reason.KIND.value,)
    if asked.context == stored.context and asked.context:
        return ()
    one, other = matter(asked.context), matter(stored.context)
    unlike = _unlike(asked.kind, one, other)
    if unlike or asked.kind == "standalone" or one is None or other is None:
        return unlike
    if kin is None:
        return _bound(one, other, nearness)
    return _by_judge(asked.context, stored.context, nearness, kin, talk or _unknown)


def _unlike(kind: str, one: Matter | None, other: Matter | None) -> tuple[str, ...]:
    if kind == "opaque":
        return (Reason.HISTORY.value,)
    if one is None or other is None:
        return (Reason.UNREAD.value,)
    return () if one.record.system == other.record.system else (Reason.SYSTEM.value,)


def _by_judge(
    asked: bytes, stored: bytes, nearness: Nearness | None, kin: Judge, talk: Talk
) -> tuple[str, ...]:
    if _same_before(asked, stored):
        return ()
    against = _told_apart(asked, stored)
    if against or nearness is None:
        return against
    return _judged(asked, stored, nearness, kin, talk)


def open_texts(asked: Reading, stored: Reading, kin: Judge) -> tuple[str, ...]:
    """Give the texts of which it must be known whether they are small talk before two bound chats are compared."""
    one, other = telling(asked.context), telling(stored.context)
    if one is None or other is None or _same_before(asked.context, stored.context) or _too_many(one, other):
        return ()
    return unsure(one, other, kin)


ALIKE = Nearness(resolved=0.75, last=0.8)
"""Least nearness of chats that are only alike."""
_SHARED = 0.4


def alike(asked: Reading, stored: Reading, nearness: Nearness) -> bool:
    """Tell whether two bound chats that do not agree may be one case in other words, or with something added.

    They hold the same figures, dates, names, kinds, denials and corrections, the same offer, and
    no sentence of one is a sentence of the other with a word exchanged; what is left is content
    words of one that the other lacks. Those may be another wording, and may be another detail that
    changes the answer: no ground for serving, but for having a model revise the stored answer, or for
    asking a verifier. Symmetric.
    """
    asked, stored = settle(asked, None), settle(stored, None)
    one, other = matter(asked.context), matter(stored.context)
    if one is None or other is None or (asked.kind, stored.kind) != ("bound", "bound"):
        return False
    if one.record.system != other.record.system or _pointing(one, other):
        return False
    near = nearness.resolved >= ALIKE.resolved and nearness.last >= ALIKE.last
    return near and _is_one_case(one, other)


def _is_one_case(one: Matter, other: Matter) -> bool:
    left, right = one.own - other.every, other.own - one.every
    shared = len(one.own & other.own) >= _SHARED * len(one.own | other.own)
    if (left and right and not shared) or not set(_matters(one, other, None)) <= {Reason.DETAIL.value}:
        return False
    figures = FIGURES.intersection(differences(one.all_text, other.all_text))
    return (
        not figures
        and not sentences_differ(one.told, other.told, one.every & other.every)
        and not _heard_otherwise(one, other)
    )


def _bound(one: Matter, other: Matter, nearness: Nearness | None) -> tuple[str, ...]:
    found = _pointing(one, other)
    if found or one.history == other.history:
        return found
    # The dear comparisons are made for those few that pass the cheap ones.
    return _matters(one, other, nearness) or _wording(one, other)


def _unknown(_: str) -> float | None:
    return None


def _same_before(asked: bytes, stored: bytes) -> bool:
    """True where only the question itself is worded otherwise: everything before it, and beside it, is equal."""
    one, other = matter(asked), matter(stored)
    left, right = telling(asked), telling(stored)
    if one is None or other is None or left is None or right is None:
        return False
    points = [(chat.record.reply, chat.record.index, chat.item) for chat in (one, other)]
    return one.history == other.history and points[0] == points[1] and _beside(left) == _beside(right)


def _beside(told: Telling) -> frozenset[tuple[str, ...]]:
    return frozenset(part.forms for part in told.user[-told.last :] if not part.asks)


def _too_many(one: Telling, other: Telling) -> bool:
    return any(
        len(told.user) > _MOST_SAID
        or len(told.heard) > _MOST_HEARD
        or sum(len(part.forms) for part in told.user) > _MOST_WORDS
        or any(len(part.forms) > _LONGEST for part in (*told.user, *told.heard, *told.offer))
        for told in (one, other)
    )


@lru_cache(maxsize=256)
def _told_apart(asked: bytes, stored: bytes) -> tuple[str, ...]:
    """Give what speaks against two chats whatever a judge says; asked for twice a candidate."""
    one, other = matter(asked), matter(stored)
    if one is None or other is None:
        return (Reason.UNREAD.value,)
    reasons = {
        Reason.REPLY: one.record.reply != other.record.reply,
        Reason.ITEM: one.record.index != other.record.index or one.item != other.item,
        Reason.TOPIC: likeness.turned_round(one, other),
        Reason.CORRECTION: one.retracted != other.retracted,
        Reason.NUMBER: _counts_differ(one, other),
        Reason.NEGATION: _denied(one, other) or likeness.denials_differ(one, other),
        Reason.DETAIL: _heard_otherwise(one, other),
        Reason.OFFER: _accepts_otherwise(one, other),
    }
    return tuple(word.value for word, objects in reasons.items() if objects)


def _accepts_otherwise(one: Matter, other: Matter) -> bool:
    """Users who said the same word by word accept what was proposed: that is all that can differ."""
    same = [" ".join(words_of(part)) for part in one.record.told] == [
        " ".join(words_of(part)) for part in other.record.told
    ]
    return bool(one.record.reply) and same and _offers_differ(one, other)


def _judged(asked: bytes, stored: bytes, nearness: Nearness, kin: Judge, talk: Talk) -> tuple[str, ...]:
    """Ask the judge, where the chats are near enough to be judged."""
    if not (nearness.resolved >= RETOLD.resolved and nearness.last >= RETOLD.last):
        return (Reason.TOPIC.value,)
    one, other = telling(asked), telling(stored)
    if one is None or other is None or _too_many(one, other):
        return (Reason.UNREAD.value,)
    both = sides(one, other, kin, talk)
    if any(side.asked or _is_nothing_left(told, side) for told, side in zip((one, other), both, strict=True)):
        return (Reason.DETAIL.value,)
    numbers = row(one, other, both, closeness(one, other, nearness, kin), kin)
    if is_retouched(numbers):
        return (Reason.DETAIL.value,)
    chance = kin.one_case(numbers)
    # What is not a number is no chance.
    return () if chance >= ONE_CASE else (Reason.DETAIL.value,)


def _is_nothing_left(told: Telling, side: Side) -> bool:
    """True where a question leans on something, and all that could be meant was dropped as talk by the way."""
    own = meant(told.record.last)
    leans = bool(own.leans or own.reply or own.index)
    return leans and side.dropped > 0 and all(told.closes(part.saying) for part in side.kept)


def closeness(one: Telling, other: Telling, nearness: Nearness, kin: Judge) -> Closeness:
    """Give what a judge of wording says of the whole, of the questions and of what is offered."""
    offers = ["\n".join(part.text for part in told.offer) for told in (one, other)]
    return Closeness(
        nearness.resolved,
        nearness.last,
        _score(resolved(one.record), resolved(other.record), nearness.resolved, kin),
        _score(one.question.text, other.question.text, nearness.last, kin),
        _score(offers[0], offers[1], nearness.resolved, kin)
        if one.record.reply or other.record.reply
        else 1.0,
    )


def _score(one: str, other: str, similarity: float, kin: Judge) -> float:
    """Give the score of two texts; what cannot be told is in between."""
    if one == other:
        return 1.0
    # Either order gives the same numbers but for the last bits: one order for both.
    first, second = sorted((one, other))
    found = kin.score(first, second, similarity)
    return _IN_BETWEEN if found is None else found


def _pointing(one: Matter, other: Matter) -> tuple[str, ...]:
    """What the last question answers, points at or accepts."""
    reasons = {
        Reason.REPLY: one.record.reply != other.record.reply,
        Reason.ITEM: one.record.index != other.record.index or one.item != other.item,
        Reason.OFFER: _offers_differ(one, other),
        Reason.TOPIC: one.history != other.history and likeness.turned_round(one, other),
    }
    return tuple(word.value for word, objects in reasons.items() if objects)


def _offers_differ(one: Matter, other: Matter) -> bool:
    return one.offer != other.offer or sentences_differ(one.offered, other.offered)


def _wording(one: Matter, other: Matter) -> tuple[str, ...]:
    """Figures, dates, names and kinds of all that was said by the rules of the gate; then sentence by sentence."""
    found = differences(one.all_text, other.all_text)
    figures = tuple(f"context-{word}" for word in found if word in FIGURES)
    known = one.every & other.every
    detail = (
        sentences_differ(one.told, other.told, known)
        or sentences_differ(one.heard, other.heard, known)
        or _heard_otherwise(one, other)
    )
    return (*figures, Reason.DETAIL.value) if detail else figures


def _matters(one: Matter, other: Matter, nearness: Nearness | None) -> tuple[str, ...]:
    # What is not a number is not near.
    near = nearness is None or (nearness.resolved >= NEAR.resolved and nearness.last >= NEAR.last)
    reasons = {
        Reason.CORRECTION: one.corrections != other.corrections,
        Reason.NEGATION: _denied(one, other),
        Reason.NUMBER: _counts_differ(one, other) or likeness.adds_figure(one, other),
        Reason.DETAIL: bool(one.own - other.every or other.own - one.every)
        or one.touching(other)
        or other.touching(one)
        or exchanged(one.heard, other.heard),
        Reason.TOPIC: not near,
    }
    return tuple(word.value for word, objects in reasons.items() if objects)


def _denied(one: Matter, other: Matter) -> bool:
    return bool(one.denied_only & other.stated_only or one.stated_only & other.denied_only)


def _heard_otherwise(one: Matter, other: Matter) -> bool:
    """Users who said the same heard each something of its own: what they heard is what differs."""
    same = [" ".join(words_of(part)) for part in one.told] == [
        " ".join(words_of(part)) for part in other.told
    ]
    return same and exchanged(one.heard, other.heard, close=0.0)


def _counts_differ(one: Matter, other: Matter) -> bool:
    """`2 adults, 3 children` against `3 adults, 2 children`: the same figures on other things."""
    return any(
        unit in other.counted and numbers.isdisjoint(other.counted[unit])
        for unit, numbers in one.counted.items()
    )
