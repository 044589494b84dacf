"""Clauses of two tellers side by side: which words have a counterpart, and how an edit lies in its clause.

A word corresponds to another when both are one unit, or when a dictionary (`kin`) says that they may stand for each
other. Knows nothing of turns, weights and verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from semcache.decide.context.kin import Kin, are_kin, is_light
from semcache.decide.context.saying import Saying, Token, is_figure
from semcache.decide.context.words import base
from semcache.decide.text import is_han
from semcache.decide.verify.lexicon import Relation

NOWHERE = -9
"""Of an edit that there is not."""
_FLANK = 3
_ASKED_ABOUT = 4


def loose_words(said: Iterable[Saying], known: frozenset[str]) -> tuple[str, ...]:
    """Give the words whose unit the other side lacks: each may stand for one of its words."""
    found = {
        word: None
        for part in said
        for unit, words in part.tokens
        if unit not in known
        for word in words
        if _is_plain(word)
    }
    return tuple(found)


def alone(part: Saying, others: frozenset[str], words: Sequence[str], kin: Kin) -> tuple[Token, ...]:
    """Give the tokens to which nothing on the other side corresponds; words that tell no case apart left out.

    Args:
        part: a clause.
        others: the units of the other side.
        words: its loose words.
        kin: the dictionary.
    """
    return tuple(
        (unit, own)
        for unit, own in part.tokens
        if unit not in others and (is_figure(unit) or not (is_light(own) or _has_kin(own, words, kin)))
    )


@lru_cache(maxsize=16_384)
def overlap(one: Saying, other: Saying, kin: Kin) -> float:
    """Give the share of tokens of both clauses that have a counterpart in the other one, in [0, 1]."""
    if not one.tokens or not other.tokens:
        return 0.0
    return (_met(one, other, kin) + _met(other, one, kin)) / (len(one.tokens) + len(other.tokens))


def nearest(part: Saying, others: Sequence[Saying], kin: Kin) -> tuple[float, Saying | None]:
    """Give the clause that has most in common with this one, and how much, in [0, 1].

    The dictionary is asked about those few that share most units.
    """
    same = next((other for other in others if other.forms == part.forms), None)
    if same is not None:
        return 1.0, same
    ranked = sorted(others, key=lambda other: _shared(part, other), reverse=True)[:_ASKED_ABOUT]
    found = [(overlap(part, other, kin), other) for other in ranked]
    return max(found, key=lambda pair: pair[0], default=(0.0, None))


def _shared(one: Saying, other: Saying) -> float:
    return len(one.units & other.units) / max(1, len(one.units | other.units))


def relation(words: Sequence[str], others: Sequence[str], kin: Kin) -> Relation | None:
    """Give the closest relation between words of two tokens; None where there is nothing to compare."""
    found = [kin.relation(a, b) for a in words for b in others if _is_plain(a) and _is_plain(b)]
    return max(found, key=lambda seen: seen.cosine + seen.same, default=None)


def exchanges(one: Saying, other: Saying, mine: Iterable[Token], others: Iterable[Token]) -> tuple[int, ...]:
    """Say of each exchange of words without counterpart how firmly equal words hold it from both sides."""
    left, right = _forms(mine), _forms(others)
    found = []
    for a, b, flank, whole in _edits(one.forms, other.forms):
        if left.intersection(a) and right.intersection(b):
            found.append(flank + 2 * whole - max(len(a), len(b)) + 1)
    return tuple(found)


def touches(one: Saying, other: Saying) -> tuple[int, int]:
    """Say how firmly an edit that touches content is held: any edit, and one with content on both sides."""
    left = _forms(token for token in one.tokens if token[0] not in other.units)
    right = _forms(token for token in other.tokens if token[0] not in one.units)
    either = both = NOWHERE
    for a, b, flank, _ in _edits(one.forms, other.forms):
        here, there = bool(left.intersection(a)), bool(right.intersection(b))
        held = flank - max(len(a), len(b)) + 1
        if here or there:
            either = max(either, held)
        if here and there:
            both = max(both, held)
    return either, both


@lru_cache(maxsize=4096)
def _edits(
    one: tuple[str, ...], other: tuple[str, ...]
) -> tuple[tuple[tuple[str, ...], tuple[str, ...], int, int], ...]:
    """Give each edit between two runs of words: what goes, what comes, equal words beside it, edges reached."""
    found = []
    for step, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if step == "equal":
            continue
        before = after = 0
        while i > before and k > before and one[i - 1 - before] == other[k - 1 - before]:
            before += 1
        while j + after < len(one) and m + after < len(other) and one[j + after] == other[m + after]:
            after += 1
        edges = (i == before and k == before) + (j + after == len(one) and m + after == len(other))
        found.append((one[i:j], other[k:m], min(before, _FLANK) + min(after, _FLANK), edges))
    return tuple(found)


def _met(one: Saying, other: Saying, kin: Kin) -> int:
    words = tuple(w for unit, own in other.tokens if unit not in one.units for w in own if _is_plain(w))
    return sum(
        unit in other.units or (not is_figure(unit) and _has_kin(own, words, kin)) for unit, own in one.tokens
    )


def _has_kin(words: Sequence[str], others: Sequence[str], kin: Kin) -> bool:
    return any(_is_plain(word) and any(are_kin(word, other, kin) for other in others) for word in words)


def _is_plain(word: str) -> bool:
    return word[0].isalpha() and not is_han(word)


def _forms(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(word if is_han(word) else base(word) for _, words in tokens for word in words)
