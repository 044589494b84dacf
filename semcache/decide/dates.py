"""Days, months, and the words that place a question in time.

A word for the present (`today`, `now`, `目前`) is what a question means anyway, so it may be
missing; a word for another time may not. Knows nothing of dates in digits (see `clock`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semcache.decide.marks import Found, Mark
from semcache.decide.text import Token

FAMILY = "date"
_DAY, _MONTH, _TIME = "day", "month", "time"

_WEEKDAYS = (
    "monday mondays mon 周一 星期一 礼拜一", "tuesday tuesdays tue tues 周二 星期二 礼拜二",
    "wednesday wednesdays wed 周三 星期三 礼拜三", "thursday thursdays thu thurs 周四 星期四 礼拜四",
    "friday fridays fri 周五 星期五 礼拜五", "saturday saturdays 周六 星期六 礼拜六",
    "sunday sundays 周日 周天 星期日 星期天 礼拜天", "weekend weekends 周末 周六日 周六周日", "weekday weekdays 工作日 平日",
)  # fmt: skip
_MONTHS = (
    "january jan", "february feb", "march", "april apr", "may", "june jun", "july jul", "august aug",
    "september sep sept", "october oct", "november nov", "december dec",
)  # fmt: skip
_TIMES = {
    "now": "today|now|currently|nowadays|this week|this month|this year|at the moment|right now|presently|tonight|今天|今日|现在|"
    "目前|今年|本月|本周|如今|这个月|这周|当前|当下|眼下|今晚",
    "tomorrow": "tomorrow|明天|明日",
    "after tomorrow": "day after tomorrow|后天",
    "yesterday": "yesterday|昨天|昨日|last night|昨晚",
    "before yesterday": "day before yesterday|前天",
    "last week": "last week|previous week|past week|上周|上星期|上个星期|上礼拜",
    "next week": "next week|下周|下星期|下个星期|下礼拜",
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
_WEEKEND = {"weekend": ("saturday", "sunday")}
_NOON = {"12:00": "noon|midday|正午", "0:00": "midnight|午夜|零点"}


@dataclass(frozen=True, slots=True)
class Dates:
    """Weekdays, months (1 to 12), clock times and words of time of one text; `told` what an aside says of these."""

    days: frozenset[str]
    months: frozenset[int]
    times: frozenset[str]
    words: frozenset[str]
    told: frozenset[str]


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table."""
    for line in _WEEKDAYS:
        name, *_ = line.split()
        for word in line.split():
            yield word, Mark(FAMILY, _DAY, name)
    for number, line in enumerate(_MONTHS, 1):
        for word in line.split():
            yield word, Mark(FAMILY, _MONTH, str(number))
    for name, phrases in (*_TIMES.items(), *_NOON.items()):
        for phrase in phrases.split("|"):
            yield phrase, Mark(FAMILY, "clock" if name in _NOON else _TIME, name)


def of(
    found: Sequence[Found], tokens: Sequence[Token], months: set[int], times: set[str], asides: frozenset[int]
) -> Dates:
    """Join the marks of a text with what `quantities` read in digits; what an aside tells is left out."""
    told = frozenset(item.mark.member for item in found if item.start in asides and item.mark.member != "now")
    found = [item for item in found if item.start not in asides]
    named = {int(f.mark.member) for f in found if f.mark.name == _MONTH and _is_month(tokens, f)}
    clock = {f.mark.member for f in found if f.mark.name == "clock"}
    return Dates(
        days=frozenset(
            day for f in found if f.mark.name == _DAY for day in _WEEKEND.get(f.mark.member, (f.mark.member,))
        ),
        months=frozenset(months | named),
        times=frozenset(times | clock),
        words=frozenset((*(f.mark.member for f in found if f.mark.name == _TIME), *_becoming(tokens))),
        told=told,
    )


def _becoming(tokens: Sequence[Token]) -> tuple[str, ...]:
    """`Is she becoming a nurse?` asks about a change, `is she a nurse?` about a state."""
    asks = bool(tokens) and tokens[0].low in ("is", "are")
    return ("becoming",) if asks and any(token.low == "becoming" for token in tokens) else ()


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
    if one.days != other.days or one.times != other.times:
        return True
    if one.told and other.told and one.told != other.told:
        return True
    return (one.words - {"now"}) != (other.words - {"now"})
