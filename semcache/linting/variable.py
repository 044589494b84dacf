"""Kinds of text that change from request to request: times, identifiers, numbers. Pure.

A kind is only named where both texts have one of the same kind at the place where they part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What stands where two texts part."""

    TIME = "time"
    UUID = "uuid"
    IDENTIFIER = "identifier"
    NUMBER = "number"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Spot:
    """Variable text around the place where two texts part: where it starts in both, and where it ends in each."""

    kind: Kind
    start: int
    end_one: int
    end_other: int


_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?"
_HAN = "[0-9〇零一二三四五六七八九十]{1,4}"
_CLOCK = (
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]\.?m\b\.?)?"
    r"(?:\s?(?:z\b|utc\b|gmt\b|[a-z]{2,4}t\b)?(?:[+-]\d{1,2}:?\d{2}\b)?)"
)
_HAN_CLOCK = (
    r"(?:凌晨|早上|上午|中午|下午|傍晚|晚上)?\s*(?:"
    rf"{_HAN}[时時点點]\s*(?:{_HAN}分)?\s*(?:{_HAN}秒)?|\d{{1,2}}[:：]\d{{2}}(?:[:：]\d{{2}})?)"
)
_DATES = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
    r"\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?!\d)",
    rf"(?:{_DAY},?\s+)?{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?",
    rf"(?:{_DAY},?\s+)?\d{{1,2}}(?:st|nd|rd|th)?[\s-]+(?:of\s+)?{_MONTH}(?:,?[\s-]+\d{{2,4}})?",
    rf"{_HAN}年\s*{_HAN}月\s*(?:{_HAN}[日号號])?(?:\s*[(（]?(?:星期|周|週|礼拜)[一二三四五六日天][)）]?)?",
    rf"{_HAN}月{_HAN}[日号號]",
)
_ANY_DATE = "|".join(_DATES)
_TIMES = (
    rf"(?:{_ANY_DATE})(?:(?:\s*[t,_]\s*|\s+at\s+|\s+|-)?(?:{_CLOCK}|{_HAN_CLOCK}))?",
    r"\d{8}[t_-]\d{4,6}z?",
    _CLOCK,
    _HAN_CLOCK,
    r"(?:星期|周|週|礼拜)[一二三四五六日天]",
    rf"(?<![a-z]){_DAY}(?![a-z])",
    r"\d+\s*(?:ms|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)\s+ago",
    r"\d+\s*(?:秒|分钟|小时|天)前",
    r"(?:just now|yesterday|today|tomorrow)(?![a-z])",
)
_TIME = re.compile(f"(?<![0-9A-Za-z])(?:{'|'.join(_TIMES)})", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{32}(?![0-9a-z])", re.I)
_NUMBER = re.compile(r"(?:(?<=\s)[-+])?\d+(?:,\d{3})*(?:\.\d+)?")
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-+/=]*")
_RUN = re.compile(r"[A-Za-z0-9]{8,}")
_STEPS = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)")
_WINDOW = 72
_NEAR = 32
_HINT = re.compile(
    r"\d|[年月日号时点周期拜〇零一二三四五六七八九十]|day\b|\b(?:mon|tue|wed|thu|fri|sat|sun|now)\b",
    re.IGNORECASE,
)
"""What no variable text is without."""
_EPOCH = (1_300_000_000.0, 2_200_000_000.0)
_EPOCH_APART = 800 * 86_400.0
_AFTER = 8
_MASSES = {10: 1.0, 13: 1e3, 16: 1e6, 19: 1e9}
"""Digits of Unix times in seconds, milliseconds, micro- and nanoseconds."""


def variable_at(one: str, other: str, at: int) -> Spot | None:
    """Name what stands where two texts part.

    Args:
        one: a text.
        other: another that is equal to it before `at`.
        at: where they part.

    Returns:
        None where it is no variable text, or where both do not go on alike behind it.
    """
    if not _HINT.search(other, max(0, at - _NEAR), at + _NEAR):
        return None
    for kind, pattern in ((Kind.UUID, _UUID), (Kind.TIME, _TIME)):
        spot = _matched(kind, pattern, one, other, at)
        if spot is not None:
            return spot
    return _token_at(one, other, at)


