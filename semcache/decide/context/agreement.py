"""Do two chats come to the same? The reasons why not, as category words without any text.

Both records must hold the same matter, item by item, in both directions: figures, dates, names,
kinds of things, corrections, what is proposed and how it is answered, and every content word of
what the users said. What an assistant said must not differ in figures and names, nor in one
word within otherwise equal sentences. With a dictionary and a judge of wording (`kin`) a chat may
also be the other told in other words, or with small talk added: see `likeness`. Symmetric; a chat
agrees with itself. Knows nothing of vectors but the two cosines that the caller has measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from semcache.decide.context import likeness
from semcache.decide.context.kin import Kin
from semcache.decide.context.matter import Matter, matter
from semcache.decide.context.pairing import FIGURES, differences, exchanged, sentences_differ
from semcache.decide.context.resolve import Reading, resolved, settle
from semcache.decide.context.words import words_of


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
    asked: Reading, stored: Reading, nearness: Nearness | None = None, kin: Kin | None = None
) -> tuple[str, ...]:
    """Give the reasons against answering one chat with the other's answer; none means that they agree.

    A reading that was not settled (see `resolve.settle`) counts as bound.

    Args:
        asked: The chat of the request.
        stored: The chat of the entry.
        nearness: Checked against `NEAR` where both are bound and their histories differ.
        kin: A dictionary and a judge of wording; without it every content word needs its own like.
    """
    asked, stored = settle(asked, None), settle(stored, None)
    if asked.kind != stored.kind:
        return (Reason.KIND.value,)
    if asked.context == stored.context and asked.context:
        return ()
    if asked.kind == "opaque":
        return (Reason.HISTORY.value,)
    one, other = matter(asked.context), matter(stored.context)
    if one is None or other is None:
        return (Reason.UNREAD.value,)
    if one.record.system != other.record.system:
        return (Reason.SYSTEM.value,)
    if asked.kind == "standalone":
        return ()
    found = _bound(one, other, nearness)
    if not found or kin is None:
        return found
    return _told_apart(asked.context, stored.context, kin) or _judged(one, other, nearness, kin)


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


@lru_cache(maxsize=256)
def _told_apart(asked: bytes, stored: bytes, kin: Kin) -> tuple[str, ...]:
    """Give the reasons in the words why one chat is not the other told otherwise; asked for twice a candidate."""
    one, other = matter(asked), matter(stored)
    if one is None or other is None:
        return (Reason.UNREAD.value,)
    reasons = {
        Reason.REPLY: one.record.reply != other.record.reply,
        Reason.ITEM: one.record.index != other.record.index or one.item != other.item,
        Reason.TOPIC: likeness.turned_round(one, other),
        Reason.CORRECTION: one.retracted != other.retracted,
        Reason.NUMBER: _counts_differ(one, other) or likeness.adds_figure(one, other),
        Reason.NEGATION: _denied(one, other) or likeness.denials_differ(one, other),
        Reason.DETAIL: _heard_otherwise(one, other) or likeness.adds_person(one, other),
    }
    found = tuple(word.value for word, objects in reasons.items() if objects)
    return found or _in_words(one, other, kin)


def _in_words(one: Matter, other: Matter, kin: Kin) -> tuple[str, ...]:
    """Give what the dear comparisons object to."""
    if likeness.offers_differ(one, other, kin):
        return (Reason.OFFER.value,)
    if likeness.exchanges(one, other, kin) or likeness.adds_own_fact(one, other, kin):
        return (Reason.DETAIL.value,)
    return tuple(f"context-{word}" for word in sorted(likeness.figures_differ(one, other)))


def _judged(one: Matter, other: Matter, nearness: Nearness | None, kin: Kin) -> tuple[str, ...]:
    """Ask the judge, where the chats are near enough to be judged; nothing is asked before that was measured."""
    if nearness is None:
        return ()
    if not (nearness.resolved >= RETOLD.resolved and nearness.last >= RETOLD.last):
        return (Reason.TOPIC.value,)
    score = kin.score(resolved(one.record), resolved(other.record), nearness.resolved)
    # What is not a number is no score.
    return () if score is not None and score >= likeness.LEAST else (Reason.TOPIC.value,)


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
