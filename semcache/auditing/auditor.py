"""Hits are counted, and a share of them is checked against what the backend says now.

    served   -> counted; by a coin of the domain's share the backend is asked again -> compared -> label
    shadowed -> counted; the backend answered anyway, so its answer is compared      -> label

All of it happens after the request, in tasks of its own: bounded in number, time and money. A `wrong` is
confirmed by a judge or a second answer of the backend, where one can be had. Exact hits are counted and
not checked: they are answers to the same question.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from semcache.asking.calls import Failed, ask_again, text_of
from semcache.asking.pace import Pace
from semcache.asking.pause import Pause
from semcache.asking.purse import Purse, cause_of
from semcache.auditing.books import Books
from semcache.auditing.hits import as_hit, bin_of_hit
from semcache.auditing.told import Told
from semcache.auditing.verdicts import Bench, Verdict
from semcache.core import CachePolicy, Completion, Draft, Hit, TenantId
from semcache.decide.risk.grid import bin_of, bucket_of
from semcache.errors import StoreError
from semcache.evidence_port import EvidenceStore, Finding, Label, ServedHit, Source
from semcache.journey import Step
from semcache.ports import Clock
from semcache.records import SideKind
from semcache.review_rules import PUBLIC, WHOLE
from semcache.standings import drafts_of

Keep = Callable[[Completion], Awaitable[bool]]
"""Takes a whole answer; True when it was stored."""
WITNESS = 0.7
"""Temperature of a second answer that confirms: the same facts are wanted, in other words."""
_REFUSED = Failed("status-400")
Heard = Callable[[Label, Step, Hit], None]
Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


@dataclass(frozen=True, slots=True)
class AuditLimits:
    """Bounds of one worker's audits.

    Attributes:
        at_once: audits that run.
        waiting: audits that run or wait; beyond, they are dropped and counted. A tenant gets half of it.
        deadline: seconds for an answer of the backend.
        verified: share of the share for answers that a human vouches for.
        flush_every: seconds between writing counts down.
        rate, burst: checks a second, and how many at once after a quiet time.
    """

    at_once: int = 4
    waiting: int = 64
    deadline: float = 60.0
    verified: float = 0.25
    flush_every: float = 2.0
    rate: float = 1.0
    burst: float = 32.0


@dataclass(frozen=True, slots=True)
class _Job:
    """A hit to be checked; `fresh` is the backend's answer where it gave one anyway."""

    step: Step
    hit: Hit
    request_id: str
    fresh: Completion | None = None

    @property
    def source(self) -> Source:
        return Source.AUDIT if self.fresh is None else Source.SHADOW


