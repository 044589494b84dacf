"""A log asked again of the real pipeline, request after request in time order.

    semantic = await replay_log(settings, order, rows, price, told)

Encoders, index, gate, verifier, policies, namespaces, domains and the store are the product's own; the clock is the log's, so that answers
live and die as they would have. What may be served by meaning is what a new installation may: by the shipped calibration alone,
with no evidence of its own. A miss stores what the model answered then; where the log does not say, a placeholder.

A log that the time does not suffice for is replayed in part (`sample`), and the result says which and how sure. Knows no prices (see `worth`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from semcache.advise.ahead import Ahead, Coming, side_by_side
from semcache.advise.asked import (
    NO_ANSWER,
    LoggedGenerator,
    asked_of,
    exactly,
    is_matched,
    place_of,
    text_number,
    usage_of,
)
from semcache.advise.concluding import Course, Took, concluded
from semcache.advise.counted import Answers, Saved, Tallies, Tally
from semcache.advise.findings import Semantic
from semcache.advise.rows import LogRow, Watcher
from semcache.advise.sample import Part, Sample, Survey, choose, units_for
from semcache.asking.calls import text_of
from semcache.asking.likeness import similar_by
from semcache.asking.pace import Pace
from semcache.auditing.hits import would_be
from semcache.core import Bypass, Draft, Hit, Miss, TenantId
from semcache.decide.personal import is_personal
from semcache.decide.volatile import is_volatile
from semcache.errors import EncoderError, RequestError, SemcacheError
from semcache.evaluate.evidence import OwnEvidence
from semcache.evaluate.rig import Rig, Timed, opened
from semcache.evaluate.sole import SoleStore
from semcache.pipeline import Pipeline
from semcache.policy.snapshot import PolicySnapshot
from semcache.records import Usage
from semcache.settings import Settings
from semcache.store.redis_store import RedisStore

Rows = Callable[[], Iterator[LogRow]]
"""Gives all rows in time order, as often as one likes."""

Price = Callable[[LogRow, Usage], int | None]
"""Gives what a request cost, in micro-USD: as the log says, or by a price table; None: not known."""

_DECIDING, _REPEATING = 1.8, 0.3
"""What a request takes that is no exact repeat, and one that is, in times of a question's vector: measured where both share two
cores with other work. A guess that tells how much of a log the time is enough for."""
_TRIED = 48
_SECOND = 1.0
_LOOKING = 0.2
"""Part of the time for looking at all rows once; what is left then is only counted."""
_LEAST = 0.002
"""Seconds that a vector takes at least, for that guess."""
_PATIENCE = 1.25
"""Times the promised minutes after which a replay ends, wherever it is."""
_FAULTS = 25
"""Faults of the cache (a machine too busy) that a replay survives."""
_TOLD = 64
_LOOKED_AT = 3
"""Of so many requests one is looked at for what is personal or passes with time: it costs more than it tells."""
_TEXT = 140
"""Characters of a question in an example."""
_NO_PACE = 1e9


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """By which policy a log is asked again, and for how long at most."""

    snapshot: PolicySnapshot
    tenant: TenantId
    minutes: float = 5.0
    seed: int = 0
    examples: int = 0
    """Hits by meaning of each domain whose questions are told; 0: no text leaves the replay."""


class LogClock:
    """The log's time: it stands still between requests, and never goes back."""

    def __init__(self) -> None:
        self._now = 0.0

    def set(self, at: float | None) -> None:
        """Let it be so late."""
        if at is not None and at > self._now:
            self._now = at

    def now(self) -> float:
        """Give the time of the present request, in Unix seconds."""
        return self._now

    def monotonic(self) -> float:
        """Give real seconds, for durations."""
        return time.monotonic()


async def replay_log(
    settings: Settings, order: ReplayOrder, rows: Rows, price: Price, told: Watcher
) -> Semantic:
    """Ask the log again.

    Args:
        settings: where the models are.
        order: by which policy, and for how long.
        rows: gives all rows in time order; asked for twice.
        price: what a request cost.
        told: hears of the stages `looking` and `replaying`.

    Raises:
        SemcacheError: the models are not there, or the cache failed again and again.
    """
    clock = LogClock()
    async with opened(settings, order.snapshot, order.tenant, clock) as rig:
        return await replay(rig, clock, order, rows, price, told)


