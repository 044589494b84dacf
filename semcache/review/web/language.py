"""Which language a page is in, and its words, numbers and times.

Knows the dictionaries and nothing of pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, TypeGuard

from semcache.review.web.cost_texts_en import COSTS_ENGLISH
from semcache.review.web.cost_texts_zh import COSTS_CHINESE
from semcache.review.web.texts_en import ENGLISH
from semcache.review.web.texts_zh import CHINESE

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
_TAGS: dict[Language, str] = {"en": "en", "zh": "zh-Hans"}
_TEXTS = {"en": ENGLISH | COSTS_ENGLISH, "zh": CHINESE | COSTS_CHINESE}
_UNITS = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def is_language(word: str) -> TypeGuard[Language]:
    """True for the code of a language that there are texts in."""
    return word in LANGUAGES


def chosen(cookie: str, accepted: str) -> Language:
    """Choose by what was said once (a cookie), else by Accept-Language (RFC 9110, 12.5.4); English else."""
    if is_language(cookie):
        return cookie
    best: Language = "en"
    weight = 0.0
    for item in accepted[:1000].split(","):
        tag, _, parameter = item.strip().partition(";")
        code = tag.strip().lower().partition("-")[0]
        asked = _quality(parameter)
        if is_language(code) and asked > weight:
            best, weight = code, asked
    return best


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


@dataclass(frozen=True, slots=True)
class Words:
    """Words, numbers and times in one language.

    `now` is the Unix time that a page speaks from.
    """

    language: Language
    now: float

    @property
    def tag(self) -> str:
        """Give the language as HTML names it."""
        return _TAGS[self.language]

    def __call__(self, key: str, **values: object) -> str:
        """Give a text, with values put in.

        Raises:
            KeyError: there is no such text.
        """
        text = _TEXTS[self.language][key]
        return text.format_map(values) if values else text

    def word(self, family: str, word: str) -> str:
        """Give the name of a closed word (`reason`, `near-score`); the word itself where it has none."""
        return _TEXTS[self.language].get(f"{family}.{word}", word)

    def number(self, value: float | None, digits: int = 0) -> str:
        """Write a number, in groups of three; a dash for none."""
        return "–" if value is None else f"{value:,.{digits}f}"

    def share(self, value: float | None, digits: int = 1) -> str:
        """Write a share as a percentage."""
        return "–" if value is None else f"{value * 100:.{digits}f}%"

    def money(self, micro: float | None) -> str:
        """Write micro-USD as dollars, with as many digits as tell something."""
        if micro is None:
            return "–"
        dollars = micro / 1e6
        sign = "−" if dollars < 0 else ""
        digits = 2 if abs(dollars) >= 10 or dollars == 0 else 4 if abs(dollars) >= 0.01 else 6
        return f"{sign}${abs(dollars):,.{digits}f}"

    def round_money(self, micro: float) -> str:
        """Write a round sum of micro-USD for an axis, no longer than it needs to be."""
        sign = "−" if micro < 0 else ""
        return f"{sign}${abs(micro) / 1e6:,.10g}"

    def day(self, day: date) -> str:
        """Write a day of this year or another, for an axis."""
        return f"{day.month}月{day.day}日" if self.language == "zh" else f"{day.day} {day:%b}"

    def size(self, count: int) -> str:
        """Write a number of bytes."""
        if count < 1000:
            return f"{count} B"
        return f"{count / 1e3:,.1f} kB" if count < 1_000_000 else f"{count / 1e6:,.1f} MB"

    def time(self, at: float) -> str:
        """Write a moment, in UTC; the browser puts its own time in the place."""
        moment = _moment(at)
        if self.language == "zh":
            return f"{moment.year}年{moment.month}月{moment.day}日 {moment:%H:%M} UTC"
        return f"{moment.day} {moment:%b %Y, %H:%M} UTC"

    def iso(self, at: float) -> str:
        """Write a moment for machines."""
        return f"{_moment(at):%Y-%m-%dT%H:%M:%SZ}"

    def ago(self, at: float) -> str:
        """Write how long ago a moment was, roughly."""
        seconds = max(0.0, self.now - at)
        for length, name in _UNITS:
            if seconds >= length:
                return self(f"ago.{name}", n=int(seconds // length))
        return self("ago.now")

    def span(self, seconds: float) -> str:
        """Write a length of time, roughly."""
        for length, name in _UNITS:
            if seconds >= length:
                return self(f"span.{name}", n=f"{seconds / length:.3g}")
        return self("span.seconds", n=f"{seconds:.3g}")


def _moment(at: float) -> datetime:
    """Give a moment; the ends of the calendar for what lies outside it, or is no number."""
    most = 253_402_300_799.0
    return datetime.fromtimestamp(min(max(at, 0.0), most) if at == at else 0.0, UTC)  # noqa: PLR0124  not a number
