"""An auditor with everything around it in reach."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from semcache.asking.purse import Purse
from semcache.auditing.auditor import Auditing, AuditLimits
from semcache.auditing.books import Books
from semcache.auditing.verdicts import Bench
from semcache.auditing_parts import audit_caps
from semcache.core import (
    AuditPolicy,
    CachePolicy,
    Caller,
    Completion,
    Directives,
    Entry,
    EntryId,
    ExactKey,
    GateRules,
    Hit,
    Mode,
    Namespace,
    ReviewStatus,
    Scope,
    TenantId,
    Usage,
)
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import Partition
from semcache.errors import UpstreamError
from semcache.journey import Asked, Backend, Step, Trace
from semcache.policy.loader import load_default
from semcache.ports import UpstreamCall
from semcache.records import SideRecord
from tests.fakes.evidence import FakeAuditBudget, FakeEvidence, FakeServedHits
from tests.fakes.generator import FakeGenerator, FakeReply

ACME = TenantId("acme")
POLICY = CachePolicy(
    tenant=ACME,
    domain="chat",
    mode=Mode.SEMANTIC,
    threshold=0.9,
    verified_threshold=0.9,
    draft_threshold=0.9,
    scope=Scope.TENANT,
    ttl=60,
    ttl_jitter=0,
    gate=GateRules(),
    audit=AuditPolicy(max_money=10_000, max_calls=50),
)


SPENT = Usage(10, 5)


def answered(text: str, usage: Usage | None = SPENT) -> Completion:
    body: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    return Completion(json.dumps(body).encode(), usage)


def reply(text: str) -> FakeReply:
    return FakeReply(parts=[answered(text).body])


@dataclass
class Heard:
    """Keeps what the metrics would hear."""

    audits: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    drops: Counter[str] = field(default_factory=Counter)
    money: int = 0
    estimates: list[float] = field(default_factory=list)

    def audited(self, tenant: str, domain: str, verdict: str) -> None:
        self.audits[verdict] += 1

    def labelled(self, source: str, verdict: str) -> None:
        self.labels[f"{source}-{verdict}"] += 1

    def dropped(self, reason: str) -> None:
        self.drops[reason] += 1

    def spent(self, tenant: str, micro_usd: int) -> None:
        self.money += micro_usd

    def estimated(self, tenant: str, domain: str, share: float) -> None:
        self.estimates.append(share)


SNAPSHOT = load_default()


class Now:
    """The time, held still."""

    def __init__(self) -> None:
        self.at = time.time()

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Scene:
    """Counts one micro-USD a token, unless the model is called `unpriced`."""

    answers: list[str | UpstreamError | FakeReply] = field(default_factory=lambda: ["It is 7 km."])
    share: float = 1.0
    limits: AuditLimits = field(default_factory=AuditLimits)
    delay: float = 0.0
    judging: Callable[[UpstreamCall], FakeReply | UpstreamError] = lambda _: reply("no object")
    sides: list[SideRecord] = field(default_factory=list)

    def note(self, side: SideRecord) -> None:
        self.sides.append(side)

    def __post_init__(self) -> None:
        self.evidence, self.budget, self.hits = FakeEvidence(), FakeAuditBudget(), FakeServedHits()
        self.told, self.clock = Heard(), Now()
        self.tasks: list[asyncio.Task[Any]] = []
        self.upstream = FakeGenerator(self._reply, delay=self.delay)
        self.judge = FakeGenerator(self._judged)
        self.backend = Backend(self.upstream, "up", "Bearer managed")
        self.flips = [0.5]
        self.most_at_once = 0
        books = Books(self.evidence, self.hits)
        purse = Purse(self.budget, self._price, audit_caps, self)
        backends = {"up": self.backend, "judge": Backend(self.judge, "judge", "Bearer for-the-judge")}
        self.auditing = Auditing(
            self.evidence,
            books,
            purse,
            Bench(None, backends, purse, self.clock, lambda: "fence77"),
            share=lambda _: self.share,
            coin=lambda: self.flips[0],
            clock=self.clock,
            spawn=self._spawn,
            told=self.told,
            limits=self.limits,
        )

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        return task

    def _price(self, model: str, usage: Usage | None) -> int | None:
        return None if model == "unpriced" or usage is None else usage.total_tokens

    def _reply(self, call: UpstreamCall) -> FakeReply | UpstreamError:
        self.most_at_once = max(self.most_at_once, len(self.upstream.calls) - len(self.upstream.replies))
        found = self.answers[min(len(self.upstream.calls), len(self.answers)) - 1]
        return reply(found) if isinstance(found, str) else found

    def _judged(self, call: UpstreamCall) -> FakeReply | UpstreamError:
        return self.judging(call)

    def step(
        self,
        question: str = "How far is it?",
        *,
        policy: CachePolicy = POLICY,
        caller: Caller | None = None,
        directives: Directives | None = None,
        raw_body: bytes | None = None,
        **fields: Any,
    ) -> Step:
        body = {"model": "m", "messages": [{"role": "user", "content": question}], **fields}
        request = parse_chat(body, "/v1/chat/completions")
        asked = Asked(request, caller or Caller(ACME), directives or Directives(), raw_body=raw_body)
        trace = Trace(policy, self.hit())
        return Step(
            asked=asked,
            snapshot=SNAPSHOT,
            policy=policy,
            backend=self.backend,
            partition=Partition(ACME, Scope.TENANT, "", "", "up", ()),
            namespace=Namespace(ACME, ""),
            key=ExactKey("key"),
            trace=trace,
        )

    def hit(
        self,
        text: str = "It is 7000 metres.",
        *,
        exact: bool = False,
        score: float | None = 0.97,
        verified: bool = False,
        usage: Usage | None = SPENT,
    ) -> Hit:
        entry = Entry(
            id=EntryId("e1"),
            tenant=ACME,
            namespace="",
            key=ExactKey("key"),
            domain="chat",
            model="m",
            prompt="what is the distance",
            completion=answered(text, usage),
            created_at=0,
            expires_at=1e12,
            status=ReviewStatus.APPROVED if verified else ReviewStatus.UNREVIEWED,
        )
        return Hit(entry, exact=exact, similarity=1.0 if exact else 0.95, score=None if exact else score)

    async def settled(self) -> None:
        """Wait for all audits."""
        while any(not task.done() for task in self.tasks):
            await asyncio.gather(*self.tasks)

    async def served(self, step: Step | None = None, hit: Hit | None = None, name: str = "r1") -> None:
        self.auditing.on_served(step or self.step(), hit or self.hit(), name)
        await self.settled()

    def with_audit(self, **changes: Any) -> CachePolicy:
        return replace(POLICY, audit=replace(POLICY.audit, **changes))
