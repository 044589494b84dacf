"""The same world on a real store: what the pages show in production."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator

from semcache.review.costing import CostShelves
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.budgets import RedisBudgets
from semcache.store.cost_book import RedisCostBook
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from semcache.store.lint_shelf import RedisLintShelf
from semcache.store.queue import ReviewShelves
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.review_web.world import Clock, World


@contextlib.asynccontextmanager
async def real_world(url: str) -> AsyncIterator[World]:
    """Open everything on one server, under a prefix of its own."""
    rules = StoreRules(prefix=f"w-{uuid.uuid4().hex}")
    link = LinkRules(deadline=5.0)
    store = RedisStore(url, Clock(), rules)
    verdicts = RedisVerdicts(url, Clock(), rules, VerdictRules())
    queue = ReviewShelves(url, link, rules.prefix)
    evidence = EvidenceShelves(url, link, rules.prefix)
    book, budgets = RedisCostBook(url, link, rules.prefix), RedisBudgets(url, link, rules.prefix)
    lint, alarms = RedisLintShelf(url, link, rules.prefix), RedisAlarmShelf(url, link, rules.prefix)
    try:
        costs = CostShelves(book, budgets, lint, alarms)
        yield World(store, verdicts, queue.queue, evidence.labels, costs)
    finally:
        for one in (store, verdicts, queue, evidence, book, budgets, lint, alarms):
            await one.aclose()
