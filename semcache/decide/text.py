"""Folding and tokens: the one reading of a text that all rules share.

A token is a word, a number with its separators, one Han or kana character, or one of a few
symbols that carry meaning (%, currency signs, degree). Contractions are expanded (`don't`
becomes `do not`), full-width forms and traditional characters folded. Knows nothing of
meanings. Work is linear in the text; rules see at most `MAX_TOKENS` tokens and what lies
beyond counts only as a digest: what is not read is never judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b

from semcache.decide.hanzi import simplify
from semcache.decide.hidden import hidden
from semcache.decide.wordlist import split

MAX_TOKENS = 1024
"""Tokens that the rules read: twice the longest encoder window in use."""
_MAX_CHARACTERS = 32_768
_CLOSING = 16

HAN = "\u3005\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Inside of a character class: Han and kana, written without blanks."""

_APOSTROPHES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2032": "'"})
_SENTENCE_END = frozenset('.?!。？！\n:："“”「」『』•')


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `low` is what rules compare, `raw` keeps the case.

    `gap` is what stood between the token before and this one ("" when glued together), `first`
    is True when it begins a sentence, a quotation or a line.
    """

    low: str
    raw: str
    gap: str
    first: bool


@dataclass(frozen=True, slots=True)
class Text:
    """A folded text: `head` is the part that rules read, `words` the lower-case tokens of it.

    `compact` is the letters and digits of `head` in lower case with nothing between, `tail` a
    digest of what is not read (empty when all was): tokens too many, and characters that nobody sees.
    """

    head: str
    tokens: tuple[Token, ...]
    words: tuple[str, ...]
    compact: str
    tail: bytes


@lru_cache(maxsize=1)
def _token_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"\d{{1,40}}(?:[.,]\d{{1,40}}){{0,6}}"
        rf"|[{HAN}]"
        rf"|[A-Za-z\u00c0-\u024f]{{1,64}}(?:'[A-Za-z]{{1,4}}(?![A-Za-z]))?"
        rf"|(?:(?![{HAN}])[^\W\d_]){{1,64}}"
        rf"|[%$€£¥₹₩‰°]"
    )


@lru_cache(maxsize=1)
def _crowd_pattern() -> re.Pattern[str]:
    # Unicode's canonical ordering is quadratic in a run of combining marks, hence the bound.
    return re.compile(r"([^\w\s]{64})[^\w\s]+")


@lru_cache(maxsize=1)
def _between_pattern() -> re.Pattern[str]:
    return re.compile(r"[\W_]+")


@lru_cache(maxsize=1)
def _contractions() -> dict[str, tuple[str, ...]]:
    auxiliaries = split(
        "do does did is are was were has have had could should would must need might ought dare may"
    )
    table: dict[str, tuple[str, ...]] = {f"{word}n't": (word, "not") for word in auxiliaries}
    table |= {
        f"{word}nt": (word, "not")
        for word in split("do does did is are was were has have could should would")
    }
    table |= {
        "can't": ("can", "not"), "cant": ("can", "not"), "cannot": ("can", "not"), "won't": ("will", "not"),
        "shan't": ("shall", "not"), "ain't": ("is", "not"), "let's": ("let", "us"), "o'clock": ("o'clock",),
        "im": ("i", "am"), "ive": ("i", "have"), "whats": ("what", "is"), "hows": ("how", "is"),
        "wheres": ("where", "is"), "whos": ("who", "is"), "thats": ("that", "is"), "gonna": ("going", "to"),
        "wanna": ("want", "to"), "y'all": ("you",),
    }  # fmt: skip
    return table


@lru_cache(maxsize=1)
def _clitics() -> dict[str, str]:
    return {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am", "'d": "would"}


@lru_cache(maxsize=1)
def _is_before_s() -> frozenset[str]:
    return frozenset(split("what who where when why how that there here it he she this everything everyone"))


def _expand(raw: str) -> tuple[tuple[str, str], ...]:
    """Give (low, raw) of one matched word: contractions opened, possessives dropped."""
    low = raw.lower()
    opened = _contractions().get(low)
    if opened is not None:
        return tuple((part, raw[0] + part[1:] if i == 0 else part) for i, part in enumerate(opened))
    cut = low.rfind("'")
    if cut <= 0:
        return ((low, raw),)
    stem, clitic = low[:cut], low[cut:]
    if clitic in _clitics():
        return ((stem, raw[:cut]), (_clitics()[clitic],) * 2)
    if clitic == "'s":
        return ((stem, raw[:cut]), ("is", "is")) if stem in _is_before_s() else ((stem, raw[:cut]),)
    return ((low.replace("'", ""), raw.replace("'", "")),)


def _matches(folded: str) -> Iterator[tuple[re.Match[str], tuple[tuple[str, str], ...]]]:
    for match in _token_pattern().finditer(folded):
        word = match.group()
        yield match, _expand(word) if len(word) > 1 else ((word.lower(), word),)


def fold(text: str) -> str:
    """Give the text with compatibility forms, apostrophes and traditional characters made one."""
    if not text.isascii():
        text = simplify(unicodedata.normalize("NFKC", _crowd_pattern().sub(r"\1", text)))
    return text.translate(_APOSTROPHES)


def _begins(gap: str) -> bool:
    return any(mark in _SENTENCE_END for mark in gap)


def read(text: str) -> Text:
    """Fold and tokenise any Unicode text; never raises, linear time."""
    folded = fold(text[:_MAX_CHARACTERS])
    tokens: list[Token] = []
    digest = blake2b(digest_size=16)
    unseen = hidden(text[:_MAX_CHARACTERS])
    digest.update(unseen.encode("utf-8", "surrogatepass"))
    cut = len(text) > _MAX_CHARACTERS
    end = 0
    for match, parts in _matches(folded):
        if len(tokens) >= MAX_TOKENS:
            cut = True
            digest.update("".join(low for low, _ in parts).encode("utf-8", "surrogatepass"))
            continue
        gap = folded[end : match.start()][:64]
        first = not tokens or _begins(gap)
        for low, raw in parts:
            tokens.append(Token(low, raw, gap, first))
            gap, first = " ", False
        end = match.end()
    if cut:
        rest = _between_pattern().sub("", text[_MAX_CHARACTERS:]).lower()
        digest.update(rest.encode("utf-8", "surrogatepass"))
    words = tuple(token.low for token in tokens)
    # The closing marks belong to the last word: `C++`, a closing quote.
    head = folded[: end if cut else end + _CLOSING]
    return Text(head, tuple(tokens), words, "".join(words), digest.digest() if cut or unseen else b"")


def without(text: Text, places: frozenset[int]) -> Text:
    """Give what is left of a text when the tokens at `places` are taken away."""
    kept: list[Token] = []
    for i, token in enumerate(text.tokens):
        if i not in places:
            cut = i - 1 in places
            kept.append(replace(token, gap="\n", first=True) if cut else token)
    words = tuple(token.low for token in kept)
    head = "".join(token.gap + token.raw for token in kept)
    return Text(head, tuple(kept), words, "".join(words), text.tail)


def places(text: str) -> list[tuple[int, int]]:
    """Give where each token of `read(text)` stands in the text as it was given: characters [start, end).

    The parts of an opened contraction stand at one place. What folding moved about in a way that
    cannot be followed leaves the list empty.
    """
    read_part = text[:_MAX_CHARACTERS]
    folded = fold(read_part)
    origin = _origins(read_part, folded)
    found: list[tuple[int, int]] = []
    if not origin:
        return found
    for match, parts in _matches(folded):
        if len(found) >= MAX_TOKENS:
            break
        found += [(origin[match.start()], origin[match.end() - 1] + 1)] * len(parts)
    return found


def origin_of(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Give where characters [start, end) of the folded text stand in the text as it was given."""
    read_part = text[:_MAX_CHARACTERS]
    origin = _origins(read_part, fold(read_part))
    if not origin or not 0 <= start < end <= len(origin):
        return None
    return origin[start], origin[end - 1] + 1


def _origins(text: str, folded: str) -> list[int]:
    """Give for each character of the folded text the place it came from; nothing where that cannot be told."""
    if len(folded) == len(text):
        return list(range(len(text)))
    origin: list[int] = []
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        piece = fold(text[start:end])
        pieces.append(piece)
        origin += [start] * len(piece)
        start = end
    return origin if "".join(pieces) == folded else []


def is_han(word: str) -> bool:
    """True for a one-character token of Han or kana."""
    return len(word) == 1 and "\u3005" <= word <= "\ufaff"
