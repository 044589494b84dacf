"""What the evidence allows each tenant's domain, kept fresh beside the requests.

A standing is worked out from the counters that all replicas share, again every few seconds while the
domain is asked for, in the background; a request only waits for the very first one, and where nobody has
asked for so long that the last one holds no more. What cannot be known is not allowed: without the store a
standing holds for a while, then nothing is served by meaning.
Knows no request and no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Protocol

from semcache.core import CachePolicy, RiskPolicy, TenantId
from semcache.decide.decision import Serving
from semcache.decide.risk.bound import Noise
from semcache.decide.risk.evidence import Cell, Evidence, Source
from semcache.decide.risk.prior import Prior
from semcache.decide.risk.rules import RiskRules, UntilProven
from semcache.decide.risk.standing import Standing, State, audit_share, stand
from semcache.errors import StoreError
from semcache.evidence_port import Alarm, EvidenceStore
from semcache.ports import Clock

FRESH = 2.0
"""Seconds for which a standing is not worked out again."""
TRUSTED = 60.0
"""Seconds for which a standing holds while the store cannot be read."""
_MOST = 10_000
"""Domains remembered at once; beyond, the ones not asked for longest are worked out anew."""

COMPARER = Noise(false_alarm=0.0, miss=0.1)
"""Errors of the comparison of two answers that are believed in: it may overlook one wrong answer in ten; a false
alarm of its only closes too much."""

_DRAFTS = "~drafts"
_Key = tuple[TenantId, str, RiskPolicy]


@dataclass(slots=True)
class _Held:
    standing: Standing
    rules: RiskRules
    known_at: float
    refreshing: asyncio.Task[None] | None = None


class Allowance(Protocol):
    """Says what the evidence allows under a policy."""

    async def serving(self, policy: CachePolicy) -> Serving:
        """Give what may be served by meaning. Never raises."""
        ...


class Unbounded:
    """Allows whatever the verifier lets through: for measuring the decision as such, before any evidence."""

    async def serving(self, policy: CachePolicy) -> Serving:
        """Allow every score that the policy accepts."""
        return Serving(cut=policy.min_score, otherwise=policy.risk.until_proven)


class Standings:
    """One worker's view of what may be served.

    Args:
        evidence: the shared counters.
        prior: the shipped calibration's evidence.
        clock: for ages; `now` for the evidence, `monotonic` for freshness.
        spawn: starts a task that the lifespan owns.
        on_change: told of each domain's new standing.
    """

    def __init__(
        self,
        evidence: EvidenceStore,
        prior: Prior | None,
        clock: Clock,
        spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        on_change: Callable[[TenantId, str, Standing], None] | None = None,
    ) -> None:
        self._evidence = evidence
        self._prior = prior
        self._clock = clock
        self._spawn = spawn
        self._on_change = on_change
        self._held: dict[_Key, _Held] = {}
        self._first_of: dict[_Key, asyncio.Task[None]] = {}

    async def serving(self, policy: CachePolicy) -> Serving:
        """Say what may be served under a policy. Never raises: what cannot be known is not allowed."""
        held = await self._standing(policy)
        if held is None or self._age(held) > TRUSTED:
            return Serving(cut=None, otherwise=policy.risk.until_proven, trusts_humans=False)
        return serving_by(held.standing, policy)

    def audit_share(self, policy: CachePolicy) -> float:
        """Give the share of hits, and of would-be hits, to be audited; the thin share while nothing is known."""
        held = self._held.get(_key(policy))
        return policy.risk.audit_thin if held is None else audit_share(held.standing, held.rules)

    def known(self, policy: CachePolicy) -> Standing | None:
        """Give the standing last worked out, for reports."""
        held = self._held.get(_key(policy))
        return None if held is None else held.standing

    async def _standing(self, policy: CachePolicy) -> _Held | None:
        key = _key(policy)
        held = self._held.get(key)
        if held is None or self._age(held) > TRUSTED:
            await self._waited(key)
            return self._held.get(key)
        if self._age(held) > FRESH and (held.refreshing is None or held.refreshing.done()):
            held.refreshing = self._spawn(self._work_out(key))
        return held

    def _age(self, held: _Held) -> float:
        return self._clock.monotonic() - held.known_at

    async def _waited(self, key: _Key) -> None:
        """Work out a standing once for all requests that wait for it; none of them can cut it short."""
        work = self._first_of.get(key)
        if work is None:
            work = self._first_of[key] = self._spawn(self._work_out(key))
            work.add_done_callback(lambda _: self._first_of.pop(key, None))
        await asyncio.wait([work])

    async def _work_out(self, key: _Key) -> None:
        tenant, domain, risk = key
        held = self._held.get(key)
        try:
            cells = await self._evidence.counts(tenant, domain)
        except StoreError:
            return
        rules = held.rules if held is not None else rules_of(risk)
        evidence = Evidence.of(
            Cell(cell.bin, cell.bucket, Source[cell.source.name], round(cell.n), round(cell.wrong))
            for cell in cells
        )
        now, before = self._clock.now(), None if held is None else held.standing
        standing = stand(evidence, rules, self._prior, now, before)
        self._keep(key, _Held(standing, rules, self._clock.monotonic()))
        if before is None or (before.state, before.cut) != (standing.state, standing.cut):
            await self._tell(key, before, standing, now)

    def _keep(self, key: _Key, held: _Held) -> None:
        self._held.pop(key, None)
        self._held[key] = held
        while len(self._held) > _MOST:
            del self._held[next(iter(self._held))]

    async def _tell(self, key: _Key, before: Standing | None, standing: Standing, now: float) -> None:
        tenant, domain, _ = key
        if self._on_change is not None:
            self._on_change(tenant, domain, standing)
        worse = standing.state in (State.ALARMED, State.CLOSED)
        if before is not None and worse and before.state is not standing.state:
            try:
                await self._evidence.sound(tenant, domain, Alarm(now, standing.state.value))
            except StoreError:
                # The counters say the same to everybody who can read them.
                return


def drafts_of(policy: CachePolicy) -> CachePolicy:
    """Give the policy under whose name the evidence of a domain's revised answers is kept: `<domain>~drafts`.

    They keep the domain's own budget, by evidence of their own: how often a revised answer is wrong has little to
    do with how often a served one is.
    """
    return replace(policy, domain=f"{policy.domain}{_DRAFTS}")


def serving_by(standing: Standing, policy: CachePolicy) -> Serving:
    """Say what a standing allows under a policy."""
    return Serving(
        cut=standing.cut,
        proven=standing.state is State.OPEN,
        otherwise=policy.risk.until_proven,
        trusts_humans=standing.state in (State.THIN, State.OPEN),
    )


def rules_of(risk: RiskPolicy) -> RiskRules:
    """Give the rules of the bound as a policy states them."""
    return RiskRules(
        budget=risk.budget,
        confidence=risk.confidence,
        until_proven=UntilProven(risk.until_proven.value),
        prior_strength=risk.prior_hits,
        half_life=risk.half_life,
        age_out=risk.age_out,
        audit_thin=risk.audit_thin,
        audit_proven=risk.audit_proven,
        noise=COMPARER,
        feedback_weight=risk.feedback_weight,
    )


def _key(policy: CachePolicy) -> _Key:
    return policy.tenant, policy.domain, policy.risk
