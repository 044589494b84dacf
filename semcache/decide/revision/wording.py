"""The words in which two questions differ, whatever they mean, and which of them a changed answer still holds. Pure.

The gate's lists know places, names and amounts; `cancel my order` and `cancel my subscription` differ in a word of no list.
Where two questions are built alike, the words that only the older one has are what the answer was about, and a
changed answer that still holds one was changed by halves, as was one that lacks all that the new one says in such a place. Questions built differently say one thing in other
words, and there a word that stays proves nothing: they are left to the verifier. Questions of the very same words in
another order leave nothing to be put in: the answer is right as it stands, or their order turns it round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from semcache.decide.order import stem
from semcache.decide.text import Text, is_han, read
from semcache.decide.wordlist import split

_ALIKE = 0.6
"""Share of the words that two questions of one build have in common, in order."""
_MOST = 200
"""Words of a question; longer ones differ in too many to be told."""
_SHORTEST = 3
_SMALL = frozenset(
    split(
        "the and for are was were does did has have had can could should would will may might must shall not any some its this that "
        "these those there here with from into onto about what which who whom whose when where why how you your our their his "
        "her they them she him please tell show give get make use way much many more most too also just than then but out off "
        "over under been being one thing things want need like know help best good"
    )
) | frozenset("的了是在和吗呢啊吧有我你您他请把给用要会能可以就也都还怎么样什么如何为么这那个一不")


@lru_cache(maxsize=1024)
def _content(question: str) -> tuple[str, ...]:
    """Give the words of a question that say what it is about, as they stand in it."""
    return tuple(
        word
        for word in read(question).words
        if word not in _SMALL and (is_han(word) or len(word) >= _SHORTEST or word[0].isdigit())
    )


def is_reordered(asked: str, stored: str) -> bool:
    """True when two questions consist of the same words, but for small ones, in another order."""
    one, other = ([stem(word) for word in _content(text)] for text in (asked, stored))
    return one != other and sorted(one) == sorted(other)


@dataclass(frozen=True, slots=True)
class Differences:
    """Of two questions of one build: the words (Han: runs of characters) that only the stored one has, and, for each place where one says something else than the other, those that only the asked one has."""

    lost: frozenset[str] = frozenset()
    come: tuple[frozenset[str], ...] = ()


@lru_cache(maxsize=1024)
def differences(asked: str, stored: str) -> Differences:
    """Give the words in which two questions of one build differ; none of questions built differently."""
    old, new = read(stored).words, read(asked).words
    if max(len(old), len(new)) > _MOST:
        return Differences()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.real_quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return Differences()
    lost: set[str] = set()
    come: list[frozenset[str]] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        lost |= _odd(old[i:j], new)
        fresh = _odd(new[k:m], old)
        # What is only added may be a manner of speaking.
        if fresh and kind == "replace":
            come.append(fresh)
    return Differences(frozenset(lost), tuple(come))


def _odd(words: Sequence[str], others: Sequence[str]) -> frozenset[str]:
    """Give the words of one place that say something and are not among those of the other question."""
    known = {stem(word) for word in others}
    run = "".join(filter(is_han, words))
    found = {
        word
        for word in words
        if not is_han(word)
        and len(word) >= _SHORTEST
        and word.isalpha()
        and word not in _SMALL
        and stem(word) not in known
    }
    if len(run) > 1 and not _SMALL.issuperset(run) and run not in "".join(others):
        found.add(run)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Said:
    """The words of an answer: stems of those with blanks between, and all letters in one."""

    stems: frozenset[str]
    compact: str

    def holds(self, words: frozenset[str]) -> bool:
        """True when one of the words stands there, whatever its ending."""
        return any(word in self.compact if is_han(word[0]) else stem(word) in self.stems for word in words)


def said(answer: Iterable[Text]) -> Said:
    """Give the words of an answer that was read in parts."""
    parts = tuple(answer)
    words = {word for part in parts for word in part.words}
    return Said(
        frozenset(stem(word) for word in words if not is_han(word)),
        "\n".join(part.compact for part in parts),
    )
