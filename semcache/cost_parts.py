"""What watches over a worker's money, put together: prices, ledger, budgets, alarms, lint, and trimmed histories. `app` puts it in."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from semcache.alarming_parts import Alarming, redis_sources
from semcache.budgeting.gate import Gate
from semcache.budgeting.open_holds import OpenHolds
from semcache.budgeting.settling import Settling
from semcache.core import Completion, Draft, Hit, TenantId, Usage
from semcache.cost.metrics import Metrics
from semcache.cost.prices import PriceBook
from semcache.decide.risk.prior import Prior
from semcache.journey import Backend, Keep, Step, to_serve
from semcache.ledger_parts import LedgerParts
from semcache.linting.watch import LintWatch, WatchRules
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Change, Clock
from semcache.proxy.plain_budget import PlainBudget
from semcache.settings import Settings
from semcache.shortening.shortening import Shortening
from semcache.store.budgets import RedisBudgets
from semcache.store.link import LinkRules
from semcache.store.lint_shelf import RedisLintShelf
from semcache.store.summaries import RedisSummaries

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
_WORD = 8
_PATIENT = LinkRules(deadline=5.0, connections=2)
"""Nobody waits for findings."""
_LIMITS = LinkRules(deadline=2.0, waiting=4096)
"""A limit is closed to whoever is not told in time: in a burst it is better to wait than to be refused."""


@dataclass(frozen=True, slots=True)
class Around:
    """What the rest of a worker gives.

    Args:
        settings: the configuration.
        url: of the store.
        metrics: told of everything.
        policies: gives the policies in force.
        clock: time.
        spawn: starts a task that the lifespan owns.
    """

    settings: Settings
    url: str
    metrics: Metrics
    policies: Callable[[], PolicySnapshot]
    clock: Clock
    spawn: Spawn


class CostParts:
    """One worker's.

    Args:
        around: the rest of the worker.
        out: where log lines go, or None.
        prior: the shipped calibration's evidence, as for `Standings`.

    Attributes:
        book: what calls cost.
        gate: budgets before calls.
        settling: a `RecordSink` and `SideSink`: the ledger, with budgets settled on the way.

    Raises:
        PolicyError: the price file or the webhook is not what it should be.
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, around: Around, out: BinaryIO | None, prior: Prior | None) -> None:
        self._around = around
        settings, url, clock = around.settings, around.url, around.clock
        policies, metrics = around.policies, around.metrics
        worker = secrets.token_hex(_WORD)
        link = LinkRules(deadline=settings.store.deadline)
        self.book = price_book(settings)
        self._ledger = LedgerParts(settings, url, metrics, self.book, policies, clock, out)
        self._budgets = RedisBudgets(url, replace(_LIMITS, deadline=max(_LIMITS.deadline, link.deadline)))
        holds = OpenHolds()
        shared = (self._budgets, self.book, holds, clock, around.spawn, _new_word, metrics.budgets)
        self.gate = Gate(*shared)
        sink = self._ledger.ledger
        self.settling = Settling(sink, sink, policies, *shared)
        sources = redis_sources(url)
        self._alarming = Alarming(settings.alarms, sources, policies, prior, worker, clock, metrics.alarms)
        self._findings = RedisLintShelf(url, _PATIENT)
        self._lint = LintWatch(
            self._findings, clock, worker, lost_tokens(self.book), WatchRules(share=settings.lint.share)
        )
        self._summaries = RedisSummaries(url, link)
        self._shortening: Shortening | None = None

    def start(self) -> None:
        """Begin everything that goes on beside requests."""
        spawn = self._around.spawn
        spawn(asyncio.to_thread(self.book.load))
        self._ledger.start(spawn)
        self._alarming.start()
        if self._around.settings.lint.enabled:
            spawn(self._lint.run())

    async def aclose(self) -> None:
        """Settle, write and book what is left, and close connections. Idempotent."""
        await self._alarming.stop()
        await self.settling.flush()
        await self._lint.flush()
        await self._ledger.aclose()
        for closing in (self._budgets, self._findings, self._summaries):
            await closing.aclose()

    def plain_budget(self) -> PlainBudget:
        """Give what stands before calls that are passed through."""
        limits = self._around.settings.limits
        return PlainBudget(self.gate, self._around.policies, limits.body_bytes, limits.body_seconds)

    def prompts(self) -> Prompts:
        """Give what shows prompts to the lint."""
        lint = self._lint if self._around.settings.lint.enabled else None
        return Prompts(lint, self._around.clock)

    def gauges(self) -> Iterator[tuple[str, str, float]]:
        """Give name, help and value of what the lint did not look at."""
        lint = self._lint
        yield "semcache_lint_dropped", "Prompts that found no room to wait for the lint.", lint.dropped
        yield (
            "semcache_lint_left_out",
            "Prompts of conversations that the lint left out under load.",
            lint.left_out,
        )
        yield "semcache_lint_faults", "Findings not written down, and prompts not compared.", lint.faults

    def shortening(self, backend_of: Callable[[TenantId, str], Backend]) -> Shortening:
        """Give what trims histories; `backend_of` gives the upstream that sums up."""
        around, summaries = self._around, self._summaries
        self._shortening = Shortening(summaries, backend_of, self.settling, around.clock, _new_word)
        return self._shortening

    def on_change(self, change: Change) -> None:
        """Forget what a change in the store says must be forgotten."""
        if self._shortening is not None:
            self._shortening.on_change(change)

    def price(self, model: str, usage: Usage, backend: str) -> int | None:
        """Give what tokens of a model cost at an upstream, in micro-USD; None: not known."""
        return self.book.cost(model, usage, backend=backend)

    async def rendered(self) -> bytes:
        """Give the metrics, with everything that happened until now in them."""
        # Pricing and writing what waits takes its time; the gauges belong to the loop.
        await asyncio.to_thread(self._ledger.ledger.flush)
        return self._around.metrics.render()


