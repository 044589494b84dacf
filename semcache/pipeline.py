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
from dataclasses import dataclass, replace
from typing import Any

from semcache.answer.assemble import Assembler
from semcache.answer.flight import Flights
from semcache.answer.shared import Head
from semcache.core import (
    Bypass,
    CachePolicy,
    Completion,
    Decision,
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
    TenantId,
)
from semcache.decide import admission
from semcache.decide.decision import Candidate, decide
from semcache.decide.freshness import is_servable
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import EncoderError, RequestError, StoreError, VectorIndexError
from semcache.journey import Answer, Asked, Backend, Forwarded, Served, Trace, call_of
from semcache.judging import near_enough
from semcache.policy.classifiers import Classifiers
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock, Encoder, EntryStore, VectorIndex
from semcache.store.near import NearCache

_SEARCHES = 3
_LATER = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before a text whose encoder was busy or still loading is embedded again."""


@dataclass(slots=True)
class _Step:
    """One request on its way."""

    asked: Asked
    snapshot: PolicySnapshot
    policy: CachePolicy
    backend: Backend
    namespace: Namespace
    key: ExactKey
    trace: Trace
    epochs: Epochs | None = None
    embedding: Embedding | None = None
    encoding: asyncio.Task[Embedding | None] | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Everything a request meets, as ports.

    Args:
        policies: gives the policy snapshot in force.
        store_alive: True while the change stream proves that the near cache can be trusted.
        assembler: makes what collects an answer of such a head.
        spawn: starts a task that the lifespan owns.
        new_id, jitter: randomness, handed in.
    """

    policies: Callable[[], PolicySnapshot]
    encoder: Encoder | None
    classifiers: Classifiers | None
    index: VectorIndex
    store: EntryStore
    near: NearCache
    store_alive: Callable[[], bool]
    flights: Flights
    backends: Mapping[str, Backend]
    default_backend: str
    assembler: Callable[[Head], Assembler | None]
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    new_id: Callable[[], EntryId]
    jitter: Callable[[], float]

    async def answer(self, asked: Asked) -> Answer:
        """Serve from the cache or open the way to an upstream.

        Raises:
            RequestError: unknown domain, model or upstream; 504 when only the cache may answer
                and cannot.
        """
        step = self._step(self.policies(), asked)
        decision = await self._decision(step)
        if self.policies().generation != step.snapshot.generation:
            # The policy was changed while we looked; nothing is served under the old one.
            step = self._step(self.policies(), asked)
            decision = await self._decision(step)
        step.trace.decision = decision
        if isinstance(decision, Hit) and step.policy.mode is not Mode.SHADOW:
            step.trace.served = True
            return Served(decision.entry, step.trace)
        if asked.directives.only_if_cached:
            message = "No stored answer may be used for this request (only-if-cached was asked for)."
            raise RequestError(message, status=504, type="cache_error", code="not_cached")
        return self._forward(step)

    async def explain(self, asked: Asked) -> Trace:
        """Decide without serving, asking or storing anything."""
        step = self._step(self.policies(), asked)
        step.trace.decision = await self._decision(step)
        step.trace.served = isinstance(step.trace.decision, Hit) and step.policy.mode is not Mode.SHADOW
        return step.trace

    def backend_of(self, tenant: TenantId, asked: str) -> Backend:
        """Give the upstream by name, never by URL: the one the client chose, or the tenant's, or the first.

        Raises:
            RequestError: 400, no such upstream.
        """
        name = asked or self.policies().upstream(tenant) or self.default_backend
        backend = self.backends.get(name)
        if backend is None:
            message = f"There is no upstream named {name!r}."
            raise RequestError(message, code="unknown_upstream", param="Semcache-Upstream")
        return backend

    # -- deciding -----------------------------------------------------------------------

    async def _decision(self, step: _Step) -> Decision:
        """Bypass, exact tier, meaning; every fault of the cache is a miss."""
        asked, policy = step.asked, step.policy
        closed = admission.bypass(policy, asked.request, asked.directives)
        if closed is None and asked.raw_body is not None:
            closed = "unencodable"
        if closed is not None:
            return Bypass(closed)
        try:
            refused = admission.may_read(policy, asked.directives)
            if refused is not None:
                step.epochs = await self.store.epochs(policy.tenant, self._epoch_keys(step))
                return Miss(refused)
            entry = await self._exact(step)
            if entry is not None:
                return Hit(entry, exact=True, similarity=1.0)
            return await self._by_meaning(step)
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
            if held is not None and self._servable(step, held, now):
                return held
        changes = self.near.changes
        entry, step.epochs = await self.store.lookup(tenant, step.key, self._epoch_keys(step))
        if entry is None or not self._servable(step, entry, now):
            return None
        self.near.put(entry, changes)
        return entry

    def _servable(self, step: _Step, entry: Entry, now: float) -> bool:
        """A stored answer that could not be put together from its stream repeats as a stream only."""
        whole = entry.completion.chunks is None or step.asked.request.stream
        return whole and is_servable(step.policy, step.asked.directives, entry, now)

    async def _by_meaning(self, step: _Step) -> Decision:
        """Encode, search inside the namespace, re-read what was found, decide."""
        request, directives = step.asked.request, step.asked.directives
        closed = admission.may_match(step.policy, request, directives)
        if closed is not None:
            return Miss(closed)
        if self.encoder is None:
            return Miss("no-encoder")
        if self.index.count(step.namespace) == 0:
            return Miss("empty-namespace")
        prompt = request.prompt or ""
        embedding = step.embedding = await self.encoder.encode(prompt)
        if not self._tighten_by_domain(step, embedding):
            return Miss("classifier-loading")
        closed = admission.may_match(step.policy, request, directives)
        if closed is not None:
            return Miss(closed)
        return await self._judged(step, self.encoder, embedding)

    def _tighten_by_domain(self, step: _Step, embedding: Embedding) -> bool:
        """Let the classifier make the policy stricter; False while it cannot tell yet."""
        if self.classifiers is None:
            return True
        assigned = self.classifiers.domain_of(step.snapshot, step.policy.tenant, embedding)
        if assigned is None:
            return False
        if assigned.domain is not None:
            step.policy = step.trace.policy = step.snapshot.tighten(step.policy, assigned.domain)
        return True

    def _closed_by_domain(self, step: _Step) -> str | None:
        """A question embedded only to be stored is classified too: its domain says whether and how long."""
        if step.embedding is not None:
            self._tighten_by_domain(step, step.embedding)
        return admission.may_store(step.policy, step.asked.request, step.asked.directives)

    async def _judged(self, step: _Step, encoder: Encoder, embedding: Embedding) -> Decision:
        """Search, re-read what is near enough to matter, decide.

        Vectors without an entry are forgotten; where they took places, the search is made again.
        """
        policy, directives = step.policy, step.asked.directives
        candidates: list[Candidate] = []
        for _ in range(_SEARCHES):
            neighbours = await self.index.search(step.namespace, embedding, policy.neighbours)
            near = near_enough(encoder, policy, embedding.encoder, neighbours)
            if isinstance(near, Miss):
                return near
            entries = await self.store.get_many(policy.tenant, [entry_id for entry_id, _ in near])
            found = zip(near, entries, strict=True)
            candidates = [Candidate(e, s) for (_, s), e in found if e and _belongs(e, step, embedding)]
            ghosts = [name for (name, _), entry in zip(near, entries, strict=True) if entry is None]
            if not ghosts:
                break
            await self.index.remove(ghosts)
        return decide(policy, directives, step.asked.request.prompt or "", candidates, self.clock.now())

    def _fault(self, step: _Step, part: str, error: EncoderError | VectorIndexError | StoreError) -> Miss:
        """Note a cache fault; the request goes on as a miss."""
        if not (isinstance(error, EncoderError) and error.is_refusal):
            step.trace.faults.append(f"{part}:{error.kind}")
        return Miss(f"{part}-{error.kind}".replace("_", "-"))

    # -- answering ----------------------------------------------------------------------

    def _forward(self, step: _Step) -> Forwarded:
        """Ask the upstream; equal storable misses share one call."""
        asked, trace = step.asked, step.trace
        request, directives = asked.request, asked.directives
        refused = admission.may_store(step.policy, request, directives)
        storable = refused is None and not isinstance(trace.decision, Bypass)
        # Without the store's epochs an answer could outlive its own deletion: shared, but not kept.
        remember = storable and step.epochs is not None
        matchable = admission.may_match(step.policy, request, directives) is None
        if remember and matchable and step.embedding is None:
            step.encoding = self.spawn(self._encode(step, request.prompt or ""))
        ticket = self.flights.join(
            self._flight_key(step) if storable and not directives.no_read else None,
            lambda: step.backend.generator.open(call_of(asked, step.backend, step.policy, step.snapshot)),
            self.assembler,
            self._remember(step) if remember else self._note(step),
        )
        return Forwarded(ticket, trace, usage_asked=step.backend.stream_usage)

    def _flight_key(self, step: _Step) -> str:
        """Who may share a call: equal requests; a stream with usage cannot be had from one without."""
        request = step.asked.request
        with_usage = request.stream and request.include_usage and not step.backend.stream_usage
        return f"{step.policy.tenant}:{step.key}:{'usage' if with_usage else ''}"

    # -- remembering --------------------------------------------------------------------

    def _note(self, step: _Step) -> Callable[[Completion], Awaitable[bool]]:
        """Keep a whole answer for the record only."""

        async def note(completion: Completion) -> bool:
            step.trace.completion = completion
            return False

        return note

    def _remember(self, step: _Step) -> Callable[[Completion], Awaitable[bool]]:
        """Store a whole answer if the policy wants it: entry first, vector second."""

        async def remember(completion: Completion) -> bool:
            step.trace.completion = completion
            if admission.may_store_answer(step.policy, completion) is not None:
                return False
            if step.encoding is not None:
                step.embedding = await step.encoding
                if step.embedding is not None and self._closed_by_domain(step) is not None:
                    return False
            entry = self._entry(step, completion)
            step.trace.stored = await self._put(step, entry)
            if step.trace.stored and entry.embedding is None and step.encoding is not None:
                self.spawn(self._embed_later(step, entry))
            return step.trace.stored

        return remember

    async def _put(self, step: _Step, entry: Entry) -> bool:
        try:
            if not await self.store.put(entry):
                return False
            if entry.embedding is not None:
                await self.index.add(step.namespace, entry.id, entry.embedding)
        except StoreError as error:
            self._fault(step, "store", error)
            return False
        except VectorIndexError as error:
            self._fault(step, "index", error)
        return True

    async def _encode(self, step: _Step, prompt: str) -> Embedding | None:
        """Embed beside the upstream call what will be stored; a failure is noted, not raised."""
        if self.encoder is None:
            return None
        try:
            return await self.encoder.encode(prompt)
        except EncoderError as error:
            self._fault(step, "encoder", error)
            return None

    async def _embed_later(self, step: _Step, entry: Entry) -> None:
        """Give an entry its vector after all, when its encoder was busy or still loading."""
        for pause in _LATER:
            await asyncio.sleep(pause)
            try:
                embedding = await self.encoder.encode(entry.prompt) if self.encoder is not None else None
            except EncoderError as error:
                if error.is_refusal:
                    return
                continue
            if embedding is not None:
                await self._put(step, replace(entry, embedding=embedding))
            return

    def _entry(self, step: _Step, completion: Completion) -> Entry:
        now = self.clock.now()
        directives = step.asked.directives
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
            expires_at=now
            + admission.lifetime(step.policy, directives, self.jitter(), step.asked.request.prompt),
            embedding=step.embedding,
            tags=directives.tags,
            epochs=step.epochs or Epochs(),
        )

    # -- preparing ----------------------------------------------------------------------

    def _step(self, snapshot: PolicySnapshot, asked: Asked) -> _Step:
        """Resolve the policy and work out who the request could share an answer with."""
        policy = snapshot.resolve(asked.request, asked.caller, asked.directives)
        backend = self.backend_of(asked.caller.tenant, asked.upstream)
        trace = Trace(policy, Miss("pending"), backend.generator.name)
        if asked.raw_body is not None:
            # Such a body cannot be hashed; it is never looked up or stored.
            return _Step(asked, snapshot, policy, backend, Namespace(policy.tenant, ""), ExactKey(""), trace)
        owner = asked.caller.principal
        if policy.scope is Scope.USER:
            owner = f"{owner}\x00{asked.directives.user or asked.request.end_user}"
        partition = Partition(
            tenant=policy.tenant,
            scope=policy.scope,
            owner=owner,
            extra=asked.directives.namespace,
            upstream=backend.identity,
            headers=asked.answer_changing,
        )
        keys = asked.request.keys.get(partition)
        if keys is None:
            namespace = namespace_of(asked.request, partition)
            keys = asked.request.keys[partition] = (namespace, exact_key(namespace, asked.request))
        return _Step(asked, snapshot, policy, backend, *keys, trace)

    def _epoch_keys(self, step: _Step) -> list[str]:
        """The counters an answer to this request is born under."""
        keys = ["", f"ns:{step.namespace.digest}", f"model:{step.asked.request.model}", f"key:{step.key}"]
        return keys + [f"tag:{tag}" for tag in step.asked.directives.tags]


def _belongs(entry: Entry, step: _Step, embedding: Embedding) -> bool:
    """The index may be behind: what it found must still be of this namespace and this encoder."""
    same_encoder = entry.embedding is not None and entry.embedding.encoder == embedding.encoder
    whole = entry.completion.chunks is None or step.asked.request.stream
    return same_encoder and whole and entry.namespace == step.namespace.digest
