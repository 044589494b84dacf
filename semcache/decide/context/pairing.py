"""Sentences of two chats side by side: equal but for one word is another story, not another wording."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semcache.core import Effect, GateRules
from semcache.decide.context.words import base, content, units, words_of
from semcache.decide.gate import compare, features
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

_ALIKE = 0.5
_CLOSE = 0.6
_MIDDLE = 3
"""Words that a small edit exchanges at most."""
FIGURES = frozenset(split("numbers units money dates names codes persons places kind unread"))
"""Rules of the gate that hold for a whole chat; the others weigh sentences."""
WEIGHED = frozenset(split("units negation antonyms quantifiers comparison order codes persons places kind"))
PERSONS = frozenset(
    base(word)
    for word in split(
        "wife husband spouse partner son daughter child kid baby mother father mom mum dad brother sister grandmother grandfather grandma grandpa "
        "friend boss colleague neighbour neighbor landlord tenant patient girlfriend boyfriend parent uncle aunt cousin roommate teacher doctor"
    )
) | frozenset("妻夫儿女子爸妈父母哥弟姐妹爷奶友")
_HARMLESS = frozenset(
    split(
        "want wants wanted need needs needed like love wish going get gets getting got have had having hope trying try which what how when will "
        "a an the my your our this that these those it its is are was were be been am has have had do does did can could will would may might shall "
        "shall please just really very so and but then now here there i we you me us to of for with in at on about some any also too "
        "ok okay yes well thanks hi hello 的 了 吗 呢 吧 啊 我 你 您 请 一 下 个 要 想 能 可 以 是 有"
    )
)

Read = list[tuple[str, frozenset[str]]]


def sentences_differ(one: Sequence[str], other: Sequence[str], known: frozenset[str] = frozenset()) -> bool:
    """True when nearest sentences exchange content, or differ by a rule of the gate.

    What is `known` to both chats may be named again in one of them.
    """
    left, right = _read(one), _read(other)
    return any(_differs(text, found, right, known) for text, found in left) or any(
        _differs(text, found, left, known) for text, found in right
    )


def exchanged(one: Sequence[str], other: Sequence[str], close: float = _CLOSE) -> bool:
    """True for two sides that share most of their content and each hold something of their own."""
    left = frozenset(unit for part in one for unit in units(part))
    right = frozenset(unit for part in other for unit in units(part))
    return bool(left - right and right - left) and len(left & right) >= close * min(len(left), len(right))


def differences(one: str, other: str) -> tuple[str, ...]:
    """Give the words of all rules of the gate by which two texts differ."""
    return compare(features(one), features(other), GateRules.all(Effect.VETO)).vetoes


def _read(parts: Sequence[str]) -> Read:
    return [(part, frozenset(units(part))) for part in parts]


def _differs(text: str, found: frozenset[str], others: Read, known: frozenset[str]) -> bool:
    best = max(others, key=lambda item: overlap(found, item[1]), default=None)
    if best is None or best[0] == text or overlap(found, best[1]) < _ALIKE:
        return False
    if (found - best[1] and best[1] - found) or (found ^ best[1]) & PERSONS:
        return True
    return edited(text, best[0], known) or not WEIGHED.isdisjoint(differences(text, best[0]))


def edited(
    one: str, other: str, known: frozenset[str], are_kin: Callable[[str, str], bool] | None = None
) -> bool:
    """True when a few words in the middle of equal ones are exchanged for others, unless those say nothing."""
    left, right = _forms(one), _forms(other)
    start = 0
    while start < min(len(left), len(right)) and left[start][1] == right[start][1]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end][1] == right[-1 - end][1]:
        end += 1
    a, b = left[start : len(left) - end], right[start : len(right) - end]
    if start + end < _MIDDLE or max(len(a), len(b)) > _MIDDLE:
        return False
    mine, others = {form for form, _ in a} - {""}, {form for form, _ in b} - {""}
    if not mine or not others:
        return not (mine | others) <= known
    if are_kin is not None:
        mine, others = _unlike(a, b, are_kin), _unlike(b, a, are_kin)
    return mine != others or _tense_differs(a, b)


def _unlike(one: Sequence[Form], other: Sequence[Form], are_kin: Callable[[str, str], bool]) -> set[str]:
    return {
        form
        for form, word in one
        if form and not any(form == seen or (seen and are_kin(word, heard)) for seen, heard in other)
    }


def _tense_differs(one: Sequence[Form], other: Sequence[Form]) -> bool:
    """`ends` against `ended`; `renewed` against `renewal` is none."""
    return any(
        base(left) == base(right) and left.endswith("ed") != right.endswith("ed")
        for form, left in one
        for other_form, right in other
        if form and form == other_form
    )


Form = tuple[str, str]
"""What a word says ("" for one that says nothing), and the word."""


def _forms(text: str) -> list[Form]:
    words = words_of(text)
    if any(is_han(word) for word in words):
        return [(unit, unit) for unit in units(text)]
    return [(_form(word), word) for word in words]


def _form(word: str) -> str:
    if word in _HARMLESS:
        return ""
    found = tuple(content((word,)))
    return found[0] if found else base(word)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the share of units that two sentences have in common, in [0, 1]."""
    return len(one & other) / len(one | other) if one and other else 0.0
