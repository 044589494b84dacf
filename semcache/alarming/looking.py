"""Looking at one tenant: which parts are read, what they say, and what has changed.

Each part may fail without the others: its alarms stay as they were until it can be read again.
Knows no shelf and no webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from semcache.alarming.bounds import Evidence, IsBroken, broken_of
from semcache.alarming.conditions import (
    EARLIER_DAYS,
    RECENT_DAYS,
    Inputs,
    inputs_of,
    of_bounds,
    of_budgets,
    of_growth,
    of_traffic,
)
from semcache.alarming.counting import Trail, gather
from semcache.alarming.hysteresis import Change, Level, Place, Reading, dump, load, step
from semcache.alarming.rules import DAY, AlarmRules
from semcache.core import TenantId
from semcache.cost_port import AlarmKind, Budgets, BudgetState, CostBook
from semcache.cost_rules import BudgetRule
from semcache.errors import StoreError

_TRAFFIC = frozenset(
    (
        AlarmKind.HIT_RATIO_LOW,
        AlarmKind.CACHED_RATIO_LOW,
        AlarmKind.HITS_JUMPED,
        AlarmKind.REPETITION,
        AlarmKind.RETRIES,
        AlarmKind.PRICE_UNKNOWN,
    )
)
_GROWTH_EVERY = 900.0
_LATE = 3600.0
"""Seconds into a day during which sums of the day before may still come."""


class Told(Protocol):
    """Hears what metrics should show; `cost.alarm_metrics.AlarmMetrics` is one."""

    def failed(self, part: str) -> None:
        """Count a part that could not be read."""
        ...

    def counted(self, tenant: str, retries: int, repetitive: int) -> None:
        """Count what came to the book."""
        ...


@dataclass(slots=True)
class Tenant:
    """What is known of one tenant between two looks."""

    trail: Trail
    levels: dict[Place, Level] = field(default_factory=dict)
    grown: float = 0.0
    """When growth was last looked at."""
    days: dict[int, Inputs] = field(default_factory=dict)
    """The input of the last days, of which the next leader reads its own."""


@dataclass(frozen=True, slots=True)
class Look:
    """Reads the parts.

    Args:
        rules: what the conditions go by.
        book: sums of costs.
        budgets: the state of budgets.
        rules_of: a tenant's budgets.
        evidence: alarms about wrong hits.
        is_broken: says how a domain stands now, where somebody can.
        told: hears of failures and counts.
    """

    rules: AlarmRules
    book: CostBook
    budgets: Budgets
    rules_of: Callable[[TenantId], Sequence[BudgetRule]]
    evidence: Evidence
    told: Told
    is_broken: IsBroken | None = None

    async def at(self, name: TenantId, known: Tenant, now: float) -> tuple[Tenant, tuple[Change, ...]]:
        """Look at one tenant. Never raises StoreError; `known.trail` goes on, levels come back as new ones."""
        readings: list[Reading] = []
        looked: set[AlarmKind] = set()
        await self._traffic(name, known, now, readings, looked)
        await self._growth(name, known, now, readings, looked)
        await self._money(name, now, readings, looked)
        await self._bounds(name, now, readings, looked)
        levels, changes = step(known.levels, readings, looked, now, self.rules.forget)
        # What was switched off since it was raised is over at once.
        off = set(AlarmKind) - set(self.rules.limits) - {AlarmKind.BUDGET}
        levels, ended = step(levels, (), off, now, forget=0.0)
        return replace(known, levels=levels), (*changes, *ended)

    async def tenants(self) -> tuple[set[TenantId], bool]:
        """Name everybody who has costs or evidence, and say whether these are all: some may not be read at present."""
        found: set[TenantId] = set()
        whole = True
        for part, read in (("costs", self.book.tenants), ("bounds", self.evidence.tenants)):
            try:
                found.update(await read())
            except StoreError:
                self.told.failed(part)
                whole = False
        return found, whole

    async def states(self, name: TenantId, now: float) -> tuple[BudgetState, ...]:
        """Give how a tenant's budgets stand.

        Raises:
            StoreError: unreachable or late.
        """
        rules = self.rules_of(name)
        return await self.budgets.states(name, rules, now) if rules else ()

    async def _traffic(
        self, name: TenantId, known: Tenant, now: float, readings: list[Reading], looked: set[AlarmKind]
    ) -> None:
        today = int(now // DAY)
        first = today - 1 if now % DAY < _LATE else today
        try:
            sums = await self.book.read(name, first, today)
        except StoreError:
            self.told.failed("costs")
            return
        new = known.trail.look(gather(sums), now)
        self.told.counted(name, new.retries, new.repetitive)
        readings += of_traffic(known.trail, self.rules, now)
        looked |= _TRAFFIC

    async def _growth(
        self, name: TenantId, known: Tenant, now: float, readings: list[Reading], looked: set[AlarmKind]
    ) -> None:
        if AlarmKind.INPUT_GROWING not in self.rules.limits or 0 <= now - known.grown < _GROWTH_EVERY:
            return
        today = int(now // DAY)
        first = today - RECENT_DAYS - EARLIER_DAYS + 1
        days = {day: tasks for day, tasks in known.days.items() if first <= day <= today - RECENT_DAYS}
        try:
            # A day at a time: all of them together may be a hundred thousand sums. Those that are past stay as they are.
            for day in range(first, today + 1):
                if day not in days:
                    days[day] = inputs_of(await self.book.read(name, day, day))
        except StoreError:
            self.told.failed("growth")
            return
        known.grown, known.days = now, days
        readings += of_growth(days, today, self.rules)
        looked.add(AlarmKind.INPUT_GROWING)

    async def _money(
        self, name: TenantId, now: float, readings: list[Reading], looked: set[AlarmKind]
    ) -> None:
        try:
            readings += of_budgets(await self.states(name, now), self.rules)
        except StoreError:
            self.told.failed("budgets")
            return
        looked.add(AlarmKind.BUDGET)

    async def _bounds(
        self, name: TenantId, now: float, readings: list[Reading], looked: set[AlarmKind]
    ) -> None:
        if AlarmKind.BOUND_BROKEN not in self.rules.limits:
            return
        try:
            broken = await broken_of(self.evidence, name, self.is_broken, now)
        except StoreError:
            self.told.failed("bounds")
            return
        readings += of_bounds(broken, self.rules)
        looked.add(AlarmKind.BOUND_BROKEN)


def written(known: Tenant) -> str:
    """Give what is known as a JSON text."""
    told = {"v": 1, "grown": known.grown, "levels": dump(known.levels), "trail": known.trail.dump()}
    return orjson.dumps(told).decode()


def read(text: str, rules: AlarmRules) -> Tenant:
    """Read what `written` gave; what is of another form begins anew."""
    try:
        told: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or told.get("v") != 1:
        return Tenant(Trail(rules))
    trail: Any = told.get("trail")
    grown = told.get("grown")
    return Tenant(
        trail=Trail.load(rules, trail if isinstance(trail, dict) else {}),
        levels=load(told.get("levels")),
        grown=float(grown) if isinstance(grown, int | float) else 0.0,
    )
