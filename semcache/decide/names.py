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
from itertools import pairwise

from semcache.decide.rereading import LONGEST_WORD
from semcache.decide.spelling import is_slip
from semcache.decide.text import HAN, Text, Token, is_han
from semcache.decide.wordlist import split

_MAX_SPAN = 120
_MAX_PARTS = 24
_ACRONYM = 6
_MAX_LITERAL = 40
_GENERIC = frozenset(
    split(
        "error exception function method class module file command warning prototype main self this public static void std util lang java com org io net"
    )
)
_ALIKE = 5
_SPOKEN = {"c++": ("cplusplus", "cpp"), "c#": ("csharp",), "f#": ("fsharp",)}
_FUNCTION_WORDS = frozenset(
    split("a an the to of in on at for with and or is are do does can my your you how what why when")
)
_ORDINARY = frozenset(
    split(
        "i ok okay hi hello hey please thanks thank faq am pm a an the and or but no yes not mr mrs ms dr ii iii iv vs "
        "january february march april may june july august september october november december "
        "monday tuesday wednesday thursday friday saturday sunday usd eur gbp cny jpy rmb "
        "what which who whom whose when where why how is are do does can could should would will did was were has have "
        "so also then if in on at of for to with from by as it this that there my your he she they we you asap etc "
        "internet english http https url api cpu gpu pc tv id ai it us ram gb mb kb tb kg km cm mm mg ml mcg"
    )
)


@dataclass(frozen=True, slots=True)
class Names:
    """What the spelling of one text shows.

    `names` are words in capitals (hyphenated ones as their parts), `terms` those of them that stand in the name
    of a disease, `told` those in asides, `codes`
    identifiers as their parts, `literals` quotes and addresses; all in lower case. `order` is the words of
    the text in order, `han` whether it is in Chinese, `operators` those of its arithmetic,
    `letters` what stands alone (`vitamin C`).
    """

    names: frozenset[tuple[str, ...]]
    terms: frozenset[tuple[str, ...]]
    told: frozenset[tuple[str, ...]]
    codes: frozenset[tuple[str, ...]]
    literals: frozenset[str]
    words: frozenset[str]
    stems: frozenset[str]
    compact: str
    order: tuple[str, ...]
    han: bool
    operators: tuple[str, ...]
    letters: frozenset[str]


@lru_cache(maxsize=1)
def _code_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"`([^`\n]{{1,{_MAX_SPAN}}})`"
        rf'|"(?P<double>[^"\n]{{1,{_MAX_SPAN}}})"|“(?P<curly>[^”\n]{{1,{_MAX_SPAN}}})”|「(?P<corner>[^」\n]{{1,{_MAX_SPAN}}})」|《(?P<title>[^》\n]{{1,{_MAX_SPAN}}})》'
        rf"|(?<![A-Za-z0-9_'])'(?=\S)(?P<single>[^'\n]{{1,{_MAX_SPAN}}})(?<=\S)'(?![A-Za-z0-9_'])"
        r"|(?P<url>https?://[^\s<>\"']{1,200})"
        r"|(?P<mail>[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,64}\.[A-Za-z]{2,10})"
        r"|(?<![A-Za-z0-9_-])(--?[a-zA-Z][\w-]{0,30})(?![A-Za-z0-9_-])"
        r"|((?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,6}(?:\(\))?)"
        r"|((?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9]{0,40}(?:\.[A-Za-z_][A-Za-z0-9_]{1,40}){1,6}(?:\(\))?)"
        r"|((?<![A-Za-z0-9_])[CF](?:\+\+|#)(?![A-Za-z0-9_]))"
        r"|((?<![A-Za-z0-9_])(?:[a-z]{1,30}[A-Z]|[A-Z][a-z]{1,30}[A-Z])[A-Za-z]{1,40})"
    )


@lru_cache(maxsize=1)
def _squeeze() -> re.Pattern[str]:
    return re.compile(r"[^\w+#]|_")


@lru_cache(maxsize=1)
def _arithmetic() -> re.Pattern[str]:
    return re.compile(r"(\d{1,12})\s{0,2}([+*×÷^=<>]|\s-\s)\s{0,2}(?=(\d{1,12}))")


