"""The facts that an answer states: amounts, dates, names, identifiers and the words beside them.

Leans on the gate's reading of a text and keeps of it only what two answers can be compared by. What the
question says already is no news and is left out. Knows nothing of verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from semcache.decide.answers.reading import Answer
from semcache.decide.features import Features, features
from semcache.decide.names import stem
from semcache.decide.text import is_han, read
from semcache.decide.wordlist import split

_HEAD = 2
"""Sentences that usually hold the answer; what follows explains."""
_NEAR = 0.006
"""Relative difference up to which rounded amounts are equal."""
_LEAST_ROUNDED = 100.0
_ROUNDED_DIGITS = 2
_PARTICLES = frozenset(split("da de del della di du la le van von der den of bin al"))
_IDENTIFIER = re.compile(
    r"https?://[^\s<>\"')\]]{1,300}|[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,64}\.[A-Za-z]{2,10}"
    r"|(?<![\d.,])\+?\d(?:[\d() -]{5,20})\d(?!\d)"
)
_LEAST_DIGITS = 7
_LEAST_FIGURE = 10.0

_COMMON = frozenset(
    split(
        "a an the of is are was were be been being am do does did can could should would will shall may might must has have had "
        "i me my we us our you your he him his she her it its they them their this that these those there here what which who "
        "whom whose when where why how to from in on at by for with into onto out up off and or but so if then than as about not "
        "no please also just only very really more most many much some any all each other such like use used using usually "
        "generally typically often mostly called known means mean it's that's you'll because since while after before during "
        "between both either one two first way make makes take takes get gets go goes run need needs want answer yes however "
        "approximately roughly around nearly almost example ad bc ce bce"
    )
) | frozenset(
    "的了是在和与或也都就而及着过吗呢吧啊这那个一您你我他她它们以为于被把从到对向由给让等并且但如果可以会能要不"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What one answer states beyond its question.

    `amounts` by what they measure (`plain` for bare numbers), `head` those of the first sentences, `figures`
    all of some size as they are written, whatever their unit;
    `names` in lower case, `spoken` every word (to look names up in), `words` the stems of what is said.
    """

    amounts: Mapping[str, frozenset[float]]
    head: Mapping[str, frozenset[float]]
    figures: frozenset[str]
    identifiers: frozenset[str]
    months: frozenset[int]
    days: frozenset[str]
    names: frozenset[str]
    spoken: frozenset[str]
    compact: str
    words: frozenset[str]
    first: Features
    whole: Features


def facts_of(answer: Answer, question: str) -> Facts:
    """Collect the facts of an answer; what the question names is left out of amounts and names."""
    asked = features(question)
    prose = _IDENTIFIER.sub(_blanked, answer.prose)
    whole = features(prose)
    first = features(" ".join(answer.sentences[:_HEAD]))
    given = words_of(question)
    return Facts(
        amounts=amounts_of(whole, asked),
        head=amounts_of(features(_IDENTIFIER.sub(_blanked, " ".join(answer.sentences[:_HEAD]))), asked),
        figures=_figures(whole, asked),
        identifiers=frozenset(filter(None, map(_identifier, _IDENTIFIER.findall(answer.text)))),
        months=whole.dates.months - asked.dates.months,
        days=whole.dates.days - asked.dates.days,
        names=_names(whole, asked, answer),
        spoken=_spoken(answer.text),
        compact=whole.plain,
        words=words_of(answer.prose) - given,
        first=first,
        whole=whole,
    )


def _blanked(match: re.Match[str]) -> str:
    return " " if _identifier(match.group()) else match.group()


def _identifier(text: str) -> str:
    if "@" in text or text.startswith("http"):
        return text.lower().rstrip("/.,")
    digits = "".join(filter(str.isdigit, text))
    return digits.lstrip("0") if len(digits) >= _LEAST_DIGITS and not text.isdigit() else ""


def amounts_of(of: Features, asked: Features) -> dict[str, frozenset[float]]:
    """Give the amounts of a text by what they measure, without those that the question names."""
    known = {number.text for number in asked.quantities.numbers}
    measured = {number.measure for number in asked.quantities.numbers if number.measure is not None}
    found: dict[str, set[float]] = {}
    for number in of.quantities.numbers:
        if number.soft or number.text in known or (number.measure is not None and number.measure in measured):
            continue
        kind, value = _celsius(number.measure or ("plain", _float(number.text)))
        if value is not None:
            found.setdefault(kind, set()).add(value)
    if times := {_minutes(time) for time in of.dates.times - asked.dates.times}:
        found["clock"] = times
    return {kind: frozenset(values) for kind, values in found.items()}