@dataclass(frozen=True, slots=True)
class Prompts:
    """A `journey.Watch`: shows the lint every prompt that goes to a model."""

    lint: LintWatch | None
    clock: Clock

    def on_decided(self, step: Step) -> None:
        """Look at the beginning of the prompt, unless a stored answer makes it needless."""
        asked = step.asked
        if self.lint is None or asked.raw_body is not None or asked.directives.no_store:
            return
        if to_serve(step.trace.decision, step.policy) is None:
            labels, model = asked.labels, asked.request.model
            self.lint.seen(asked.request.body, self.clock.now(), step.policy.tenant, model, labels)

    def on_served(self, step: Step, hit: Hit, request_id: str) -> None:
        """A hit asks for no prompt."""

    def on_revised(self, step: Step, draft: Draft, revised: Completion, request_id: str) -> None:
        """Seen when it was decided."""

    def watching(self, step: Step, hit: Hit, request_id: str, keep: Keep) -> Keep:  # noqa: ARG002 - a protocol
        """Nothing is done with answers."""
        return keep


def price_book(settings: Settings) -> PriceBook:
    """Give the prices that hold here.

    Raises:
        PolicyError: the operator's price file is not what it should be.
    """
    urls: Mapping[str, str] = {name: upstream.base_url for name, upstream in settings.all_upstreams.items()}
    local = frozenset({settings.engine.name} if settings.runs_engine else ())
    return PriceBook(settings.prices, urls, local)


def lost_tokens(book: PriceBook) -> Callable[[str, float], Callable[[int], int | None]]:
    """Give what tokens cost that were read anew instead of from a prompt cache: the full price less that of a cached read."""

    def of(model: str, at: float) -> Callable[[int], int | None]:
        def money(tokens: int) -> int | None:
            whole = book.cost(model, Usage(tokens, 0), at=at)
            cached = book.cost(model, Usage(tokens, 0, tokens), at=at)
            return None if whole is None or cached is None else max(0, whole - cached)

        return money

    return of


def _new_word() -> str:
    return secrets.token_hex(_WORD)