def of(text: Text, skipped: frozenset[int], asides: frozenset[int], terms: frozenset[int]) -> Names:
    """Collect the names of a text, but for the `skipped` places (glosses, and what other rules know)."""
    codes, literals = _codes(text.head, {text.words[i] for i in skipped})
    titled = _is_titled(text.tokens)
    shown = frozenset() if titled else _capitals(text.tokens, skipped | asides)
    coded = {part for code in codes for part in code} if codes else set()
    shown = frozenset(name for name in shown if not coded.issuperset(name))
    told = frozenset() if titled or not asides else _capitals(text.tokens, skipped) - shown
    return Names(
        names=shown,
        terms=shown - _capitals(text.tokens, skipped | asides | terms) if terms else frozenset(),
        told=told,
        codes=codes,
        literals=literals,
        words=frozenset(text.words),
        stems=frozenset(stem(word) for word in text.words),
        compact=_squeeze().sub("", text.head.lower()),
        order=text.words[:_MAX_SPAN],
        han=any(is_han(word) for word in text.words),
        operators=tuple(sorted(_operation(*match.groups()) for match in _arithmetic().finditer(text.head))),
        letters=_letters(text.tokens),
    )


def _letters(tokens: tuple[Token, ...]) -> frozenset[str]:
    """Give the letters that stand alone behind a word and name a kind: `vitamin C`, `hepatitis b`, `维生素C`."""
    found = set()
    for before, token in pairwise(tokens):
        alone = len(token.low) == 1 and token.low.isascii() and token.low.isalpha()
        named = token.low not in "aist" or (token.raw.isupper() and token.low != "i" and before.raw.islower())
        if (
            alone
            and named
            and not token.first
            and not before.low[0].isdigit()
            and len(before.low) + is_han(before.low) > 1
        ):
            found.add(token.low)
    return frozenset(found)


def _operation(left: str, operator: str, right: str) -> str:
    """Give the operator, with its operands where their order counts."""
    operator = operator.strip()
    return f"{left}{operator}{right}" if operator in "-÷^<>" else operator


def _codes(head: str, known: set[str]) -> tuple[frozenset[tuple[str, ...]], frozenset[str]]:
    """Give identifiers as their parts (`df.groupby()`, `setTimeout`: two words each), and literals whole."""
    codes, literals = set(), set()
    for match in _code_pattern().finditer(head):
        text = next(filter(None, match.groups()), "")
        parts = tuple(part.lower() for part in _parts().findall(text)[:_MAX_PARTS])
        if match.lastgroup is not None and parts:
            literals.add(_squeeze().sub("", text.lower()))
        elif parts and "".join(parts) not in known:
            codes.add(parts)
    # What is longer is quoted speech, not a thing by its name.
    return frozenset(codes), frozenset(
        text for text in literals if 0 < len(text) <= _MAX_LITERAL or text.startswith("http")
    )


@lru_cache(maxsize=1)
def _parts() -> re.Pattern[str]:
    return re.compile(rf"[A-Z]?[a-z]+(?:\+\+|#)?|[A-Z]+(?![a-z])(?:\+\+|#)?|\d+|[{HAN}]|[^\W\d_]")


def _is_titled(tokens: tuple[Token, ...]) -> bool:
    """True when capitals say nothing: Headline Case, or everything in capitals."""
    words = [
        token for token in tokens if token.raw[0].isalpha() and not is_han(token.raw) and len(token.raw) > 2
    ]
    inner = [
        token for token in tokens if not token.first and token.raw[0].isupper() and not token.raw.isupper()
    ]
    small = any(token.raw[0].islower() and len(token.raw) > 3 for token in words)
    shouting = sum(1 for token in words if token.raw.isupper() and len(token.raw) > 3)
    headline = not small and (len(inner) > 3 or any(token.low in _FUNCTION_WORDS for token in inner))
    return (headline and len(words) > 2) or (len(words) > 2 and shouting * 2 > len(words))


def _capitals(tokens: tuple[Token, ...], skipped: frozenset[int]) -> frozenset[tuple[str, ...]]:
    """Give the capitalised words; `Wi-Fi` is one name of two parts."""
    names: list[tuple[str, ...]] = []
    named_before = False
    for i, token in enumerate(tokens):
        named = i not in skipped and _is_name(token)
        joined = bool(names) and i > 0 and token.gap in ("-", "'") and token.low[0].isalnum()
        if joined and (named or named_before):
            if named_before:
                names[-1] = (*names[-1], token.low)
            else:
                names.append((tokens[i - 1].low, token.low))
            named_before = True
            continue
        if named:
            names.append((token.low,))
        named_before = named
    return frozenset(names)


def _is_name(token: Token) -> bool:
    if token.raw == "WHO":
        return True
    if not token.raw[0].isupper() or token.low in _ORDINARY or len(token.low) < 2:
        return False
    return not token.first or token.raw[1:2].isupper()


