"""A worker's sightings with everything around them in reach."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from semcache.asking.purse import Purse
from semcache.core import (
    CachePolicy,
    Caller,
    Completion,
    Decision,
    Directives,
    Draft,
    Entry,
    EntryId,
    ExactKey,
    GateRules,
    Hit,
    Mode,
    Namespace,
    ReviewPolicy,
    Scope,
    TenantId,
    Usage,
)
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import Partition, asked_digest, asker_digest
from semcache.errors import StoreError, UpstreamError
from semcache.evidence_port import Finding, Label, Source
from semcache.journey import Asked, Backend, Step, Trace
from semcache.policy.loader import load_default
from semcache.ports import UpstreamCall
from semcache.records import SideRecord
from semcache.review_port import Act, Line, Sighting
from semcache.sighting.allowance import JudgeAllowance, judge_caps
from semcache.sighting.judging import JudgeLimits, Judging
from semcache.sighting.promoting import Promoting
from semcache.sighting.sights import SightLimits, Sights
from tests.fakes.evidence import FakeAuditBudget, FakeEvidence
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.review_queue import FakeReviewQueue

ACME = TenantId("acme")
PLACE = Namespace(ACME, "ab" * 32)
POLICY = CachePolicy(
    tenant=ACME,
    domain="chat",
    mode=Mode.SEMANTIC,
    threshold=0.9,
    verified_threshold=0.9,
    draft_threshold=0.8,
    scope=Scope.TENANT,
    ttl=60,
    ttl_jitter=0,
    gate=GateRules(),
    min_score=0.88,
    review=ReviewPolicy(sample=0.0),
)
SNAPSHOT = load_default()
STORED, ASKED = "How do I close my account?", "What must I do to close my account?"
SPENT = Usage(300, 12)


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


def opinion(fit: float, why: str = "answers") -> FakeReply:
    return reply(json.dumps({"fit": fit, "why": why}))


def author_of(user: str) -> str:
    return asker_digest(partition(), user)


def partition() -> Partition:
    return Partition(ACME, Scope.TENANT, "", "", "up", ())


def digest_of(question: str) -> str:
    return asked_digest(PLACE, question)


@dataclass
class Heard:
    """Keeps what the metrics would hear."""

    sights: Counter[tuple[str, bool]] = field(default_factory=Counter)
    drops: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    promotions: int = 0
    money: int = 0

    def sighted(self, outcome: str, weighty: bool) -> None:
        self.sights[outcome, weighty] += 1

    def dropped(self, what: str, count: int) -> None:
        self.drops[what] += count

    def judged(self, tenant: str, domain: str, word: str) -> None:
        self.words[word] += 1

    def spent(self, tenant: str, micro_usd: int) -> None:
        self.money += micro_usd

    def promoted(self, tenant: str, domain: str) -> None:
        self.promotions += 1


class Now:
    """The time, held still."""

    def __init__(self) -> None:
        self.at = time.time()

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Shown:
    """The verdicts as far as promotion needs them: entries, earlier versions, and a log."""

    entries: dict[EntryId, Entry] = field(default_factory=dict)
    earlier: dict[EntryId, list[Entry]] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    away: bool = False
    raced: bool = False

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        if self.away:
            raise StoreError("verdicts: away", kind="down")
        return self.entries.get(id)

    async def versions(self, tenant: TenantId, id: EntryId) -> list[Entry]:
        return self.earlier.get(id, [])

    async def apply(
        self,
        expected: Entry,
        changed: Entry | None,
        act: Act,
        bar: Sequence[str] = (),
        unbar: Sequence[str] = (),
    ) -> Line | None:
        held = self.entries.get(expected.id)
        if self.raced or held is None or held.version != expected.version or changed is None:
            return None
        self.entries[expected.id] = changed
        self.earlier.setdefault(expected.id, []).insert(0, expected)
        self.acts.append(act)
        return Line(len(self.acts), act, "", "")


@dataclass
class Recording(FakeReviewQueue):
    """Keeps every sighting as it came."""

    seen: list[Sighting] = field(default_factory=list)

    async def sight(self, tenant: TenantId, sightings: Sequence[Sighting]) -> None:
        await super().sight(tenant, sightings)
        self.seen += sightings


@dataclass
class Scene:
    """Counts one micro-USD a token; the judge says what `judging` gives."""

    judging: Callable[[UpstreamCall], FakeReply | UpstreamError] = lambda _: opinion(0.95)
    limits: SightLimits = field(default_factory=SightLimits)
    judge_limits: JudgeLimits = field(default_factory=JudgeLimits)
    delay: float = 0.0
    sides: list[SideRecord] = field(default_factory=list)

    def note(self, side: SideRecord) -> None:
        self.sides.append(side)

    def __post_init__(self) -> None:
        self.queue, self.verdicts = Recording(), Shown()
        self.evidence, self.budget = FakeEvidence(), FakeAuditBudget()
        self.told, self.clock = Heard(), Now()
        self.tasks: list[asyncio.Task[Any]] = []
        self.judge = FakeGenerator(self._said, delay=self.delay)
        self.flips = [0.5]
        self.judged = Judging(
            self.queue,
            Promoting(self.queue, self.verdicts, self.evidence, self.clock),  # type: ignore[arg-type]  # what it needs of it
            backends={"judge": Backend(self.judge, "judge", "Bearer for-the-judge")},
            purse=Purse(
                JudgeAllowance(self.budget),
                lambda _, usage: usage.total_tokens if usage else None,
                judge_caps,
                self,
            ),
            new_word=lambda: "fence77",
            clock=self.clock,
            spawn=self._spawn,
            told=self.told,
            limits=self.judge_limits,
        )
        self.sights = Sights(
            self.queue,
            self.judged,
            coin=lambda: self.flips[0],
            clock=self.clock,
            told=self.told,
            limits=self.limits,
        )

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        return task

    def _said(self, call: UpstreamCall) -> FakeReply | UpstreamError:
        return self.judging(call)

    def entry(self, text: str = "Go to settings.", **changes: Any) -> Entry:
        values: dict[str, Any] = {
            "id": EntryId("e1"),
            "tenant": ACME,
            "namespace": PLACE.digest,
            "key": ExactKey("key"),
            "domain": "chat",
            "model": "m",
            "prompt": STORED,
            "completion": answered(text),
            "created_at": self.clock.at - 100,
            "expires_at": self.clock.at + 1000,
        }
        return Entry(**(values | changes))

    def hit(self, similarity: float = 0.91, score: float | None = 0.97, **changes: Any) -> Hit:
        shadow = changes.pop("shadow", False)
        return Hit(self.entry(**changes), exact=False, similarity=similarity, score=score, shadow=shadow)

    def equal(self, **changes: Any) -> Hit:
        return Hit(self.entry(**changes), exact=True, similarity=1.0)

    def step(
        self,
        decision: Decision,
        question: str = ASKED,
        *,
        policy: CachePolicy = POLICY,
        directives: Directives | None = None,
        user: str = "",
        kind: str = "standalone",
        request_id: str = "r1",
    ) -> Step:
        body = {"model": "m", "messages": [{"role": "user", "content": question}], "user": user}
        request = parse_chat(body, "/v1/chat/completions")
        asked = Asked(request, Caller(ACME), directives or Directives(), request_id=request_id)
        exact = isinstance(decision, Hit) and decision.exact
        meeting: Any = SimpleNamespace(reading=SimpleNamespace(text=question, kind=kind), namespace=PLACE)
        return Step(
            asked=asked,
            snapshot=SNAPSHOT,
            policy=policy,
            backend=Backend(self.judge, "up", None),
            partition=partition(),
            namespace=Namespace(ACME, ""),
            key=ExactKey("key"),
            trace=Trace(policy, decision),
            meeting=None if exact else meeting,
        )

    def meet(self, decision: Decision, question: str = ASKED, **given: Any) -> Step:
        """Do what the pipeline does with a decision."""
        step = self.step(decision, question, **given)
        self.sights.on_decided(step)
        policy = step.policy
        if isinstance(decision, Hit) and not decision.shadow and policy.mode is not Mode.SHADOW:
            self.sights.on_served(step, decision, "r1")
        return step

    async def seen(self, decision: Decision, question: str = ASKED, **given: Any) -> Sighting:
        """Give the one sighting that comes of a decision."""
        before = len(self.queue.seen)
        self.meet(decision, question, **given)
        await self.flushed()
        (found,) = self.queue.seen[before:]
        return found

    async def flushed(self) -> None:
        """Flush, and wait for the judge."""
        await self.sights.flush()
        while any(not task.done() for task in self.tasks):
            await asyncio.gather(*self.tasks)

    def label(self, finding: Finding, source: Source = Source.AUDIT) -> Label:
        return Label("l1", ACME, "chat", source, finding, None, 0, self.clock.at, entry=EntryId("e1"))


def judged_by(**changes: Any) -> CachePolicy:
    review = ReviewPolicy(**({"sample": 0.0, "judge": "judge/wise"} | changes))
    return replace(POLICY, review=review, edition="ed1")


def draft(
    scene: Scene, similarity: float = 0.85, reasons: tuple[str, ...] = (), score: float | None = None
) -> Draft:
    return Draft(scene.entry(), similarity, reasons, score)
