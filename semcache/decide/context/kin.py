"""Words that stand for each other in two tellers' mouths, by a dictionary that the caller passes in.

What the thesaurus here does not know may still be the same: `zip` and `zipper`, `tiny` and
`small`, a slip of a finger. Opposites and two kinds of one thing (`Edinburgh`, `Dublin`) never are. Knows
nothing of chats and of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from semcache.decide.context.words import base
from semcache.decide.verify.lexicon import Relation
from semcache.decide.wordlist import split

_SAME = 0.15
_SIBLING = 0.1
_NEAR = 0.82
"""Cosine of two word vectors from which they count as one, when they are neither opposites nor of one kind."""


Row = NDArray[np.float32]


class Kin(Protocol):
    """A dictionary of single words, and a judge of two short texts; hashable, and of one mind as long as it lives."""

    def relation(self, one: str, other: str) -> Relation:
        """Say how two words stand to each other."""
        ...

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the probability that both ask the same, in [0, 1]; None: it cannot tell."""
        ...

    def __hash__(self) -> int:
        """Answers are remembered by it."""
        ...


class Judge(Kin, Protocol):
    """The judge of whole chats: see `judge.ChatJudge`."""

    def one_case(self, row: Row) -> float:
        """Give the probability that two chats are one case, from `comparing.row`."""
        ...

    def may_drop(self, row: Row) -> float:
        """Give the probability that a clause is talk by the way, from `dropping.dropping`."""
        ...

    def small_talk(self, encoder: str, vector: Row) -> float | None:
        """Give the log-odds that a text is small talk, by its vector; None for an encoder that is not known."""
        ...


@lru_cache(maxsize=1)
def _light() -> frozenset[str]:
    """Verbs that lean on their object, and words of manner: they tell no case from another."""
    words = split(
        "keep stand become hold run turn let set proper properly message access folk hiya yum "
        "write add check talk speak call reply respond provide offer head place inform state explain describe mine fact chance "
        "pull pick hand follow cause lead wind reach verify assure suggest advise recommend recognise recognize recall remember identify determine ensure "
        "enable encounter face experience attempt bother matter consist contain seem figure grab pop "
        "status process procedure team customer client support staff department representative rep agent person people human place area rest bunch plenty amount "
        "purpose goal aim sake effort approach manner means basis sense aspect circumstance background experience explanation answer response solution "
        "apparently accidentally suddenly mistakenly unexpectedly constantly continually consistently regularly randomly entirely currently lately shortly immediately quickly slowly "
        "eventually gradually roughly approximately slightly somewhat barely hardly nearly merely purely decent solid significant essential useful helpful handy reasonable okay ok alright "
        "come bring visit act serve spot damn darn yay whew phew sheesh nope yup yep welp anywho heck gosh bro buddy mate pal "
        "已 经 说 讲 掉 跟 起 始 家 自 己 次 种 款 位 只 两 本 点 件 些 样 时 候 间 现 刚 才 应 费 用"
    )
    return frozenset(words) | frozenset(base(word) for word in words)


def is_light(words: Sequence[str]) -> bool:
    """True for words that all tell no case from another."""
    return all(word in _light() or base(word) in _light() for word in words)


def are_kin(one: str, other: str, kin: Kin) -> bool:
    """True for words that may stand for each other."""
    if base(one) == base(other):
        return True
    found = kin.relation(one, other)
    if found.antonym:
        return False
    if max(found.synonym, found.similar, found.typo) >= _SAME:
        return True
    return max(found.sibling, found.broader) < _SIBLING and found.cosine >= _NEAR
