"""The state of reading the numbers of one text: what was found, with the unit beside it.

Knows units, asides and what makes a number soft; nothing of how numbers are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from semcache.decide import clock
from semcache.decide.quantities import LENGTH, MONEY, PLAIN, TYPE, Number, Quantities
from semcache.decide.text import Text, is_han
from semcache.decide.units import Unit, bound_units, free_units, longest_forms
from semcache.decide.wordlist import split

_YEARS_OLD = frozenset(("岁", "old"))


_AGES = frozenset(split("am is be age aged version turned"))


# A number behind these tells one of several forms of a disease apart.
_TYPES = frozenset(
    split("type syndrome disease stage grade deficiency disorder group dystrophy recessive dominant")
) | {"型"}


_TIMES = frozenset(("times", "次", "遍", "回", "ago"))


_AFTER_PRICE = frozenset("钱以左的够能可多吗呢了是要换和到至买卖一二三四五六七八九半怎给太贵行不上下之内")
_HAN_DIGITS = "零一二三四五六七八九"


@dataclass(slots=True)
class Reader:
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
        if unit is None and end < len(self.text.tokens) and self.word(i - 1) not in _TYPES:
            unit, after = self._degrees(end)
        if unit is None:
            unit, after = currency(self.word(i - 1)), end
        if (
            unit is not None
            and value is not None
            and self.text.words[after : after + 3] == ("and", "a", "half")
        ):
            value, after = value + 0.5, after + 3
        elif unit is not None and value is not None and self.word(after) == "半":
            value, after = value + 0.5, after + 1
        if unit is not None and self.word(after - 1) in ("块", "元") and not self._is_price(after):
            unit, after = None, end
        if unit is not None and value is not None:
            more, after = self._tail(unit, after)
            value += more
        vague = self.word(i) in ("a", "an") and unit is not None and unit.dimension == "time"
        soft = soft or self._is_told(i, after, unit)
        self._add(unit, value, spelling, (i, max(after, end)), soft=soft, vague=vague)
        self.used |= set(range(end, after)) if unit is not None else set()
        return max(after, end)

    def _is_price(self, after: int) -> bool:
        """False for `两块屏幕`, where the word counts pieces, and for `2025元旦`."""
        following = self.word(after)
        if self.word(after - 1) == "元":
            return following not in ("旦", "宵", "素", "件")
        return not is_han(following) or following in _AFTER_PRICE

    def _degrees(self, end: int) -> tuple[Unit | None, int]:
        """Read the letter of `350F`, `20 C`."""
        letter = {"F": "fahrenheit", "C": "celsius"}.get(self.text.tokens[end].raw, "")
        glued = letter and self.text.tokens[end].gap in ("", "°")
        return (free_units()[letter], end + 1) if glued else (None, end)

    def _tail(self, unit: Unit, after: int) -> tuple[float, int]:
        """Read what is glued to a unit: `1h30`, `1米8`."""
        word = self.word(after)
        if word and word in _HAN_DIGITS and self.word(after - 1) == "米":
            more = (
                self.word(after + 1) if self.word(after + 1) and self.word(after + 1) in _HAN_DIGITS else ""
            )
            decimals = "".join(str(_HAN_DIGITS.index(digit)) for digit in (word, more) if digit)
            return float(f"0.{decimals}"), after + len(decimals)
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
        sort = TYPE if unit is None and self.word(at[0] - 1) in _TYPES else sort_of(unit)
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


def sort_of(unit: Unit | None) -> str:
    """Give what a number with this unit counts."""
    dimension = unit.dimension if unit is not None else ""
    return {"money": MONEY, "count": LENGTH}.get(dimension, PLAIN)


def currency(word: str) -> Unit | None:
    """Give the currency that a word or a sign means."""
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
