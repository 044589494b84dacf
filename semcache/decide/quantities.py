"""Numbers as they stand in a text, with the unit beside them.

Reads digits (separators, decimals, ordinals, multipliers), number words and Chinese numerals,
clock times and calendar dates. Two texts agree when each number of one has its equal in the
other, whatever the spelling: `1.5 hours` and `90 minutes`, `twice` and `2 times`, `$5` and
`USD 5`. Knows nothing of names and of weekdays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from semcache.decide import clock, numerals
from semcache.decide.text import Text, Token, is_han
from semcache.decide.units import Unit, bound_units, free_units
from semcache.decide.wordlist import split

_MULTIPLES = {"twice": 2, "thrice": 3, "once": 1, "half": 0.5, "quarter": 0.25, "single": 1}
_FRACTIONS = {("1", "2"): 0.5, ("1", "3"): 1 / 3, ("2", "3"): 2 / 3, ("1", "4"): 0.25, ("3", "4"): 0.75}
_SUFFIXES = ("st", "nd", "rd", "th")
# Behind these, `one` is a pronoun.
_PRONOUN_BEFORE = frozenset(split("no any some every each this that which the another other only"))
_MEASURE_WORDS = frozenset(
    "个只条件次天年月日号周岁分秒小点元块毛斤公克毫片升粒颗杯瓶盒支张份页字句段章节人位名家间套台部辆本种类级层楼倍成折季度期型米里吨"
    "米厘平行列步届代胎室厅美欧英港礼星刻者样遍趟针回门科项组排栋座亩寸尺箱包袋根棵头匹口门万亿千百"
)
_HAN_UNIT_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Number:
    """One number. `text` is its canonical spelling, `measure` what it amounts to with its unit.

    `soft` numbers (one, first, a second) are dropped by paraphrase; they count only against
    another number.
    """

    text: str
    measure: tuple[str, float] | None = None
    soft: bool = False


@dataclass(slots=True)
class Quantities:
    """All numbers, units and clock times of a text; `used` are the token places they took."""

    numbers: list[Number] = field(default_factory=list)
    units: list[tuple[Unit, tuple[str, float] | None]] = field(default_factory=list)
    times: set[str] = field(default_factory=set)
    months: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)


def extract(text: Text) -> Quantities:
    """Read all quantities of a text, left to right."""
    found = Quantities()
    i = 0
    while i < len(text.tokens):
        i = max(i + 1, _step(text, i, found))
    for place, unit in _free_standing(text.words):
        if place not in found.used:
            found.units.append((unit, None))
    return found


def _step(text: Text, i: int, found: Quantities) -> int:
    """Read what begins at token i; gives the place behind it (i when nothing begins here)."""
    tokens, words = text.tokens, text.words
    if words[i][0].isdigit():
        return _digits(text, i, found)
    if is_han(words[i]):
        return _han(text, i, found) if words[i] in numerals.HAN_NUMERALS or words[i] == "半" else i
    value, end = numerals.english(words, i)
    if end > i and not _is_pronoun(words, i, end):
        return _add(text, i, end, float(value), str(value), found, soft=value == 1)
    if words[i] in numerals.ordinals():
        return _ordinal(tokens, i, found)
    if words[i] in _MULTIPLES:
        multiple = _MULTIPLES[words[i]]
        return _add(text, i, i + 1, multiple, f"{multiple:g}", found, soft=multiple in (1, 0.25, 0.5))
    return i


def _digits(text: Text, i: int, found: Quantities) -> int:
    words = text.words
    taken = clock.read(text, i)
    if taken is not None:
        found.times |= set(taken.times)
        found.months |= set(taken.months)
        found.numbers += [Number(number) for number in taken.numbers]
        found.used |= set(range(i, taken.end))
        return taken.end
    end = i + 1
    if end < len(words) and words[end].isdigit() and text.tokens[end].gap == "/":
        fraction = _FRACTIONS.get((words[i], words[end]))
        if fraction is not None:
            return _add(text, i, end + 1, fraction, f"{fraction:g}", found)
    if end < len(words) and words[end] in _SUFFIXES and not text.tokens[end].gap:
        end += 1
    for part in _parts(words[i])[:-1]:
        found.numbers.append(Number(part))
    last = _parts(words[i])[-1]
    value = float(last) if last.count(".") <= 1 and len(last) <= 18 else None
    return _scaled(text, i, end, value, last, found)


def _scaled(text: Text, i: int, end: int, value: float | None, spelling: str, found: Quantities) -> int:
    """Apply `thousand`, `k`, `万` behind a number in digits."""
    words, tokens = text.words, text.tokens
    while value is not None and end < len(words):
        factor = numerals.scales().get(words[end])
        if factor is None and words[end] == "k" and not tokens[end].gap and spelling not in ("401", "4", "8"):
            factor = 1000
        if factor is None:
            break
        value, end = value * factor, end + 1
        spelling = f"{value:.15g}"
    return _add(text, i, end, value, spelling, found, soft=spelling == "1")


def _parts(word: str) -> list[str]:
    """Split `1,000.50` into one number and `1,2,3` into three; leading zeros go."""
    head, *groups = word.split(",")
    thousands = bool(groups) and 1 <= len(head) <= 3 and all(len(g.partition(".")[0]) == 3 for g in groups)
    parts = ["".join([head, *groups])] if thousands else [head, *groups]
    return [part.lstrip("0") if part.lstrip("0")[:1].isdigit() else "0" + part.lstrip("0") for part in parts]


def _ordinal(tokens: Sequence[Token], i: int, found: Quantities) -> int:
    value = numerals.ordinals()[tokens[i].low]
    superlative = i + 1 < len(tokens) and (tokens[i + 1].low.endswith("est") or tokens[i + 1].low == "most")
    found.numbers.append(Number(str(value), soft=value == 1 or (value == 2 and not superlative)))
    return i + 1


def _is_pronoun(words: Sequence[str], i: int, end: int) -> bool:
    if words[i] != "one" or end != i + 1:
        return False
    return (i > 0 and words[i - 1] in _PRONOUN_BEFORE) or (
        end < len(words) and words[end] in ("of", "can", "could")
    )


def _han(text: Text, i: int, found: Quantities) -> int:
    """Read a run of Chinese numerals, only where a measure word or `第` says that it is one."""
    words = text.words
    if words[i] == "半":
        return _add(text, i, i + 1, 0.5, "0.5", found, soft=True) if _unit_at(words, i + 1)[0] else i
    end = i
    while end < len(words) and words[end] in numerals.HAN_NUMERALS:
        end += 1
    run = "".join(words[i:end])
    before = words[i - 1] if i else ""
    percent = words[max(0, i - 3) : i] == ("百", "分", "之")
    measured = end < len(words) and words[end] in _MEASURE_WORDS
    if not (measured or percent or before == "第" or (len(run) > 1 and run[0] not in "千万亿百")):
        return end
    if end < len(words) and words[end : end + 2] == ("分", "之"):
        return end
    value = numerals.chinese(run)
    month = measured and words[end] == "月" and 1 <= value <= 12
    if month:
        found.months.add(value)
        return end + 1
    return _add(text, i, end, float(value), str(value), found, soft=value == 1, percent=percent)


def _add(
    text: Text, i: int, end: int, value: float | None, spelling: str, found: Quantities, *,
    soft: bool = False, percent: bool = False,
) -> int:  # fmt: skip
    """Note one number with the unit behind (or the currency before) it."""
    unit, after = _unit_at(text.words, end)
    if unit is None and i > 0:
        unit = _currency_before(text.words[i - 1])
        after = end
    if percent:
        unit = bound_units()["%"]
    measure = unit.measure(value) if unit is not None and value is not None else None
    if unit is not None:
        found.units.append((unit, measure))
        found.used |= {*range(end, after), i - 1}
    found.numbers.append(Number(spelling, measure, soft))
    return max(after, end)


def _currency_before(word: str) -> Unit | None:
    unit = bound_units().get(word) or free_units().get(word)
    return unit if unit is not None and unit.dimension == "money" else None


def _unit_at(words: Sequence[str], i: int) -> tuple[Unit | None, int]:
    """Give the unit written at token i and the place behind it."""
    if i >= len(words):
        return None, i
    if is_han(words[i]):
        for size in range(min(_HAN_UNIT_LENGTH, len(words) - i), 0, -1):
            form = "".join(words[i : i + size])
            unit = free_units().get(form) or bound_units().get(form)
            if unit is not None:
                return unit, i + size
        return None, i
    if words[i] == "°" and i + 1 < len(words):
        return free_units().get({"c": "celsius", "f": "fahrenheit"}.get(words[i + 1], "")), i + 2
    for size in (3, 2, 1):
        form = " ".join(words[i : i + size])
        unit = free_units().get(form) or bound_units().get(form)
        if unit is not None and len(words) - i >= size:
            return unit, i + size
    return None, i


def _free_standing(words: Sequence[str]) -> list[tuple[int, Unit]]:
    """Give the units named without a number, with their place."""
    units = []
    i = 0
    while i < len(words):
        size = _HAN_UNIT_LENGTH if is_han(words[i]) else 3
        glue = "" if is_han(words[i]) else " "
        for length in range(min(size, len(words) - i), 0, -1):
            unit = free_units().get(glue.join(words[i : i + length]))
            if unit is not None:
                units.append((i, unit))
                i += length - 1
                break
        i += 1
    return units


def numbers_conflict(one: Quantities, other: Quantities) -> bool:
    """True when a number of one text has no equal in the other."""
    shared = _measures(one) & _measures(other)
    left = {n.text: n.soft for n in one.numbers if n.measure not in shared}
    right = {n.text: n.soft for n in other.numbers if n.measure not in shared}
    only_left = {text: soft for text, soft in left.items() if text not in right}
    only_right = {text: soft for text, soft in right.items() if text not in left}
    if only_left and only_right:
        return True
    return not all(soft for soft in (*only_left.values(), *only_right.values()))


def _measures(found: Quantities) -> set[tuple[str, float]]:
    return {number.measure for number in found.numbers if number.measure is not None}


def open_units(one: Quantities, other: Quantities) -> frozenset[Unit]:
    """Give the units of `one` that no equal amount in `other` accounts for."""
    shared = _measures(one) & _measures(other)
    return frozenset(unit for unit, measure in one.units if measure not in shared)