class Auditing:
    """One worker's auditor.

    Args:
        evidence: where labels go.
        books: where hits are counted.
        purse: what may be spent.
        bench: says what two answers tell.
        share: gives the share of hits, and of would-be hits, to check under a policy, in [0, 1].
        coin: gives uniform numbers in [0, 1).
        clock: time of labels.
        spawn: starts a task that the lifespan owns.
        told: hears of everything.
        limits: bounds.

    Attributes:
        heard: hears of each label, with the request and the hit it is about, once somebody is named.
    """

    def __init__(
        self,
        evidence: EvidenceStore,
        books: Books,
        purse: Purse,
        bench: Bench,
        *,
        share: Callable[[CachePolicy], float],
        coin: Callable[[], float],
        clock: Clock,
        spawn: Spawn,
        told: Told,
        limits: AuditLimits,
    ) -> None:
        self._evidence = evidence
        self.books = books
        self._purse = purse
        self._bench = bench
        self._share = share
        self._coin = coin
        self._clock = clock
        self._spawn = spawn
        self._told = told
        self._limits = limits
        self.heard: Heard | None = None
        self._slots = asyncio.Semaphore(limits.at_once)
        self._waiting: Counter[TenantId] = Counter()
        self._pause = Pause()
        self._pace = Pace(limits.rate, limits.burst)

    def on_decided(self, step: Step) -> None:
        """Hear of a decision; audits are about hits alone."""

    def on_served(self, step: Step, hit: Hit, request_id: str) -> None:
        """Take note of a hit that was served, and perhaps check it. Never waits."""
        policy = step.policy
        self._note(policy, hit, "exact" if hit.exact else "semantic")
        if step.asked.directives.no_store:
            return
        served = ServedHit(
            request=request_id,
            entry=hit.entry.id,
            domain=policy.domain,
            principal=step.asked.caller.principal,
            exact=hit.exact,
            bin=bin_of_hit(hit),
            at=self._clock.now(),
            score=hit.score,
            similarity=hit.similarity,
            key=hit.entry.key,
            asked=WHOLE if hit.exact else step.asked_digest,
            public=hit.entry.tenant == PUBLIC,
            subject=step.subject,
        )
        self.books.serve(policy.tenant, served)
        if self._is_due(step, hit) and self._may_ask(step):
            self._start(_Job(step, hit, request_id))

    def on_shadow(self, step: Step, hit: Hit, fresh: Completion, request_id: str) -> None:
        """Take note of a hit that was not served, and perhaps compare it with the answer that was. Never waits."""
        self._note(step.policy, hit, "shadow-exact" if hit.exact else "shadow-semantic")
        if not step.asked.directives.no_store and self._is_due(step, hit):
            self._start(_Job(step, hit, request_id, fresh))

    def on_revised(self, step: Step, draft: Draft, revised: Completion, request_id: str) -> None:
        """Take note of an answer revised from a draft, and perhaps check it, as evidence of its own. Never waits."""
        hit = as_hit(draft, revised, step.trace.stored_as)
        apart = replace(step, policy=drafts_of(step.policy))
        self._note(apart.policy, hit, "drafted")
        if not step.asked.directives.no_store and self._is_due(apart, hit) and self._may_ask(apart):
            self._start(_Job(apart, hit, request_id))

    def watching(self, step: Step, hit: Hit, request_id: str, keep: Keep) -> Keep:
        """Give what does with a whole answer what `keep` does, and then holds it against a hit that was not served."""

        async def kept(completion: Completion) -> bool:
            stored = await keep(completion)
            # What was revised from the stored answer says nothing about it.
            if not step.trace.is_revised:
                self.on_shadow(step, hit, completion, request_id)
            return stored

        return kept

    async def run(self) -> None:
        """Write counts down every few seconds, for as long as the worker lives."""
        while True:
            await asyncio.sleep(self._limits.flush_every)
            await self.flush()

    async def flush(self) -> None:
        """Write down what was counted, and work out how many hits of these domains seem wrong."""
        places = self.books.places()
        if await self.books.flush(self._clock.now()):
            for tenant, domain in places:
                await self._estimate(tenant, domain)

    # -- choosing -----------------------------------------------------------------------

    def _note(self, policy: CachePolicy, hit: Hit, word: str) -> None:
        self.books.count(policy.tenant, policy.domain, word)
        if not hit.exact and hit.score is not None:
            self.books.see(policy.tenant, policy.domain, bucket_of(self._clock.now()), bin_of(hit.score))

    def _is_due(self, step: Step, hit: Hit) -> bool:
        if hit.exact or not step.policy.audit.enabled or step.asked.raw_body is not None:
            return False
        share = self._share(step.policy) * (self._limits.verified if hit.entry.status.is_verified else 1.0)
        return self._coin() < share

    def _may_ask(self, step: Step) -> bool:
        """A caller who brings a key of their own would pay for the audit."""
        own = step.asked.caller.authorization is not None
        return not own or step.policy.audit.passthrough

    def _start(self, job: _Job) -> None:
        tenant, most = job.step.policy.tenant, self._limits.waiting
        if self._waiting.total() >= most or self._waiting[tenant] >= max(1, most // 2):
            self._drop(job, "queue")
            return
        if not self._pace.take(self._clock.monotonic()):
            self._drop(job, "pace")
            return
        self._waiting[tenant] += 1
        task = self._spawn(self._audit(job))
        task.add_done_callback(lambda _: self._ended(tenant))

    def _ended(self, tenant: TenantId) -> None:
        self._waiting[tenant] -= 1
        if self._waiting[tenant] <= 0:
            del self._waiting[tenant]

    def _drop(self, job: _Job, reason: str) -> None:
        self._told.dropped(reason)
        self.books.count(job.step.policy.tenant, job.step.policy.domain, f"dropped-{reason}")

    # -- checking -----------------------------------------------------------------------

    async def _audit(self, job: _Job) -> None:
        async with self._slots:
            fresh = job.fresh if job.fresh is not None else await self._asked(job)
            if fresh is None:
                return
            if isinstance(fresh, Failed):
                policy = job.step.policy
                self._told.audited(policy.tenant, policy.domain, "failed")
                self.books.count(policy.tenant, policy.domain, "audit-failed")
                return
            await self._label(job, await self._judged(job, fresh))

    async def _asked(self, job: _Job, temperature: float | None = None) -> Completion | Failed | None:
        """Ask the backend again and pay for it; None when it may not be asked."""
        step, usage = job.step, job.hit.entry.completion.usage
        name = step.backend.generator.name
        if self._pause.holds(name, self._clock.monotonic()):
            self._drop(job, "pause")
            return None
        cause = cause_of(SideKind.AUDIT, step.policy.domain, step.asked, step.backend)
        taken = await self._purse.take(
            step.policy,
            step.asked.request.model,
            usage,
            self._clock.now(),
            replace(cause, request_id=job.request_id),
        )
        if isinstance(taken, str):
            self._drop(job, taken)
            return None
        answer = await ask_again(step, self._limits.deadline, temperature)
        self._pause.note(name, self._clock.monotonic(), failed=isinstance(answer, Failed))
        used = answer.usage if isinstance(answer, Completion) else None
        refused = isinstance(answer, Failed) and answer.is_refused
        self._paid(step.policy, await self._purse.settle(taken, used, refused=refused))
        return answer

    async def _judged(self, job: _Job, fresh: Completion) -> Verdict:
        step = job.step
        question, cached, now = step.question, job.hit.entry.completion, text_of(fresh)
        asked = replace(step.asked, request_id=job.request_id)
        verdict = await self._bench.verdict(step.policy, asked, (question, text_of(cached), now))
        self._paid(step.policy, verdict.cost)
        if verdict.finding is not Finding.WRONG or verdict.judged or not self._may_ask(step):
            return verdict
        again = await self._witness(job)
        if again is None:
            return verdict
        return await self._bench.confirmed(verdict, question, (text_of(cached), now, text_of(again)))

    async def _witness(self, job: _Job) -> Completion | None:
        """Have the backend answer once more, warmer; models that take no temperature are asked without a new one."""
        again = await self._asked(job, WITNESS)
        if again == _REFUSED:
            again = await self._asked(job)
        return again if isinstance(again, Completion) else None

    def _paid(self, policy: CachePolicy, micro_usd: int) -> None:
        self._told.spent(policy.tenant, micro_usd)
        self.books.count(policy.tenant, policy.domain, "money", micro_usd)

    async def _label(self, job: _Job, verdict: Verdict) -> None:
        policy, hit, now = job.step.policy, job.hit, self._clock.now()
        label = Label(
            id=f"{job.source}:{job.request_id}",
            tenant=policy.tenant,
            domain=policy.domain,
            source=job.source,
            finding=verdict.finding,
            bin=bin_of_hit(hit),
            bucket=bucket_of(now),
            at=now,
            entry=hit.entry.id or None,
            request=job.request_id,
            score=hit.score,
            similarity=hit.similarity,
            reasons=verdict.reasons,
        )
        try:
            counted = await self._evidence.add(label)
        except StoreError:
            self._drop(job, "store")
            return
        if counted:
            if self.heard is not None and label.entry is not None:
                self.heard(label, job.step, hit)
            self._told.labelled(job.source, verdict.finding)
            self._told.audited(policy.tenant, policy.domain, verdict.finding)

    async def _estimate(self, tenant: TenantId, domain: str) -> None:
        try:
            cells = await self._evidence.counts(tenant, domain)
        except StoreError:
            return
        drawn = [cell for cell in cells if cell.source in (Source.AUDIT, Source.SHADOW)]
        labels = sum(cell.n for cell in drawn)
        if labels > 0:
            self._told.estimated(tenant, domain, sum(cell.wrong for cell in drawn) / labels)
