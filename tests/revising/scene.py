"""Drafts with everything around them in reach: an upstream, a second one, tallies, and a flight to carry the reply."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from semcache.answer.flight import Flights
from semcache.core import (
    CachePolicy,
    Caller,
    Completion,
    Directives,
    Draft,
    DraftPolicy,
    DraftRecord,
    Entry,
    EntryId,
    ExactKey,
    GateRules,
    Mode,
    Namespace,
    Scope,
    TenantId,
    Usage,
)
from semcache.dialects.chat.assemble import chat_assembler
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import Partition
from semcache.errors import UpstreamError
from semcache.journey import Asked, Backend, Step, Trace
from semcache.policy.loader import load_default
from semcache.ports import UpstreamCall
from semcache.revising.band import Bands
from semcache.revising.revising import Revising, RevisingLimits
from tests.fakes.evidence import FakeEvidence
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.upstream_server import chat_body, chat_chunks, sse_bytes
from tests.fakes.verifier import FakeVerifier

ACME = TenantId("acme")
STORED = "You can return an item within 30 days. Bring the receipt and the box. Refunds take a week."
QUESTION = "How long may I return an item in Norway?"
POLICY = CachePolicy(
    tenant=ACME,
    domain="chat",
    mode=Mode.SEMANTIC,
    threshold=0.92,
    verified_threshold=0.92,
    draft_threshold=0.8,
    scope=Scope.TENANT,
    ttl=60,
    ttl_jitter=0,
    gate=GateRules(),
    drafts=DraftPolicy(min_trials=5),
)
SNAPSHOT = load_default()
Answering = Callable[[dict[str, Any], UpstreamCall], FakeReply | UpstreamError]


def answer(text: str, **changes: Any) -> Completion:
    """A stored answer of 300 tokens."""
    body = {**chat_body(text), "usage": {"prompt_tokens": 40, "completion_tokens": 300, "total_tokens": 340}}
    body |= changes
    return Completion(json.dumps(body).encode(), Usage(40, 300))


def says(
    text: str, *, prompt: int = 400, output: int = 25, stream: bool = False, **details: int
) -> FakeReply:
    """A reply of an upstream; `details` of the completion's tokens."""
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": output}
    if details:
        usage["completion_tokens_details"] = details
    if stream:
        chunks = [*chat_chunks([text], usage=False), {**chat_chunks()[-1], "choices": [], "usage": usage}]
        return FakeReply(headers=((b"content-type", b"text/event-stream"),), parts=[sse_bytes(chunks)])
    return FakeReply(parts=[json.dumps({**chat_body(text), "usage": usage}).encode()])


def refuses(status: int = 400, param: str | None = None) -> FakeReply:
    error = {"error": {"message": "no", "type": "invalid_request_error", "param": param}}
    return FakeReply(status, parts=[json.dumps(error).encode()])


