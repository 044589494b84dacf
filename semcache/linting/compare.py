"""Two texts laid side by side: where they part and meet again, and what a text is made of. Pure."""

from __future__ import annotations

import re
import unicodedata
from heapq import nsmallest

_PIECE = re.compile(r"[^\n.;!?,。！？；\d]{8,}")
"""Stretches without digits: what stays the same when times and numbers change."""
_LINE = re.compile(r"[^\n.;!?。！？；]{8,}")
_BLANK = re.compile("[\\s\u200b-\u200f\u2060\ufeff\u00ad]+")
_SHOWN = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
SKETCH = 24
_GLANCE = 400
_END = 6_000
"""Characters at either end of a long text that stand for it."""


def common_head(one: str, other: str, start: int = 0) -> int:
    """Count the characters from `start` on in which two texts agree."""
    low, high = start, min(len(one), len(other))
    step = 64
    while low < high:
        upto = min(high, low + step)
        if one[low:upto] == other[low:upto]:
            low, step = upto, step * 2
        elif upto - low == 1:
            break
        else:
            high, step = upto, max(1, (upto - low) // 2)
            if one[low : low + step] != other[low : low + step]:
                high = low + step
    return low - start


def common_tail(one: str, other: str, start: int = 0) -> int:
    """Count the characters at the end in which two texts agree, none of them before `start`."""
    most = min(len(one), len(other)) - start
    low, step = 0, 64
    while low < most:
        upto = min(most, low + step)
        if _end(one, low, upto) == _end(other, low, upto):
            low, step = upto, step * 2
        elif upto - low == 1:
            break
        else:
            most, step = upto, max(1, (upto - low) // 2)
    return max(0, low)


def sketch(text: str) -> tuple[int, ...]:
    """Give what similar texts have in common: the same few of their pieces, chosen by hash; good in this process only."""
    both_ends = text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"
    pieces = set(map(hash, _PIECE.findall(both_ends)))
    return tuple(nsmallest(SKETCH, pieces))


def pieces_of(text: str) -> list[str]:
    """Take a text apart into lines and sentences of some length."""
    return [piece.strip() for piece in _LINE.findall(text)]


def stable_pieces(text: str) -> frozenset[str]:
    """Give the pieces of a text that hold no digits."""
    return frozenset(piece.strip() for piece in _PIECE.findall(text))


def without_digits(text: str) -> str:
    """Give a text with every digit left out; ten searches for a letter are faster than one for a pattern."""
    for digit in "0123456789":
        if digit in text:
            text = text.replace(digit, "")
    return text


def without_blanks(text: str) -> str:
    """Give a text composed (NFC) and without white space, marks of order and widths of nothing."""
    return _BLANK.sub("", unicodedata.normalize("NFC", text))


def differ_in_blanks(one: str, other: str) -> bool:
    """Tell whether two texts are equal but for white space and Unicode form."""
    begins = [without_blanks(text[:_GLANCE])[: _GLANCE // 4] for text in (one, other)]
    short = min(map(len, begins))
    return begins[0][:short] == begins[1][:short] and without_blanks(one) == without_blanks(other)


def past_blanks(text: str, at: int) -> int:
    """Go on over white space and marks without width."""
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def masked(text: str) -> str:
    """Give the shape of a text: x for letters, 9 for digits; marks stay, line breaks are spelled out."""
    return "".join(map(_shape, text))


def _shape(letter: str) -> str:
    if letter.isdigit():
        return "9"
    if letter in _SHOWN:
        return _SHOWN[letter]
    if letter.isalnum() or not letter.isprintable() or not letter.isascii():
        return "x"
    return letter


def bytes_of(text: str) -> int:
    """Count the bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _end(text: str, low: int, upto: int) -> str:
    return text[len(text) - upto : len(text) - low]
