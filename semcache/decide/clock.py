"""Clock times and calendar dates in digits, read as one thing instead of as loose numbers.

`5pm`, `17:00` and `下午5点` are one time; `2024-05-03`, `2024年5月3日` and `3 May 2024` one date
(the month's name is read by `dates`). Knows nothing of number words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.decide.numerals import cardinals
from semcache.decide.text import Text

_AFTERNOON = ("下午", "晚上", "傍晚", "夜里", "中午")
_HOURS = tuple(str(hour) for hour in range(1, 13))
_MORNING = ("上午", "早上", "凌晨", "清晨")


@dataclass(frozen=True, slots=True)
class Taken:
    """What was read up to token `end` (exclusive)."""

    end: int
    times: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    months: tuple[int, ...] = ()


def read(text: Text, i: int) -> Taken | None:
    """Read a time or a date that begins with the digits at token i, or nothing."""
    words = text.words
    if words[i].count(".") == 2:
        return _dotted(words[i], i + 1)
    if not words[i].isdecimal() or len(words[i]) > 4:
        return None
    return _iso_date(text, i) or _month(words, i) or _colon_time(text, i) or _hour(text, i)


def _plain(word: str) -> str:
    return word.lstrip("0") or "0"


def _iso_date(text: Text, i: int) -> Taken | None:
    tokens, words = text.tokens, text.words
    if len(words[i]) != 4 or i + 2 >= len(words):
        return None
    gaps = (tokens[i + 1].gap, tokens[i + 2].gap)
    if gaps not in (("-", "-"), ("/", "/")) or not (words[i + 1].isdecimal() and words[i + 2].isdecimal()):
        return None
    if not 1 <= len(words[i + 1]) <= 2 or not 1 <= int(words[i + 1]) <= 12 or len(words[i + 2]) > 2:
        return None
    return Taken(i + 3, numbers=(words[i], _plain(words[i + 2])), months=(int(words[i + 1]),))


def _dotted(word: str, end: int) -> Taken | None:
    """Read `05.03.2024` (day first) and `2024.03.05`."""
    parts = word.split(".")
    if not all(part.isdecimal() for part in parts):
        return None
    year, month, day = parts if len(parts[0]) == 4 else parts[::-1]
    if (
        len(year) != 4
        or len(month) > 2
        or len(day) > 2
        or not 1 <= int(month) <= 12
        or not 1 <= int(day) <= 31
    ):
        return None
    return Taken(end, numbers=(year, _plain(day)), months=(int(month),))


def _month(words: Sequence[str], i: int) -> Taken | None:
    if len(words[i]) <= 2 and i + 1 < len(words) and words[i + 1] == "月" and 1 <= int(words[i]) <= 12:
        return Taken(i + 2, months=(int(words[i]),))
    return None


def _meridiem(words: Sequence[str], end: int) -> tuple[str, int]:
    """Give `am`, `pm` or nothing at token `end`, and the place behind it."""
    if words[end : end + 1] in (("am",), ("pm",)):
        return words[end], end + 1
    if words[end : end + 2] == ("in", "the") and words[end + 2 : end + 3] in (
        ("morning",),
        ("afternoon",),
        ("evening",),
    ):
        return ("am" if words[end + 2] == "morning" else "pm"), end + 3
    if words[end : end + 2] == ("at", "night"):
        return "pm", end + 2
    if words[end : end + 2] in (("a", "m"), ("p", "m")):
        return words[end] + "m", end + 2
    return "", end


def _at(hour: int, minute: int, half: str) -> str:
    if half == "pm" and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    return f"{hour}:{minute:02d}"


def _colon_time(text: Text, i: int) -> Taken | None:
    tokens, words = text.tokens, text.words
    if i + 1 >= len(words) or tokens[i + 1].gap != ":" or not words[i + 1].isdecimal():
        return None
    if len(words[i + 1]) != 2 or len(words[i]) > 2 or int(words[i]) > 24 or int(words[i + 1]) > 59:
        return None
    half, end = _meridiem(words, i + 2)
    return Taken(end, times=(_at(int(words[i]), int(words[i + 1]), half or _half_before(words, i)),))


def _half_before(words: Sequence[str], i: int) -> str:
    before = "".join(words[max(0, i - 2) : i])
    if before in _AFTERNOON:
        return "pm"
    return "am" if before in _MORNING else ""


def _hour(text: Text, i: int) -> Taken | None:
    words = text.words
    if len(words[i]) > 2 or int(words[i]) > 24:
        return None
    hour = int(words[i])
    half, end = _meridiem(words, i + 1)
    if half:
        return Taken(end, times=(_at(hour, 0, half),))
    if words[i + 1 : i + 2] == ("o'clock",):
        return Taken(i + 2, times=(_at(hour, 0, ""),))
    return han(words, i, i + 1, hour)


def han(words: Sequence[str], i: int, end: int, hour: int) -> Taken | None:
    """Read `点`, `点半`, `点20分` behind an hour that was read from tokens [i, end).

    `一点` is a little, `6点几` a decimal, `三点建议` a list: without digits, a part of the day or
    a word of the clock must stand beside.
    """
    following = words[end + 1] if end + 1 < len(words) else ""
    if words[end : end + 1] != ("点",) or hour > 24 or following == "几":
        return None
    if not (words[i].isdecimal() or _half_before(words, i) or following in ("半", "钟", "整")):
        return None
    minute, end = 0, end + 1
    if words[end : end + 1] == ("半",):
        minute, end = 30, end + 1
    elif end + 1 < len(words) and words[end].isdecimal() and len(words[end]) <= 2 and words[end + 1] == "分":
        minute, end = int(words[end]), end + 2
    return Taken(end, times=(_at(hour, minute, _half_before(words, i)),))


def past(words: Sequence[str], i: int) -> Taken | None:
    """Read `half past five`, `quarter to 6`."""
    if i + 2 >= len(words) or words[i + 1] not in ("past", "to"):
        return None
    hour = cardinals().get(words[i + 2], int(words[i + 2]) if words[i + 2] in _HOURS else 0)
    if not 1 <= hour <= 12:
        return None
    minute = 30 if words[i] == "half" else 15
    half, end = _meridiem(words, i + 3)
    if words[i + 1] == "to":
        hour, minute = (hour - 1) or 12, 60 - minute
    return Taken(end, times=(_at(hour, minute, half),))