async def replay(
    rig: Rig, clock: LogClock, order: ReplayOrder, rows: Rows, price: Price, told: Watcher
) -> Semantic:
    """Ask the log again on a rig that is open, and whose store and pipelines go by this clock.

    Raises:
        SemcacheError: the cache failed again and again.
    """
    began = time.monotonic()
    rig = await _alone(rig, clock, order.tenant)
    told.stage("looking", 0)
    survey, span = _surveyed(order, rows, told)
    wait, per_text = await _seconds_per_text(rig, survey)
    left = max(_SECOND, order.minutes * 60.0 - (time.monotonic() - began))
    policies = order.snapshot.tenant(order.tenant)
    life = max((policy.ttl for policy in policies.domains.values()), default=None)
    sample = choose(survey, _affordable(survey, wait, left), life, span)
    # A second at least, however short the time and long the log.
    deadline = max(time.monotonic() + _SECOND, began + order.minutes * 60.0 * _PATIENCE)
    run = _Run(rig, clock, order, price, survey, sample, deadline)
    told.stage("replaying", survey.rows)
    with side_by_side():
        await run.all(rows(), told)
    similar = similar_by(rig.parts.encoder, Pace(_NO_PACE, _NO_PACE), clock)
    semantic = await concluded(run.course, Took(run.ahead.made, per_text), similar, rig.parts.prior)
    return replace(semantic, seconds=time.monotonic() - began)


async def _alone(rig: Rig, clock: LogClock, tenant: TenantId) -> Rig:
    """Spare the ways to a server that nobody else uses: of an empty one all is known that is put there."""
    store = rig.parts.store
    if not isinstance(store, RedisStore) or (await store.counts(tenant)).entries:
        return rig
    return rig.storing_in(SoleStore(store, clock))


def _surveyed(order: ReplayOrder, rows: Rows, told: Watcher) -> tuple[Survey, float | None]:
    """Look at all rows once; gives the survey, and the seconds from the first row to the last."""
    survey = Survey(order.seed)
    first = last = None
    until = time.monotonic() + _SECOND + order.minutes * 60.0 * _LOOKING
    for number, row in enumerate(rows(), 1):
        if survey.is_partial or (number % _TOLD == 0 and time.monotonic() > until):
            survey.count()
        else:
            asked = asked_of(row, order.tenant)
            place = None if asked is None else place_of(asked, order.snapshot)
            prompt = None if asked is None else asked.request.prompt
            survey.see(place, text_number(prompt or ""), prompt)
        if row.at is not None:
            first = row.at if first is None else min(first, row.at)
            last = row.at if last is None else max(last, row.at)
        if number % _TOLD == 0:
            told.advance(_TOLD)
    return survey, None if first is None or last is None or last <= first else last - first


async def _seconds_per_text(rig: Rig, survey: Survey) -> tuple[float, float]:
    """Embed some of the log's questions, and give the seconds that one took: of waiting, and of the processor."""
    began, at, count = time.process_time(), time.monotonic(), 0
    for text in survey.texts[:_TRIED]:
        try:
            count += await rig.embed(text) is not None
        except EncoderError:
            continue
    if not count:
        return 0.0, 0.0
    return (time.monotonic() - at) / count, (time.process_time() - began) / count


def _affordable(survey: Survey, wait: float, left: float) -> int:
    """Give how many rows the seconds left suffice for, when a vector takes `wait`."""
    fresh = survey.distinct / max(1, survey.rows)
    one = (fresh * _DECIDING + (1.0 - fresh) * _REPEATING) * max(wait, _LEAST)
    return int(left / one)


