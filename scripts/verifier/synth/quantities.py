"""Quantities in angle brackets ("<30 days>"): equal wordings, and other amounts or units."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

MARK = re.compile(r"<([^<>]+)>")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_EQUAL_EN = {
    "14 days": ["2 weeks", "two weeks", "a fortnight"],
    "2 weeks": ["14 days", "two weeks", "a fortnight"],
    "3 weeks": ["21 days", "three weeks"],
    "6 weeks": ["42 days", "six weeks"],
    "48 hours": ["2 days", "two days"],
    "24 hours": ["1 day", "one day"],
    "12 months": ["1 year", "one year", "a year"],
    "1 year": ["12 months", "one year", "a year"],
    "2 years": ["24 months", "two years"],
    "1 hour": ["60 minutes", "one hour", "an hour"],
    "30 minutes": ["half an hour", "thirty minutes"],
    "8 hours": ["eight hours", "8 hrs"],
    "1 week": ["7 days", "one week", "a week"],
    "1 month": ["one month", "a month"],
    "2 kg": ["2,000 g", "two kilograms", "2 kilos"],
    "20 kg": ["20 kilos", "twenty kilograms"],
    "23 kg": ["23 kilograms", "23 kilos"],
    "1,000 km": ["1000 kilometres", "one thousand kilometres", "1,000 kilometers"],
    "10,000 km": ["10000 kilometres", "ten thousand kilometres", "10k km"],
    "3 months": ["three months", "a quarter of a year"],
    "6 months": ["six months", "half a year"],
    "50 euros": ["€50", "50 EUR", "fifty euros"],
    "100 euros": ["€100", "100 EUR", "one hundred euros"],
    "250 euros": ["€250", "250 EUR"],
    "500 euros": ["€500", "500 EUR", "five hundred euros"],
    "1,000 euros": ["€1,000", "1000 EUR", "one thousand euros", "1k euros"],
    "5,000 euros": ["€5000", "5000 EUR", "five thousand euros", "5k euros"],
    "200 dollars": ["$200", "200 USD", "two hundred dollars"],
    "1,000 dollars": ["$1,000", "1000 USD", "a thousand dollars", "1k dollars"],
    "2 TB": ["2 terabytes", "2000 GB", "two terabytes"],
    "20 euros": ["€20", "20 EUR", "twenty euros"],
    "150 euros": ["€150", "150 EUR"],
    "10,000 euros": ["€10,000", "10000 EUR", "ten thousand euros", "10k euros"],
    "15,000 euros": ["€15,000", "15000 EUR", "fifteen thousand euros", "15k euros"],
    "1 May": ["May 1", "the first of May", "1st of May", "May 1st"],
    "2 June": ["June 2", "the second of June", "2nd of June", "June 2nd"],
}
_UNITS_EN = [
    ["minutes", "hours", "days", "weeks", "months", "years"],
    ["hour", "day", "week", "month", "year"],
    ["euros", "dollars", "pounds", "francs"],
    ["kg", "g", "pounds"],
    ["km", "miles", "metres"],
    ["TB", "GB"],
    ["May", "June", "July", "August", "September", "October"],
]
_COMPARE_EN = [
    ["under", "below", "less than"],
    ["over", "above", "more than"],
    ["at least", "no less than", "a minimum of"],
    ["at most", "no more than", "a maximum of", "up to"],
]


_EQUAL_ZH = {
    "14天": ["两周", "2周", "两个星期", "十四天"],
    "2周": ["14天", "两周", "两个星期"],
    "3周": ["21天", "三周", "三个星期"],
    "7天": ["一周", "七天", "一个星期"],
    "30天": ["三十天", "30日"],
    "48小时": ["两天", "2天", "四十八小时"],
    "1个月": ["一个月"],
    "2个月": ["两个月"],
    "3个月": ["三个月", "一个季度"],
    "6个月": ["半年", "六个月"],
    "1年": ["一年", "12个月", "十二个月"],
    "2年": ["两年", "24个月"],
    "10年": ["十年"],
    "8小时": ["八小时", "8个小时"],
    "30分钟": ["半小时", "半个小时", "三十分钟"],
    "2公斤": ["4斤", "2000克", "两公斤", "2kg"],
    "20公斤": ["40斤", "20kg", "二十公斤"],
    "23公斤": ["23kg", "46斤"],
    "50元": ["五十块", "50块", "五十元", "¥50"],
    "100元": ["一百块", "100块", "一百元"],
    "200元": ["两百块", "200块"],
    "500元": ["五百块", "500块", "五百元"],
    "800元": ["八百块", "800块"],
    "2000元": ["两千块", "2000块", "两千元", "2千元"],
    "3000元": ["三千块", "3000块", "三千元"],
    "5000元": ["五千块", "5000块", "五千元"],
    "5万元": ["50000元", "五万元", "五万块"],
    "1万公里": ["10000公里", "一万公里"],
    "2个大人": ["两个大人", "两位成人"],
    "2个人": ["两个人", "2人", "两人"],
    "4个人": ["四个人", "4人"],
    "12个人": ["十二个人", "12人"],
    "20人": ["二十人", "20个人"],
    "100人": ["一百人", "100个人"],
    "1000": ["一千"],
    "100": ["一百"],
}
_UNITS_ZH = [
    ["分钟", "小时", "天", "周", "个月", "年"],
    ["元", "美元", "欧元", "日元"],
    ["公斤", "斤", "克", "磅"],
    ["公里", "英里", "米"],
    ["行", "句话", "字"],
]
_COMPARE_ZH = [
    ["低于", "少于", "不到", "小于"],
    ["超过", "多于", "大于", "高于"],
    ["至少", "不少于"],
    ["最多", "不超过"],
]
_DIGITS_ZH = "零一二三四五六七八九十"


@dataclass(frozen=True, slots=True)
class Quantities:
    """What a language knows of quantities: equal wordings, units of a kind, comparisons of a kind."""

    equals: dict[str, list[str]]
    units: list[list[str]]
    comparisons: list[list[str]]
    joint: str  # between a comparison and its quantity
    word: Callable[[int], str | None]

    def equal(self, text: str, rng: random.Random) -> str:
        """The quantities of a text in other, equal words; comparisons too ("under" - "less than")."""

        def other(match: re.Match[str]) -> str:
            return rng.choice(self._equals(match.group(1)) or [match.group(1)])

        text = MARK.sub(lambda m: "<" + other(m) + ">", text)
        return self._compare(text, rng, same=True) or text

    def _equals(self, quantity: str) -> list[str]:
        found = list(self.equals.get(quantity, ()))
        first = _NUMBER.search(quantity)
        if first and first.group().isdigit():
            word = self.word(int(first.group()))
            if word:
                found.append(quantity.replace(first.group(), word, 1))
        if first and "," in first.group():
            found.append(quantity.replace(",", ""))
        return found

    def _compare(self, text: str, rng: random.Random, *, same: bool) -> str | None:
        for group in self.comparisons:
            for word in group:
                found = re.search(rf"(?<![a-z]){word}{self.joint}<", text)
                if found:
                    pool = group if same else self._far(group)
                    others = [w for w in pool if w != word]
                    new = f"{rng.choice(others)}{self.joint}<" if others else found.group()
                    return text[: found.start()] + new + text[found.end() :]
        return None

    def _far(self, group: list[str]) -> list[str]:
        """Words of the groups that point elsewhere: "under" and "at most" are too near to each other."""
        low = {self.comparisons[0][0], self.comparisons[3][0]}
        high = {self.comparisons[1][0], self.comparisons[2][0]}
        own = low if group[0] in low else high if group[0] in high else set()
        return [w for g in self.comparisons if g is not group and g[0] not in own for w in g]

    def other_comparison(self, text: str, rng: random.Random) -> str | None:
        """Another comparison with the same amount, or None where there is none."""
        new = self._compare(text, rng, same=False)
        return None if new == text else new

    @staticmethod
    def other_number(text: str, rng: random.Random) -> str | None:
        """The first quantity with another number."""
        return _first(text, lambda quantity: _changed_number(quantity, rng))

    def other_unit(self, text: str, rng: random.Random) -> str | None:
        """The first quantity in another unit, the number left as it is."""

        def change(quantity: str) -> str | None:
            for units in self.units:
                for unit in sorted(units, key=len, reverse=True):
                    if re.search(rf"[\d\s]{unit}$", quantity):
                        return quantity.removesuffix(unit) + rng.choice([u for u in units if u != unit])
            return None

        return _first(text, change)


def _changed_number(quantity: str, rng: random.Random) -> str | None:
    found = _NUMBER.search(quantity)
    if not found:
        return None
    if "." in found.group():
        major, minor = found.group().split(".", 1)
        other = int(minor) + rng.choice((1, 2, 3))
        return f"{quantity[: found.start()]}{major}.{other}{quantity[found.end() :]}"
    old = int(found.group().replace(",", ""))
    year = 1900 < old < 2100 and quantity in {str(old), f"{old}年"}
    near = [old - 1, old + 1, old - 3, old + 2] if year else _near_numbers(old)
    new = rng.choice([n for n in near if n > 0 and n != old])
    text = f"{new:,}" if "," in found.group() else str(new)
    return quantity[: found.start()] + text + quantity[found.end() :]


def _near_numbers(old: int) -> list[int]:
    step = 1 if old < 10 else 5 if old < 100 else 50 if old < 1000 else 500
    return [old + step, old - step, old * 2, old * 10, old + 3 * step]


def _first(text: str, change: Callable[[str], str | None]) -> str | None:
    match = MARK.search(text)
    new = change(match.group(1)) if match else None
    if match is None or new is None:
        return None
    return text[: match.start()] + f"<{new}>" + text[match.end() :]


def _word_en(number: int) -> str | None:
    """A number below one hundred in words."""
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_SMALL[ones]}" if ones else "")
    return None


def _word_zh(number: int) -> str | None:
    """A number below one hundred in Chinese numerals."""
    if number <= 10:
        return _DIGITS_ZH[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return (_DIGITS_ZH[tens] if tens > 1 else "") + "十" + (_DIGITS_ZH[ones] if ones else "")
    return None


def plain(text: str) -> str:
    """The text as written, without the marks."""
    return MARK.sub(r"\1", text)


ENGLISH = Quantities(_EQUAL_EN, _UNITS_EN, _COMPARE_EN, " ", _word_en)
CHINESE = Quantities(_EQUAL_ZH, _UNITS_ZH, _COMPARE_ZH, "", _word_zh)