def number_at(text: str, start: int, end: int) -> float:
    """Give the value of a number; 0 where it is none."""
    try:
        return float(text[start:end].replace(",", ""))
    except (ValueError, OverflowError):
        return 0.0


def _matched(kind: Kind, pattern: re.Pattern[str], one: str, other: str, at: int) -> Spot | None:
    here = _covering(pattern, one, at)
    there = _covering(pattern, other, at) if here is not None else None
    if here is None or there is None or here[0] != there[0]:
        return None
    return _local(Spot(kind, here[0], here[1], there[1]), one, other)


def _covering(pattern: re.Pattern[str], text: str, at: int) -> tuple[int, int] | None:
    """Find the match that covers a place, or begins there."""
    low = max(0, at - _WINDOW)
    for match in pattern.finditer(text[low : at + _WINDOW]):
        start, end = match.start() + low, match.end() + low
        if start <= at < end or (end == at and start < at):
            return start, end
        if start > at:
            break
    return None


def _local(spot: Spot, one: str, other: str) -> Spot | None:
    here, there = one[spot.end_one :][:_AFTER], other[spot.end_other :][:_AFTER]
    return spot if here == there else None


def _token_at(one: str, other: str, at: int) -> Spot | None:
    """Look at the words around the place: an identifier, or a number."""
    low = max(0, at - _WINDOW)
    number = _pair(_NUMBER, one, other, at, low)
    if number is not None:
        spot = _local(Spot(Kind.NUMBER, number[0], number[1], number[2]), one, other)
        whole = spot is not None and not _glued(one, spot.start, spot.end_one)
        if spot is not None and whole and not _glued(other, spot.start, spot.end_other):
            return _numeric(spot, one, other)
    token = _pair(_TOKEN, one, other, at, low)
    if token is None:
        return None
    spot = _local(Spot(Kind.IDENTIFIER, token[0], token[1], token[2]), one, other)
    if spot is None or not (_random(one[token[0] : token[1]]) and _random(other[token[0] : token[2]])):
        return None
    return spot


def _pair(pattern: re.Pattern[str], one: str, other: str, at: int, low: int) -> tuple[int, int, int] | None:
    here = _covering(pattern, one, at)
    there = _covering(pattern, other, at) if here is not None else None
    if here is None or there is None or here[0] != there[0] or here[0] < low:
        return None
    return here[0], here[1], there[1]


def _glued(text: str, start: int, end: int) -> bool:
    """Tell whether letters stand directly beside, as in an identifier."""
    return text[start - 1 : start].isalpha() or (
        end < len(text) and text[end].isalpha() and text[end].isascii()
    )


def _numeric(spot: Spot, one: str, other: str) -> Spot:
    """A number may be a Unix time, or so long that it counts nothing."""
    mine, yours = one[spot.start : spot.end_one], other[spot.start : spot.end_other]
    digits = len(mine.split(".")[0])
    if digits in _MASSES and digits == len(yours.split(".")[0]):
        here, there = (float(text) / _MASSES[digits] for text in (mine, yours))
        if all(_EPOCH[0] < value < _EPOCH[1] for value in (here, there)) and abs(here - there) < _EPOCH_APART:
            return Spot(Kind.TIME, spot.start, spot.end_one, spot.end_other)
    if digits > 9:
        return Spot(Kind.IDENTIFIER, spot.start, spot.end_one, spot.end_other)
    return spot


def _random(token: str) -> bool:
    """Tell whether a word looks drawn by chance: letters and digits in turns, or many of hexadecimal ones."""
    return any(
        len(_STEPS.findall(run)) >= 2 or (len(run) >= 16 and any(map(str.isdigit, run)))
        for run in _RUN.findall(token)
    )