class _Run:
    """One replay on its way."""

    def __init__(
        self,
        rig: Rig,
        clock: LogClock,
        order: ReplayOrder,
        price: Price,
        survey: Survey,
        sample: Sample,
        deadline: float,
    ) -> None:
        self._generator = LoggedGenerator()
        # Nothing is ever labelled, so what a day's queries are does not matter.
        by_prior = OwnEvidence(rig.parts.prior, order.seed, 1000, labelling=False)
        self._rig = rig.under(by_prior).answered_by(self._generator)
        self._pipeline: Pipeline = self._rig.pipeline("")
        self._clock, self._order, self._price = clock, order, price
        self._deadline = deadline
        self.course = Course(sample, survey.rows, units_for(sample, survey.rows), Tallies(order.seed))
        self.ahead = Ahead(rig.parts.encoder, rig.parts.spawn)

    async def all(self, rows: Iterator[LogRow], told: Watcher) -> None:
        """Ask all rows of the sample."""
        async with aclosing(self.ahead.rows(self._coming(rows, told))) as coming:
            async for item in coming:
                if time.monotonic() > self._deadline:
                    self.course.is_cut = True
                    return
                await self._ask(item)

    def _coming(self, rows: Iterator[LogRow], told: Watcher) -> Iterator[Coming]:
        for number, row in enumerate(rows):
            if number % _TOLD == _TOLD - 1:
                told.advance(_TOLD)
            if not self.course.sample.may_count(number):
                continue
            asked = asked_of(row, self._order.tenant)
            place = None if asked is None else place_of(asked, self._order.snapshot)
            part = self.course.sample.part(number, place)
            if part is not Part.SKIP:
                lonely = place is not None and place in self.course.sample.lonely
                if asked is not None and lonely:
                    asked = exactly(asked)
                meets = asked is not None and place is not None and is_matched(asked, self._order.snapshot)
                yield Coming(number, row, asked, part, place, lonely, meets)

    async def _ask(self, item: Coming) -> None:
        self._clock.set(item.row.at)
        self.course.is_timed |= item.row.at is not None
        if item.asked is None:
            self.course.refused += item.part is Part.COUNT
            return
        self._generator.say(item.row)
        try:
            timed = await self._rig.ask(self._pipeline, item.asked)
        except RequestError:
            # A model that the policy does not allow, or the like: the proxy refuses such a request.
            self.course.refused += item.part is Part.COUNT
            return
        except SemcacheError:
            self.course.faults += 1
            if self.course.faults > _FAULTS:
                raise
            return
        self.course.asked += 1
        self.course.decide_seconds += timed.seconds
        if item.part is Part.COUNT:
            self._count(item, timed)

    def _count(self, item: Coming, timed: Timed) -> None:
        row, decision = item.row, timed.decision
        tally = self.course.tallies.of(timed.trace.policy)
        tally.requests += 1
        self.course.counted += 1
        self.course.answers += row.response is not None
        if row.seconds is not None:
            tally.asked_seconds += row.seconds
            tally.timed += 1
        prompt = item.asked.request.prompt if item.asked is not None else None
        if prompt is not None and tally.requests % _LOOKED_AT == 1:
            tally.looked += 1
            tally.volatile += is_volatile(prompt)
            tally.personal += is_personal(prompt, row.response or "")
        hit = isinstance(decision, Hit) and not decision.shadow
        self.course.units.add(item.number, item.place, hit=hit)
        match decision:
            case Hit() if hit:
                self._hit(tally, item, decision, timed.seconds)
            case Draft():
                tally.drafts += 1
            case Miss(reason=reason) | Bypass(reason=reason):
                tally.reasons["empty-namespace" if item.is_lonely and reason == "exact-only" else reason] += 1
        held = would_be(decision)
        tally.would_be += held is not None and not hit

    def _hit(self, tally: Tally, item: Coming, hit: Hit, seconds: float) -> None:
        row = item.row
        if hit.exact:
            tally.exact += 1
        else:
            tally.semantic += 1
            if hit.score is not None:
                tally.scores.append(hit.score)
            if len(tally.examples) < self._order.examples and item.asked is not None:
                asked = item.asked.request.prompt or ""
                tally.examples.append(f"{asked[:_TEXT]} <- {hit.entry.prompt[:_TEXT]}")
        self._spare(tally.spared_exact if hit.exact else tally.spared_meaning, row, seconds)
        stored = text_of(hit.entry.completion)
        if row.response and not row.from_cache and stored and stored != NO_ANSWER:
            drawn = tally.by_repeat if hit.exact else tally.by_meaning
            question = item.asked.request.prompt if item.asked is not None else ""
            drawn.offer(Answers(question or "", stored, row.response))

    def _spare(self, saved: Saved, row: LogRow, seconds: float) -> None:
        used = usage_of(row)
        cost = self._price(row, used)
        saved.input += used.prompt_tokens
        saved.output += used.completion_tokens
        saved.unpriced += cost is None
        saved.cost += cost or 0
        if row.seconds is not None:
            saved.seconds += max(0.0, row.seconds - seconds)
