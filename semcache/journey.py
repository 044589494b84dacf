"""The shapes a request takes on its way through the pipeline: asked, traced, answered.

Values only; the way itself is told in `pipeline`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from semcache.answer.flight import Ticket
from semcache.core import (
    CachePolicy,
    Caller,
    ChatRequest,
    Completion,
    Decision,
    Directives,
    Draft,
    DraftRecord,
    Embedding,
    Entry,
    EntryId,
    Epochs,
    ExactKey,
    Hit,
    Labels,
    Miss,
    Mode,
    Namespace,
    Scope,
    Usage,
)
from semcache.cost_rules import HistoryPolicy, Trimming, named
from semcache.decide.confirming import Asker
from semcache.decide.decision import Serving
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Family
from semcache.embed.fingerprint import Partition, asked_digest, asker_digest, subject_digest
from semcache.errors import EncoderError, StoreError, VectorIndexError
from semcache.evidence_port import NO_KEY
from semcache.meeting import Meeting
from semcache.policy.classifiers import Classifiers
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Generator
from semcache.prefixes import Prefixes
from semcache.review_rules import WHOLE, DraftWay
from semcache.routing.told import answered

OPENAI = frozenset(("openai.chat", "openai.completions", "openai.responses", "openai.embeddings"))
"""What an API of OpenAI's shape speaks."""


@dataclass(frozen=True, slots=True)
class Backend:
    """An upstream as the pipeline needs it: who answers, under which key, and its habits.

    `identity` enters the namespace: another upstream's answer is another answer.
    `authorization` is the managed key's header value, for callers that bring no key of their own.
    `stream_usage`: ask for usage on streams, and strip it for clients that did not.
    `prefixes` says whose a prompt's beginning is, to the local engine only; other upstreams get
    the client's own words.
    """

    generator: Generator
    identity: str
    authorization: str | None = None
    stream_usage: bool = False
    prefixes: Prefixes | None = None
    predicts: bool = False
    """It takes predicted outputs (`prediction` in the body)."""
    speaks: frozenset[str] = OPENAI
    """Dialects in which it is asked in the client's own words; all others are put into chat's."""
    protocol: Family = "openai"
    """Whose way of sending credentials it wants."""

    def credential(self, caller: Caller) -> str | None:
        """Give the authorization to send: the caller's own key, else the managed one.

        A stranger's key is never exchanged for ours.
        """
        return caller.authorization if caller.authorization is not None else self.authorization


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What became of a history whose client asked for it to be trimmed.

    `way` is what was done (`report`: nothing); `dropped` messages of about `tokens` tokens were (or would be) left
    away, `kept` messages remain.
    """

    way: Trimming
    dropped: int = 0
    tokens: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it enters the story.

    `raw_body` is the body as it came when it cannot be re-serialised (lone surrogates): such a
    request is never cached.
    """

    request: ChatRequest
    caller: Caller
    directives: Directives
    headers: tuple[tuple[bytes, bytes], ...] = ()
    answer_changing: tuple[tuple[str, str], ...] = ()
    upstream: str = ""
    raw_body: bytes | None = None
    request_id: str = ""
    trimmed: Trimmed | None = None
    dialect: Dialect = CHAT
    """What the client speaks; `request.dialect` is what its backend is asked in."""

    @property
    def labels(self) -> Labels:
        """What its costs are told apart by: the client's labels, those of its key before them."""
        return named(self.directives.labels, self.caller.labels)


