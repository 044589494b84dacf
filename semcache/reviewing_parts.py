"""What a worker's drafts, sightings and verdicts are built from. Builders only; `app` puts them in."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from semcache.asking.purse import Price, Purse
from semcache.core import TenantId
from semcache.cost.evidence_metrics import EvidenceMetrics
from semcache.cost.prices import micro_usd
from semcache.errors import StoreError
from semcache.evidence_port import EvidenceStore
from semcache.journey import Backend
from semcache.ports import Clock, SideSink, Verifier
from semcache.proxy.feedback import Feedback
from semcache.revising.band import Bands, Count
from semcache.revising.revising import Revising
from semcache.revising.revision import RevisingLimits
from semcache.revising.told import Told
from semcache.sighting.allowance import JudgeAllowance, judge_caps
from semcache.sighting.judging import Judging
from semcache.sighting.promoting import Promoting
from semcache.sighting.sights import Sights
from semcache.sighting.told import Told as SightsTold
from semcache.standings import Allowance
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.near import NearCache
from semcache.store.queue import ReviewShelves as QueueShelves
from semcache.store.redis_store import StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules

_WORD = 8
_SWEEP_EVERY = 60.0
Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


def revising_of(
    backends: Mapping[str, Backend],
    evidence: EvidenceStore,
    count: Count,
    allowance: Allowance,
    verifier: Verifier | None,
    clock: Clock,
    spawn: Spawn,
    new_id: Callable[[], str],
    told: Told,
    price: Price = micro_usd,
) -> Revising:
    """Give what makes answers from drafts.

    Args:
        backends: upstreams by name; a policy may name one as reviser.
        evidence: where the tallies of drafts are read.
        count: adds to them.
        allowance: says what the evidence about revised answers allows.
        verifier: asked about revised answers; None: nothing is revised.
        clock: time.
        spawn: starts a task that the lifespan owns.
        new_id: gives fresh ids of answers.
        told: the metrics.
        price: of tokens.
    """
    return Revising(
        backends,
        Bands(evidence, count, clock, spawn, allowance),
        price,
        verifier=verifier,
        clock=clock,
        new_id=new_id,
        new_word=_new_word,
        told=told,
        limits=RevisingLimits(),
    )


class ReviewShelves:
    """What humans decide, and what waits for them, on the server that `url` names.

    Args:
        url: as for `RedisStore`.
        clock: time of verdicts.
        rules: those of the entry store.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, clock: Clock, rules: StoreRules) -> None:
        self._queue = QueueShelves(url, rules.link, rules.prefix)
        self.queue = self._queue.queue
        self.clock = clock
        self.verdicts = RedisVerdicts(url, clock, rules, VerdictRules())

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._queue.aclose()
        await self.verdicts.aclose()


def feedback_of(
    evidence: EvidenceShelves,
    reviewing: ReviewShelves,
    flush: Callable[[], Awaitable[None]],
    told: EvidenceMetrics,
    near: NearCache,
) -> Feedback:
    """Give what hears callers' complaints.

    `flush` writes down the hits that were served a moment ago; `near` lets go of what a complaint was about at once.
    """
    return Feedback(
        evidence=evidence.labels,
        hits=evidence.hits,
        budget=evidence.budget,
        clock=reviewing.clock,
        flush=flush,
        labelled=told.labelled,
        verdicts=reviewing.verdicts,
        queue=reviewing.queue,
        heard=near.on_change,
    )


def sights_of(
    shelves: ReviewShelves,
    evidence: EvidenceShelves,
    backends: Mapping[str, Backend],
    clock: Clock,
    spawn: Spawn,
    told: SightsTold,
    sides: SideSink | None = None,
    price: Price = micro_usd,
) -> Sights:
    """Give what sees which answers somebody should look at; the caller spawns its `run` and calls `flush` at the end.

    Args:
        shelves: the queue, and verdicts for what the judge promotes.
        evidence: labels, and what judging may spend.
        backends: upstreams by name; a policy may name one as judge.
        clock: time.
        spawn: starts a task that the lifespan owns.
        told: the metrics.
        price: of tokens.
        sides: gets a record of each call of the judge.
    """
    judging = Judging(
        shelves.queue,
        Promoting(shelves.queue, shelves.verdicts, evidence.labels, clock),
        backends=backends,
        purse=Purse(JudgeAllowance(evidence.budget), price, judge_caps, sides),
        new_word=_new_word,
        clock=clock,
        spawn=spawn,
        told=told,
    )
    return Sights(shelves.queue, judging, coin=random.random, clock=clock, told=told)


async def sweeping(shelves: ReviewShelves, tenants: Callable[[], Awaitable[list[TenantId]]]) -> None:
    """Forget the questions of entries that are gone, every minute; a store that is away is asked again later.

    What is deleted or replaced takes its questions along at once; this is for entries whose lifetime ran out.
    """
    while True:
        await asyncio.sleep(_SWEEP_EVERY)
        try:
            for tenant in await tenants():
                await shelves.queue.sweep(tenant)
        except StoreError:
            continue


def _new_word() -> str:
    return secrets.token_hex(_WORD)
