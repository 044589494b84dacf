"""The judge's day: which meetings are put before it, what that may cost, and what becomes of its opinions.

Of each flush the heaviest of the grey zone (near a bar, near a veto, revised, or not served), where the policy names a
judge, at a pace, within an allowance of its own that all replicas share. Every question about an answer is put to a
model once. Always under the configured key: callers' own keys pay for nothing here. What a judge says goes to the
queue; nothing is served or refused for it, but for promotion (`promoting`).
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from semcache.asking.calls import text_of
from semcache.asking.pace import Pace
from semcache.asking.pause import Pause
from semcache.asking.purse import Cause, Purse
from semcache.core import EntryId, TenantId, Usage
from semcache.decide.attention import Why
from semcache.errors import StoreError
from semcache.journey import Backend
from semcache.ports import Clock
from semcache.records import SideKind
from semcache.review_port import Opinion, ReviewQueue
from semcache.review_rules import WHOLE
from semcache.sighting.judge import AGAINST, FAVOURABLE, Case, Judge, Judged
from semcache.sighting.promoting import Promoting
from semcache.sighting.told import Told
from semcache.sighting.weighing import Weighed

GREY = frozenset((Why.NEAR_THRESHOLD.value, Why.NEAR_SCORE.value, Why.GATE.value, Why.DRAFT.value))
_A_TOKEN = 3
"""Characters, for what a judge will about cost."""
_PROMPT_TOKENS = 330
_REPLY_TOKENS = 40
_REMEMBERED = 10_000

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """Bounds of one worker's judge.

    Attributes:
        each: cases that one flush of one tenant may bring.
        at_once: calls that run.
        waiting: cases that run or wait; beyond, they are let go. A tenant gets half of it.
        deadline: seconds for an opinion.
        rate, burst: cases a second, and how many at once after a quiet time.
    """

    each: int = 4
    at_once: int = 2
    waiting: int = 16
    deadline: float = 30.0
    rate: float = 0.5
    burst: float = 8.0


@dataclass(frozen=True, slots=True)
class _Job:
    """A case with the meeting that it comes from."""

    weighed: Weighed
    backend: Backend
    model: str

    @property
    def name(self) -> tuple[EntryId, int, str, str]:
        """What is put to a model once."""
        sighting = self.weighed.sighting
        return sighting.entry, self.weighed.met.decision.entry.version, sighting.asked, self.model


class Judging:
    """One worker's judge.

    Args:
        queue: where opinions go.
        promoting: approves on the judge's word where a policy says so.
        backends: upstreams by name; `policy.review.judge` names one, or one and a model.
        purse: what judging may cost (see `allowance`).
        new_word: gives fresh random words.
        clock: time.
        spawn: starts a task that the lifespan owns.
        told: hears of everything.
        limits: bounds.
    """

    def __init__(
        self,
        queue: ReviewQueue,
        promoting: Promoting,
        *,
        backends: Mapping[str, Backend],
        purse: Purse,
        new_word: Callable[[], str],
        clock: Clock,
        spawn: Spawn,
        told: Told,
        limits: JudgeLimits | None = None,
    ) -> None:
        self._queue = queue
        self._promoting = promoting
        self._backends = backends
        self._purse = purse
        self._new_word = new_word
        self._clock = clock
        self._spawn = spawn
        self._told = told
        self._limits = limits or JudgeLimits()
        self._slots = asyncio.Semaphore(self._limits.at_once)
        self._waiting: Counter[TenantId] = Counter()
        self._pause = Pause()
        self._pace = Pace(self._limits.rate, self._limits.burst)
        self._put: OrderedDict[tuple[EntryId, int, str, str], None] = OrderedDict()

    def consider(self, weighed: Sequence[Weighed]) -> None:
        """Take the heaviest cases of a tenant's flush. Never waits."""
        jobs = [job for item in weighed if (job := self._job(item)) is not None]
        jobs.sort(key=lambda job: -job.weighed.sighting.risk)
        taken: dict[tuple[EntryId, int, str, str], _Job] = {}
        for job in jobs:
            if len(taken) >= self._limits.each:
                break
            if job.name not in self._put:
                taken.setdefault(job.name, job)
        for job in taken.values():
            self._start(job)

    def _job(self, weighed: Weighed) -> _Job | None:
        """Give a case for the policy's judge; None for what is not of the grey zone, and where there is none."""
        sighting, met = weighed.sighting, weighed.met
        upstream, _, model = met.policy.review.judge.partition("/")
        backend = self._backends.get(upstream)
        grey = sighting.outcome == "shadow" or not GREY.isdisjoint(sighting.reasons)
        if backend is None or not grey or sighting.asked == WHOLE or met.audited:
            return None
        return _Job(weighed, backend, model or met.decision.entry.model)

    def _start(self, job: _Job) -> None:
        tenant, most = job.weighed.met.policy.tenant, self._limits.waiting
        if self._waiting.total() >= most or self._waiting[tenant] >= max(1, most // 2):
            self._told.dropped("queue", 1)
            return
        if not self._pace.take(self._clock.monotonic()):
            self._told.dropped("pace", 1)
            return
        self._remember(job)
        self._waiting[tenant] += 1
        task = self._spawn(self._case(job))
        task.add_done_callback(lambda _: self._ended(tenant))

    def _ended(self, tenant: TenantId) -> None:
        self._waiting[tenant] -= 1
        if self._waiting[tenant] <= 0:
            del self._waiting[tenant]

    def _remember(self, job: _Job) -> None:
        self._put[job.name] = None
        if len(self._put) > _REMEMBERED:
            self._put.popitem(last=False)

    # -- one case -----------------------------------------------------------------------

    async def _case(self, job: _Job) -> None:
        async with self._slots:
            try:
                if not await self._is_known(job):
                    await self._judge(job)
            except StoreError:
                self._told.dropped("store", 1)

    async def _judge(self, job: _Job) -> None:
        """Get an opinion, hand it on, and see whether it was the one that was missing.

        Raises:
            StoreError: unreachable or late.
        """
        policy, sighting = job.weighed.met.policy, job.weighed.sighting
        fit = await self._opinion(job)
        if fit is None:
            return
        said = Opinion(sighting.entry, sighting.asked, job.model, fit, self._clock.now())
        await self._queue.opine(policy.tenant, said)
        lasting = not (job.weighed.traits.volatile or job.weighed.traits.personal)
        if (
            lasting
            and fit >= FAVOURABLE
            and await self._promoting.consider(policy, sighting.entry, job.model)
        ):
            self._told.promoted(policy.tenant, policy.domain)

    async def _is_known(self, job: _Job) -> bool:
        """True when this or another worker has put the question to this model before, about this answer.

        Raises:
            StoreError: unreachable or late.
        """
        sighting, entry = job.weighed.sighting, job.weighed.met.decision.entry
        since = max(entry.created_at, entry.review.at)
        said = await self._queue.opinions(job.weighed.met.policy.tenant, sighting.entry)
        return any(
            opinion.asked == sighting.asked and opinion.model == job.model and opinion.at >= since
            for opinion in said
        )

    async def _opinion(self, job: _Job) -> float | None:
        """Ask the judge and pay for it; None when it may not be asked or has no opinion."""
        met = job.weighed.met
        policy, entry, name = met.policy, met.decision.entry, job.backend.generator.name
        case = Case(entry.prompt, text_of(entry.completion), met.question)
        if not case.is_fair:
            self._told.judged(policy.tenant, policy.domain, "unclear")
            return None
        if self._pause.holds(name, self._clock.monotonic()):
            self._told.dropped("pause", 1)
            return None
        length = len(case.stored) + len(case.answer) + len(case.asked)
        expected = Usage(_PROMPT_TOKENS + length // _A_TOKEN, _REPLY_TOKENS)
        taken = await self._purse.take(policy, job.model, expected, self._clock.now(), _cause(job))
        if isinstance(taken, str):
            self._told.dropped(taken, 1)
            return None
        judged = await Judge(job.backend, job.model, self._limits.deadline).judge(case, self._new_word())
        self._pause.note(name, self._clock.monotonic(), failed=judged.failed)
        used = judged.reply.usage if judged.reply is not None else None
        self._told.spent(policy.tenant, await self._purse.settle(taken, used, refused=judged.refused))
        self._told.judged(policy.tenant, policy.domain, _word(judged))
        return judged.fit


def _cause(job: _Job) -> Cause:
    met, backend = job.weighed.met, job.backend
    return Cause(
        SideKind.JUDGE,
        met.policy.domain,
        backend.generator.name,
        backend.prefixes is not None,
        met.request_id,
        met.labels,
        met.key_name,
    )


def _word(judged: Judged) -> str:
    if judged.fit is None:
        return "failed" if judged.failed else "unclear"
    if judged.fit >= FAVOURABLE:
        return "fits"
    return "doubts" if judged.fit >= AGAINST else "unfit"
