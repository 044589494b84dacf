"""The words in which two questions differ, whatever they mean, and which of them a changed answer still holds. Pure.

The gate's lists know places, names and amounts; `cancel my order` and `cancel my subscription` differ in a word of no list.
Where two questions are built alike, the words that only the older one has are what the answer was about, and a
changed answer that still holds one was changed by halves. Questions built differently say one thing in other
words, and there a word that stays proves nothing: they are left to the verifier. Questions of the very same words in
another order leave nothing to be put in: the answer is right as it stands, or their order turns it round.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

from semcache.decide.order import stem
from semcache.decide.revision.remains import pieces
from semcache.decide.text import is_han, read
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


def odd_words(asked: str, stored: str) -> frozenset[str]:
    """Give the words (Han: runs of two characters or more) that only the stored of two questions of one build has."""
    old, new = read(stored).words, read(asked).words
    if max(len(old), len(new)) > _MOST:
        return frozenset()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.real_quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return frozenset()
    known = {stem(word) for word in new}
    whole = "".join(new)
    found = set()
    for kind, i, j, _, _ in matcher.get_opcodes():
        if kind == "equal":
            continue
        run = "".join(filter(is_han, old[i:j]))
        if len(run) > 1 and not _SMALL.issuperset(run) and run not in whole:
            found.add(run)
        found |= {
            word
            for word in old[i:j]
            if not is_han(word) and len(word) >= _SHORTEST and word.isalpha() and word not in _SMALL
        }
    return frozenset(word for word in found if stem(word) not in known)


def are_in(words: frozenset[str], answer: str) -> bool:
    """True when one of the words stands in an answer, whatever its ending."""
    if not words:
        return False
    latin = frozenset(stem(word) for word in words if not is_han(word[0]))
    han = [word for word in words if is_han(word[0])]
    for piece in pieces(answer):
        text = read(piece)
        if any(stem(word) in latin for word in text.words) or any(word in text.compact for word in han):
            return True
    return False