@dataclass(slots=True)
class Trace:
    """What happened on the way, for headers and the record."""

    policy: CachePolicy
    decision: Decision
    backend: str = ""
    served: bool = False
    vouched: bool = False
    """A human vouches for what was served."""
    faults: list[str] = field(default_factory=list)
    stored: bool = False
    stored_as: EntryId | None = None
    crowded: bool = False
    """It was stored for equal requests only: its author has many so near it."""
    collapsed: bool = False
    completion: Completion | None = None
    spent: Usage | None = None
    """What an answer that is not to be remembered cost."""
    serving: Serving | None = None
    """What the evidence allowed, where it was asked."""
    draft: DraftRecord | None = None
    """What became of the draft, once that is known; see `is_drafted`."""
    key: ExactKey = NO_KEY
    embedded: int = 0
    """About how many tokens were embedded for it."""
    hold: str = ""
    """What its budgets set aside."""
    is_local: bool = False
    """The engine here was asked, or would have been."""
    trimmed: Trimmed | None = None
    """What became of a history that was to be trimmed."""
    spoken: str = CHAT.name
    """The dialect in which the backend is asked."""
    model: str = ""
    """Who is asked by its real name, or on a route who answered."""
    is_foreign: bool = False
    """Somebody else answered than the one under whose name answers are stored."""

    def answered_by(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Note from a reply's head who on a route answered."""
        told = answered(headers)
        if told is not None:
            self.backend, self.model = told.upstream, told.model or self.model
            self.is_foreign, self.is_local = not told.is_own, told.is_inner

    @property
    def is_drafted(self) -> bool:
        """True when the answer was made from a draft, not given up or replaced by a plain call."""
        return self.draft is not None and not self.draft.result.startswith(("failed", "declined"))

    @property
    def is_revised(self) -> bool:
        """True when a stored answer was revised: the answer is no free one of the model."""
        return self.draft is not None and self.draft.way == DraftWay.REVISE and self.is_drafted


@dataclass(slots=True)
class Step:
    """One request on its way."""

    asked: Asked
    snapshot: PolicySnapshot
    policy: CachePolicy
    backend: Backend
    partition: Partition
    namespace: Namespace
    key: ExactKey
    trace: Trace
    places: Mapping[str, Namespace] = field(default_factory=dict)
    """Where it may meet others by meaning, by the kind of reading that leads there."""
    meeting: Meeting | None = None
    epochs: Epochs | None = None
    embedding: Embedding | None = None
    encoding: asyncio.Task[Embedding | None] | None = None
    commons: Namespace | None = None
    """Where answers for everybody stand, if the policy takes part."""
    asked_at: float = 0.0
    """When its backend was asked, in seconds that never go back."""

    @property
    def question(self) -> str:
        """What was asked: as it reads whole where it leans on what was said before."""
        return self.meeting.reading.text if self.meeting is not None else self.asked.request.prompt or ""

    @property
    def asked_digest(self) -> str:
        """What names the question where it is matched by meaning (`core.Entry.barred`); `WHOLE` before that."""
        return asked_digest(self.meeting.namespace, self.question) if self.meeting is not None else WHOLE

    @property
    def asker(self) -> str:
        """What names who asks, inside the tenant (`core.Entry.author`)."""
        return asker_digest(self.partition, self.asked.directives.user or self.asked.request.end_user)

    @property
    def asking(self) -> Asker:
        """Who asks what, for answers that are not for everybody."""
        named = bool(self.asked.directives.user or self.asked.request.end_user)
        caller = self.asked.caller
        return Asker(
            self.asked_digest,
            self.asker,
            is_person=named or bool(caller.principal),
            is_attested=named and bool(caller.key_name),
        )

    @property
    def subject(self) -> str:
        """What names the end user inside the tenant (`core.Entry.subject`); "" where none is named."""
        return subject_digest(
            self.partition.tenant, self.asked.directives.user or self.asked.request.end_user
        )

    def tighten(self, classifiers: Classifiers | None, embedding: Embedding) -> bool:
        """Let the classifier make the policy stricter; False while it cannot tell yet."""
        if classifiers is None:
            return True
        assigned = classifiers.domain_of(self.snapshot, self.policy.tenant, embedding)
        if assigned is None:
            return False
        if assigned.domain is not None:
            self.policy = self.trace.policy = self.snapshot.tighten(self.policy, assigned.domain)
        return True

    def fault(self, part: str, error: EncoderError | VectorIndexError | StoreError) -> Miss:
        """Note a cache fault; the request goes on as a miss."""
        if not (isinstance(error, EncoderError) and error.is_refusal):
            self.trace.faults.append(f"{part}:{error.kind}")
        return Miss(f"{part}-{error.kind}".replace("_", "-"))


@dataclass(frozen=True, slots=True)
class Served:
    """Answered from the cache."""

    entry: Entry
    trace: Trace


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Answered by an upstream; the bytes come through the ticket."""

    ticket: Ticket
    trace: Trace
    usage_asked: bool = False
    """The proxy asked the upstream for usage on the stream, whatever the client wants."""


Answer = Served | Forwarded

Keep = Callable[[Completion], Awaitable[bool]]
"""Takes a whole answer; True when it was stored."""


class Watch(Protocol):
    """Hears of hits, to see afterwards whether they were right. Never waits, never fails a request."""

    def on_decided(self, step: Step) -> None:
        """A request was decided about (`step.trace.decision`), by meaning or not; before it is answered."""
        ...

    def on_served(self, step: Step, hit: Hit, request_id: str) -> None:
        """A hit was served."""
        ...

    def on_revised(self, step: Step, draft: Draft, revised: Completion, request_id: str) -> None:
        """An answer was revised from a draft, and served."""
        ...

    def watching(self, step: Step, hit: Hit, request_id: str, keep: Keep) -> Keep:
        """Give what does with the backend's answer what `keep` does, and holds it against a hit not served."""
        ...


class Shortener(Protocol):
    """Trims the histories of requests that ask for it."""

    async def applied(self, asked: Asked, policy: HistoryPolicy) -> Asked:
        """Give the request as it is to be answered, with a note of what was done (`Asked.trimmed`)."""
        ...


class BudgetGate(Protocol):
    """Stands between a decision and what it costs."""

    async def on_hit(self, step: Step) -> None:
        """A hit is about to be served.

        Raises:
            RequestError: 429, a budget that counts hits is used up; 503, nobody can tell.
        """
        ...

    async def on_forward(self, step: Step) -> str:
        """A backend is about to be asked; gives the name of what was set aside, "" for nothing.

        Raises:
            RequestError: as for `on_hit`.
        """
        ...


def to_serve(decision: Decision, policy: CachePolicy) -> Hit | None:
    """Give the hit that is to be served; none where policy or evidence only want to know what would have been."""
    if isinstance(decision, Hit) and not decision.shadow and policy.mode is not Mode.SHADOW:
        return decision
    return None


def partition_of(asked: Asked, policy: CachePolicy, backend: Backend) -> Partition:
    """Say who a request could share an answer with."""
    owner = asked.caller.principal
    if policy.scope is Scope.USER:
        owner = f"{owner}\x00{asked.directives.user or asked.request.end_user}"
    return Partition(
        tenant=policy.tenant,
        scope=policy.scope,
        owner=owner,
        extra=asked.directives.namespace,
        upstream=backend.identity,
        headers=asked.answer_changing,
    )
