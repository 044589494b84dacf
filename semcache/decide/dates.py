"""Days, months, and the words that place a question in time.

A word for the present (`today`, `now`, `目前`) is what a question means anyway, so it may be
missing; a word for another time may not. Knows nothing of dates in digits (see `clock`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from semcache.decide.marks import Found, Mark
from semcache.decide.text import Token

FAMILY = "date"
FEAST = "feast"
_DAY, _MONTH, _TIME = "day", "month", "time"

_WEEKDAYS = (
    "monday mondays mon 周一 星期一 礼拜一", "tuesday tuesdays tue tues 周二 星期二 礼拜二",
    "wednesday wednesdays wed 周三 星期三 礼拜三", "thursday thursdays thu thurs 周四 星期四 礼拜四",
    "friday fridays fri 周五 星期五 礼拜五", "saturday saturdays 周六 星期六 礼拜六",
    "sunday sundays 周日 周天 星期日 星期天 礼拜天", "weekend weekends 周末 周六日 周六周日", "weekday weekdays 工作日 平日",
)  # fmt: skip
_MONTHS = (
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sep sept", "october oct", "november nov", "december dec",
)  # fmt: skip
_TIMES = {
    "now": "today|now|currently|nowadays|this week|this month|this year|this evening|at the moment|right now|presently|tonight|今天|今日|现在|"
    "目前|今年|本月|本周|如今|这个月|这周|当前|当下|眼下|今晚",
    "tomorrow": "tomorrow|明天|明日",
    "after tomorrow": "day after tomorrow|后天",
    "yesterday": "yesterday|昨天|昨日|last night|昨晚",
    "before yesterday": "day before yesterday|前天",
    "last week": "last week|previous week|past week|上周|上星期|上个星期|上礼拜",
    "next week": "next week|coming week|下周|下星期|下个星期|下礼拜",
    "last month": "last month|previous month|past month|上月|上个月",
    "next month": "next month|下月|下个月",
    "last year": "last year|previous year|past year|去年|上一年",
    "next year": "next year|明年|下一年",
    "before last year": "前年",
    "after next year": "后年",
    "last quarter": "last quarter|上季度|上个季度",
    "next quarter": "next quarter|下季度|下个季度",
    "used": "used to be|use to be|曾经",
}
# Feasts of a fixed date, as month-day.
_FEASTS = {
    "1-1": "new year's day|new years day|new year day|元旦|元旦节",
    "2-14": "valentine's day|valentines day|valentine day|情人节",
    "3-8": "women's day|international women day|妇女节|三八妇女节|三八节",
    "3-17": "saint patrick day|st patrick day|st patricks day",
    "5-1": "labour day in china|may day|劳动节|五一|五一节|五一劳动节",
    "6-1": "儿童节|六一|六一儿童节",
    "7-4": "fourth of july|independence day of the united states",
    "10-1": "国庆|国庆节|十一国庆|十一国庆节",
    "10-31": "halloween|万圣节",
    "11-11": "双十一|双11|singles day",
    "12-24": "christmas eve|平安夜",
    "12-25": "christmas day|christmas|xmas|圣诞|圣诞节",
    "12-31": "new year's eve|new years eve|new year eve",
}
_WISHES = frozenset(("happy", "merry", "nice", "lovely", "great", "enjoy", "wonderful"))
_WEEKEND = {"weekday": ("weekday",), "weekend": ("saturday", "sunday")}
_NOON = {"12:00": "noon|midday|正午", "0:00": "midnight|午夜|零点"}


@dataclass(frozen=True, slots=True)
class Dates:
    """Weekdays, months (1 to 12), clock times and words of time of one text; `told` what an aside says of these.

    `tense` is `is` or `was` where a question begins with it (`who was`).
    """

    days: frozenset[str]
    months: frozenset[int]
    times: frozenset[str]
    words: frozenset[str]
    told: frozenset[str]
    tense: str = ""


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table."""
    for line in _WEEKDAYS:
        name, *_ = line.split()
        for word in line.split():
            yield word, Mark(FAMILY, _DAY, name)
    yield from _weekdays_of_weeks()
    for number, line in enumerate(_MONTHS, 1):
        for word in line.split():
            yield word, Mark(FAMILY, _MONTH, str(number))
    for name, phrases in _FEASTS.items():
        for phrase in phrases.split("|"):
            yield phrase.replace("'s", ""), Mark(FAMILY, FEAST, name)
    for name, phrases in (*_TIMES.items(), *_NOON.items()):
        for phrase in phrases.split("|"):
            yield phrase, Mark(FAMILY, "clock" if name in _NOON else _TIME, name)


