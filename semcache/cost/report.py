"""Groups and ratios over the sums of the cost book: what a report, a page and a plot show of them. Pure.

Money is micro-USD (integers), or None where nothing of a group has a price. Knows no store, no prices and no screen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from semcache.cost_port import DAY, CostKey, CostSums
from semcache.cost_rules import LABELS
from semcache.records import Outcome

Book = Mapping[CostKey, CostSums]
MILLION = 1_000_000
_HITS = frozenset((Outcome.EXACT, Outcome.SEMANTIC))


class By(StrEnum):
    """What costs may be grouped by."""

    TENANT = "tenant"
    DAY = "day"
    MODEL = "model"
    BACKEND = "backend"
    PROJECT = "project"
    ENVIRONMENT = "environment"
    BUSINESS_LINE = "business_line"
    TASK = "task"
    KEY = "key"
    OUTCOME = "outcome"


_FIELDS = {By.KEY: "key_name"}
"""What a key calls it, where that is another word."""


@dataclass(frozen=True)
class Group:
    """Everything that was counted under some names.

    `names` are the values of what was grouped by, in that order; `hits` are requests that the cache answered. Where no
    request of the group has a price (`has_no_price`), what depends on prices is None.
    """

    names: tuple[str, ...]
    sums: CostSums
    hits: int

    @cached_property
    def has_no_price(self) -> bool:
        """True where nothing that was paid or saved has a price, but something was asked; refusals cost nothing beside it."""
        told = self.sums
        known = (told.cost, told.by_response, told.by_provider, told.by_local, told.side)
        return told.unpriced > 0 and not any(known)

    @property
    def hit_ratio(self) -> float | None:
        """Hits of all requests; None without any."""
        return self.hits / self.sums.requests if self.sums.requests else None

    @property
    def cached_share(self) -> float | None:
        """How much of the input the provider's (or the engine's) prompt cache held; None without input."""
        return self.sums.cached / self.sums.input if self.sums.input else None

    @property
    def paid(self) -> int | None:
        """What answers cost."""
        return self._priced(self.sums.cost)

    @property
    def without_caches(self) -> int | None:
        """What the same answers would have cost without any cache."""
        return self._priced(self.sums.without_caches)

    @property
    def by_response(self) -> int | None:
        """Saved by answers from the cache; negative where drafts cost more than they saved."""
        return self._priced(self.sums.by_response)

    @property
    def by_provider(self) -> int | None:
        """Saved by the provider's prompt cache; negative where writing to it cost more than reading saved."""
        return self._priced(self.sums.by_provider)

    @property
    def by_local(self) -> int | None:
        """Saved by the local engine's prefix cache."""
        return self._priced(self.sums.by_local)

    @property
    def saved(self) -> int | None:
        """All three savings; each request's stand in one of them, so nothing counts twice."""
        return self._priced(self.sums.by_response + self.sums.by_provider + self.sums.by_local)

    @property
    def beside(self) -> int:
        """What stood beside answers: embedding, and audits, judges and summaries."""
        return self.sums.embedding + self.sums.side

    @property
    def spent(self) -> int | None:
        """What was paid in all."""
        return self._priced(self.sums.cost + self.beside)

    @property
    def net(self) -> int | None:
        """Savings less what stood beside answers."""
        saved = self.saved
        return None if saved is None else saved - self.beside

    @property
    def saved_share(self) -> float | None:
        """Savings of what it would have cost; None where that is nothing, or not known."""
        saved, whole = self.saved, self.without_caches
        return saved / whole if saved is not None and whole is not None and whole > 0 else None

    def _priced(self, money: int) -> int | None:
        return None if self.has_no_price else money


def name_of(key: CostKey, by: By) -> str:
    """Give what a key is called by; "" where it has no such label."""
    return day_text(key.day) if by is By.DAY else str(getattr(key, _FIELDS.get(by, by.value)))


