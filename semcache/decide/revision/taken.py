"""Which differences of two questions a revised answer has visibly taken up. Pure.

Where the new question says `Japan` for `Norway`, a revision that made the answer speak of Japan and no more of
Norway has taken that up; one after which it still speaks of Norway, or never spoke of either, shows nothing. The old
question with what was taken up put in is the one that the revised answer answers: the rest is for gate and
verifier to judge. Knows neither of them. Whether what else is said of Japan is true nobody can see here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from semcache.decide.text import is_han, places, read
from semcache.decide.wordlist import split

_LONGEST = 8
"""Words of one difference: what is longer is another question, and repeating it would prove nothing."""
_MOST_CHANGED = 0.5
"""Of the new question's words that may differ."""
_SMALL = frozenset(
    split(
        "a an the of to in on at for and or is are be was were do does did it its this that with by from as i you we my "
        "your s 的 了 是 在 和 吗 呢 啊 有 我 你 请 把 一"
    )
)
"""Words that say nothing of what an answer is about."""
_LABEL = re.compile(r"(?m)^[ \t]*\d{1,3}[.)、:][ \t]")
"""The number of an item in a list."""


@dataclass(frozen=True, slots=True)
class Taken:
    """`question` is the one that the revised answer answers; `old` and `new` are the words that changed places in it."""

    question: str
    old: frozenset[str] = frozenset()
    new: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Side:
    given: str
    words: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    def piece(self, start: int, end: int) -> str:
        return self.given[self.places[start][0] : self.places[end - 1][1]] if start < end else ""


def taken_up(asked: str, stored: str, before: str, after: str) -> Taken:
    """Give the question that a revised answer answers, as far as the revision shows it.

    Args:
        asked: the new question.
        stored: the one that the old answer was given to.
        before: the old answer.
        after: the revised one.
    """
    old, new = _side(stored), _side(asked)
    if old is None or new is None:
        return Taken(stored)
    codes = SequenceMatcher(None, old.words, new.words, autojunk=False).get_opcodes()
    changed = sum(m - k for kind, _, _, k, m in codes if kind != "equal")
    if changed > _MOST_CHANGED * len(new.words):
        return Taken(stored)
    answers = _folded(before), _folded(after)
    pieces: list[str] = []
    gone: set[str] = set()
    come: set[str] = set()
    complete = True
    for kind, i, j, k, m in codes:
        taken = kind != "equal" and _is_taken(old.words[i:j], new.words[k:m], *answers)
        pieces.append(new.piece(k, m) if taken else old.piece(i, j))
        complete = complete and (taken or kind == "equal")
        if taken:
            gone |= set(old.words[i:j])
            come |= set(new.words[k:m])
    question = asked if complete else _joined(pieces) if come or gone else stored
    return Taken(question, frozenset(gone), frozenset(come))


def is_parroted(taken: Taken, before: str, after: str) -> bool:
    """True when nothing else changed in the answer than the words in which the questions differ.

    Facts about one thing are not facts about another because its name was put in.
    """
    if not taken.old and not taken.new:
        return False
    old, new = read(before).words, read(after).words
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    lost = {word for kind, i, j, _, _ in codes if kind != "equal" for word in old[i:j]}
    won = {word for kind, _, _, k, m in codes if kind != "equal" for word in new[k:m]}
    return not (lost - taken.old - _SMALL) and not (won - taken.new - _SMALL)


def _side(text: str) -> _Side | None:
    words, found = read(text).words, places(text)
    return _Side(text, words, tuple(found)) if len(found) == len(words) else None


def _is_taken(old: Sequence[str], new: Sequence[str], before: str, after: str) -> bool:
    """True when the revision made the answer say what only the new question says, and nothing that only the old one did."""
    if max(len(old), len(new)) > _LONGEST or _SMALL.issuperset((*old, *new)):
        return False
    if old and _stands_in(old, after):
        return False
    if not new:
        return _stands_in(old, before)
    # A word that stood there all along proves nothing, but where the other one went.
    return _stands_in(new, after) and (not _stands_in(new, before) or (bool(old) and _stands_in(old, before)))


def _folded(text: str) -> str:
    """Give the words of a text with one blank around each, without the numbers of lists."""
    return f" {' '.join(read(_LABEL.sub('', text)).words)} "


def _stands_in(words: Sequence[str], folded: str) -> bool:
    return f" {' '.join(words)} " in folded


def _joined(pieces: Sequence[str]) -> str:
    text = ""
    for piece in filter(None, pieces):
        glued = bool(text) and is_han(text[-1]) and is_han(piece[0])
        text += piece if glued or not text else f" {piece}"
    return text