def _weekdays_of_weeks() -> Iterator[tuple[str, Mark]]:
    """Yield `下周一` and its like: a day and which week."""
    for prefix, which in (("上", "last week"), ("下", "next week"), ("这", "now"), ("本", "now")):
        for stem, number in product(("周", "星期", "礼拜", "个星期"), range(7)):
            yield (
                f"{prefix}{stem}{'一二三四五六日'[number]}",
                Mark(FAMILY, _DAY, _WEEKDAYS[number].split()[0]),
            )
            yield f"{prefix}{stem}{'一二三四五六日'[number]}", Mark(FAMILY, _TIME, which)


def of(
    found: Sequence[Found], tokens: Sequence[Token], months: set[int], times: set[str], asides: frozenset[int]
) -> Dates:
    """Join the marks of a text with what `quantities` read in digits; what an aside tells is left out."""
    told = frozenset(item.mark.member for item in found if item.start in asides and item.mark.member != "now")
    found = [item for item in found if item.start not in asides and not _is_greeting(tokens, item)]
    named = {int(f.mark.member) for f in found if f.mark.name == _MONTH and _is_month(tokens, f)}
    clock = {f.mark.member for f in found if f.mark.name == "clock"}
    days = {
        day for f in found if f.mark.name == _DAY for day in _WEEKEND.get(f.mark.member, (f.mark.member,))
    }
    if {"monday", "friday"} == days and _is_span(tokens):
        days = {"weekday"}
    return Dates(
        days=frozenset(days),
        months=frozenset(months | named),
        times=frozenset(times | clock),
        words=frozenset((*(f.mark.member for f in found if f.mark.name == _TIME), *_becoming(tokens))),
        told=told,
        tense=_tense(tokens),
    )


def _tense(tokens: Sequence[Token]) -> str:
    if any(token.low[0].isdigit() for token in tokens):
        # A year says when; the tense then only agrees with it.
        return ""
    for token, following in pairwise(tokens):
        if token.low in ("who", "what", "where") and following.low in ("is", "are", "was", "were"):
            return "is" if following.low in ("is", "are") else "was"
    return ""


def _is_span(tokens: Sequence[Token]) -> bool:
    """True for `Mon-Fri`, `Monday to Friday`, `周一到周五`."""
    gaps = any(token.gap.strip() in ("-", "\u2013", "~") and token.low.startswith("fri") for token in tokens)
    return gaps or any(token.low in ("to", "through", "till", "until", "到", "至") for token in tokens)


def _becoming(tokens: Sequence[Token]) -> tuple[str, ...]:
    """`Is she becoming a nurse?` asks about a change, `is she a nurse?` about a state."""
    asks = bool(tokens) and tokens[0].low in ("is", "are")
    return ("becoming",) if asks and any(token.low == "becoming" for token in tokens) else ()


def _is_greeting(tokens: Sequence[Token], found: Found) -> bool:
    """True for `happy Monday`, `have a nice weekend`, `新年快乐`."""
    before = {token.low for token in tokens[max(0, found.start - 2) : found.start]}
    after = "".join(token.low for token in tokens[found.end : found.end + 2])
    return not _WISHES.isdisjoint(before) or after in ("快乐", "愉快")


def _is_month(tokens: Sequence[Token], found: Found) -> bool:
    """`may`, `march` and the short forms are months only beside a number, or written like a name."""
    token = tokens[found.start]
    if len(token.low) > 4 and token.low != "march":
        return True
    neighbours = [
        tokens[i].low for i in (found.start - 1, found.end, found.start - 2) if 0 <= i < len(tokens)
    ]
    if any(word[0].isdigit() for word in neighbours[:2]):
        return True
    before = tokens[found.start - 1].low if found.start else ""
    after = tokens[found.end].low if found.end < len(tokens) else ""
    if after in ("i", "we", "you", "it", "be", "not"):
        return False
    named = token.low in ("may", "march") and token.raw[0].isupper() and not token.first
    return named or before in ("in", "of", "since", "until")


def conflict(one: Dates, other: Dates) -> bool:
    """True when the texts speak of different days, months, clock times or times."""
    if one.tense and other.tense and one.tense != other.tense:
        return True
    if one.times != other.times:
        return True
    # Beside a date the day of the week (or `tomorrow`) only repeats it.
    dated = bool(one.months) and one.months == other.months
    if _differ(one.days, other.days, loosely=dated):
        return True
    if one.told and other.told and one.told != other.told:
        return True
    return _differ(one.words - {"now"}, other.words - {"now"}, loosely=dated)


def _differ(one: frozenset[str], other: frozenset[str], *, loosely: bool) -> bool:
    return one != other and not (loosely and (not one or not other))
