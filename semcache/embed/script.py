"""Which kind of encoder a text needs, from its letters and a hint of its language. Pure.

An English encoder cuts Chinese, Thai or Arabic into unknown or meaningless pieces, and different
questions get the same vector (huggingface/sentence-transformers#1671); other languages in Latin
letters it reads badly. So: English goes to the Latin encoder, everything else to the
multilingual one. The choice depends on the text alone, so equal texts always take the same way.
It errs to the multilingual side for text that looks foreign, and to the Latin side for text too
short to tell ("hola").
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import Final

import regex

from semcache.embed.stopwords import ENGLISH, FOREIGN, NAME_PARTS


class Lane(StrEnum):
    """The two ways a text can take."""

    LATIN = "latin"
    MULTILINGUAL = "multilingual"


_WORD: Final = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*")
_FOREIGN_LETTER: Final = regex.compile(r"[\p{L}--\p{Latin}--\p{Greek}--\p{Common}]", regex.V1)
_GREEK_WORD: Final = regex.compile(r"\p{Greek}{2,}")
_FREE_SIGNS: Final = 1
"""Weak signs that say nothing yet: an accent or an article in a name (café, Pokémon, Las Vegas)."""


def lane_of(text: str) -> Lane:
    """Choose the encoder: any letter of another script, or signs of another language, decide.

    Emoji, digits and punctuation are neutral, and so are single Greek letters (β-blocker, 5 µg).
    """
    if not text.isascii() and (_FOREIGN_LETTER.search(text) or _GREEK_WORD.search(text)):
        return Lane.MULTILINGUAL
    return Lane.MULTILINGUAL if _looks_foreign(text) else Lane.LATIN


def _looks_foreign(text: str) -> bool:
    """Weigh function words of other languages, and accents, against English function words.

    Words in capitals are left out: they are abbreviations (IT, MIT, UN) more often than words.
    """
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text) if not _is_abbreviation(word)]
    english = sum(word in ENGLISH for word in words)
    strong = sum(word in FOREIGN for word in words)
    weak = sum(word in NAME_PARTS or _is_accented(word) for word in words if word not in FOREIGN)
    return strong + max(0, weak - _FREE_SIGNS) > english


def _is_abbreviation(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _is_accented(word: str) -> bool:
    return not word.isascii() and len(unicodedata.normalize("NFD", word)) > len(word)
