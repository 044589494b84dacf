"""What looks for alarms is built from: its shelf, its runner, and the way to the webhook. Builders only; `app` puts them in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from semcache.alarming.bounds import IsBroken
from semcache.alarming.looking import Look
from semcache.alarming.runner import Alarms
from semcache.alarming.settings import AlarmSettings
from semcache.alarming.webhook import Address, Webhook
from semcache.answer.limits import Limits
from semcache.answer.upstream import HttpUpstream
from semcache.core import TenantId
from semcache.cost.alarm_metrics import AlarmMetrics
from semcache.cost_port import Budgets, CostBook
from semcache.cost_rules import BudgetRule
from semcache.decide.risk.standing import State
from semcache.errors import PolicyError
from semcache.evidence_port import EvidenceStore
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock
from semcache.settings import resolve_secret
from semcache.standings import Standings, drafts_of
from semcache.store.alarm_shelf import RedisAlarmShelf

_POST_LIMITS = Limits(connect=5.0, queue=10.0, head=10.0, idle=10.0, connections=2)
_LAST = 3.0
"""Seconds at the end for what could not be told yet."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What alarms are read from."""

    book: CostBook
    budgets: Budgets
    evidence: EvidenceStore
    standings: Standings
    policies: Callable[[], PolicySnapshot]


@dataclass(frozen=True, slots=True)
class Alarming:
    """All of it; `run` lives as long as the worker, `aclose` comes after it has ended."""

    runner: Alarms
    shelf: RedisAlarmShelf
    webhook: Webhook | None = None
    upstream: HttpUpstream | None = None

    async def run(self) -> None:
        """Look for alarms and tell them, for as long as the worker lives."""
        if self.webhook is None:
            await self.runner.run()
        else:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.runner.run())
                group.create_task(self.webhook.run())

    async def aclose(self) -> None:
        """Let another worker lead, tell what still waits, close connections."""
        await self.runner.stop()
        if self.webhook is not None:
            await self.webhook.finish(_LAST)
        if self.upstream is not None:
            await self.upstream.aclose()
        await self.shelf.aclose()


def alarming_of(
    settings: AlarmSettings,
    sources: Sources,
    shelf: RedisAlarmShelf,
    worker: str,
    clock: Clock,
    metrics: AlarmMetrics,
) -> Alarming:
    """Put it together.

    Args:
        settings: the configuration's part.
        sources: what alarms are read from.
        shelf: closed with the rest.
        worker: a name that no other worker of any replica has.
        clock: for times.
        metrics: told of everything.

    Raises:
        PolicyError: the webhook's address or secret cannot be resolved.
    """
    look = Look(
        rules=settings.rules(),
        book=sources.book,
        budgets=sources.budgets,
        rules_of=_budgets(sources.policies),
        evidence=sources.evidence,
        told=metrics,
        is_broken=_standing(sources.standings, sources.policies),
    )
    upstream, webhook = None, None
    if settings.webhook is not None:
        base, address = _address(settings.webhook, settings.webhook_secret)
        upstream = HttpUpstream("alarms.webhook", base, _POST_LIMITS)
        webhook = Webhook(upstream, address, clock, metrics.posted)
    runner = Alarms(worker, look, shelf, clock, metrics, lambda: sources.policies().tenants, webhook)
    return Alarming(runner, shelf, webhook, upstream)


def _address(told: str, secret: str | None) -> tuple[str, Address]:
    """Split the webhook's URL; the message of an error never holds it."""
    url = told if told.startswith("https://") else resolve_secret(told)
    key = resolve_secret(secret).encode() if secret else b""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or not url.isascii():
        raise PolicyError("alarms.webhook: must be an http(s) URL without credentials")
    return f"{parts.scheme}://{parts.netloc}", Address(parts.path or "/", parts.query.encode(), key)


def _budgets(policies: Callable[[], PolicySnapshot]) -> Callable[[TenantId], tuple[BudgetRule, ...]]:
    def rules_of(tenant: TenantId) -> tuple[BudgetRule, ...]:
        snapshot = policies()
        return snapshot.costs(tenant).budgets if tenant in snapshot.tenants else ()

    return rules_of


def _standing(standings: Standings, policies: Callable[[], PolicySnapshot]) -> IsBroken:
    """Give what asks the evidence how a domain stands, also where nobody asks for it at present."""

    async def is_broken(tenant: TenantId, domain: str) -> bool | None:
        snapshot = policies()
        if tenant not in snapshot.tenants:
            return None
        for policy in snapshot.tenant(tenant).domains.values():
            for one in (policy, drafts_of(policy)):
                if one.domain == domain:
                    await standings.serving(one)
                    known = standings.known(one)
                    return None if known is None else known.state in (State.ALARMED, State.CLOSED)
        return None

    return is_broken
