"""Reading numbers where they stand in a text, with the unit beside them.

Digits (separators, decimals, ordinals, multipliers), number words, Chinese numerals where a
measure word says that they are numerals, halves, clock times and calendar dates. Knows
nothing of comparing them (see `quantities`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from semcache.decide import clock, numerals
from semcache.decide.quantities import LENGTH, MONEY, PLAIN, TYPE, Measure, Number, Quantities
from semcache.decide.text import Text, is_han
from semcache.decide.units import Unit, bound_units, free_units, longest_forms
from semcache.decide.wordlist import split

_MULTIPLES = {"twice": 2.0, "thrice": 3.0, "once": 1.0, "half": 0.5, "quarter": 0.25, "single": 1.0}
_FRACTIONS = {("1", "2"): 0.5, ("1", "3"): 1 / 3, ("2", "3"): 2 / 3, ("1", "4"): 0.25, ("3", "4"): 0.75}
_SUFFIXES = ("st", "nd", "rd", "th")
# Behind these, `one` is a pronoun.
_PRONOUN_BEFORE = frozenset(split("no any some every each this that which the another other only"))
_MEASURE_WORDS = frozenset(
    "个只条件次天年月日号周岁分秒小点元块毛斤公克毫片升粒颗杯瓶盒支张份页字句段章节人位名家间套台部辆本种类级层楼倍成折季度期型米里吨"
    "厘平行列步届代胎室厅美欧英港礼星刻者样遍趟针回门科项组排栋座亩寸尺箱包袋根棵头匹口钟"
)
# `两者` points back at two things that the text names anyway.
_POINTING = frozenset("人者边国侧地")
_YEARS_OLD = frozenset(("岁", "old"))
_AGES = frozenset(split("am is be age aged version turned"))
_ROMAN = {"ii": 2, "iii": 3, "iv": 4, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "xi": 11, "xii": 12}
# A number behind these tells one of several forms of a disease apart.
_TYPES = frozenset(
    split("type syndrome disease stage grade deficiency disorder group dystrophy recessive dominant")
) | {"型"}
_SMALL_FRACTIONS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "thirds": 3,
    "quarter": 4,
    "quarters": 4,
    "fourths": 4,
    "fifths": 5,
    "tenths": 10,
}
_ASKING = frozenset(("question", "questions"))
_MILLIONS = {"m": 1e6, "mn": 1e6, "mm": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9, "k": 1e3}
_DECADES = {
    "twenties": 1920,
    "thirties": 1930,
    "forties": 1940,
    "fifties": 1950,
    "sixties": 1960,
    "seventies": 1970,
    "eighties": 1980,
    "nineties": 1990,
}
_RATES = frozenset(split("per a an each every in many"))
_TIMES = frozenset(("times", "次", "遍", "回", "ago"))


@dataclass(slots=True)
class _Reader:
    """The state of one pass: what was found, and which token places units took."""

    text: Text
    asides: frozenset[int]
    found: Quantities = field(default_factory=Quantities)
    used: set[int] = field(default_factory=set)

    def word(self, i: int) -> str:
        """Give the word at a place, empty beyond the ends."""
        return self.text.words[i] if 0 <= i < len(self.text.words) else ""

    def note(self, i: int, end: int, value: float | None, spelling: str, *, soft: bool = False) -> int:
        """Note the number in tokens [i, end) with the unit behind (or the currency before) it."""
        unit, after = unit_at(self.text.words, end)
        if unit is None and end < len(self.text.tokens):
            unit, after = self._degrees(end)
        if unit is None:
            unit, after = _currency(self.word(i - 1)), end
        if (
            unit is not None
            and value is not None
            and self.text.words[after : after + 3] == ("and", "a", "half")
        ):
            value, after = value + 0.5, after + 3
        elif unit is not None and value is not None and self.word(after) == "半":
            value, after = value + 0.5, after + 1
        if unit is not None and value is not None:
            more, after = self._tail(unit, after)
            value += more
        vague = self.word(i) in ("a", "an") and unit is not None and unit.dimension == "time"
        soft = soft or self._is_told(i, after, unit)
        self._add(unit, value, spelling, (i, max(after, end)), soft=soft, vague=vague)
        self.used |= set(range(end, after)) if unit is not None else set()
        return max(after, end)

    def _degrees(self, end: int) -> tuple[Unit | None, int]:
        """Read the letter of `350F`, `20 C`."""
        letter = {"F": "fahrenheit", "C": "celsius"}.get(self.text.tokens[end].raw, "")
        glued = letter and self.text.tokens[end].gap in ("", "°")
        return (free_units()[letter], end + 1) if glued else (None, end)

    def _tail(self, unit: Unit, after: int) -> tuple[float, int]:
        """Read what is glued to a unit: `1h30`, `1米8`."""
        word = self.word(after)
        if not word.isdecimal() or self.text.tokens[after].gap or len(word) > 2:
            return 0.0, after
        if unit.name == "h" and len(word) == 2 and word < "60":
            return int(word) / 60, after + 1
        if self.word(after - 1) == "米" and unit_at(self.text.words, after + 1)[0] is None:
            return float(f"0.{word}"), after + 1
        return 0.0, after

    def _add(
        self,
        unit: Unit | None,
        value: float | None,
        spelling: str,
        at: tuple[int, int],
        *,
        soft: bool,
        vague: bool = False,
    ) -> None:
        """Keep a number; the unit of a `vague` one (`got a minute`) does not count by itself."""
        measure = unit.measure(value) if unit is not None and value is not None else None
        if unit is not None and not vague:
            self.found.units.append((unit, measure))
        if unit is None and value is not None and 0 < value < 1:
            measure = ("share", float(f"{100 * value:.4g}"))
        sort = TYPE if unit is None and self.word(at[0] - 1) in _TYPES else _sort(unit)
        self.found.numbers.append(
            Number(spelling, measure, soft, sort, at, unit.name if unit is not None else "")
        )

    def _is_told(self, i: int, after: int, unit: Unit | None) -> bool:
        """True for a duration or a count of attempts in an aside, not for an age."""
        if i not in self.asides or _YEARS_OLD & {self.word(after - 1), self.word(after)}:
            return False
        if (unit is not None and unit.dimension == "time") or self.word(after) in _TIMES:
            return True
        before = self.text.tokens[i - 1] if i else None
        named = before is not None and (before.raw[0].isupper() or before.low in _AGES)
        return unit is None and not named and self.word(i).isalnum()

    def take(self, taken: clock.Taken, i: int) -> int:
        """Note a clock time or a date."""
        if i not in self.asides:
            self.found.times |= set(taken.times)
            self.found.months |= set(taken.months)
        self.found.numbers += [
            Number(number, soft=i in self.asides, at=(i, taken.end)) for number in taken.numbers
        ]
        self.used |= set(range(i, taken.end))
        return taken.end


def _sort(unit: Unit | None) -> str:
    dimension = unit.dimension if unit is not None else ""
    return {"money": MONEY, "count": LENGTH}.get(dimension, PLAIN)


def extract(text: Text, asides: frozenset[int]) -> Quantities:
    """Read all quantities of a text, left to right."""
    reader = _Reader(text, asides)
    i = 0
    while i < len(text.words):
        i = max(i + 1, _step(reader, i))
    reader.found.numbers = _joined(reader)
    _free_standing(reader)
    reader.found.taken = reader.used
    return reader.found


_JOINED = frozenset(("time", "length", "mass"))


def _joined(reader: _Reader) -> list[Number]:
    """Read `1 hour and 30 minutes`, `5 ft 10 in` as one amount each."""
    joined: list[Number] = []
    for number in reader.found.numbers:
        before = joined[-1] if joined else None
        if before is None or not _continues(reader, before, number):
            joined.append(number)
            continue
        one, other = before.measure, number.measure
        total = (one[0], float(f"{one[1] + other[1]:.9g}")) if one and other else None
        joined[-1] = replace(
            before, text=f"{before.text}+{number.text}", measure=total, at=(before.at[0], number.at[1])
        )
        reader.found.units = [
            (unit, total if measure in (one, other) else measure)
            for unit, measure in reader.found.units
            if measure != other
        ]
    return joined


def _continues(reader: _Reader, one: Number, other: Number) -> bool:
    if one.measure is None or other.measure is None or one.measure[0] not in _JOINED:
        return False
    between = reader.text.words[one.at[1] : other.at[0]]
    return (
        one.measure[0] == other.measure[0]
        and one.measure[1] > other.measure[1]
        and between in ((), ("and",), ("零",))
    )


def _step(reader: _Reader, i: int) -> int:
    """Read what begins at token i; gives the place behind it (i when nothing begins here)."""
    words = reader.text.words
    if words[i][0].isdigit():
        return _digits(reader, i)
    if is_han(words[i]):
        return _han(reader, i) if words[i] in numerals.HAN_NUMERALS or words[i] == "半" else i
    if words[i] in _DECADES and reader.word(i - 1) in ("the", "early", "late"):
        reader.found.numbers.append(Number(str(_DECADES[words[i]]), at=(i, i + 1)))
        return i + 1
    fraction = _fraction(reader, i)
    if fraction is not None:
        return fraction
    value, end = numerals.english(words, i)
    if 13 <= value <= 20 and end == i + 1:
        rest, after = numerals.english(words, end)
        if after > end and 10 <= rest <= 99:
            return reader.note(i, after, float(100 * value + rest), str(100 * value + rest))
    if end > i and not _ASKING.isdisjoint(words[end : end + 2]):
        return end
    if end > i and words[max(0, i - 2) : i] in (("thanks", "a"), ("thank", "a")):
        return end
    if end > i:
        return end if _is_pronoun(words, i, end) else _counted(reader, i, end, float(value))
    if words[i] in numerals.ordinals():
        return _ordinal(reader, i)
    if words[i] in _ROMAN and reader.text.tokens[i].raw.isupper():
        return reader.note(i, i + 1, float(_ROMAN[words[i]]), str(_ROMAN[words[i]]))
    if words[i] in ("a", "an"):
        return _article(reader, i)
    return _multiple(reader, i) if words[i] in _MULTIPLES else i


def _fraction(reader: _Reader, i: int) -> int | None:
    """Note `a third of`, `three quarters`, `a couple of`, `half a dozen`."""
    words = reader.text.words
    if words[i : i + 3] == ("half", "a", "dozen"):
        return reader.note(i, i + 3, 6.0, "6")
    count = 1 if words[i] in ("a", "one") else numerals.cardinals().get(words[i], 0)
    following = reader.word(i + 1)
    if count == 1 and following in ("couple", "pair") and words[i] == "a":
        return reader.note(i, i + 3 if reader.word(i + 2) == "of" else i + 2, 2.0, "2", soft=True)
    parts = _SMALL_FRACTIONS.get(following, 0)
    if not 0 < count < parts or (count == 1 and (parts == 2 or reader.word(i + 2) != "of")):
        return None
    end = i + 2
    while reader.word(end) in ("a", "an", "of"):
        end += 1
    unit, _ = unit_at(words, end)
    return reader.note(i, end if unit is not None else i + 2, count / parts, f"{count / parts:g}")


def _counted(reader: _Reader, i: int, end: int, value: float) -> int:
    """Note a number in words; `one and a half hours` and `two and a half` are one number."""
    if reader.text.words[end : end + 3] == ("and", "a", "half"):
        value, end = value + 0.5, end + 3
    pointing = value == 2 and reader.word(i - 1) in ("the", "these", "those", "between")
    return reader.note(i, end, value, f"{value:.15g}", soft=value == 1 or pointing)


def _article(reader: _Reader, i: int) -> int:
    """Note `a week`, `an hour and a half` as one of the unit."""
    unit, after = unit_at(reader.text.words, i + 1)
    per = reader.word(i - 1).isalpha() and reader.word(i - 1) in (
        "times",
        "once",
        "twice",
        "day",
        "week",
        "month",
        "year",
        "per",
    )
    # Only a unit of a fixed size can equal another spelling; `a cup` is no amount.
    return (
        reader.note(i, i + 1, 1.0, "1", soft=True)
        if unit is not None and unit.factor and after and not per
        else i
    )


def _multiple(reader: _Reader, i: int) -> int:
    """Note `twice`, `half an hour`, `half past five`."""
    multiple = _MULTIPLES[reader.text.words[i]]
    past = clock.past(reader.text.words, i)
    if past is not None:
        return reader.take(past, i)
    end = i + 1
    while multiple < 1 and reader.word(end) in ("a", "an", "of"):
        end += 1
    unit, _ = unit_at(reader.text.words, end)
    return reader.note(i, end if unit is not None else i + 1, multiple, f"{multiple:g}", soft=multiple <= 1)


def _digits(reader: _Reader, i: int) -> int:
    text, words = reader.text, reader.text.words
    taken = clock.read(text, i)
    if taken is not None:
        return reader.take(taken, i)
    if reader.word(i - 1) in ("covid", "sars") or _is_numeronym(text, i):
        return i + 1
    if words[i : i + 2] == ("24", "7") and text.tokens[i + 1].gap == "/":
        return i + 2
    short = _short_year(text, i)
    if short:
        reader.found.numbers.append(Number(short, at=(i, i + 1)))
        return i + 1
    end = i + 1
    if reader.word(end).isdigit() and text.tokens[end].gap == "/" and (words[i], words[end]) in _FRACTIONS:
        fraction = _FRACTIONS[words[i], words[end]]
        return reader.note(i, end + 1, fraction, f"{fraction:g}")
    decade = reader.word(end) == "s" and len(words[i]) == 4
    if (reader.word(end) in _SUFFIXES or decade) and not text.tokens[end].gap:
        end += 1
    if decade or (
        reader.word(i + 1) == "s" and len(words[i]) == 2 and words[i][1] == "0" and not text.tokens[i + 1].gap
    ):
        year = words[i] if decade else f"19{words[i]}" if words[i] > "2" else f"20{words[i]}"
        reader.found.numbers.append(Number(year, at=(i, end + 1 - decade)))
        return i + 2
    if len(words[i]) == 2 and words[i + 1 : i + 2] == ("年",) and reader.word(i + 3) == "月":
        reader.found.numbers.append(Number(f"20{words[i]}", at=(i, i + 1)))
        return i + 2
    *firsts, last = _parts(words[i])
    reader.found.numbers += [Number(part, at=(i, i + 1)) for part in firsts]
    value = float(last) if last.count(".") <= 1 and len(last) <= 18 else None
    return _scaled(reader, i, end, value, last)


def _is_numeronym(text: Text, i: int) -> bool:
    """`k8s`, `i18n`: letters glued to both sides of the digits."""
    tokens = text.tokens
    if not 0 < i < len(tokens) - 1 or tokens[i].gap or tokens[i + 1].gap:
        return False
    return (
        len(tokens[i - 1].low) == 1
        and tokens[i - 1].low.isascii()
        and tokens[i + 1].low.isascii()
        and tokens[i + 1].low.isalpha()
    )


def _short_year(text: Text, i: int) -> str:
    """Give the whole year of `'22` and of the second in `2023-24`."""
    token = text.tokens[i]
    if len(token.low) != 2 or not token.low.isdecimal():
        return ""
    if token.gap.endswith("'") and (
        i + 1 >= len(text.tokens) or not text.tokens[i + 1].gap.startswith(("'", '"'))
    ):
        return ("19" if token.low > "49" else "20") + token.low
    before = text.words[i - 1] if i else ""
    follows = (
        token.gap in ("-", "/", "–")
        and len(before) == 4
        and before[:2] in ("19", "20")
        and before.isdecimal()
    )
    return before[:2] + token.low if follows and int(token.low) == int(before[2:]) + 1 else ""


def _scaled(reader: _Reader, i: int, end: int, value: float | None, spelling: str) -> int:
    """Apply `thousand`, `k`, `万` behind a number in digits."""
    while value is not None and reader.word(end):
        factor = numerals.scales().get(reader.word(end)) or _millions(reader, i, end)
        if reader.word(end) == "k" and not reader.text.tokens[end].gap and spelling not in ("401", "4", "8"):
            factor = 1000
        if factor is None:
            break
        value, end = value * factor, end + 1
        spelling = f"{value:.15g}"
    if value is not None and reader.text.words[end : end + 2] == ("个", "半"):
        value, end, spelling = value + 0.5, end + 2, f"{value + 0.5:.15g}"
    return reader.note(i, end, value, spelling, soft=spelling == "1")


def _millions(reader: _Reader, i: int, end: int) -> float | None:
    """Give the factor of `$1.2M`, `5bn`."""
    token = reader.text.tokens[end]
    priced = _currency(reader.word(i - 1)) is not None
    if token.gap or not (token.raw in ("M", "B", "bn", "mn") or (priced and token.low in _MILLIONS)):
        return None
    return _MILLIONS.get(token.low)


def _parts(word: str) -> list[str]:
    """Split `1,000.50` into one number and `1,2,3` into three; leading zeros go."""
    head, *groups = word.split(",")
    thousands = bool(groups) and 1 <= len(head) <= 3 and all(len(g.partition(".")[0]) == 3 for g in groups)
    parts = ["".join([head, *groups])] if thousands else [head, *groups]
    parts = [re.sub(r"^(\d+)\.0+$", r"\1", part) for part in parts]
    return [part.lstrip("0") if part.lstrip("0")[:1].isdigit() else "0" + part.lstrip("0") for part in parts]


def _ordinal(reader: _Reader, i: int) -> int:
    value, following = numerals.ordinals()[reader.word(i)], reader.word(i + 1)
    if value == 3 and following in ("party", "parties", "person"):
        return i + 1
    superlative = following.endswith("est") or following == "most"
    reader.found.numbers.append(
        Number(str(value), soft=value == 1 or (value == 2 and not superlative), at=(i, i + 1))
    )
    return i + 1


def _is_pronoun(words: Sequence[str], i: int, end: int) -> bool:
    if words[i] != "one" or end != i + 1:
        return False
    return (i > 0 and words[i - 1] in _PRONOUN_BEFORE) or (
        end < len(words) and words[end] in ("of", "can", "could")
    )


def _han(reader: _Reader, i: int) -> int:
    """Read a run of Chinese numerals, only where a measure word or `第` says that it is one."""
    words = reader.text.words
    if words[i] == "半":
        return reader.note(i, i + 1, 0.5, "0.5", soft=True) if unit_at(words, i + 1)[0] is not None else i
    end = i
    while reader.word(end) in numerals.HAN_NUMERALS:
        end += 1
    run = "".join(words[i:end])
    if not _is_numeral(reader, i, end, run):
        return end
    value = numerals.chinese(run)
    taken = clock.han(words, i, end, value)
    if taken is not None:
        return reader.take(taken, i)
    if words[max(0, i - 3) : i] == ("百", "分", "之"):
        reader.found.numbers.append(Number(str(value), bound_units()["%"].measure(value), at=(i, end)))
        reader.found.units.append((bound_units()["%"], bound_units()["%"].measure(value)))
        return end
    if reader.text.words[end : end + 2] == ("个", "半"):
        return reader.note(i, end + 2, value + 0.5, f"{value + 0.5:.15g}")
    return reader.note(i, end, float(value), str(value), soft=value == 1 or reader.word(end) in _POINTING)


def _is_numeral(reader: _Reader, i: int, end: int, run: str) -> bool:
    """True when a run of numeral characters counts something; `四五天` only estimates."""
    before, after = reader.word(i - 1), reader.word(end)
    if before in ("周", "期", "拜") or (before == "个" and reader.word(i - 2) == "每"):
        # A day of the week.
        return False
    percent = reader.text.words[max(0, i - 3) : i] == ("百", "分", "之")
    if reader.text.words[end : end + 2] == ("分", "之") or (run == "百" and reader.word(end) == "分"):
        return False
    if len(run) == 2 and run in "一二三四五六七八九" and before != "第":
        return False
    return after in _MEASURE_WORDS or percent or before == "第" or (len(run) > 1 and run[0] not in "千万亿百")


def _currency(word: str) -> Unit | None:
    unit = bound_units().get(word) or free_units().get(word)
    return unit if unit is not None and unit.dimension == "money" else None


def unit_at(words: Sequence[str], i: int) -> tuple[Unit | None, int]:
    """Give the unit written at token i and the place behind it."""
    if i >= len(words):
        return None, i
    if words[i] == "°" and i + 1 < len(words):
        return free_units().get({"c": "celsius", "f": "fahrenheit"}.get(words[i + 1], "")), i + 2
    glue = "" if is_han(words[i]) else " "
    for size in range(min(longest_forms().get(words[i], 0), len(words) - i), 0, -1):
        form = glue.join(words[i : i + size])
        unit = free_units().get(form) or bound_units().get(form)
        if unit is not None:
            return unit, i + size
    return None, i


def _free_standing(reader: _Reader) -> None:
    """Note the units named without a number."""
    words = reader.text.words
    i = 0
    while i < len(words):
        glue = "" if is_han(words[i]) else " "
        for size in range(min(longest_forms().get(words[i], 0), len(words) - i), 0, -1):
            unit = free_units().get(glue.join(words[i : i + size]))
            if unit is not None:
                if i not in reader.used and i not in reader.asides and _is_meant(reader, i, unit):
                    reader.found.units.append((unit, None))
                i += size - 1
                break
        i += 1


def _is_meant(reader: _Reader, i: int, unit: Unit) -> bool:
    """True for a unit that the question is about: `per month`, `daily`, `in minutes`, not `these days`."""
    if unit.dimension != "time" or is_han(reader.word(i)):
        return True
    return reader.word(i).endswith("ly") or reader.word(i) == "annual" or reader.word(i - 1) in _RATES
