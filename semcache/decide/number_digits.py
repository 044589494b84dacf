"""Numbers in digits: separators, decimals, scales (`10k`, `$1.2M`), fractions, years.

Knows nothing of number words.
"""

from __future__ import annotations

import re

from semcache.decide import clock, numerals
from semcache.decide.quantities import Number
from semcache.decide.reader import Reader, currency
from semcache.decide.text import Text
from semcache.decide.units import free_units

_FRACTIONS = {("1", "2"): 0.5, ("1", "3"): 1 / 3, ("2", "3"): 2 / 3, ("1", "4"): 0.25, ("3", "4"): 0.75}


_SIGNS = {("minus",), ("negative",), ("负",), ("零", "下")}


_SUFFIXES = ("st", "nd", "rd", "th")


_MILLIONS = {"m": 1e6, "mn": 1e6, "mm": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9, "k": 1e3}


def digits(reader: Reader, i: int) -> int:
    """Read the number, time or date in digits at token i; gives the place behind it."""
    text, words = reader.text, reader.text.words
    taken = clock.read(text, i)
    if taken is not None:
        return reader.take(taken, i)
    special = _special(reader, i)
    if special is not None:
        return special
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
    sign = "-" if _is_negative(text, i) and not firsts else ""
    value = float(sign + last) if last.count(".") <= 1 and len(last) <= 18 else None
    return _scaled(reader, i, end, value, sign + last)


def negatives(text: Text) -> tuple[int, ...]:
    """Give the places of numbers in digits that are negative: what letters alone do not tell apart."""
    return tuple(i for i, word in enumerate(text.words) if word[0].isdigit() and _is_negative(text, i))


def _is_negative(text: Text, i: int) -> bool:
    """True for `-5`, `(−5)` and `minus 5`; not for `10-20` and `10 minus 5`, where it joins, nor for `- 5`, where it lists."""
    gap, words = text.tokens[i].gap, text.words
    if words[max(0, i - 1) : i] in _SIGNS or words[max(0, i - 2) : i] in _SIGNS:
        first = i - (2 if words[max(0, i - 2) : i] in _SIGNS else 1)
        return first == 0 or not words[first - 1][0].isdigit()
    before = gap[-2:-1]
    return gap[-1:] in ("-", "−") and (before.isspace() or (before in "([=:" if before else i == 0))


def _special(reader: Reader, i: int) -> int | None:
    """Read what looks like a number and is none (`24/7`, `k8s`), feet and inches, and years of two digits."""
    text, words = reader.text, reader.text.words
    if reader.word(i - 1) in ("covid", "sars") or _is_numeronym(text, i):
        return i + 1
    if words[i : i + 2] == ("24", "7") and text.tokens[i + 1].gap == "/":
        return i + 2
    short = _short_year(text, i)
    if short:
        reader.found.numbers.append(Number(short, at=(i, i + 1)))
        return i + 1
    return _feet(reader, i)


def _feet(reader: Reader, i: int) -> int | None:
    """Read `5'10"`."""
    tokens = reader.text.tokens
    if (
        i + 1 >= len(tokens)
        or tokens[i + 1].gap != "'"
        or not tokens[i].low.isdecimal()
        or not tokens[i + 1].low.isdecimal()
    ):
        return None
    if len(tokens[i].low) > 1 or len(tokens[i + 1].low) > 2 or int(tokens[i + 1].low) > 11:
        return None
    measure = ("length", float(f"{0.3048 * int(tokens[i].low) + 0.0254 * int(tokens[i + 1].low):.9g}"))
    reader.found.numbers.append(
        Number(f"{tokens[i].low}+{tokens[i + 1].low}", measure, at=(i, i + 2), unit="ft")
    )
    reader.found.units.append((free_units()["feet"], measure))
    return i + 2


def _is_numeronym(text: Text, i: int) -> bool:
    """`k8s`, `i18n`: letters glued to both sides of the digits."""
    tokens = text.tokens
    if not 0 < i < len(tokens) - 1 or tokens[i].gap or tokens[i + 1].gap:
        return False
    return (
        len(tokens[i - 1].low) == 1
        and tokens[i - 1].low.isalpha()
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


def _scaled(reader: Reader, i: int, end: int, value: float | None, spelling: str) -> int:
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


def _millions(reader: Reader, i: int, end: int) -> float | None:
    """Give the factor of `$1.2M`, `5bn`."""
    token = reader.text.tokens[end]
    priced = currency(reader.word(i - 1)) is not None
    if token.gap or not (token.raw in ("M", "B", "bn", "mn") or (priced and token.low in _MILLIONS)):
        return None
    return _MILLIONS.get(token.low)


def _parts(word: str) -> list[str]:
    """Split `1,000.50` into one number and `1,2,3` into three; leading zeros go."""
    head, *groups = word.split(",")
    thousands = bool(groups) and 1 <= len(head) <= 3 and all(len(g.partition(".")[0]) == 3 for g in groups)
    parts = ["".join([head, *groups])] if thousands else [head, *groups]
    if len(groups) == 1 and len(groups[0]) <= 2:
        # A comma before the decimals.
        parts = [f"{head}.{groups[0]}"]
    parts = [re.sub(r"^(\d+)\.0+$", r"\1", part) for part in parts]
    return [part.lstrip("0") if part.lstrip("0")[:1].isdigit() else "0" + part.lstrip("0") for part in parts]
