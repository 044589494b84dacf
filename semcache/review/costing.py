"""Costs, budgets, alarms and prefix findings as somebody with a token sees them. Changes nothing; knows no HTTP and no pages.

Every method takes who asks and checks it before anything is read: a tenant that somebody does not see is not there. All
may raise NotThereError, and StoreError: unreachable or late.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass

from semcache.core import TenantId
from semcache.cost.focus import write_focus
from semcache.cost.report import Book, By, day_of, reduced
from semcache.cost_port import (
    AlarmShelf,
    Budgets,
    BudgetState,
    CostAlarm,
    CostBook,
    CostKey,
    CostSums,
    LintFinding,
    LintShelf,
)
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock
from semcache.review.access import Reviewer, Role, allow

MOST_DAYS = 90
_AT_ONCE = 500
"""Rows that are written at once: some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class CostShelves:
    """What is read, shared with the proxies."""

    book: CostBook
    budgets: Budgets
    lint: LintShelf
    alarms: AlarmShelf


@dataclass(frozen=True, slots=True)
class Days:
    """The costs of the UTC days `first` to `last`, both included."""

    book: Book
    first: int
    last: int


class Costing:
    """Reads what costs and saves.

    Args:
        shelves: what is read.
        policies: gives the policies in force, which state the budgets.
        clock: time.
    """

    def __init__(self, shelves: CostShelves, policies: Callable[[], PolicySnapshot], clock: Clock) -> None:
        self._shelves = shelves
        self._policies = policies
        self._clock = clock

    async def costs(self, who: Reviewer, tenant: TenantId, days: int, by: Collection[By]) -> Days:
        """Give what the last days cost, today among them: as much of it as groups by `by`, day and outcome need."""
        first, last = self._days(who, tenant, days)
        # A day at a time: only what is grouped by is held, however many keys a day has.
        found: dict[CostKey, CostSums] = {}
        for day in range(first, last + 1):
            found.update(reduced(await self._shelves.book.read(tenant, day, day), by))
        return Days(found, first, last)

    async def csv(self, who: Reviewer, tenant: TenantId, days: int) -> AsyncIterator[bytes]:
        """Give the same in FOCUS columns, a day at a time; the first day is read before anything is given."""
        first, last = self._days(who, tenant, days)
        head = await self._shelves.book.read(tenant, first, first)
        return self._rows(tenant, head, first, last)

    async def _rows(self, tenant: TenantId, head: Book, first: int, last: int) -> AsyncIterator[bytes]:
        yield _csv({}, header=True)
        for day in range(first, last + 1):
            book = head if day == first else await self._shelves.book.read(tenant, day, day)
            keys = sorted(book)
            for at in range(0, len(keys), _AT_ONCE):
                yield _csv({key: book[key] for key in keys[at : at + _AT_ONCE]})
                await asyncio.sleep(0)  # others wait for this process too

    async def budgets(self, who: Reviewer, tenant: TenantId) -> tuple[BudgetState, ...]:
        """Give the present window of each budget that the tenant's policy states; none when it has no file any more."""
        allow(who, tenant, Role.VIEWER)
        known = self._policies().by_tenant.get(tenant)
        rules = known.costs.budgets if known is not None else ()
        return await self._shelves.budgets.states(tenant, rules, self._clock.now()) if rules else ()

    async def alarms(self, who: Reviewer, tenant: TenantId) -> tuple[CostAlarm, ...]:
        """Give alarms, raised ones first, then the newest."""
        allow(who, tenant, Role.VIEWER)
        return await self._shelves.alarms.alarms(tenant)

    async def findings(self, who: Reviewer, tenant: TenantId, days: int) -> tuple[LintFinding, ...]:
        """Give what kept prompts from being reused in the last days, most tokens lost first."""
        return await self._shelves.lint.findings(tenant, *self._days(who, tenant, days))

    def _days(self, who: Reviewer, tenant: TenantId, days: int) -> tuple[int, int]:
        allow(who, tenant, Role.VIEWER)
        last = day_of(self._clock.now())
        return last - min(max(days, 1), MOST_DAYS) + 1, last


def _csv(book: Book, *, header: bool = False) -> bytes:
    out = io.StringIO(newline="")
    write_focus(book, out, header=header)
    return out.getvalue().encode("utf-8", "replace")


def budget_json(state: BudgetState) -> Mapping[str, object]:
    """Give a budget as JSON; money is micro-USD, times are Unix seconds."""
    rule = state.rule
    return {
        "name": rule.name,
        "window": rule.window,
        "labels": dict(rule.labels),
        "models": list(rule.models),
        "keys": list(rule.keys),
        "counts": rule.counts.value,
        "on_hard": rule.on_hard.value,
        "soft": rule.soft,
        "hard": rule.hard,
        "most_requests": rule.requests,
        "begins": state.begins,
        "ends": state.ends,
        "spent": state.spent,
        "held": state.held,
        "left": state.left,
        "requests": state.requests,
    }


def alarm_json(alarm: CostAlarm) -> Mapping[str, object]:
    """Give an alarm as JSON; times are Unix seconds."""
    return {
        "kind": alarm.kind.value,
        "subject": alarm.subject,
        "is_raised": alarm.is_raised,
        "since": alarm.since,
        "at": alarm.at,
        "value": alarm.value,
        "limit": alarm.limit,
        "text": alarm.text,
    }


def finding_json(finding: LintFinding) -> Mapping[str, object]:
    """Give a prefix finding as JSON; money is micro-USD, null without a price."""
    return {
        "day": finding.day,
        "group": finding.group,
        "cause": finding.cause.value,
        "where": finding.where,
        "byte": finding.byte,
        "token": finding.token,
        "sample": finding.sample,
        "prompts": finding.prompts,
        "seen": finding.seen,
        "tokens_lost": finding.tokens,
        "money_lost": finding.money,
        "fix": finding.fix,
        "model": finding.model,
        "labels": dict(finding.labels),
    }