def _figures(of: Features, asked: Features) -> frozenset[str]:
    """Give the numbers as such: a unit that was misread must not make two of one."""
    known = {number.text for number in asked.quantities.numbers}
    texts = {number.text for number in of.quantities.numbers} - known
    return frozenset(text for text in texts if (_float(text) or 0.0) >= _LEAST_FIGURE)


def _celsius(measure: tuple[str, float | None]) -> tuple[str, float | None]:
    """Bring the one pair of units that differs by more than a factor to one of them."""
    kind, value = measure
    return ("c", round((value - 32) / 1.8, 1)) if kind == "f" and value is not None else measure


def _minutes(time: str) -> float:
    hour, _, minute = time.partition(":")
    return (_float(hour) or 0.0) * 60 + (_float(minute) or 0.0)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def near(one: float, other: float) -> bool:
    """True for equal amounts, also when one is rounded; small bare numbers and years have no roundings."""
    if one == other or _rounded(one, other) or _rounded(other, one):
        return True
    large = max(abs(one), abs(other))
    return large >= _LEAST_ROUNDED and abs(one - other) <= _NEAR * large and not _is_year(one, other)


def _rounded(rough: float, exact: float) -> bool:
    """`28.3` is 28.27 rounded; one digit alone is no rounding of anything."""
    digits, _, decimals = f"{rough:.9g}".partition(".")
    return (
        len(digits.lstrip("-0") + decimals) >= _ROUNDED_DIGITS
        and "e" not in digits + decimals
        and (rough == round(exact, len(decimals)))
    )


def _is_year(one: float, other: float) -> bool:
    return all(1000 <= value <= 2200 and value == int(value) for value in (one, other))


def shared(one: Iterable[float], other: Iterable[float]) -> bool:
    """True when an amount of one side is also on the other."""
    others = tuple(other)
    return any(near(a, b) for a in one for b in others)


def _names(of: Features, asked: Features, answer: Answer) -> frozenset[str]:
    found = {part for name in (*of.names.names, *of.names.codes) for part in name if len(part) > 1}
    found |= set(of.names.literals) | set(of.places)
    known = asked.names.words | asked.places | asked.names.literals
    found |= {name.lower() for text in answer.sentences for name in _beginning(text)}
    known_stems = {stem(word) for word in known}
    return frozenset(
        name for name in found if name not in known and stem(name) not in known_stems and name not in _COMMON
    )


def _beginning(sentence: str) -> list[str]:
    """Give the name that a sentence begins with, where capitals show nothing: `Calgary.`, `Edmonton is`."""
    words = [word.strip(".,!?;:\"'()") for word in sentence.split()[:5]]
    if not words or not words[0][:1].isupper() or words[0].lower() in _COMMON:
        return []
    alone = len(words) <= 4 and all(word[:1].isupper() or word in _PARTICLES for word in words if word)
    if alone:
        return [word for word in words if word[:1].isupper()]
    return words[:1] if len(words) > 1 and words[1] in ("is", "was", "has") else []


@lru_cache(maxsize=512)
def _spoken(text: str) -> frozenset[str]:
    words = read(text).words
    return frozenset(words) | frozenset(map(stem, words))


@lru_cache(maxsize=512)
def words_of(text: str) -> frozenset[str]:
    """Give the stems of what a text says: words, and pairs of Han characters."""
    words = read(text).words
    latin = {
        stem(word) for word in words if word not in _COMMON and not is_han(word) and not word[0].isdigit()
    }
    pairs = {
        a + b for a, b in pairwise(words) if is_han(a) and is_han(b) and a not in _COMMON and b not in _COMMON
    }
    return frozenset(latin | pairs)


def says(name: str, facts: Facts) -> bool:
    """True when a name is somewhere in the answer, in whatever spelling."""
    return (
        name in facts.spoken
        or stem(name) in facts.spoken
        or name in facts.whole.places
        or (len(name) > 3 and name in facts.compact)
    )


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the share of the smaller set that is in the other, in [0, 1]; 0 when either is empty."""
    least = min(len(one), len(other))
    return len(one & other) / least if least else 0.0
