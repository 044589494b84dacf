"""Hits, would-be hits and drafts become sightings for the reviewers' queue; decisions are kept beside them.

    request  -> what was decided, and who got what       (a look-up and an append; nothing is read)
    flush    -> weighed one by one, handed to the queue, the heaviest of the grey zone to the judge

A draft waits for what becomes of it; nothing is seen where a model wrote the answer anew (drafts that are
verified token by token, predictions). Of a request that forbids storing nothing is kept, nor of domains without
review. What equal requests get again and again is met once a turn. Answers that an operator made public are
another tenant's: sightings of them would bring questions of this one there, so there are none. Where the queue
is away what was seen is let go and counted. Texts stand in sightings only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from semcache.core import Bypass, Completion, Draft, EntryId, Hit, Miss, TenantId
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Label, Source
from semcache.journey import Keep, Step, to_serve
from semcache.ports import Clock
from semcache.review_port import Decided, ReviewQueue
from semcache.sighting.judging import Judging
from semcache.sighting.shelf import Met, Shelf, ShelfLimits
from semcache.sighting.told import Told
from semcache.sighting.weighing import Weighed, Weigher

_LONGEST_EQUAL = 4000
"""Characters of an equal question that are kept: nothing is worked out from it."""

_LARGEST_DRAFT = 256 << 10
"""Bytes of a question and the answer near it that are held until it is known what became of the draft."""


@dataclass(frozen=True, slots=True)
class SightLimits:
    """Bounds of one worker's sightings.

    Attributes:
        flush_every: seconds between handing them on.
        slice: seconds of weighing after which others have their turn.
        drafts: drafts that wait for what becomes of them; the oldest are taken for unused.
        patience: seconds that a draft waits.
        shelf: bounds of what waits to be weighed.
    """

    flush_every: float = 2.0
    slice: float = 0.001
    drafts: int = 200
    patience: float = 120.0
    shelf: ShelfLimits = field(default_factory=ShelfLimits)


class Sights:
    """One worker's sightings: a `journey.Watch`.

    Args:
        queue: where they go.
        judging: looks at the grey zone beforehand; None: nobody does.
        coin: gives uniform numbers in [0, 1), for the sample.
        clock: time.
        told: hears of everything.
        limits: bounds.
    """

    def __init__(
        self,
        queue: ReviewQueue,
        judging: Judging | None,
        *,
        coin: Callable[[], float],
        clock: Clock,
        told: Told,
        limits: SightLimits | None = None,
    ) -> None:
        self._queue = queue
        self._judging = judging
        self._clock = clock
        self._told = told
        self._limits = limits or SightLimits()
        self._shelf = Shelf(self._limits.shelf)
        self._weigher = Weigher(coin)
        self._drafts: deque[Met] = deque()
        self._equal: set[EntryId] = set()
        """Entries that an equal request got since the last turn: an exact hit costs a request next to nothing."""

    def on_decided(self, step: Step) -> None:
        """Keep what was decided, and hits that are not to be served. Never waits."""
        decision = step.trace.decision
        if isinstance(decision, Bypass) or not _may_keep(step):
            return
        policy = step.policy
        served = to_serve(decision, policy) is not None
        self._decide(step, decision, served)
        if isinstance(decision, Hit | Draft) and not served:
            self._meet(step, decision, served=False)

    def on_served(self, step: Step, hit: Hit, request_id: str) -> None:  # noqa: ARG002  as a Watch has it
        """Keep a hit that was served; of equal requests one in each turn. Never waits."""
        if hit.exact:
            if hit.entry.id in self._equal:
                return
            self._equal.add(hit.entry.id)
        if _may_keep(step):
            self._meet(step, hit, served=True)

    def on_revised(self, step: Step, draft: Draft, revised: Completion, request_id: str) -> None:
        """Hear of a revised answer: what became of its draft is in the record already."""

    def watching(self, step: Step, hit: Hit, request_id: str, keep: Keep) -> Keep:  # noqa: ARG002  as a Watch has it
        """Give `keep`: what the backend says now is compared elsewhere."""
        return keep

    def on_label(self, label: Label, step: Step, hit: Hit) -> None:
        """Hear what an audit found; a wrong answer waits for a human from now on. Never waits.

        Args:
            label: the finding.
            step: the request whose hit was checked.
            hit: the hit, or would-be hit.
        """
        if label.finding is Finding.WRONG and _may_keep(step):
            self._meet(step, hit, served=label.source is not Source.SHADOW, audited=True)

    async def run(self) -> None:
        """Hand sightings on every few seconds, for as long as the worker lives.

        Once it is cancelled a last `flush` begins no judging any more.
        """
        try:
            while True:
                await asyncio.sleep(self._limits.flush_every)
                await self.flush()
        finally:
            self._judging = None

    async def flush(self) -> None:
        """Weigh what was seen, and hand it on."""
        self._equal.clear()
        seen, decided, dropped = self._shelf.take()
        if dropped:
            self._told.dropped("full", dropped)
        drafts, self._drafts = self._drafts, deque()
        now = self._clock.now()
        for met in drafts:
            if self._is_open(met, now):
                self._drafts.append(met)
            else:
                seen.append(met)
        weighed = await self._weighed(seen)
        for tenant, found in weighed.items():
            await self._hand_on(tenant, found)
        for (tenant, domain), decisions in decided.items():
            await self._keep(tenant, domain, list(decisions))

    # -- taking note --------------------------------------------------------------------

    def _decide(self, step: Step, decision: Hit | Draft | Miss, served: bool) -> None:
        """Keep a decision by meaning, and how near it was."""
        if decision.similarity is None or step.meeting is None:
            return
        match decision:
            case Hit():
                outcome = "semantic" if served else "shadow"
            case Draft():
                outcome = "draft"
            case _:
                outcome = "miss"
        kept = Decided(self._clock.now(), decision.similarity, decision.score, outcome, step.asked.request_id)
        self._shelf.decide(step.policy.tenant, step.policy.domain, kept)

    def _meet(self, step: Step, decision: Hit | Draft, *, served: bool, audited: bool = False) -> None:
        policy, asked, meeting = step.policy, step.asked, step.meeting
        if decision.entry.tenant != policy.tenant:
            return
        by_meaning = meeting is not None and not (isinstance(decision, Hit) and decision.exact)
        question = step.question
        met = Met(
            self._clock.now(),
            policy,
            asked.directives,
            decision,
            question if by_meaning else question[:_LONGEST_EQUAL],
            meeting.namespace if meeting is not None and by_meaning else None,
            step.partition,
            asked.directives.user or asked.request.end_user,
            step.trace.serving,
            served,
            meeting is None or meeting.reading.kind == "standalone",
            step.trace if isinstance(decision, Draft) else None,
            audited,
            asked.request_id,
            asked.labels,
            asked.caller.key_name,
        )
        if met.trace is None:
            self._shelf.put(met)
            return
        if met.size > _LARGEST_DRAFT:
            self._told.dropped("full", 1)
            return
        self._drafts.append(met)
        if len(self._drafts) > self._limits.drafts:
            self._shelf.put(self._drafts.popleft())

    def _is_open(self, met: Met, now: float) -> bool:
        """True while it is not known what became of a draft."""
        trace = met.trace
        if trace is None or trace.draft is not None or trace.stored or trace.completion is not None:
            return False
        return now - met.at < self._limits.patience

    # -- handing on ---------------------------------------------------------------------

    async def _weighed(self, seen: Sequence[Met]) -> Mapping[TenantId, list[Weighed]]:
        found: dict[TenantId, list[Weighed]] = {}
        began = self._clock.monotonic()
        for met in seen:
            weighed = self._weigher.weigh(met)
            if weighed is not None:
                found.setdefault(met.policy.tenant, []).append(weighed)
            if self._clock.monotonic() - began > self._limits.slice:
                await asyncio.sleep(0)
                began = self._clock.monotonic()
        return found

    async def _hand_on(self, tenant: TenantId, weighed: Sequence[Weighed]) -> None:
        sightings = [item.sighting for item in weighed]
        try:
            await self._queue.sight(tenant, sightings)
        except StoreError:
            self._told.dropped("store", len(sightings))
            return
        for sighting in sightings:
            self._told.sighted(sighting.outcome, sighting.risk > 0)
        if self._judging is not None:
            self._judging.consider(weighed)

    async def _keep(self, tenant: TenantId, domain: str, decisions: list[Decided]) -> None:
        try:
            await self._queue.keep(tenant, domain, decisions)
        except StoreError:
            self._told.dropped("store", len(decisions))


def _may_keep(step: Step) -> bool:
    return step.policy.review.enabled and not step.asked.directives.no_store
