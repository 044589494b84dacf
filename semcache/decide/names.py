"""Names that a text shows by its spelling: capitals, codes, quotes, paths, addresses.

A name of one text is looked for among the words of the other in any case and spelling
(`read_csv` is found in `read csv`, `NBA` in `National Basketball Association`); only what
cannot be found counts. Lower-case input shows no names: then only `kinds` and `places` speak.
Knows nothing of what a name means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.text import HAN, Text, Token, is_han
from semcache.decide.wordlist import split

_MAX_SPAN = 120
_TITLE_SHARE = 0.6
_ORDINARY = frozenset(
    split(
        "i ok okay hi hello hey please thanks thank faq am pm a an the and or but no yes not mr mrs ms dr ii iii iv vs "
        "january february march april may june july august september october november december "
        "monday tuesday wednesday thursday friday saturday sunday usd eur gbp cny jpy rmb "
        "what which who whom whose when where why how is are do does can could should would will did was were has have "
        "so also then if in on at of for to with from by as it this that there my your he she they we you asap etc "
        "internet english"
    )
)


@dataclass(frozen=True, slots=True)
class Names:
    """`names` are words in capitals, `codes` spelled identifiers, quotes and addresses.

    Both in lower case; codes without anything but letters and digits. `initials` are the first
    letters of the text's words, to recognise acronyms.
    """

    names: frozenset[str]
    codes: frozenset[str]
    words: frozenset[str]
    compact: str
    initials: str


@lru_cache(maxsize=1)
def _code_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"`([^`\n]{{1,{_MAX_SPAN}}})`"
        rf'|"([^"\n]{{1,{_MAX_SPAN}}})"|“([^”\n]{{1,{_MAX_SPAN}}})”|「([^」\n]{{1,{_MAX_SPAN}}})」|《([^》\n]{{1,{_MAX_SPAN}}})》'
        rf"|(?<![\w'])'(?=\S)([^'\n]{{1,{_MAX_SPAN}}})(?<=\S)'(?![\w'])"
        r"|(https?://[^\s<>\"']{1,200})"
        r"|([A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,64}\.[A-Za-z]{2,10})"
        r"|(?<![\w-])(--?[a-zA-Z][\w-]{0,30})(?![\w-])"
        r"|((?<![\w.])[A-Za-z_][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,6}(?:\(\))?)"
        r"|((?<![\w.])[A-Za-z_][A-Za-z0-9]{0,40}(?:\.[A-Za-z_][A-Za-z0-9_]{1,40}){1,6}(?:\(\))?)"
        r"|((?<!\w)[CF](?:\+\+|#)(?!\w))"
        r"|((?<!\w)(?:[a-z]{1,30}[A-Z]|[A-Z][a-z]{1,30}[A-Z])[A-Za-z]{1,40})"
    )


@lru_cache(maxsize=1)
def _squeeze() -> re.Pattern[str]:
    return re.compile(r"[^\w+#]|_")


def of(text: Text) -> Names:
    """Collect the names of a text."""
    shown = frozenset() if _is_titled(text.tokens) else _capitals(text.tokens)
    return Names(
        names=shown,
        codes=_codes(text.head),
        words=frozenset(text.words),
        compact=_squeeze().sub("", text.head.lower()),
        initials="".join(word[0] for word in text.words if word[0].isalpha()),
    )


def _codes(head: str) -> frozenset[str]:
    found = set()
    for match in _code_pattern().finditer(head):
        code = _squeeze().sub("", next(filter(None, match.groups()), "").lower())
        if code:
            found.add(code)
    return frozenset(found)


def _is_titled(tokens: tuple[Token, ...]) -> bool:
    """True when capitals say nothing: Headline Case, or everything in capitals."""
    words = [
        token for token in tokens if token.raw[0].isalpha() and not is_han(token.raw) and len(token.raw) > 2
    ]
    upper = sum(1 for token in words if token.raw[0].isupper())
    small = any(token.raw[0].islower() and len(token.raw) > 3 for token in words)
    shouting = sum(1 for token in words if token.raw.isupper() and len(token.raw) > 3)
    return len(words) > 3 and (
        (not small and upper >= _TITLE_SHARE * len(words)) or shouting * 2 > len(words)
    )


def _capitals(tokens: tuple[Token, ...]) -> frozenset[str]:
    return frozenset(
        token.low
        for token in tokens
        if token.raw[0].isupper() and token.low not in _ORDINARY and len(token.low) > 1
        and (not token.first or token.raw[1:2].isupper())
    )  # fmt: skip


def unmatched(one: Names, other: Names) -> int:
    """Give how many names and codes of `one` are nowhere in `other`."""
    names = sum(1 for name in one.names if not _has_name(name, one, other))
    return names + sum(1 for code in one.codes if not _has_code(code, other))


def _has_name(name: str, one: Names, other: Names) -> bool:
    if name in other.words or (len(name) > 3 and _stem(name) in {_stem(word) for word in other.words}):
        return True
    if 2 <= len(name) <= 6 and name in other.initials:
        return True
    # A spelled-out name is there when the other text has its acronym among its own names.
    return len(name) > 3 and (
        name in other.compact or any(a in one.initials for a in other.names if _is_acronym(a, name))
    )


def _is_acronym(acronym: str, name: str) -> bool:
    return 2 <= len(acronym) <= 6 and name[0] in acronym


def _stem(word: str) -> str:
    for ending in ("'s", "ies", "es", "s", "n", "ese", "ish"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _has_code(code: str, other: Names) -> bool:
    return code in other.compact or code.removesuffix("s") in other.compact


def conflict(one: Names, other: Names) -> bool:
    """True when a name of either text is nowhere in the other."""
    return unmatched(one, other) > 0 or unmatched(other, one) > 0


__all__ = ["HAN", "Names", "conflict", "of", "unmatched"]
