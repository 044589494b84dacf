"""Two sentences in one frame: which words of one stand in the place of others.

Knows no meanings: a synonym in the same place looks like another fact, so this alone never decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from semcache.decide.answers.facts import words_of
from semcache.decide.text import read

_LONGEST = 60
"""Words; beyond that a sentence is no frame."""
_FRAME = 0.5


def replaced(one: Sequence[str], other: Sequence[str]) -> bool:
    """True when the first sentences share their frame, and content words of one stand for others."""
    if not one or not other:
        return False
    left, right = read(one[0]).words[:_LONGEST], read(other[0]).words[:_LONGEST]
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _FRAME:
        return False
    return any(
        _news(left[a:b], right) and _news(right[c:d], left) and not _amounts(left[a:b], right[c:d])
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag == "replace"
    )


def _news(words: Sequence[str], other: Sequence[str]) -> bool:
    """True when a content word of these is nowhere in the other sentence."""
    return bool(words_of(" ".join(words)) - words_of(" ".join(other)))


def _amounts(one: Sequence[str], other: Sequence[str]) -> bool:
    """True when both hold a figure: `7 km`, `7000 metres` are compared by what they measure."""
    return all(any(word[0].isdigit() for word in words) for words in (one, other))
