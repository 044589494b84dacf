"""Looks for alarms every half minute: one worker of all replicas for everybody, the others show what it wrote down.

Changes go to the shelf, to the log, to the metrics and to the webhook; what was counted and how far each alarm is goes to
the shelf for the next leader. Everything around may fail: then alarms come late, and nothing else happens.
Knows no conditions.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from semcache.alarming.counting import Trail
from semcache.alarming.hysteresis import Change, Level
from semcache.alarming.looking import Look, Tenant, read, written
from semcache.alarming.naming import quiet
from semcache.alarming.wording import alarm_of
from semcache.core import TenantId
from semcache.cost_port import AlarmKind, AlarmShelf, BudgetState, CostAlarm
from semcache.errors import StoreError
from semcache.ports import Clock

_log = structlog.get_logger()
_LEASE = 3.0
"""A leader that is not heard of for so many turns has gone."""
MOST_TENANTS = 2000


class Telling(Protocol):
    """Hears what metrics should show; `cost.alarm_metrics.AlarmMetrics` is one."""

    def failed(self, part: str) -> None:
        """Count a part that could not be read or written."""
        ...

    def changed(self, kind: AlarmKind, raised: bool) -> None:
        """Count a change."""
        ...

    def show_alarms(self, alarms: Sequence[CostAlarm]) -> None:
        """Show these as raised."""
        ...

    def show_budgets(self, used: Sequence[tuple[str, str, float]]) -> None:
        """Show how far budgets are used."""
        ...


class Posts(Protocol):
    """Where changes are posted; a `webhook.Webhook` is one."""

    def post(self, alarms: Sequence[CostAlarm]) -> None:
        """Take alarms to be told. Never waits."""
        ...


@dataclass(slots=True)
class _Led:
    """What a leader remembers; of no use to one that was none for a while."""

    until: float
    known: dict[TenantId, Tenant]
    saved: dict[str, str] = field(default_factory=dict)
    looked: float = 0.0
    """When everybody had been looked at: who is new since then has begun since then."""


class Alarms:
    """One worker's part in it.

    Args:
        worker: a name that no other worker of any replica has.
        look: reads one tenant's parts.
        shelf: what all workers share.
        clock: for times.
        tell: metrics.
        tenants: names those whose policies may hold budgets.
        webhook: where changes are posted, if anywhere.
    """

    def __init__(
        self,
        worker: str,
        look: Look,
        shelf: AlarmShelf,
        clock: Clock,
        tell: Telling,
        tenants: Callable[[], Iterable[TenantId]],
        webhook: Posts | None = None,
    ) -> None:
        self._worker = worker
        self._look = look
        self._shelf = shelf
        self._clock = clock
        self._tell = tell
        self._tenants = tenants
        self._webhook = webhook
        self._led: _Led | None = None

    async def run(self) -> None:
        """Look again and again, for as long as the worker lives."""
        every = self._look.rules.every
        pause = 0.1 * every
        while True:
            # Drawn by chance, so that workers do not all come at once.
            await asyncio.sleep(random.uniform(0.8, 1.2) * pause)  # noqa: S311 - no secret
            await self.once()
            pause = every

    async def once(self) -> None:
        """Look once, as the leader or as one who only shows. Never raises StoreError."""
        led = await self._lead()
        if led is not None:
            await self._look_at_all(led)
        await self._show(led)

    async def stop(self) -> None:
        """Let another worker lead at once."""
        if self._led is not None:
            self._led = None
            try:
                await self._shelf.lead(self._worker, 0)
            except StoreError:
                self._tell.failed("lead")

    async def _lead(self) -> _Led | None:
        """Give what the leader knows; None for everybody else."""
        begun = self._clock.monotonic()
        lease = _LEASE * self._look.rules.every
        try:
            if not await self._shelf.lead(self._worker, lease):
                self._led = None
                return None
            if self._led is None or self._led.until < begun:
                rules = self._look.rules
                known = {
                    TenantId(name): read(text, rules) for name, text in (await self._shelf.load()).items()
                }
                self._led = _Led(0.0, known)
        except StoreError:
            # The lease may have gone to another one meanwhile; what is remembered holds until it is over.
            self._tell.failed("lead")
            return None
        self._led.until = begun + lease
        return self._led

    async def _look_at_all(self, led: _Led) -> None:
        begun = self._clock.now()
        found, whole = await self._look.tenants()
        names = {*found, *self._tenants(), *led.known}
        for name in sorted(names)[:MOST_TENANTS]:
            if self._clock.monotonic() > led.until - self._look.rules.every and await self._lead() is not led:
                return
            await self._look_at(name, led)
        led.looked = begun if whole else 0.0
        await self._save(led)

    async def _look_at(self, name: TenantId, led: _Led) -> None:
        before = led.known.get(name) or Tenant(Trail(self._look.rules, led.looked))
        now = self._clock.now()
        after, changes = await self._look.at(name, before, now)
        if changes and not await self._write(name, changes, now):
            # Nobody has heard of these changes, so they have not happened yet.
            after = replace(after, levels=before.levels)
        led.known[name] = after

    async def _write(self, name: TenantId, changes: Sequence[Change], now: float) -> bool:
        alarms = [alarm_of(name, change, now) for change in changes]
        try:
            await self._shelf.put(alarms)
        except StoreError:
            self._tell.failed("shelf")
            return False
        for alarm in alarms:
            self._tell.changed(alarm.kind, alarm.is_raised)
            _say(alarm)
        if self._webhook is not None:
            self._webhook.post(alarms)
        return True

    async def _save(self, led: _Led) -> None:
        told: dict[str, str] = {name: written(known) for name, known in led.known.items()}
        new = {name: text for name, text in told.items() if led.saved.get(name) != text}
        try:
            await self._shelf.save(new)
        except StoreError:
            self._tell.failed("shelf")
            return
        led.saved = told

    async def _show(self, led: _Led | None) -> None:
        """Let the metrics show what is raised and how budgets stand, whoever found it out."""
        try:
            raised = await self._shelf.raised()
            if led is not None and (lost := reconciled(led.known, raised, self._clock.now())):
                # The store was put back or emptied; they were told long ago.
                await self._shelf.put(lost)
                raised = await self._shelf.raised()
            self._tell.show_alarms(raised)
        except StoreError:
            self._tell.failed("shelf")
        used: list[tuple[str, str, float]] = []
        try:
            for name in self._tenants():
                for state in await self._look.states(name, self._clock.now()):
                    part = _used(state)
                    if part is not None:
                        used.append((name, quiet(state.rule.name), part))
        except StoreError:
            self._tell.failed("budgets")
            return
        self._tell.show_budgets(used)


def _used(state: BudgetState) -> float | None:
    """Give the share of a budget that is used: of its money, or of its requests where that is more; None without limits."""
    rule = state.rule
    most = rule.hard if rule.hard is not None else rule.soft
    pairs = ((state.spent, most), (state.requests, rule.requests))
    parts = [count / limit if limit > 0 else 1.0 for count, limit in pairs if limit is not None]
    return max(parts, default=None)


def reconciled(
    known: Mapping[TenantId, Tenant], raised: Iterable[CostAlarm], now: float
) -> tuple[CostAlarm, ...]:
    """Give the alarms that are known to stand and are not on the shelf; take over those of which only the shelf knows.

    A leader that could write a change down, but not what it knew, leaves such ones behind.
    """
    standing = {(alarm.tenant, alarm.kind, alarm.subject): alarm for alarm in raised}
    lost: list[CostAlarm] = []
    for name, tenant in known.items():
        for place, level in tenant.levels.items():
            alarm = alarm_of(name, Change(*place, level), max(level.since, level.heard))
            if level.is_raised and standing.pop((name, alarm.kind, alarm.subject), None) is None:
                lost.append(alarm)
    for alarm in standing.values():
        tenant_of = known.get(TenantId(alarm.tenant))
        if tenant_of is not None:
            # No window's name is this: a budget that is not used so far any more is over at the next look.
            era = "?" if alarm.kind is AlarmKind.BUDGET else ""
            tenant_of.levels[alarm.kind, alarm.subject] = Level(
                True, None, alarm.since, now, alarm.value, alarm.limit, era
            )
    return tuple(lost)


def _say(alarm: CostAlarm) -> None:
    """Write one line."""
    say = _log.warning if alarm.is_raised else _log.info
    say(
        "an alarm is raised" if alarm.is_raised else "an alarm is over",
        tenant=alarm.tenant,
        kind=alarm.kind.value,
        subject=alarm.subject,
        value=round(alarm.value, 6),
        limit=round(alarm.limit, 6),
        since=round(alarm.since, 3),
        text=alarm.text,
    )