def _has_name(name: tuple[str, ...], one: Names, other: Names) -> bool:
    whole = "".join(name)
    if all(part in other.words or stem(part) in other.stems for part in name):
        return True
    if len(whole) >= _ALIKE and any(is_slip(whole, word) for word in other.words):
        return True
    if 2 <= len(whole) <= _ACRONYM and (_spells(whole, other.order) or _spells(stem(whole), other.order)):
        return True
    # Short names hide in other words (`us` in `bus`), long ones do not.
    if len(whole) > 3 and whole in other.compact:
        return True
    if one.han and other.han and len(whole) <= _ACRONYM and not other.names:
        # A Chinese text may spell an acronym out in Chinese, where it cannot be seen.
        return True
    return any(_is_acronym(acronym, whole) and _spells(acronym, one.order) for (acronym, *_) in other.names)


def _spells(acronym: str, words: tuple[str, ...]) -> bool:
    """True when consecutive words give the letters: `HTTP`, hypertext transfer protocol; `ID`, identity."""
    for i, word in enumerate(words):
        if word[0] != acronym[0]:
            continue
        if len(word) > len(acronym) and word.startswith(acronym) and word.isascii():
            return True
        for size in range(2, min(len(acronym), len(words) - i) + 1):
            window = words[i : i + size]
            if _within("".join(part[0] for part in window), acronym) and _within(acronym, "".join(window)):
                return True
    return False


def _within(short: str, long: str) -> bool:
    """True when the letters of `short` stand in `long` in this order."""
    rest = iter(long)
    return all(letter in rest for letter in short)


def _is_acronym(acronym: str, name: str) -> bool:
    """True for a short name that may stand for words of which `name` is one."""
    return 2 <= len(acronym) <= _ACRONYM and name[0] in acronym


def stem(word: str) -> str:
    """Give a name without plural or adjective ending (`PDFs`, `Mongolian`, `Swedish`)."""
    return _stem(word) if len(word) <= LONGEST_WORD else word


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    for ending in ("ies", "es", "s", "ian", "an", "n", "ese", "ish", "e", "a", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= (2 if ending == "s" else 4):
            return word[: -len(ending)]
    return word


def _has_code(code: tuple[str, ...], other: Names) -> bool:
    """True when the code is there, or all its parts but the short prefixes of libraries (`df`, `np`)."""
    whole = "".join(code)
    if whole in other.compact or any(spoken in other.compact for spoken in _SPOKEN.get(whole, ())):
        return True
    if any(
        len("".join(known)) > 3 and (code[-len(known) :] == known or known[-len(code) :] == code)
        for known in other.codes
    ):
        return True
    if not other.codes and len(code) > 1 and len(code[-1]) > 3 and code[-1] not in _GENERIC:
        # Without code of its own the other text may leave out what stands before: `document.querySelector`.
        return code[-1] in other.compact
    first, *rest = code
    long = [part for part in rest if part not in _GENERIC] + [first] * (len(first) > 2)
    return bool(long) and all(part in other.compact or stem(part) in other.stems for part in long)


def conflict(one: Names, other: Names) -> bool:
    """True when a name of either text is nowhere in the other, unless it may be another name of one disease."""
    if unmatched(one, other):
        return not may_be_synonyms(one, other)
    return _tells(one, other) and _tells(other, one)


def unmatched(one: Names, other: Names) -> bool:
    """True when a name of either text is nowhere in the other."""
    return bool(odd_names(one, other) or odd_names(other, one))


def may_be_synonyms(one: Names, other: Names) -> bool:
    """True when a name that only one text holds is part of the name of a disease: the other may call it otherwise."""
    terms = one.terms | other.terms
    return any(name in terms for name in (*odd_names(one, other), *odd_names(other, one)))


def code_conflict(one: Names, other: Names) -> bool:
    """True when an identifier, a quotation, an address or an operator of either text is nowhere in the other."""
    both = bool(one.operators) and bool(other.operators)
    if (both and one.operators != other.operators) or (
        one.letters - other.letters and other.letters - one.letters
    ):
        return True
    return bool(odd_codes(one, other) or odd_codes(other, one))


def same(one: Names, other: Names) -> bool:
    """True when neither rule of this module objects."""
    return not unmatched(one, other) and not code_conflict(one, other)


def odd_names(one: Names, other: Names) -> list[tuple[str, ...]]:
    """Give the names of `one` that are nowhere in `other`."""
    return [name for name in one.names if not _has_name(name, one, other)]


def odd_codes(one: Names, other: Names) -> list[tuple[str, ...]]:
    """Give the identifiers and literals of `one` that are nowhere in `other`."""
    literals = [(literal,) for literal in one.literals if literal not in other.compact]
    return literals + [code for code in one.codes if not _has_code(code, other)]


def _tells(one: Names, other: Names) -> bool:
    """True when an aside of `one` names what is nowhere in `other`: counts only where both do."""
    return any(not _has_name(name, one, other) for name in one.told)