class Now:
    """Time, moved by hand."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Heard:
    """Keeps what the metrics would hear."""

    records: list[DraftRecord] = field(default_factory=list)

    def drafted(self, tenant: str, domain: str, record: DraftRecord) -> None:
        self.records.append(record)


class Prefixes:
    """Makes a backend the local engine."""

    def prepared(self, request: Any, *_: Any) -> dict[str, Any]:
        return {**request.body, "prefix_cache": {"tenant": "t"}}


@dataclass
class Scene:
    """A micro-USD a prompt token and ten a completion token, unless the model is called `unpriced`."""

    answering: Answering = lambda body, _: says("plain answer", stream=bool(body.get("stream")))
    elsewhere: Answering = lambda *_: says("from elsewhere")
    delay: float = 0.0
    limits: RevisingLimits = field(default_factory=RevisingLimits)

    def __post_init__(self) -> None:
        self.evidence, self.clock, self.told = FakeEvidence(), Now(), Heard()
        self.words: Counter[str] = Counter()
        self.tasks: list[asyncio.Task[Any]] = []
        self.upstream = FakeGenerator(
            lambda call: self.answering(self.sent(call), call), name="up", delay=self.delay
        )
        self.other = FakeGenerator(lambda call: self.elsewhere(self.sent(call), call), name="other")
        self.backend = Backend(self.upstream, "up", "Bearer managed")
        self.flights = Flights(self.spawn)
        self.kept: list[Completion] = []
        self.bands = Bands(self.evidence, self.count, self.clock, self.spawn)
        self.verifier = FakeVerifier(says=0.99)
        ids = itertools.count(1)
        self.revising = Revising(
            {"up": self.backend, "other": Backend(self.other, "other", "Bearer of-the-other")},
            self.bands,
            self.price,
            verifier=self.verifier,
            clock=self.clock,
            new_id=lambda: f"chatcmpl-{next(ids)}",
            new_word=lambda: "fence7777",
            told=self.told,
            limits=self.limits,
        )

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        return task

    def count(self, tenant: TenantId, domain: str, word: str, by: int = 1) -> None:
        self.words[word] += by

    def price(self, model: str, usage: Usage | None) -> int | None:
        if model == "unpriced" or usage is None:
            return None
        return usage.prompt_tokens + 10 * usage.completion_tokens

    def sent(self, call: UpstreamCall) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(call.body)
        return found

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.upstream.bodies]

    def step(
        self,
        question: str = QUESTION,
        *,
        policy: CachePolicy = POLICY,
        caller: Caller | None = None,
        directives: Directives | None = None,
        backend: Backend | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        **fields: Any,
    ) -> Step:
        body = {"model": "m", "messages": [{"role": "user", "content": question}], **fields}
        request = parse_chat(body, "/v1/chat/completions")
        asked = Asked(request, caller or Caller(ACME), directives or Directives(), headers)
        return Step(
            asked=asked,
            snapshot=SNAPSHOT,
            policy=policy,
            backend=backend or self.backend,
            partition=Partition(ACME, Scope.TENANT, "", "", "up", ()),
            namespace=Namespace(ACME, ""),
            key=ExactKey("key"),
            trace=Trace(policy, draft_of()),
        )

    def predicting(self) -> Backend:
        return replace(self.backend, predicts=True)

    def engine(self) -> Backend:
        return replace(self.backend, prefixes=Prefixes())  # type: ignore[arg-type]  # what is asked of it here

    async def run(self, step: Step, draft: Draft | None = None) -> tuple[int, bytes]:
        """Let a flight carry the reply; gives status and body."""
        draft = draft or draft_of()

        async def keep(completion: Completion) -> bool:
            self.kept.append(completion)
            return True

        ticket = self.flights.join(
            None,
            self.revising.opening(step, draft),
            lambda head: chat_assembler(head.content_type),
            self.revising.keeping(step, draft, keep),
        )
        async with ticket:
            head = await ticket.head()
            self.head = head
            return head.status, b"".join([chunk async for chunk in ticket.chunks()])

    def with_drafts(self, **changes: Any) -> CachePolicy:
        return replace(POLICY, drafts=replace(POLICY.drafts, **changes))


def draft_of(
    completion: Completion | None = None, reasons: tuple[str, ...] = (), *, seconds: float = 4.0
) -> Draft:
    entry = Entry(
        id=EntryId("e1"),
        tenant=ACME,
        namespace="",
        key=ExactKey("key"),
        domain="chat",
        model="m",
        prompt="How long may I return an item?",
        completion=completion or answer(STORED),
        created_at=0,
        expires_at=1e12,
        seconds=seconds,
    )
    return Draft(entry, 0.88, reasons, 0.6)


def text_of_body(body: bytes) -> str:
    """Read an answer's text, streamed or not."""
    if not body.startswith(b"data:"):
        return str(json.loads(body)["choices"][0]["message"]["content"])
    events = [line[6:] for line in body.decode().split("\n\n") if line.startswith("data: {")]
    parts = [choice["delta"].get("content") or "" for e in events for choice in json.loads(e)["choices"]]
    return "".join(parts)