def grouped(book: Book, by: Sequence[By]) -> tuple[Group, ...]:
    """Add up what goes by the same names.

    Groups come in the order of days where grouped by day; else those that would have cost most come first. Without
    anything to group by there is one group, or none where nothing was counted.
    """
    sums: dict[tuple[str, ...], CostSums] = {}
    hits: dict[tuple[str, ...], int] = {}
    for key, told in book.items():
        names = tuple(name_of(key, one) for one in by)
        sums.setdefault(names, CostSums()).add(told)
        hits[names] = hits.get(names, 0) + (told.requests if key.outcome in _HITS else 0)
    groups = [Group(names, told, hits[names]) for names, told in sums.items()]
    return tuple(sorted(groups, key=lambda group: _order(group, by)))


def _order(group: Group, by: Sequence[By]) -> tuple[object, ...]:
    days = tuple(name for one, name in zip(by, group.names, strict=True) if one is By.DAY)
    told = group.sums
    size = (-told.without_caches - group.beside, -told.input - told.output, -told.requests)
    return (*days, *size, group.names)


def total(book: Book) -> Group:
    """Add up everything."""
    return next(iter(grouped(book, ())), Group((), CostSums(), 0))


def by_day(book: Book, first: int, last: int) -> tuple[Group, ...]:
    """Give one group a day, both ends included; days without anything are there, and empty."""
    found = {group.names[0]: group for group in grouped(book, (By.DAY,))}
    days = (day_text(day) for day in range(first, last + 1))
    return tuple(found.get(day) or Group((day,), CostSums(), 0) for day in days)


def parse_by(words: Iterable[str]) -> tuple[By, ...]:
    """Read names of what to group by; each may hold several, with commas. Repeated ones count once.

    Raises:
        ValueError: one is none; the message names it and all that there are.
    """
    found: dict[By, None] = {}
    for word in (part.strip().lower().replace("-", "_") for text in words for part in text.split(",")):
        if not word:
            continue
        try:
            found[By(word)] = None
        except ValueError:
            known = ", ".join(By)
            raise ValueError(f"costs are not grouped by {word[:40]!r}; there are: {known}") from None
    return tuple(found)


def day_of(at: float) -> int:
    """Give the UTC day of a moment (Unix seconds)."""
    return int(at // DAY)


def day_text(day: int) -> str:
    """Write a day as ISO 8601 does; days outside the calendar are written as numbers."""
    try:
        return datetime.fromtimestamp(day * DAY, UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return str(day)


def dollars(micro: int) -> str:
    """Write micro-USD as an exact decimal number of dollars: no sign, no grouping, no digit lost."""
    whole, rest = divmod(abs(micro), MILLION)
    digits = f"{whole}.{rest:06}".rstrip("0").rstrip(".")
    return f"-{digits}" if micro < 0 else digits


def money_text(micro: int | None, unknown: str = "no price", digits: int = 2) -> str:
    """Write micro-USD for people: exact, with at least so many digits after the point.

    `$1,234.50`, `-$0.000012`; `unknown` for None.
    """
    if micro is None:
        return unknown
    whole, rest = divmod(abs(micro), MILLION)
    return f"{'-' if micro < 0 else ''}${whole:,}.{_rest(rest).ljust(digits, '0')}"


def digits_of(amounts: Iterable[int | None]) -> int:
    """Give how many digits after the point (2 to 6) write all of these exactly."""
    return max((len(_rest(abs(micro) % MILLION)) for micro in amounts if micro is not None), default=2)


def _rest(micro: int) -> str:
    return f"{micro:06}".rstrip("0").ljust(2, "0")


def reduced(book: Book, by: Collection[By]) -> Book:
    """Forget what is not grouped by, but for day and outcome: smaller, and the same groups by any of `by`."""
    kept = {_FIELDS.get(one, one.value) for one in by} | {"tenant", "day", "outcome"}
    plain: dict[str, Any] = {
        name: "" for name in ("model", "backend", *LABELS, "key_name") if name not in kept
    }
    found: dict[CostKey, CostSums] = {}
    for key, told in book.items():
        found.setdefault(replace(key, **plain, is_local=False), CostSums()).add(told)
    return found
