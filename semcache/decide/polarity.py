"""Polarity: negations and opposites weighed together.

Two texts disagree when one is on the other side of an opposite, or when one holds an odd and
the other an even number of negations; both at once cancel (`not open` and `closed`). Knows
nothing of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from semcache.decide import poles
from semcache.decide.negation import Negation
from semcache.decide.order import stem
from semcache.decide.wordlist import split

_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "mis")
_SHORTEST_BARE = 4
# Verbs and nouns that deny by themselves: `ignore` is to pay no attention.
_IMPLICIT = frozenset(
    stem(word)
    for word in split(
        "ignore skip miss forget refuse deny hate dislike resist reject overcome eliminate neglect omit abstain decline cease quit "
        "insomnia absence deficiency shortage unemployment poverty free empty alone barely rarely seldom scarcely instead stop"
    )
)
_UNDOING = ("取消", "解除", "撤销", "退出")
_MOST_UNDONE = 8
# Words that begin like a denial and are none.
_NOT_DENIALS = frozenset(
    split(
        "import imports inform informs install installs installed invest invests inside discount discounts discover discovers "
        "income increase index interest until under union unit units impact input intense insight improve impress display "
        "displays discharge discuss distance dispatch dispose dismiss inland inbox intake instead inner inset inline intone "
        "unique uncover missing mistake disease inspect invent intent indoor misspell united"
    )
)


@dataclass(frozen=True, slots=True)
class Polarity:
    """Sides taken (concept to `+` or `-`), negations, words and their stems, what is to be undone, and the letters of one text."""

    sides: dict[str, str]
    negation: Negation
    words: frozenset[str]
    stems: frozenset[str]
    undone: frozenset[str] = frozenset()
    compact: str = ""


def compare(one: Polarity, other: Polarity) -> tuple[bool, bool, bool]:
    """Say whether two texts stand on opposite sides (enable, disable), compare in opposite directions, or deny.

    A flipped degree turns a flip back (`less patient` is `more impatient`), and so does an odd
    negation anywhere (`not open`, `closed`).
    """
    opposite, direction, degree = poles.flips(one.sides, other.sides)
    opposite = opposite or _prefixed(one, other)
    if (opposite or direction) == degree:
        return False, False, _negated(one, other)
    if (len(one.negation.scopes) - len(other.negation.scopes)) % 2:
        return False, False, False
    return opposite, direction or (degree and not opposite), False


def _negated(one: Polarity, other: Polarity) -> bool:
    """True when one text denies what the other does not."""
    if not one.negation.scopes and not other.negation.scopes:
        return False
    counts = zip(
        one.negation.counted(other.stems, other.compact),
        other.negation.counted(one.stems, one.compact),
        strict=True,
    )
    odd = all((left - right) % 2 == 1 for left, right in counts)
    # `I can't log in` and `trouble logging in` say one thing, with and without a negation.
    if not odd or (one.negation.trouble and other.negation.trouble):
        return False
    plain, denying = sorted((one, other), key=lambda side: len(side.negation.scopes))
    return _IMPLICIT.isdisjoint(plain.stems - denying.stems)


def undone(compact: str) -> frozenset[str]:
    """Give what a Chinese text wants undone: `取消拉黑` is the opposite of `拉黑`."""
    found: set[str] = set()
    for word in _UNDOING:
        at = compact.find(word)
        while at >= 0 and len(found) < _MOST_UNDONE:
            behind = compact[at + len(word) : at + len(word) + 2]
            if len(behind) == 2:
                found.add(behind)
            at = compact.find(word, at + 1)
    return frozenset(found)


def _prefixed(one: Polarity, other: Polarity) -> bool:
    return (
        any(_denied(one.words, other.words))
        or any(_denied(other.words, one.words))
        or _bereft(one.words, other.words)
        or _bereft(other.words, one.words)
        or any(word in other.compact and word not in other.undone for word in one.undone)
        or any(word in one.compact and word not in one.undone for word in other.undone)
    )


def _bereft(words: frozenset[str], others: frozenset[str]) -> bool:
    """True for `powerless` against `powerful`."""
    return any(
        word.endswith("less") and word[:-4] + "ful" in words - others and word not in words for word in others
    )


def _denied(words: frozenset[str], others: frozenset[str]) -> Iterator[bool]:
    """Yield for each `valid` of one text that is only `invalid` in the other."""
    for word in others - words:
        if word in _NOT_DENIALS:
            continue
        for prefix in _PREFIXES:
            bare = word[len(prefix) :]
            if (
                len(bare) >= _SHORTEST_BARE
                and word.startswith(prefix)
                and bare in words
                and bare not in others
            ):
                yield True
