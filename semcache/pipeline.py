"""The story of one request, top to bottom. The only orchestrator.

    history trimmed, if asked for -> policy -> bypass? -> exact key -> entry? -> encode -> search -> re-read -> decide
           -> serve the entry, or set aside what a call may cost and ask the upstream once for all who ask the same
           -> remember a whole answer: entry first, vector second

Faults of store, index and encoder are noted in the trace and the request goes on as a miss.
Knows no wire format: a `Served` answer is an entry, a `Forwarded` one a ticket on a flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from semcache.answer.flight import Flights
from semcache.answer.shared import Head
from semcache.auditing.hits import would_be
from semcache.calling import call_of, flight_key, no_upstream, renamed, spoken
from semcache.core import (
    Bypass,
    Completion,
    Decision,
    Draft,
    Effect,
    Embedding,
    Entry,
    ExactKey,
    Miss,
    Namespace,
    TenantId,
)
from semcache.decide import admission
from semcache.decide.context import Judge
from semcache.decide.decision import Candidate, decide
from semcache.decide.reasons import Reason
from semcache.decide.vouching import vouched
from semcache.dialects.dialect import Assembler
from semcache.dialects.repeating import Repeatable
from semcache.embed.fingerprint import exact_key, namespace_of
from semcache.equal import Equals
from semcache.errors import EncoderError, RequestError, StoreError, VectorIndexError
from semcache.journey import (
    Answer,
    Asked,
    Backend,
    BudgetGate,
    Forwarded,
    Keep,
    Served,
    Shortener,
    Step,
    Trace,
    Watch,
    partition_of,
    to_serve,
)
from semcache.judging import near_enough
from semcache.meeting import Meeting, agreeing, commons, meet, places
from semcache.policy.classifiers import Classifiers
from semcache.policy.rewriting import in_order
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock, Encoder, EntryStore, UpstreamReply, VectorIndex, Verifier
from semcache.remembering import Memory, note
from semcache.revising.revising import Revising
from semcache.routing.aliases import Alias, effective
from semcache.standings import Allowance
from semcache.store.near import NearCache
from semcache.tokens import tokens_of

_SEARCHES = 3


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Everything a request meets, as ports.

    Args:
        policies: gives the policy snapshot in force.
        store_alive: True while the change stream proves that the near cache can be trusted.
        assembler: makes what collects an answer in a dialect, by its name, of such a head.
        spawn: starts a task that the lifespan owns.
        new_id, jitter: randomness, handed in.
        aliases: what names of models stand for.
    """

    policies: Callable[[], PolicySnapshot]
    encoder: Encoder | None
    verifier: Verifier | None
    kin: Judge | None
    standings: Allowance
    watch: Watch | None
    revising: Revising | None
    budgets: BudgetGate | None
    shortening: Shortener | None
    classifiers: Classifiers | None
    index: VectorIndex
    store: EntryStore
    near: NearCache
    store_alive: Callable[[], bool]
    flights: Flights
    backends: Mapping[str, Backend]
    aliases: Mapping[str, Alias]
    default_backend: str
    assembler: Callable[[str, Head], Assembler | None]
    memory: Memory
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    repeatable: Repeatable = field(default_factory=Repeatable)

    async def answer(self, asked: Asked) -> Answer:
        """Serve from the cache or open the way to an upstream.

        Raises:
            RequestError: unknown domain, model or upstream; 504 when only the cache may answer
                and cannot; 429 when a budget is used up.
        """
        if self.shortening is not None and asked.directives.history:
            history = self.policies().history(asked.caller.tenant)
            asked = await self.shortening.applied(asked, history)
        step = self._step(self.policies(), asked)
        decision = await self._decision(step)
        if self.policies().generation != step.snapshot.generation:
            # The policy was changed while we looked; nothing is served under the old one.
            step = self._step(self.policies(), asked)
            decision = await self._decision(step)
        step.trace.decision = decision
        if self.watch is not None:
            self.watch.on_decided(step)
        hit = to_serve(decision, step.policy)
        if hit is not None:
            if self.budgets is not None:
                await self.budgets.on_hit(step)
            step.trace.served = True
            step.trace.vouched = vouched(step.policy, asked.directives, hit.entry, self.clock.now())
            if self.watch is not None:
                self.watch.on_served(step, hit, asked.request_id)
            return Served(hit.entry, step.trace)
        if asked.directives.only_if_cached:
            message = "No stored answer may be used for this request (only-if-cached was asked for)."
            raise RequestError(message, status=504, type="cache_error", code="not_cached")
        if self.budgets is not None:
            step.trace.hold = await self.budgets.on_forward(step)
        return self._forward(step)

    async def explain(self, asked: Asked) -> Trace:
        """Decide without serving, asking or storing anything."""
        step = self._step(self.policies(), asked)
        step.trace.decision = await self._decision(step)
        step.trace.served = to_serve(step.trace.decision, step.policy) is not None
        return step.trace

    def backend_of(self, tenant: TenantId, asked: str) -> Backend:
        """Give the upstream by name, never by URL: the one the client chose, or the tenant's, or the first.

        Raises:
            RequestError: 400, no such upstream.
        """
        name = asked or self.policies().upstream(tenant) or self.default_backend
        backend = self.backends.get(name)
        if backend is None:
            raise no_upstream(name, self.backends)
        return backend

    # -- deciding -----------------------------------------------------------------------

    @property
    def _equals(self) -> Equals:
        return Equals(self.store, self.near, self.store_alive, self.clock, self.repeatable)

    async def _decision(self, step: Step) -> Decision:
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
            hit = await self._equals.find(step, partial(self._epoch_keys, step))
            return hit if hit is not None else await self._by_meaning(step)
        except EncoderError as error:
            return step.fault("encoder", error)
        except VectorIndexError as error:
            return step.fault("index", error)
        except StoreError as error:
            return step.fault("store", error)

    async def _by_meaning(self, step: Step) -> Decision:
        """Encode, search inside the namespace, re-read what was found, decide."""
        request, directives = step.asked.request, step.asked.directives
        closed = admission.may_match(step.policy, request, directives)
        if closed is not None:
            return Miss(closed)
        if self.encoder is None:
            return Miss("no-encoder")
        known = _places(step)
        if not any(self.index.count(place) for place in (*known.values(), step.commons) if place):
            return Miss("empty-namespace")
        meeting = step.meeting = await meet(request, known, self.encoder)
        embedding = step.embedding = await self.encoder.encode(meeting.reading.text)
        step.trace.embedded = tokens_of(meeting.reading.text)
        if not step.tighten(self.classifiers, embedding):
            return Miss("classifier-loading")
        closed = admission.may_match(step.policy, request, directives)
        if closed is not None:
            return Miss(closed)
        return await self._judged(step, self.encoder, meeting, embedding)

    async def _judged(self, step: Step, encoder: Encoder, meeting: Meeting, embedding: Embedding) -> Decision:
        """Search, re-read what is near enough to matter, decide."""
        policy, directives = step.policy, step.asked.directives
        found = await self._found(step, encoder, meeting.namespace, meeting.floor(policy), embedding)
        if step.commons is not None:
            public = await self._found(step, encoder, step.commons, policy.floor, embedding)
            found = _both(found, public)
        if isinstance(found, Miss):
            return found
        candidates = found
        if meeting.is_bound:
            candidates, against = await agreeing(
                meeting, step.asked.request, policy, encoder, embedding, candidates, self.kin
            )
            if against:
                return Miss(Reason.CONTEXT.value, against)
        if meeting.reading.kind != "standalone":
            # What is said before has been compared: a question need not be whole by itself.
            policy = replace(policy, gate=replace(policy.gate, fragment=Effect.OFF))
        asked, now = step.asked.request.prompt or "", self.clock.now()
        serving = step.trace.serving = await self.standings.serving(policy)
        return decide(policy, directives, asked, candidates, now, self.verifier, serving, step.asking)

    async def _found(
        self, step: Step, encoder: Encoder, place: Namespace, floor: float, embedding: Embedding
    ) -> list[Candidate] | Miss:
        """Search one namespace and read what is near from the store.

        Vectors without an entry are forgotten; where they took places, the search is made again.
        """
        candidates: list[Candidate] = []
        for _ in range(_SEARCHES):
            neighbours = await self.index.search(place, embedding, step.policy.neighbours)
            near = near_enough(encoder, step.policy, embedding.encoder, neighbours, floor)
            if isinstance(near, Miss):
                return near
            entries = await self.store.get_many(place.tenant, [entry_id for entry_id, _ in near])
            found = [
                (e, s) for e, (_, s) in zip(entries, near, strict=True) if e and self._equals.repeats(step, e)
            ]
            candidates = [Candidate(e, s) for e, s in found if _belongs(e, place, embedding)]
            ghosts = [name for (name, _), entry in zip(near, entries, strict=True) if entry is None]
            if not ghosts:
                break
            await self.index.remove(ghosts)
        return candidates

    # -- answering ----------------------------------------------------------------------

    def _forward(self, step: Step) -> Forwarded:
        """Ask the upstream; equal storable misses share one call."""
        asked, trace = step.asked, step.trace
        step.asked_at = self.clock.monotonic()
        request, directives = asked.request, asked.directives
        refused = admission.may_store(step.policy, request, directives)
        storable = refused is None and not isinstance(trace.decision, Bypass)
        # Without the store's epochs an answer could outlive its own deletion: shared, but not kept.
        remember = storable and step.epochs is not None
        matchable = admission.may_match(step.policy, request, directives) is None
        if remember and matchable and step.embedding is None:
            step.encoding = self.spawn(self.memory.encode(step))
        keep = self.memory.remember(step) if remember else note(step)
        kept_back = would_be(trace.decision)
        if kept_back is not None and self.watch is not None:
            keep = self.watch.watching(step, kept_back, asked.request_id, keep)
        call, keep = self._opening(step, keep)
        key = (
            flight_key(step, drafts=self.revising is not None)
            if storable and not directives.no_read
            else None
        )
        ticket = self.flights.join(key, call, partial(self._collecting, step), keep)
        return Forwarded(ticket, trace, usage_asked=step.backend.stream_usage)

    def _collecting(self, step: Step, head: Head) -> Assembler | None:
        """Note who answers, and give what collects the answer."""
        step.trace.answered_by(head.headers)
        return self.assembler(step.asked.request.dialect, head)

    def _opening(self, step: Step, keep: Keep) -> tuple[Callable[[], Awaitable[UpstreamReply]], Keep]:
        """What makes the call, and what hears of its whole answer: with a draft, where one was found."""
        draft = step.trace.decision
        if self.revising is not None and isinstance(draft, Draft):
            keep = self._watched(step, draft, keep)
            return self.revising.opening(step, draft), self.revising.keeping(step, draft, keep)
        call = call_of(step.asked, step.backend, step.policy, step.snapshot)
        return lambda: step.backend.generator.open(call), keep

    def _watched(self, step: Step, draft: Draft, keep: Keep) -> Keep:
        """A revised answer is checked afterwards as a hit is: it is no model's free answer."""
        watch = self.watch
        if watch is None:
            return keep

        async def kept(completion: Completion) -> bool:
            stored = await keep(completion)
            if step.trace.is_revised:
                watch.on_revised(step, draft, completion, step.asked.request_id)
            return stored

        return kept

    # -- preparing ----------------------------------------------------------------------

    def _step(self, snapshot: PolicySnapshot, asked: Asked) -> Step:
        """Resolve the policy and work out who the request could share an answer with."""
        request, named = effective(asked.request, self.aliases)
        backend = self.backend_of(asked.caller.tenant, asked.upstream or named)
        asked = spoken(asked if request is asked.request else renamed(asked, request), backend)
        if asked.raw_body is None and asked.request.native is None:
            request = in_order(asked.request, snapshot.prefix(asked.caller.tenant).rewrite)
            asked = asked if request is asked.request else replace(asked, request=request)
        policy = snapshot.resolve(asked.request, asked.caller, asked.directives)
        trace = Trace(policy, Miss("pending"), backend.generator.name, trimmed=asked.trimmed)
        trace.spoken, trace.model = asked.request.dialect, asked.request.model
        partition = partition_of(asked, policy, backend)
        if asked.raw_body is not None:
            # Such a body cannot be hashed; it is never looked up or stored.
            nowhere = Namespace(policy.tenant, "")
            return Step(asked, snapshot, policy, backend, partition, nowhere, ExactKey(""), trace)
        keys = asked.request.keys.get(partition)
        if keys is None:
            namespace = namespace_of(asked.request, partition)
            keys = asked.request.keys[partition] = (namespace, exact_key(namespace, asked.request))
        trace.key, trace.is_local = keys[1], backend.prefixes is not None
        step = Step(asked, snapshot, policy, backend, partition, *keys, trace)
        step.commons = commons(asked.request, partition, policy)
        return step

    def _epoch_keys(self, step: Step) -> list[str]:
        """The counters an answer to this request is born under."""
        keys = ["", f"model:{step.asked.request.model}", f"key:{step.key}"]
        # What is never matched by meaning lies in its whole namespace, and not where it would meet others.
        places = (step.namespace, *_places(step).values())
        keys += [f"ns:{digest}" for digest in dict.fromkeys(place.digest for place in places)]
        keys += [f"tag:{tag}" for tag in step.asked.directives.tags]
        return [*keys, f"subject:{step.subject}"] if step.subject else keys


def _places(step: Step) -> Mapping[str, Namespace]:
    """Where a request may meet others, worked out once and only for those who get so far."""
    if not step.places:
        step.places = places(step.asked.request, step.partition, step.policy)
    return step.places


def _both(own: list[Candidate] | Miss, public: list[Candidate] | Miss) -> list[Candidate] | Miss:
    if isinstance(own, Miss):
        return own if isinstance(public, Miss) else public
    return own if isinstance(public, Miss) else own + public


def _belongs(entry: Entry, place: Namespace, embedding: Embedding) -> bool:
    """The index may be behind: what it found must still be of this namespace and this encoder."""
    same_encoder = entry.embedding is not None and entry.embedding.encoder == embedding.encoder
    return same_encoder and entry.namespace == place.digest
