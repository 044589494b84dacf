"""Does anything that was said before reach the last question?

Four ways: the question points back by itself (see `last`), it shares content with the history,
the user set a rule or told of anything that a question may be about, or it does not say itself what it is
about. A question to those who serve about themselves (`What are your opening hours?`) is free of what was told of
an order; one that names its subject after other questions may go on with theirs in new words (`Bali`, then
`vaccinations`), which words alone cannot tell. Knows nothing of records and vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise

from semcache.decide.context import last
from semcache.decide.context.chatter import is_courtesy
from semcache.decide.context.clauses import asks, sentences
from semcache.decide.context.leaning import FIRST_PERSON, JUDGING, WORLD, is_to_those_who_serve
from semcache.decide.context.smalltalk import concerns_bodies
from semcache.decide.context.standing import Standing, standing
from semcache.decide.context.turns import Turn
from semcache.decide.context.words import units, words_of
from semcache.decide.gate import features
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

_TOOLS = frozenset(
    split(
        "language package runtime browser database cloud vcs javascript manager shell dataformat office drug disease"
    )
)
COMMON = frozenset(
    unit
    for word in split("store shop account service customer website site company online page app")
    for unit in units(word)
)
_LONG = 4
_EXAMPLES = 2
_TERSE = 5
_HAN_YOU = ("你们", "贵公司", "贵店", "您们", "你们的")
_MEASURES = frozenset(split("many tall far old much long big deep high fast heavy"))
_HAN_WORLD = (
    "是什么",
    "什么是",
    "哪里",
    "哪儿",
    "谁",
    "什么时候",
    "几点",
    "多高",
    "多大",
    "多远",
    "多长",
    "多少人",
    "你们",
    "贵公司",
    "贵店",
    "哪一年",
    "哪年",
    "有没有",
)
_HAN_JUDGING = ("我", "咱", "推荐", "最好", "应该", "适合", "值得", "建议", "怎么", "如何")


class Reach(Enum):
    """What words alone tell: the history does not bear on the question, hardly does, may, does."""

    APART = "apart"
    DOUBTFUL = "doubtful"
    UNSURE = "unsure"
    BEARS = "bears"


def reach(history: Iterable[Turn], asked: str) -> Reach:
    """Tell whether the history bears on the question."""
    own = last.meant(asked)
    history = tuple(history)
    if own.reply or own.index or own.leans or _shows_how(history):
        return Reach.BEARS
    before = [
        (turn.user, part)
        for turn in history
        for part in sentences(turn.text)
        if not is_courtesy(part, user=turn.user)
    ]
    widest = max((_standing_of(part) for user, part in before if user), default=Standing.NOTHING)
    if widest is Standing.RULE or _shared(own.body, [part for _, part in before]):
        return Reach.BEARS
    if widest is Standing.BODY and concerns_bodies(own.body):
        return Reach.BEARS
    told_of_self = widest in (Standing.PERSON, Standing.BODY)
    if _is_to_who_serves(own.body):
        return Reach.DOUBTFUL if told_of_self else Reach.APART
    # `Which fertilizer do experts recommend?` is about whatever the user has told of.
    says_itself = widest is Standing.NOTHING and (own.names or not before)
    return Reach.UNSURE if says_itself else Reach.BEARS


def _shows_how(history: Sequence[Turn]) -> bool:
    """True for examples of how to answer: several questions, each answered in a few words."""
    answers = [turn.text for turn in history if not turn.user]
    return len(answers) >= _EXAMPLES and all(
        len(words_of(text)) <= _TERSE and not is_courtesy(text, user=False) and not asks(text)
        for text in answers
    )


def _is_to_who_serves(asked: str) -> bool:
    """True for `do you`, `your`, without anybody else in it: they are the same for all who ask."""
    words = words_of(asked)
    if any(is_han(word) for word in words):
        text = "".join(words)
        return any(mark in text for mark in _HAN_YOU) and not any(mark in text for mark in _HAN_JUDGING)
    return is_to_those_who_serve(words)


def _standing_of(clause: str) -> Standing:
    """A tool, a drug or a place that the asker has to do with reaches every question."""
    found = standing(clause)
    if found is Standing.NOTHING:
        return found
    seen = features(clause)
    technical = not _TOOLS.isdisjoint(seen.kinds)
    if found is Standing.PERSON:
        return Standing.RULE if technical or seen.places else found
    return Standing.PERSON if technical else found


def _shared(asked: str, before: Iterable[str]) -> bool:
    """True when the question goes on with something said before, other than the place where all is asked.

    In a long question about the world one word that comes again does not make it the same subject.
    """
    own = _topics(asked) - COMMON
    again = own & frozenset(topic for part in before for topic in _topics(part))
    return bool(again) and not (len(again) == 1 and len(own) >= _LONG and _is_worldly(asked))


def _topics(text: str) -> frozenset[str]:
    """Units; single Han characters say little, neighbours of them say what they say."""
    found = units(text)
    pairs = {a + b for a, b in pairwise(found) if is_han(a) and is_han(b)}
    return frozenset(unit for unit in found if not is_han(unit)) | pairs


def _is_worldly(asked: str) -> bool:
    """True for a question about the world or about those who answer, which no fact about the asker changes."""
    words = words_of(asked)
    if any(is_han(word) for word in words):
        text = "".join(words)
        return any(mark in text for mark in _HAN_WORLD) and not any(mark in text for mark in _HAN_JUDGING)
    if not FIRST_PERSON.isdisjoint(words) or not JUDGING.isdisjoint(words):
        return False
    return words[0] in WORLD or (words[0] == "how" and len(words) > 1 and words[1] in _MEASURES)
