"""Settles what was set aside when the record of its request comes: the estimate goes back, what it came to is counted.

A `RecordSink` and `SideSink` before others. Never waits and never fails a request: settling is tried again for minutes, under one
name, so that it counts once. Work beside requests (audits, judges, summaries) is counted without anything set aside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from semcache.budgeting.matching import holds_for
from semcache.budgeting.open_holds import Held, OpenHolds
from semcache.budgeting.told import Told
from semcache.core import RequestRecord, TenantId
from semcache.cost.savings import Prices, costed, is_reuse, side_costed
from semcache.cost_port import Budgets, Claim
from semcache.cost_rules import BudgetRule, CostPolicy, Counts, HitCharge
from semcache.errors import StoreError
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock, RecordSink, SideSink
from semcache.records import SideRecord

_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 60.0, 60.0, 60.0)
"""Seconds between tries: a store that was restarted is back by then."""
_WAITING = 20_000
"""Settlements under way at most; more are lost and counted as such."""


@dataclass(slots=True)
class _Due:
    """Something to be settled; `claims` once it is priced."""

    tenant: TenantId
    hold: str
    price: Callable[[], list[Claim]]
    at: float
    claims: list[Claim] | None = None


@dataclass(slots=True)
class Settling:
    """Books every request and all work beside requests against the budgets.

    Args:
        sink: gets every record.
        sides: gets every record of work beside requests; None: nobody.
        policies: gives the policies in force.
        budgets: the shared counts.
        prices: what calls cost.
        holds: what this process has set aside; shared with `Gate`.
        clock: time.
        spawn: starts a task that the lifespan owns.
        new_hold: gives a name that nobody else gives.
        told: the metrics.
    """

    sink: RecordSink
    sides: SideSink | None
    policies: Callable[[], PolicySnapshot]
    budgets: Budgets
    prices: Prices
    holds: OpenHolds
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    new_hold: Callable[[], str]
    told: Told
    pauses: Sequence[float] = _PAUSES
    _open: dict[str, _Due] = field(default_factory=dict)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def waiting(self) -> int:
        """Settlements under way."""
        return len(self._open)

    def emit(self, record: RequestRecord) -> None:
        """Pass a record on, and settle what was set aside for its request."""
        self.sink.emit(record)
        policy = self._policy(record.tenant)
        if record.hold:
            held = self.holds.take(record.hold)
            rules = held.rules if held is not None else self._rules(policy, record)
            self._begin(
                record.tenant,
                record.hold,
                lambda: priced(record, rules, held, self.prices, policy, self.told),
            )
        elif policy.budgets and policy.hit_charge is not HitCharge.NONE and is_reuse(record):
            charged = [rule for rule in self._rules(policy, record) if rule.counts is Counts.CHARGED]
            if charged:
                self._begin(
                    record.tenant,
                    self.new_hold(),
                    lambda: priced(record, charged, None, self.prices, policy, self.told),
                )

    def note(self, side: SideRecord) -> None:
        """Pass a record of work beside requests on, and count what it cost."""
        if self.sides is not None:
            self.sides.note(side)
        policy = self._policy(side.tenant)
        rules = holds_for(policy, side.labels, side.model, side.key_name)
        billed = [rule for rule in rules if rule.counts is Counts.COST]
        if billed:
            self._begin(
                side.tenant, self.new_hold(), lambda: side_priced(side, billed, self.prices, self.told)
            )

    async def flush(self, seconds: float = 5.0) -> None:
        """Wait until what is under way is settled, for so long at most; what is then left is tried once more."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        await asyncio.gather(*(self._once(due) for due in list(self._open.values())))

    def _policy(self, tenant: str) -> CostPolicy:
        found = self.policies().by_tenant.get(TenantId(tenant))
        return found.costs if found is not None else _NOTHING

    def _rules(self, policy: CostPolicy, record: RequestRecord) -> tuple[BudgetRule, ...]:
        return holds_for(policy, record.labels, record.model, record.key_name)

    def _begin(self, tenant: str, hold: str, price: Callable[[], list[Claim]]) -> None:
        if hold in self._open:
            return
        if len(self._open) >= _WAITING:
            self.told.settled(tenant, "lost")
            return
        due = self._open[hold] = _Due(TenantId(tenant), hold, price, self.clock.now())
        task = self.spawn(self._settle(due))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, due: _Due) -> None:
        for pause in self.pauses:
            if await self._once(due):
                return
            await asyncio.sleep(pause)
        if not await self._once(due):
            self._open.pop(due.hold, None)
            self.told.settled(due.tenant, "lost")

    async def _once(self, due: _Due) -> bool:
        if due.claims is None:
            # In a thread: the first look at a table of prices takes a while.
            due.claims = await asyncio.to_thread(due.price)
        try:
            await self.budgets.settle(due.tenant, due.hold, due.claims, due.at)
        except StoreError as error:
            self.told.failed(error.kind)
            return False
        self._open.pop(due.hold, None)
        return True


def priced(
    record: RequestRecord,
    rules: Sequence[BudgetRule],
    held: Held | None,
    prices: Prices,
    policy: CostPolicy,
    told: Told,
) -> list[Claim]:
    """Give what a request came to, for each of its budgets; tells how well that is known."""
    money = costed(record, prices, policy)
    claims, words = [], set()
    for rule in rules:
        counted = money.charged if rule.counts is Counts.CHARGED else money.cost
        word = "estimated" if record.estimated else "counted"
        if counted is None:
            counted, word = _unpriced(record, held)
        words.add(word)
        claims.append(Claim(rule, max(counted, 0), int(rule.requests is not None)))
    for word in sorted(words):
        told.settled(record.tenant, word)
    return claims


def side_priced(side: SideRecord, rules: Sequence[BudgetRule], prices: Prices, told: Told) -> list[Claim]:
    """Give what work beside requests came to, for each of its budgets. It is no request."""
    money = side_costed(side, prices)
    told.settled(side.tenant, "counted" if money is not None or side.is_local else "unpriced")
    return [Claim(rule, max(money or 0, 0), 0) for rule in rules]


_NOTHING = CostPolicy()


def _unpriced(record: RequestRecord, held: Held | None) -> tuple[int, str]:
    """Give what counts where the money is not known: what was set aside if a call may have been billed, else nothing."""
    if record.is_local:
        return 0, "counted"
    if record.usage is None and not is_reuse(record) and held is not None and held.money is not None:
        return held.money, "estimated"
    return 0, "unpriced"
