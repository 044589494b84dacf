"""What a record holds, taken apart for comparison: units by speaker, denials, counts, corrections."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.context.record import Record, load
from semcache.decide.context.smalltalk import topics, touches
from semcache.decide.context.words import base, content, spoken, units, words_of
from semcache.decide.numerals import HAN_NUMERALS, cardinals, chinese
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

_REACH = 5
DENIALS = frozenset(split("not never no without cannot neither nor 不 没 未 别 无"))
CORRECTION = re.compile(
    r"\b(?:i meant|i mean|i misspoke|correction|scratch that|wait no|no wait|actually|sorry i|changed my mind|change my mind|on second thought"
    r"|(?<!what is )(?<!what was )my mistake|my bad|i was wrong|ignore (?:that|what|my)|forget (?:that|what|about)|not .{1,40} but|rather than|make that|let us make it)\b"
    r"|^no (?:no|wait|sorry|not|that is|it is not|the other)\b|我是说|我的意思|不对|说错|改成|更正|改主意|不是.{1,12}是|搞错|弄错|应该是|算了"
)


_FILLERS = re.compile(r"\b(?:actually|sorry i|i mean|my bad|rather than)\b")


@dataclass(frozen=True, slots=True)
class Matter:
    """A record taken apart.

    `own` are the units of what the user said and asks, `every` those of all that was said; `told` and
    `heard` the sentences; `stated_only` and `denied_only` units that are only stated, only denied;
    `counted` the figures standing before each unit; `corrections` the user's corrections in order, `retracted`
    those of them that cannot be a filler, as `actually` may be.
    """

    record: Record
    history: tuple[tuple[str, ...], ...]
    all_text: str
    own: frozenset[str]
    every: frozenset[str]
    told: tuple[str, ...]
    heard: tuple[str, ...]
    offer: frozenset[str]
    offered: tuple[str, ...]
    item: frozenset[str]
    stated_only: frozenset[str]
    denied_only: frozenset[str]
    counted: dict[str, frozenset[str]]
    corrections: tuple[tuple[str, ...], ...]
    retracted: tuple[tuple[str, ...], ...]

    def touching(self, other: Matter) -> bool:
        """True when an aside of this chat that the other lacks is about what either chat is about."""
        extra = [aside for aside in self.record.asides if not frozenset(units(aside)) <= other.every]
        core = "\n".join((*self.told, *other.told))
        known = self.own | other.own
        return any(touches(topics(aside), core) or not known.isdisjoint(units(aside)) for aside in extra)


@lru_cache(maxsize=1)
def wishes() -> frozenset[str]:
    """Words by which an offer is made, whatever is offered."""
    words = split(
        "everything look seem want like need go ahead try help assist let sure happy glad great good okay perfect understand no problem just now today "
        "course absolutely see thank sorry option one thing right proceed 需 要 帮 先 现 在 给"
    )
    return frozenset(base(word) for word in words)


@lru_cache(maxsize=512)
def matter(context: bytes) -> Matter | None:
    """Take a stored record apart; None for bytes that are none."""
    record = load(context)
    if record is None:
        return None
    told = (*record.told, record.last)
    said = (*told, *record.heard)
    denied, stated = _denials(told)
    return Matter(
        record=record,
        history=(record.told, record.asides, record.heard, record.offer),
        all_text="\n".join(said),
        own=_all(told),
        every=_all((*said, *record.asides)),
        told=told,
        heard=record.heard,
        offer=frozenset(word for part in record.offer for word in spoken(part)) - wishes(),
        offered=record.offer,
        item=frozenset(units(record.item)),
        stated_only=stated - denied,
        denied_only=denied - stated,
        counted=_counted(said),
        corrections=_corrections(told),
        retracted=_corrections(told, _FILLERS),
    )


def _corrections(parts: Iterable[str], fillers: re.Pattern[str] | None = None) -> tuple[tuple[str, ...], ...]:
    """Give what the sentences hold that correct something; fillers left out of account."""
    found = []
    for part in parts:
        joined = " ".join(words_of(part))
        if CORRECTION.search(fillers.sub(" ", joined) if fillers else joined):
            found.append(_with_figures(part))
    return tuple(found)


def _all(parts: Iterable[str]) -> frozenset[str]:
    return frozenset(unit for part in parts for unit in units(part))


def _with_figures(text: str) -> tuple[str, ...]:
    """Give units and figures in order: `not Paris but Lyon` is not `not Lyon but Paris`."""
    words = words_of(text)
    return tuple(
        part
        for i in range(len(words))
        for part in (value(words[i]) or "".join(content(words[i : i + 1])),)
        if part
    )


def _denials(parts: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Give the units that stand close behind a denial, and the others."""
    denied: set[str] = set()
    stated: set[str] = set()
    for part in parts:
        words = words_of(part)
        inside: set[str] = set()
        for i, word in enumerate(words):
            if i and word in DENIALS and not _is_choice(words, i):
                inside |= set(tuple(content(words[i + 1 : i + 1 + _REACH]))[:1])
        denied |= inside
        stated |= set(units(part)) - inside
    return frozenset(denied), frozenset(stated)


def _is_choice(words: Sequence[str], i: int) -> bool:
    """True for `会不会`, `有没有`, which ask and deny nothing."""
    return 0 < i < len(words) - 1 and is_han(words[i]) and words[i - 1] == words[i + 1]


def _counted(parts: Iterable[str]) -> dict[str, frozenset[str]]:
    """Give for each unit the figures that stand right before it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for part in parts:
        words = words_of(part)
        for i, word in enumerate(words[:-1]):
            figure = value(word)
            if figure:
                for unit in content(_next(words, i + 1)):
                    found[unit].add(figure)
    return {unit: frozenset(figures) for unit, figures in found.items()}


def value(word: str) -> str:
    """Give the figure that a word spells, "" for none."""
    if word[0].isdigit():
        return word
    if is_han(word):
        return str(chinese(word)) if word in HAN_NUMERALS else ""
    return str(cardinals()[word]) if word in cardinals() else ""


def _next(words: Sequence[str], i: int) -> Sequence[str]:
    return words[i : i + 2] if is_han(words[i]) else words[i : i + 1]
