"""What changed from one text to another, in words; in characters where a script has no blanks between words. Pure.

The way with the fewest changed words (Myers, "An O(ND) Difference Algorithm", 1986), made readable: changes that
only blanks part are told as one. Work is bounded: texts that differ in more than `_MOST_EDITS` words are told as
gone and come. Knows no markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_MOST_EDITS = 400
_MOST_TEXT = 200_000
"""Characters of both texts together beyond which only what they begin and end with alike is told apart."""

# One ideograph or kana a token; a number with its points and commas, a word with its apostrophes and hyphens.
_TOKENS = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|\d+(?:[.,:/]\d+)*"
    r"|[^\W\d_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
    r"|\s+|."
    r"",
    re.DOTALL,
)


class Kind(StrEnum):
    """What became of a piece of text."""

    SAME = "same"
    GONE = "gone"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text with one fate; never empty."""

    kind: Kind
    text: str


def diff(old: str, new: str) -> tuple[Piece, ...]:
    """Tell the way from `old` to `new`.

    All pieces that are not new, joined, give `old`; all that are not gone give `new`. Where both change, what is gone stands first.
    """
    if old == new:
        return (Piece(Kind.SAME, old),) if old else ()
    one, other = _TOKENS.findall(old), _TOKENS.findall(new)
    head = _alike(one, other)
    tail = _alike(one[head:][::-1], other[head:][::-1])
    left, right = one[head : len(one) - tail], other[head : len(other) - tail]
    steps = [(Kind.SAME, word) for word in one[:head]]
    steps += _changes(left, right) if len(old) + len(new) <= _MOST_TEXT else _all(left, right)
    steps += [(Kind.SAME, word) for word in one[len(one) - tail :]]
    return tuple(_joined(steps))


Step = tuple[Kind, str]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    shortest = min(len(one), len(other))
    return next((i for i in range(shortest) if one[i] != other[i]), shortest)


def _all(left: Sequence[str], right: Sequence[str]) -> list[Step]:
    return [*((Kind.GONE, word) for word in left), *((Kind.NEW, word) for word in right)]


def _changes(left: Sequence[str], right: Sequence[str]) -> list[Step]:
    """Find the shortest way; all of it at once where that is longer than is worth looking for."""
    if not left or not right:
        return _all(left, right)
    furthest, trail = {1: 0}, []
    for edits in range(min(len(left) + len(right), _MOST_EDITS) + 1):
        trail.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            while x < len(left) and 0 <= x - diagonal < len(right) and left[x] == right[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= len(left) and x - diagonal >= len(right):
                return _walked(left, right, trail)
    return _all(left, right)


def _walked(left: Sequence[str], right: Sequence[str], trail: Sequence[dict[int, int]]) -> list[Step]:
    """Go the way back from the end, through what was reached with one edit less each time."""
    steps: list[Step] = []
    x, y = len(left), len(right)
    for edits in range(len(trail) - 1, -1, -1):
        furthest, diagonal = trail[edits], x - y
        down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        from_x = furthest[before]
        from_y = from_x - before
        while x > from_x and y > from_y and x > 0 and y > 0:
            x, y = x - 1, y - 1
            steps.append((Kind.SAME, left[x]))
        if edits:
            steps.append((Kind.NEW, right[from_y]) if down else (Kind.GONE, left[from_x]))
            x, y = from_x, from_y
    return steps[::-1]


def _joined(steps: Sequence[Step]) -> Iterator[Piece]:
    """Join steps to pieces; blanks between two changes belong to both."""
    gone: list[str] = []
    new: list[str] = []
    same: list[str] = []
    held = ""
    for kind, word in steps:
        if kind is Kind.SAME and (gone or new) and word.isspace() and not held:
            held = word
            continue
        if kind is Kind.SAME:
            yield from _told(gone, new)
            gone, new = [], []
            same.append(held + word)
        else:
            if held:
                gone.append(held)
                new.append(held)
            elif same:
                yield Piece(Kind.SAME, "".join(same))
                same = []
            (gone if kind is Kind.GONE else new).append(word)
        held = ""
    yield from _told(gone, new)
    if same or held:
        yield Piece(Kind.SAME, "".join(same) + held)


def _told(gone: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    if gone:
        yield Piece(Kind.GONE, "".join(gone))
    if new:
        yield Piece(Kind.NEW, "".join(new))
