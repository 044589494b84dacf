"""What the admin process is built from. Builders only.

Imports neither encoder nor index nor engine: the process stays small beside the proxies. Whoever adds an import here
looks at `tests/review/test_small.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog

from semcache.archive.erasing import Eraser, Site
from semcache.core import CachePolicy
from semcache.decide.risk.prior import Prior
from semcache.decide.risk.standing import Standing
from semcache.decide.verify.verifier import ForestVerifier, open_prior, open_verifier
from semcache.embed.fingerprint import subject_digest
from semcache.errors import EncoderError
from semcache.policy.watch import LivePolicies
from semcache.process import SystemClock, Tasks, quotas
from semcache.review.access import Opened, Tries, is_loopback
from semcache.review.api import guarded, review_app
from semcache.review.costing import Costing, CostShelves
from semcache.review.guard import Asgi, GuardRules
from semcache.review.looking import Looking, Shelf
from semcache.review.service import ReviewService
from semcache.review.web.routes import mount_pages
from semcache.settings import Settings
from semcache.standings import Standings
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.budgets import RedisBudgets
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import embedded_url
from semcache.store.erasure import ErasureShelf
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from semcache.store.lint_shelf import RedisLintShelf
from semcache.store.queue import ReviewShelves
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules

_log = structlog.get_logger()
_DEADLINE = 5.0
"""Seconds that a human waits for the store, where a request would wait a fraction of one."""
_LONG = 30.0
"""Seconds for one call where somebody is looked for in all that a tenant holds."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Review, costs, and the policies that both follow."""

    service: ReviewService
    costing: Costing
    eraser: Eraser
    policies: LivePolicies


def store_url(settings: Settings) -> str:
    """Give where the store is.

    Raises:
        StoreError: `down`: no embedded server runs in the data directory.
    """
    return settings.store.url or embedded_url(settings.data)


@asynccontextmanager
async def open_service(settings: Settings, url: str, *, scores: bool = True) -> AsyncIterator[Opening]:
    """Open review on a store, follow the policies, close all of it.

    Args:
        settings: the configuration.
        url: of the store.
        scores: score pairs anew, and say what the evidence allows.

    Raises:
        PolicyError: the policies are refused.
        StoreError: the URL is not usable.
    """
    async with AsyncExitStack() as stack:
        clock = SystemClock()
        policies = await LivePolicies.open(settings.policies)
        tasks = await stack.enter_async_context(Tasks())
        tasks.spawn(policies.run())
        rules = StoreRules(link=LinkRules(deadline=_DEADLINE), quota_of=quotas(policies))
        store = RedisStore(url, clock, rules)
        verdicts = RedisVerdicts(url, clock, rules, VerdictRules())
        evidence = EvidenceShelves(url, rules.link)
        queue = ReviewShelves(url, rules.link)
        shelves = _cost_shelves(url, rules.link)
        erasure = ErasureShelf(url, clock, StoreRules(link=LinkRules(deadline=_LONG)), subject_digest)
        eraser = Eraser(Site(settings.data, url, settings.store.url is None), erasure, verdicts, clock)
        for part in (store, verdicts, evidence, queue, erasure, *shelves):
            stack.push_async_callback(part.aclose)
        shelf = Shelf(store, verdicts, queue.queue, evidence.labels)
        verifier, prior = (LateVerifier(), _prior()) if scores else (None, None)
        standings = Standings(evidence.labels, prior, clock, tasks.spawn)

        async def standing(policy: CachePolicy) -> Standing | None:
            await standings.serving(policy)
            return standings.known(policy)

        looking = Looking(shelf, lambda: policies.current, clock, verifier, standing)
        costing = Costing(CostShelves(*shelves), lambda: policies.current, clock)
        yield Opening(ReviewService(shelf, looking, clock), costing, eraser, policies)


def _cost_shelves(
    url: str, link: LinkRules
) -> tuple[RedisCostBook, RedisBudgets, RedisLintShelf, RedisAlarmShelf]:
    """Give what costs are read from, in the order of `CostShelves`."""
    return (
        RedisCostBook(url, link),
        RedisBudgets(url, link),
        RedisLintShelf(url, link),
        RedisAlarmShelf(url, link),
    )


def application(settings: Settings, opening: Opening, opened: Opened) -> Asgi:
    """Put API and pages together, behind tokens and bounds."""
    tries = Tries(time.monotonic)
    app = review_app(opening.service, opening.costing, opening.eraser)
    mount_pages(app, opening.service, opening.costing, opened.tokens, tries)
    return guarded(app, opened.tokens, tries, GuardRules(hosts=hosts_of(settings)))


def hosts_of(settings: Settings) -> frozenset[str]:
    """Give the names that a Host header may hold; empty: any."""
    named = frozenset(name.lower() for name in (settings.admin.public_host,) if name)
    if is_loopback(settings.admin.host):
        return named | {"127.0.0.1", "localhost", "[::1]"}
    return named | {settings.admin.host.lower()} if named else named


class LateVerifier:
    """The verifier, loaded when somebody first asks it: most reviewers look at the scores that pairs had (30 MiB)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: ForestVerifier | None = None
        self._is_missing = False

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the probability that the answer is right; None also where there is no verifier."""
        with self._lock:
            if self._loaded is None and not self._is_missing:
                self._load()
        return None if self._loaded is None else self._loaded.score(asked, stored, similarity)

    def _load(self) -> None:
        try:
            self._loaded = open_verifier()
        except EncoderError as error:
            self._is_missing = True
            _log.error("no verifier: pairs are shown with the scores that they had", problem=str(error))


def _prior() -> Prior | None:
    try:
        return open_prior()
    except EncoderError:
        return None  # then standings rest on the tenant's own evidence
