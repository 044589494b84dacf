"""Stands before every call and every hit: sets aside what it may cost, or refuses.

Fails closed: where a limit is in force and the store cannot say what is left, nothing is asked. Answers from the cache cost
nothing and are served all the same, unless the budget refuses everything beyond its limit. Knows no HTTP but the errors it raises.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from semcache.budgeting.estimate import usage_at_most
from semcache.budgeting.matching import holds_for
from semcache.budgeting.open_holds import OpenHolds
from semcache.budgeting.refusals import unavailable, unpriced, used_up
from semcache.budgeting.told import Told
from semcache.core import Hit, Labels, TenantId, Usage
from semcache.cost.savings import Prices
from semcache.cost_port import Budgets, Claim, Refused
from semcache.cost_rules import BudgetRule, CostPolicy, Counts, HitCharge, OnHard, OnUnknownPrice
from semcache.errors import StoreError
from semcache.journey import Step
from semcache.ports import Clock

LIFE = 3600.0
"""Seconds after which something set aside that nobody settles falls back; longer than any call lasts."""
_NOT_SENT = frozenset(("open", "busy", "config"))
"""Faults of the store after which it has surely set nothing aside."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is about to be made: whose, and of what."""

    tenant: TenantId
    labels: Labels
    model: str
    key_name: str
    backend: str
    is_local: bool
    body: Mapping[str, Any]
    path: str = ""
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """The budgets of all tenants before their requests.

    Args:
        budgets: the shared counts.
        prices: what calls cost.
        holds: what this process has set aside; `Settling` shares it.
        clock: time.
        spawn: starts a task that the lifespan owns.
        new_hold: gives a name that nobody else gives.
        told: the metrics.
    """

    budgets: Budgets
    prices: Prices
    holds: OpenHolds
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    new_hold: Callable[[], str]
    told: Told

    async def on_forward(self, step: Step) -> str:
        """Set aside what a call may cost; gives the name of that, "" where no budget holds for it.

        Raises:
            RequestError: 429 a budget is used up; 403 a price nobody knows under a hard limit; 503 nobody can tell.
        """
        asked = step.asked
        policy = step.snapshot.costs(asked.caller.tenant)
        if not policy.budgets:
            return ""
        request = asked.request
        call = Call(
            tenant=asked.caller.tenant,
            labels=asked.labels,
            model=request.model,
            key_name=asked.caller.key_name,
            backend=step.trace.backend,
            is_local=step.backend.prefixes is not None,
            body=request.body,
            path=request.path,
            raw=asked.raw_body,
        )
        return await self.on_call(policy, call)

    async def on_call(self, policy: CostPolicy, call: Call) -> str:
        """Set aside what any call may cost; as `on_forward`.

        Raises:
            RequestError: as there.
        """
        rules = holds_for(policy, call.labels, call.model, call.key_name)
        if not rules:
            return ""
        money = self._estimate(policy, rules, call)
        if money is None:
            for rule in rules:
                if rule.hard is not None and rule.unknown_price is OnUnknownPrice.REFUSE:
                    self.told.refused(call.tenant, rule.name, "price")
                    raise unpriced(rule)
        claims = [Claim(rule, money or 0, int(rule.requests is not None)) for rule in rules]
        hold = self.new_hold()
        binding = [rule for rule in rules if rule.hard is not None or rule.requests is not None]
        try:
            await self._reserve(call.tenant, hold, claims)
        except StoreError as error:
            self.told.failed(error.kind)
            if binding:
                self._give_back(call.tenant, hold, error)
                self.told.refused(call.tenant, binding[0].name, "store")
                raise unavailable(binding[0]) from error
        self.holds.put(hold, rules, money)
        return hold

    async def on_hit(self, step: Step) -> None:
        """Count a hit where a limit of requests or a charge says so; leaves the name of that in the trace.

        Raises:
            RequestError: 429 a budget that counts hits, or refuses them beyond its limit, is used up; 503 nobody can tell.
        """
        asked = step.asked
        tenant = asked.caller.tenant
        policy = step.snapshot.costs(tenant)
        if not policy.budgets:
            return
        rules = holds_for(policy, asked.labels, asked.request.model, asked.caller.key_name)
        if not any(_stops_hits(rule) for rule in rules):
            return  # what it is charged, if anything, is counted afterwards
        charge = self._charge(policy, rules, step)
        claims = [claim for rule in rules if (claim := _for_hit(rule, charge)) is not None]
        hold = self.new_hold()
        try:
            await self._reserve(tenant, hold, claims)
        except StoreError as error:
            self.told.failed(error.kind)
            closed = next(
                (rule for rule in rules if _stops_hits(rule) and rule.on_hard is OnHard.REFUSE), None
            )
            if closed is not None:
                self._give_back(tenant, hold, error)
                self.told.refused(tenant, closed.name, "store")
                raise unavailable(closed) from error
            step.trace.faults.append(f"budgets:{error.kind}")
        self.holds.put(hold, rules, charge)
        step.trace.hold = hold

    def _estimate(self, policy: CostPolicy, rules: Sequence[BudgetRule], call: Call) -> int | None:
        if all(rule.hard is None and rule.soft is None for rule in rules):
            return 0  # nothing but requests is counted
        used = usage_at_most(call.body, policy.assumed_output, call.path, call.raw)
        money = self.prices.cost(call.model, used, backend=call.backend)
        return 0 if money is None and call.is_local else money

    def _charge(self, policy: CostPolicy, rules: Sequence[BudgetRule], step: Step) -> int:
        if all(rule.counts is Counts.COST for rule in rules):
            return 0
        match policy.hit_charge:
            case HitCharge.NONE:
                return 0
            case HitCharge.FIXED:
                return policy.hit_price
            case HitCharge.FULL:
                used = _used(step)
                model, backend = step.asked.request.model, step.trace.backend
                return (self.prices.cost(model, used, backend=backend) or 0) if used is not None else 0

    async def _reserve(self, tenant: TenantId, hold: str, claims: Sequence[Claim]) -> None:
        try:
            found = await self.budgets.reserve(tenant, hold, claims, self.clock.now(), LIFE)
        except asyncio.CancelledError:
            self._give_back(tenant, hold)
            raise
        if isinstance(found, Refused):
            self.told.refused(tenant, found.state.rule.name, found.limit)
            raise used_up(found, self.clock.now())

    def _give_back(self, tenant: TenantId, hold: str, error: StoreError | None = None) -> None:
        """What may have been set aside unseen goes back at once; failing that, it falls back by itself."""
        if error is not None and error.kind in _NOT_SENT:
            return

        async def back() -> None:
            try:
                await self.budgets.settle(tenant, hold, (), self.clock.now())
            except StoreError as fault:
                self.told.failed(fault.kind)

        self.spawn(back())


def _stops_hits(rule: BudgetRule) -> bool:
    return rule.requests is not None or (rule.hard is not None and rule.on_hard is OnHard.REFUSE)


def _for_hit(rule: BudgetRule, charge: int) -> Claim | None:
    """Give what a hit claims: its charge where that counts, which only a budget that refuses everything may refuse."""
    money = charge if rule.counts is Counts.CHARGED else 0
    requests = int(rule.requests is not None)
    if rule.on_hard is OnHard.REFUSE and rule.hard is not None:
        # A claim of nothing would pass a budget that is used up to the last cent.
        return Claim(rule, max(money, 1), requests)
    if not money and not requests:
        return None
    return Claim(replace(rule, hard=None), money, requests)


def _used(step: Step) -> Usage | None:
    decision = step.trace.decision
    return decision.entry.completion.usage if isinstance(decision, Hit) else None
