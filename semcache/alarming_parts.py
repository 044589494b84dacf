"""What looks for alarms, put together: a thread with a loop, connections and standings of its own. `app` starts and stops it.

A look reads megabytes where many labels are told apart, and a request must not wait for that. Builders only besides.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog

from semcache.alarming.bounds import IsBroken
from semcache.alarming.looking import Look
from semcache.alarming.runner import Alarms
from semcache.alarming.settings import AlarmSettings
from semcache.alarming.webhook import Address, Webhook
from semcache.answer.limits import Limits
from semcache.answer.upstream import HttpUpstream
from semcache.core import TenantId
from semcache.cost.alarm_metrics import AlarmMetrics
from semcache.cost_port import AlarmShelf, Budgets, CostBook
from semcache.cost_rules import BudgetRule
from semcache.decide.risk.prior import Prior
from semcache.decide.risk.standing import State
from semcache.errors import PolicyError
from semcache.evidence_port import EvidenceStore
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock
from semcache.settings import resolve_secret
from semcache.standings import Standings, drafts_of
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.budgets import RedisBudgets
from semcache.store.cost_book import RedisCostBook
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules

_log = structlog.get_logger()
_LINK = LinkRules(deadline=10.0, connections=8)
"""Nobody waits for alarms."""
_POST_LIMITS = Limits(connect=5.0, queue=10.0, head=10.0, idle=10.0, connections=2)
_LAST = 3.0
"""Seconds at the end for what could not be told yet."""
_REST = 60.0
"""Seconds after a defect before it is tried again."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What alarms are read from and written to; belongs to the loop in which it is opened."""

    book: CostBook
    budgets: Budgets
    evidence: EvidenceStore
    shelf: AlarmShelf
    closers: tuple[Callable[[], Awaitable[None]], ...] = ()


def redis_sources(url: str) -> Callable[[], Sources]:
    """Give what opens them all on the server of a URL."""

    def opened() -> Sources:
        book, budgets = RedisCostBook(url, _LINK), RedisBudgets(url, _LINK)
        shelves, shelf = EvidenceShelves(url, _LINK), RedisAlarmShelf(url, _LINK)
        closers = (book.aclose, budgets.aclose, shelves.aclose, shelf.aclose)
        return Sources(book, budgets, shelves.labels, shelf, closers)

    return opened


class Alarming:
    """Looks for alarms and tells them, in a thread of its own.

    Args:
        settings: the configuration's part.
        sources: opens what alarms are read from.
        policies: gives the policies in force.
        prior: the shipped calibration's evidence, as for `Standings`.
        worker: a name that no other worker of any replica has.
        clock: for times.
        metrics: told of everything.

    Raises:
        PolicyError: the webhook's address or secret cannot be resolved.
    """

    def __init__(
        self,
        settings: AlarmSettings,
        sources: Callable[[], Sources],
        policies: Callable[[], PolicySnapshot],
        prior: Prior | None,
        worker: str,
        clock: Clock,
        metrics: AlarmMetrics,
    ) -> None:
        self._settings = settings
        self._sources = sources
        self._policies = policies
        self._prior = prior
        self._worker = worker
        self._clock = clock
        self._metrics = metrics
        self._hook = _address(settings.webhook, settings.webhook_secret) if settings.webhook else None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ends = threading.Event()
        self._ending: asyncio.Event | None = None

    def start(self) -> None:
        """Begin. Idempotent; does nothing where alarms are switched off."""
        if self._settings.enabled and self._thread is None:
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._live()), name="semcache-alarms", daemon=True
            )
            self._thread.start()

    async def stop(self) -> None:
        """Let another worker lead, tell what still waits, close connections. Idempotent; takes some seconds at most."""
        self._ends.set()
        if self._thread is None:
            return
        if self._loop is not None and self._ending is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._ending.set)
        await asyncio.to_thread(self._thread.join, 2 * _LAST)
        self._thread = None

    async def _live(self) -> None:
        self._ending, self._loop = asyncio.Event(), asyncio.get_running_loop()
        while not (self._ends.is_set() or self._ending.is_set()):
            try:
                await self._look(self._ending)
            except* Exception as error:  # noqa: BLE001 - a defect must not end all alarms for good, and is in the log
                _log.error("looking for alarms failed", error=_names(error), exc_info=error)
                self._metrics.failed("defect")
                await _some_time(self._ending, _REST)

    async def _look(self, ending: asyncio.Event) -> None:
        """Look and tell until the end is near."""
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            sources = self._sources()
            for close in sources.closers:
                stack.push_async_callback(close)
            webhook = self._webhook(stack)
            standings = Standings(sources.evidence, self._prior, self._clock, group.create_task)
            runner = self._runner(sources, standings, webhook)
            tasks = [group.create_task(runner.run())]
            if webhook is not None:
                tasks.append(group.create_task(webhook.run()))
                stack.push_async_callback(webhook.finish, _LAST)
            stack.push_async_callback(runner.stop)
            waiting = group.create_task(ending.wait())
            await asyncio.wait((waiting, *tasks), return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()

    def _runner(self, sources: Sources, standings: Standings, webhook: Webhook | None) -> Alarms:
        look = Look(
            rules=self._settings.rules(),
            book=sources.book,
            budgets=sources.budgets,
            rules_of=_budgets(self._policies),
            evidence=sources.evidence,
            told=self._metrics,
            is_broken=_standing(standings, self._policies),
        )
        return Alarms(self._worker, look, sources.shelf, self._clock, self._metrics, self._tenants, webhook)

    def _tenants(self) -> tuple[TenantId, ...]:
        return self._policies().tenants

    def _webhook(self, stack: AsyncExitStack) -> Webhook | None:
        if self._hook is None:
            return None
        base, address = self._hook
        upstream = HttpUpstream("alarms.webhook", base, _POST_LIMITS)
        stack.push_async_callback(upstream.aclose)
        return Webhook(upstream, address, self._clock, self._metrics.posted)


def _names(error: BaseExceptionGroup) -> str:
    return ", ".join(sorted({type(one).__name__ for one in error.exceptions}))


async def _some_time(ending: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await ending.wait()
    except TimeoutError:
        return


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
