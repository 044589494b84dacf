"""The story of one request, top to bottom. The only orchestrator.

    policy -> bypass? -> exact key -> entry? -> encode -> search -> re-read -> decide
           -> serve the entry, or ask the upstream once for all who ask the same
           -> remember a whole answer: entry first, vector second

Faults of store, index and encoder are noted in the trace and the request goes on as a miss.
Knows no wire format: a `Served` answer is an entry, a `Forwarded` one a ticket on a flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from semcache.answer.flight import Assembler, Flights, Ticket
from semcache.core import (
    Bypass,
    CachePolicy,
    Caller,
    ChatRequest,
    Completion,
    Decision,
    Directives,
    Draft,
    Embedding,
    Entry,
    EntryId,
    Epochs,
    ExactKey,
    Hit,
    Miss,
    Mode,
    Namespace,
    Scope,
)
from semcache.decide import rules
from semcache.decide.decision import Candidate, decide, explicit_scale
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import EncoderError, RequestError, StoreError, VectorIndexError
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock, Encoder, EntryStore, Generator, UpstreamCall, UpstreamReply, VectorIndex
from semcache.store.near import NearCache


@dataclass(frozen=True, slots=True)
class Backend:
    """An upstream as the pipeline needs it: who answers, under which key, and its habits.

    `authorization` is the managed key's header value, or None when the client's own passes.
    `identity` enters the namespace: another upstream's answer is another answer.
    """

    generator: Generator
    identity: str
    authorization: str | None = None
    stream_usage: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it enters the story."""

    request: ChatRequest
    caller: Caller
    directives: Directives
    headers: tuple[tuple[bytes, bytes], ...] = ()
    answer_changing: tuple[tuple[str, str], ...] = ()
    upstream: str = ""
    raw_body: bytes | None = None
    """The body as it came, when it cannot be re-serialised (lone surrogates): never cached."""


@dataclass(slots=True)
class Trace:
    """What happened on the way, for headers and the record."""

    policy: CachePolicy
    decision: Decision
    backend: str = ""
    served: bool = False
    faults: list[str] = field(default_factory=list)
    stored: bool = False
    collapsed: bool = False
    completion: Completion | None = None


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


Answer = Served | Forwarded


