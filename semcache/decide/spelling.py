"""Whether two spellings are one word mistyped. Knows nothing of what words mean."""

from __future__ import annotations

from itertools import groupby

_VOWELS = frozenset("aeiou")
_SHORTEST_SKELETON, _SHORTEST_EDIT = 7, 5
_SOUNDS = str.maketrans({"c": "s", "k": "s", "q": "s", "z": "s", "y": "i"})


def is_slip(one: str, other: str) -> bool:
    """True for doubled or exchanged letters, and in long words for vowels and letters that sound alike.

    The first and last letters must agree: names of one family differ there (`Martina`, `Martino`).
    """
    if one[0] != other[0] or abs(len(one) - len(other)) > 2:
        return False
    return _once(one) == _once(other) or _is_exchange(one, other) or _sounds_like(one, other)


def is_edit(one: str, other: str) -> bool:
    """True for spellings one letter apart (added, dropped, exchanged with its neighbour, replaced).

    Only for words looked up in a closed list: two names may differ by one letter.
    """
    if min(len(one), len(other)) < _SHORTEST_EDIT or abs(len(one) - len(other)) > 1:
        return False
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, letter in enumerate(one) if letter != other[i]), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    return one[at + 1 :] == other[at + 1 :] or _is_exchange(one, other)


def _is_exchange(one: str, other: str) -> bool:
    wrong = [i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]]
    if len(one) != len(other) or len(wrong) != 2 or wrong[1] != wrong[0] + 1:
        return False
    return one[wrong[0]] == other[wrong[1]] and one[wrong[1]] == other[wrong[0]]


def _sounds_like(one: str, other: str) -> bool:
    if (
        min(len(one), len(other)) < _SHORTEST_SKELETON
        or abs(len(one) - len(other)) > 1
        or one[-1] != other[-1]
    ):
        return False
    return _skeleton(one) == _skeleton(other)


def _skeleton(word: str) -> str:
    heard = word.replace("ph", "f").translate(_SOUNDS)
    return _once("".join(letter for letter in heard if letter not in _VOWELS))


def _once(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))
