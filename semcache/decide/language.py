"""Which language a text is written in, as far as script and function words tell.

Knows nothing of the language an answer is asked for in (see `formats` and `places`).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

from semcache.decide.text import Text

_WORDS = {
    "en": "the of and is are how what do does i my to in for can a an when where why which who it on with you not be "
    "have did was should this that if from",
    "de": "der die das und ist wie ich ein eine nicht mit für von zu den dem wo warum wann kann mein auf im was sind wird",
    "fr": "le la les et est comment je un une des du pour avec dans mon ma que qui où pourquoi quand sur pas puis quel "
    "quelle vous",
    "es": "el la los las y es cómo como yo un una para con en mi que qué quién dónde cuándo por puedo cuál del no se",
    "it": "il lo la gli e è come io un una per con nel mio che chi dove quando perché posso di del qual sono non",
    "pt": "o a os as e é como eu um uma para com em meu minha que quem onde quando por posso qual do da não",
    "nl": "de het een en is hoe ik van voor met niet mijn waar wanneer waarom kan wat dat op zijn",
}


@lru_cache(maxsize=1)
def _hints() -> dict[str, tuple[str, ...]]:
    hints: dict[str, tuple[str, ...]] = {}
    for language, words in _WORDS.items():
        for word in words.split():
            hints[word] = (*hints.get(word, ()), language)
    return hints


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0].partition("-")[0]


def detect(text: Text) -> str:
    """Give a language or script name, or `""` when the text is too short or mixed to tell.

    Two Han characters make a text Chinese (kana: Japanese) even when most of it is Latin product
    names, unless function words show a Latin language; that needs two of them and a clear winner.
    """
    scripts = Counter(_script(word[0]) for word in text.words if word[0].isalpha())
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > 1:
        return "ja"
    latin = scripts.pop("LATIN", 0)
    if scripts["CJK"] > latin or (scripts["CJK"] > 1 and _latin(text.words) in ("", "latin")):
        return "zh"
    scripts.pop("CJK", 0)
    if scripts and scripts.most_common(1)[0][1] > latin:
        return scripts.most_common(1)[0][0].lower()
    return _latin(text.words)


def _latin(words: tuple[str, ...]) -> str:
    votes = Counter(language for word in words for language in _hints().get(word, ()))
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < 2 or (len(ranked) > 1 and ranked[1][1] * 3 > ranked[0][1] * 2):
        return "latin" if any(word.isascii() and word.isalpha() and len(word) > 1 for word in words) else ""
    return ranked[0][0]


def conflict(one: str, other: str) -> bool:
    """True when the languages are known to differ; `latin` agrees with every language in Latin letters."""
    if not one or not other or one == other:
        return False
    latin = ("latin", *_WORDS)
    return not ("latin" in (one, other) and one in latin and other in latin)
