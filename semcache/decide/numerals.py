"""Number words, English and Chinese, to integers. Knows nothing of units or of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from semcache.decide.wordlist import split

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ORDINAL = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_MAX_DIGITS = 24
HAN_DIGITS = "零〇一二三四五六七八九"
HAN_UNITS = "十百千万亿"
HAN_NUMERALS = frozenset(HAN_DIGITS + HAN_UNITS + "两俩")


@lru_cache(maxsize=1)
def cardinals() -> dict[str, int]:
    """Give the value of the simple English number words below a hundred."""
    table = {word: value for value, word in enumerate(_SMALL.split())}
    tens = split("twenty thirty forty fifty sixty seventy eighty ninety")
    return table | {word: 10 * (i + 2) for i, word in enumerate(tens)} | {"fourty": 40, "dozen": 12}


@lru_cache(maxsize=1)
def ordinals() -> dict[str, int]:
    """Give the value of the English ordinal words up to the thirtieth (and the round tens)."""
    table = {word: value for value, word in enumerate(_ORDINAL.split())}
    tens = split("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth")
    return table | {word: 10 * (i + 2) for i, word in enumerate(tens)}


@lru_cache(maxsize=1)
def scales() -> dict[str, int]:
    """Give the English and Chinese scale words that multiply what stands before them."""
    return {
        "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "bn": 10**9,
        "hundreds": 100, "thousands": 1000, "millions": 10**6, "billions": 10**9,
        "十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8,
    }  # fmt: skip


def english(words: Sequence[str], i: int) -> tuple[int, int]:
    """Read a run of number words from `i`; gives (value, end), end == i when there is none."""
    total, current, end, seen = 0, 0, i, False
    while end < len(words):
        word = words[end]
        if (
            word == "and"
            and seen
            and end + 1 < len(words)
            and _is_number_word(words[end + 1])
            and current % 100 == 0
        ):
            end += 1
            continue
        if (
            word in scales()
            and word.isascii()
            and (seen or word in ("hundred", "thousand", "million", "billion"))
        ):
            current = max(current, 1) * scales()[word]
            if scales()[word] > 100:
                total, current = total + current, 0
        elif word in cardinals() and _joins(current, cardinals()[word], seen=seen):
            current += cardinals()[word]
        elif (
            word in ordinals() and seen and current % 100 > 0 and current % 10 == 0 and ordinals()[word] < 10
        ):
            return total + current + ordinals()[word], end + 1
        else:
            break
        seen = True
        end += 1
    return total + current, end


def _is_number_word(word: str) -> bool:
    return word in cardinals() or word in ordinals()


def _joins(current: int, value: int, *, seen: bool) -> bool:
    """`twenty five` is one number, `five six` are two."""
    if not seen or current == 0:
        return True
    return (current % 100 == 0) or (current % 10 == 0 and current % 100 >= 20 and 0 < value < 10)


def chinese(run: str) -> int:
    """Give the value of a run of Chinese numerals: `二十五`, `三千零五十`, `两万`, `二零二四`."""
    run = run[:_MAX_DIGITS]
    digits = {character: max(0, value - 1) for value, character in enumerate(HAN_DIGITS)} | {"两": 2, "俩": 2}
    if not any(character in HAN_UNITS for character in run):
        return int("".join(str(digits[character]) for character in run))
    total, section, digit = 0, 0, 0
    for character in run:
        if character in digits:
            digit = digits[character]
        elif character in "万亿":
            total, section, digit = (total + section + digit) * scales()[character], 0, 0
        else:
            section, digit = section + max(digit, 1) * scales()[character], 0
    return total + section + digit