@dataclass(slots=True)
class _Step:
    """One request on its way."""

    asked: Asked
    policy: CachePolicy
    backend: Backend
    namespace: Namespace
    key: ExactKey
    trace: Trace
    encoding: asyncio.Task[Embedding | None] | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Everything a request meets, as ports.

    Args:
        policies: gives the policy snapshot in force.
        store_alive: True while the change stream proves that the near cache can be trusted.
        spawn: starts a task that the lifespan owns.
        new_id, jitter: randomness, handed in.
    """

    policies: Callable[[], PolicySnapshot]
    encoder: Encoder | None
    index: VectorIndex
    store: EntryStore
    near: NearCache
    store_alive: Callable[[], bool]
    flights: Flights
    backends: Mapping[str, Backend]
    default_backend: str
    assembler: Callable[[bool], Assembler]
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    new_id: Callable[[], EntryId]
    jitter: Callable[[], float]

    async def answer(self, asked: Asked) -> Answer:
        """Serve from the cache or open the way to an upstream.

        Raises:
            RequestError: unknown domain or upstream; 504 when only the cache may answer and cannot.
        """
        snapshot = self.policies()
        policy = snapshot.resolve(asked.request, asked.caller, asked.directives)
        backend = self._backend(snapshot, asked)
        step = self._step(asked, policy, backend)
        closed = rules.bypass(policy, asked.request, asked.directives)
        if closed is None and asked.raw_body is not None:
            closed = "unencodable"
        if closed is not None:
            return await self._forward(step, Bypass(closed))
        return await self._decided(step, await self._look(step, snapshot))

    async def explain(self, asked: Asked) -> Trace:
        """Decide without serving, asking or storing anything."""
        snapshot = self.policies()
        policy = snapshot.resolve(asked.request, asked.caller, asked.directives)
        step = self._step(asked, policy, self._backend(snapshot, asked))
        closed = rules.bypass(policy, asked.request, asked.directives)
        step.trace.decision = Bypass(closed) if closed else await self._look(step, snapshot)
        return step.trace

    # -- looking ------------------------------------------------------------------------

    async def _look(self, step: _Step, snapshot: PolicySnapshot) -> Decision:
        """Exact tier, then meaning; a client that refuses stored answers skips both."""
        if not rules.may_read(step.policy, step.asked.request, step.asked.directives):
            return Miss("no-cache")
        entry = await self._exact(step)
        if entry is not None:
            return Hit(entry, exact=True, similarity=1.0)
        closed = rules.may_match(step.policy, step.asked.request, step.asked.directives)
        if closed is not None:
            return Miss(closed)
        if self.encoder is None:
            return Miss("no-encoder")
        if self.index.count(step.namespace) == 0:
            return Miss("empty-namespace")
        try:
            return await self._by_meaning(step, snapshot, self.encoder)
        except EncoderError as error:
            return self._fault(step, "encoder", error)
        except VectorIndexError as error:
            return self._fault(step, "index", error)
        except StoreError as error:
            return self._fault(step, "store", error)

    async def _exact(self, step: _Step) -> Entry | None:
        """The entry of the exact key: from this process's memory, else from the store."""
        tenant, now = step.namespace.tenant, self.clock.now()
        if self.store_alive():
            held = self.near.get(tenant, step.key)
            if held is not None and rules.is_servable(step.policy, step.asked.directives, held, now):
                return held
        changes = self.near.changes
        try:
            entry = await self.store.get_exact(tenant, step.key)
        except StoreError as error:
            self._fault(step, "store", error)
            return None
        if entry is None or not rules.is_servable(step.policy, step.asked.directives, entry, now):
            return None
        self.near.put(entry, changes)
        return entry

    async def _by_meaning(self, step: _Step, snapshot: PolicySnapshot, encoder: Encoder) -> Decision:
        """Encode, search inside the namespace, re-read what was found, decide."""
        prompt = step.asked.request.prompt or ""
        step.encoding = self.spawn(self._encode(step, encoder, prompt))
        embedding = await step.encoding
        if embedding is None:
            return step.trace.decision
        stricter = snapshot.domain_of(step.policy.tenant, embedding, encoder.name_of(embedding.encoder))
        if stricter is not None:
            step.policy = step.trace.policy = snapshot.tighten(step.policy, stricter)
        if rules.may_match(step.policy, step.asked.request, step.asked.directives) is not None:
            return Miss("domain")
        neighbours = await self.index.search(step.namespace, embedding, step.policy.neighbours)
        ids = [neighbour.entry_id for neighbour in neighbours]
        entries = await self.store.get_many(step.policy.tenant, ids)
        ghosts = [entry_id for entry_id, entry in zip(ids, entries, strict=True) if entry is None]
        if ghosts:
            await self.index.remove(ghosts)
        candidates: list[Candidate] = []
        for neighbour, entry in zip(neighbours, entries, strict=True):
            if entry is None or entry.namespace != step.namespace.digest or entry.embedding is None:
                continue
            if entry.embedding.encoder != embedding.encoder:
                continue
            similarity = self._reference(step.policy, encoder, embedding, neighbour.cosine)
            if similarity is None:
                return Miss("uncalibrated-encoder")
            candidates.append(Candidate(entry, similarity))
        return decide(step.policy, step.asked.directives, prompt, candidates, self.clock.now())

    def _reference(
        self, policy: CachePolicy, encoder: Encoder, embedding: Embedding, cosine: float
    ) -> float | None:
        """Put a raw cosine on the scale of the policy's thresholds."""
        explicit = dict(policy.encoder_thresholds).get(encoder.name_of(embedding.encoder))
        if explicit is not None:
            return explicit_scale(cosine, explicit, policy.threshold)
        return encoder.to_reference(embedding.encoder, cosine)

    async def _encode(self, step: _Step, encoder: Encoder, prompt: str) -> Embedding | None:
        """Embed the prompt; a failure is the step's miss, not an exception (the task may be awaited later)."""
        try:
            return await encoder.encode(prompt)
        except EncoderError as error:
            step.trace.decision = self._fault(step, "encoder", error)
            return None

    def _fault(self, step: _Step, part: str, error: EncoderError | VectorIndexError | StoreError) -> Miss:
        """Note a cache fault; the request goes on as a miss."""
        if isinstance(error, EncoderError) and error.is_refusal:
            return Miss(f"encoder-{error.kind}")
        step.trace.faults.append(f"{part}:{error.kind}")
        return Miss(f"{part}-{error.kind}")

    # -- answering ----------------------------------------------------------------------

    async def _decided(self, step: _Step, decision: Decision) -> Answer:
        """Serve a hit, unless the policy only watches; everything else goes upstream."""
        if isinstance(decision, Hit) and step.policy.mode is not Mode.SHADOW:
            step.trace.decision = decision
            step.trace.served = True
            return Served(decision.entry, step.trace)
        if step.asked.directives.only_if_cached:
            raise RequestError(
                "No stored answer may be used for this request (only-if-cached was asked for).",
                status=504,
                type="cache_error",
                code="not_cached",
            )
        return await self._forward(step, decision)

    async def _forward(self, step: _Step, decision: Decision) -> Forwarded:
        """Ask the upstream; equal storable misses share one call."""
        step.trace.decision = decision
        request, directives = step.asked.request, step.asked.directives
        remember = (
            not isinstance(decision, Bypass) and rules.may_store(step.policy, request, directives) is None
        )
        epochs = await self._epochs(step) if remember else None
        shared = remember and epochs is not None and not directives.no_read
        if remember and step.encoding is None:
            self._start_encoding(step)
        ticket = self.flights.join(
            f"{step.policy.tenant}:{step.key}" if shared else None,
            lambda: step.backend.generator.open(self._call(step)),
            lambda: self.assembler(request.stream),
            self._remember(step, epochs),
        )
        step.trace.collapsed = not ticket.leader
        return Forwarded(ticket, step.trace)

    def _start_encoding(self, step: _Step) -> None:
        """Embed beside the upstream call what will be stored, if it may ever be matched by meaning."""
        request, directives = step.asked.request, step.asked.directives
        if self.encoder is not None and rules.may_match(step.policy, request, directives) is None:
            step.encoding = self.spawn(self._encode(step, self.encoder, request.prompt or ""))

    async def _epochs(self, step: _Step) -> Epochs | None:
        """Read the invalidation counters the answer will be born under; None when the store is away."""
        keys = ["", f"ns:{step.namespace.digest}", f"model:{step.asked.request.model}", f"key:{step.key}"]
        keys += [f"tag:{tag}" for tag in step.asked.directives.tags]
        try:
            return await self.store.epochs(step.policy.tenant, keys)
        except StoreError as error:
            self._fault(step, "store", error)
            return None

    def _call(self, step: _Step) -> UpstreamCall:
        """The request as the upstream shall see it: the very JSON that was keyed."""
        request, caller = step.asked.request, step.asked.caller
        headers = [*step.asked.headers, (b"accept-encoding", b"identity")]
        authorization = step.backend.authorization or caller.authorization
        if authorization is not None:
            headers.append((b"authorization", authorization.encode("latin-1")))
        body: Mapping[str, Any] = request.body
        if step.backend.stream_usage and request.stream and not request.include_usage:
            options = body.get("stream_options")
            body = {**body, "stream_options": {**(options or {}), "include_usage": True}}
        content = step.asked.raw_body or orjson.dumps(body)
        return UpstreamCall("POST", request.path, tuple(headers), content)

    # -- remembering --------------------------------------------------------------------

    def _remember(self, step: _Step, epochs: Epochs | None) -> Callable[[Completion], Awaitable[bool]]:
        """What to do with a whole answer: note it for the record and, if allowed, store it."""

        async def remember(completion: Completion) -> bool:
            step.trace.completion = completion
            if epochs is None or rules.may_store_answer(step.policy, completion) is not None:
                return False
            embedding = await step.encoding if step.encoding is not None else None
            entry = self._entry(step, completion, embedding, epochs)
            try:
                step.trace.stored = await self.store.put(entry)
            except StoreError as error:
                self._fault(step, "store", error)
                return False
            if step.trace.stored and embedding is not None:
                try:
                    await self.index.add(step.namespace, entry.id, embedding)
                except VectorIndexError as error:
                    self._fault(step, "index", error)
            return step.trace.stored

        return remember

    def _entry(
        self, step: _Step, completion: Completion, embedding: Embedding | None, epochs: Epochs
    ) -> Entry:
        now = self.clock.now()
        lifetime = rules.lifetime(step.policy, step.asked.directives, self.jitter())
        return Entry(
            id=self.new_id(),
            tenant=step.policy.tenant,
            namespace=step.namespace.digest,
            key=step.key,
            domain=step.policy.domain,
            model=step.asked.request.model,
            prompt=step.asked.request.prompt or "",
            completion=completion,
            created_at=now,
            expires_at=now + lifetime,
            embedding=embedding,
            tags=step.asked.directives.tags,
            epochs=epochs,
        )

    # -- preparing ----------------------------------------------------------------------

    def _step(self, asked: Asked, policy: CachePolicy, backend: Backend) -> _Step:
        caller, directives = asked.caller, asked.directives
        owner = caller.principal
        if policy.scope is Scope.USER:
            owner = f"{owner}\x00{directives.user or asked.request.end_user or caller.key_name}"
        partition = Partition(
            policy.tenant, policy.scope, owner, directives.namespace, backend.identity, asked.answer_changing
        )
        # A body that cannot be encoded has no key; it is never looked up or stored.
        keyed = asked.raw_body is None
        namespace = namespace_of(asked.request, partition) if keyed else Namespace(policy.tenant, "")
        key = exact_key(namespace, asked.request) if keyed else ExactKey("")
        trace = Trace(policy, Miss("pending"), backend.generator.name)
        return _Step(asked, policy, backend, namespace, key, trace)

    def _backend(self, snapshot: PolicySnapshot, asked: Asked) -> Backend:
        """The upstream by name, never by URL: the tenant's, or one the client may choose."""
        name = asked.upstream or snapshot.upstream(asked.caller.tenant) or self.default_backend
        backend = self.backends.get(name)
        if backend is None:
            raise RequestError(
                f"There is no upstream named {name!r}.", code="unknown_upstream", param="Semcache-Upstream"
            )
        return backend


__all__ = ["Answer", "Asked", "Backend", "Draft", "Forwarded", "Pipeline", "Served", "Trace", "UpstreamReply"]
