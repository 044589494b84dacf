r"""Cut a text into pieces for streaming without cutting what a reader sees as one character.

Grapheme clusters as in Unicode Standard Annex #29, by the regex module's `\X`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import regex

PIECE = 128
"""Characters in a piece, about: quick to render, still a stream."""
# Printable ASCII, Latin, Greek, Cyrillic, Hebrew, Arabic and Thai letters, kana, CJK punctuation and
# ideographs, Hangul syllables, full-width forms: none of them joins itself to what follows.
_PLAIN = (
    r"\x20-\x7e\u00c0-\u024f\u0370-\u0482\u048a-\u052f\u05d0-\u05ea\u0620-\u064a\u0e01-\u0e30"
    r"\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9d"
)
# After one of those, these begin a cluster of their own; the exceptions are letters that attach to
# the one before (vowel signs, Hangul jamo).
_SURE = regex.compile(
    rf"[{_PLAIN}](?![\u0e33\u0eb3\u1160-\u11ff\ud7b0-\ud7ff])[{_PLAIN}\p{{L}}\p{{So}}\p{{P}}\p{{Nd}}]"
)


def pieces(text: str, size: int = PIECE) -> Iterator[str]:
    """Yield the text in pieces of about `size` characters; joined, they are the text.

    Cuts fall after a space where there is one in the second half of a piece, and only between
    grapheme clusters. A piece is longer than `size` only where no boundary is near.
    """
    start = 0
    while len(text) - start > size:
        end = _cut(text, start, start + size)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _cut(text: str, start: int, end: int) -> int:
    middle = (start + end) // 2
    space = text.rfind(" ", middle, end) + 1
    if space and _SURE.match(text, space - 1):
        return space
    for position in range(end, middle, -1):
        if _SURE.match(text, position - 1):
            return position
    # Emoji in a row, stacked accents, scripts with conjuncts: the full rules, four times as slow.
    match = _clusters(end - start).match(text, start)
    return match.end() if match is not None else end


@lru_cache(maxsize=8)
def _clusters(most: int) -> regex.Pattern[str]:
    return regex.compile(rf"\X{{1,{most}}}")
