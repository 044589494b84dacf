"""Characters that a model reads and no human sees: how a text can say one thing and seem to say another. Pure.

Tag characters spell ASCII, variation selectors and zero-width characters carry bytes, direction marks turn what is shown round; an
encoder and the rules of the gate drop all of them. So a text that hides anything is never taken for one that only looks like it.
Joiners inside words of scripts that need them, and of emoji, hide nothing, nor do a few marks that editors leave behind.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

_STRAY = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\ufe0e\ufe0f")
"""Marks that a copy or a keyboard leaves in a text by chance, one at a time."""
_JOINERS = frozenset("\u200c\u200d")
_PRESENTING = frozenset("\ufe0e\ufe0f")
_MOST_STRAY = 4
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")
_PICTURES = 3
"""Pictures that differ by so many are a decoration; more may spell something."""


@lru_cache(maxsize=1)
def _suspects() -> re.Pattern[str]:
    """Everything outside of what is written and seen; line ends, tabs and other blanks are no secret."""
    return re.compile(
        "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
        "\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
    )


@lru_cache(maxsize=1)
def _picture() -> re.Pattern[str]:
    return re.compile("[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")


def hidden(text: str) -> str:
    """Give the characters of a text that hide something, in order; "" for one that hides nothing. Linear."""
    if text.isascii() and text.isprintable():
        return ""
    found = [(mark, _is_stray(text, place)) for place, mark in _marks(text)]
    strays = sum(is_stray for _, is_stray in found)
    return "".join(mark for mark, is_stray in found if not is_stray or strays > _MOST_STRAY)


def pictured(text: str) -> str:
    """Give the flags of a text, which are spelt in letters of their own, and its pictures where there are many of them."""
    if text.isascii():
        return ""
    flags, pictures = _FLAG.findall(text), _picture().findall(text)
    return "".join((*flags, *(pictures if len(pictures) > _PICTURES else ())))


def shown(text: str) -> str:
    """Give a text with every hidden character written out (`<U+200B>`), for those who are to judge what a model was told."""
    return _written(text, lambda mark: f"<U+{ord(mark):04X}>")


def quoted(text: str) -> str:
    """Give JSON text with every hidden character in JSON's own escapes: the same value, and nothing that a terminal acts on."""
    return _written(text, lambda mark: json.dumps(mark)[1:-1])


def _written(text: str, write: Callable[[str], str]) -> str:
    if text.isascii() and text.isprintable():
        return text
    parts: list[str] = []
    at = 0
    for place, mark in _marks(text):
        if mark in _PRESENTING and _is_stray(text, place):
            continue
        parts += (text[at:place], write(mark))
        at = place + 1
    return "".join((*parts, text[at:]))


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """Yield (place, character) of everything suspect, but for joiners where they join."""
    for match in _suspects().finditer(text):
        if not (match.group() in _JOINERS and _joins(text, match.start())):
            yield match.start(), match.group()


def _is_stray(text: str, place: int) -> bool:
    """True for a mark that stands alone, as one left behind by chance does."""
    return text[place] in _STRAY and (place == 0 or not _suspects().match(text, place - 1))


def _joins(text: str, place: int) -> bool:
    """True for a joiner between two letters of a script that joins, or two pictures."""
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    return len(around) == 2 and all(_is_joined(char) for char in around)


def _is_joined(char: str) -> bool:
    if unicodedata.category(char) in ("Mn", "Mc", "So", "Sk") or char in "\ufe0e\ufe0f":
        return True
    return unicodedata.category(char) == "Lo" and not "\u3005" <= char <= "\ufaff"
