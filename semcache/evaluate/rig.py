"""The product, put together for measuring: real encoder, index, store, policies, pipeline.

The store is a Valkey of our own in a temporary directory, the index FAISS in this process; only
who would answer is a stand-in (see `answering`). `build_pipeline` is the one place that says what
a pipeline is made of.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from semcache.answer.flight import Flights
from semcache.core import Decision, Embedding, EncoderId, EntryId, TenantId
from semcache.decide.context import open_judge
from semcache.decide.risk.prior import Prior
from semcache.decide.verify.verifier import ForestVerifier
from semcache.embed.open import open_encoder
from semcache.errors import EncoderError, SemcacheError
from semcache.evaluate.answering import ConstantGenerator
from semcache.evaluate.asking import UPSTREAM
from semcache.evaluate.domains import AS_STATED, Variation, as_domain, domain_of, varied
from semcache.journey import Asked, Backend, Forwarded, Trace
from semcache.lookup.faiss_index import FaissIndex
from semcache.parts import assembler_for, encoder_options, verifier_or_none
from semcache.pipeline import Pipeline
from semcache.policy.classifiers import Classifiers
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock, Encoder, EntryStore, Generator, VectorIndex
from semcache.process import SystemClock, Tasks
from semcache.remembering import Memory
from semcache.settings import Settings
from semcache.standings import Allowance, Unbounded
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.near import NearCache
from semcache.store.redis_store import RedisStore, StoreRules

_DEADLINE = 60.0
"""Seconds an encoder or the store may take: a busy machine must not change what is counted."""
_MEMO = 4096
_REFERENCE = "all-MiniLM-L6-v2"
_PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What every pipeline of one evaluation shares."""

    snapshot: PolicySnapshot
    tenant: TenantId
    encoder: Encoder
    classifiers: Classifiers
    index: VectorIndex
    store: EntryStore
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    new_id: Callable[[], EntryId]
    verifier: ForestVerifier | None = None
    clock: Clock = field(default_factory=SystemClock)
    prior: Prior | None = None
    standings: Allowance = field(default_factory=Unbounded)
    generator: Generator = field(default_factory=ConstantGenerator)


def build_pipeline(parts: Parts, snapshot: PolicySnapshot) -> Pipeline:
    """Build the pipeline that requests are asked of, as a worker's is built, under these policies.

    Randomness is taken out (lifetimes are not spread), and what a process remembers of the store
    is left out: every decision reads the store, as the first one of a worker does.
    """
    judge = None if parts.verifier is None else open_judge(parts.verifier)
    return Pipeline(
        policies=lambda: snapshot,
        encoder=parts.encoder,
        classifiers=parts.classifiers,
        index=parts.index,
        store=parts.store,
        near=NearCache(0, 0),
        store_alive=lambda: False,
        flights=Flights(parts.spawn),
        backends={UPSTREAM: Backend(parts.generator, UPSTREAM)},
        aliases={},
        default_backend=UPSTREAM,
        assembler=assembler_for,
        clock=parts.clock,
        spawn=parts.spawn,
        verifier=parts.verifier,
        kin=judge,
        standings=parts.standings,
        watch=None,
        revising=None,
        budgets=None,
        shortening=None,
        memory=Memory(
            encoder=parts.encoder,
            classifiers=parts.classifiers,
            index=parts.index,
            store=parts.store,
            clock=parts.clock,
            spawn=parts.spawn,
            new_id=parts.new_id,
            jitter=lambda: 0.5,
        ),
    )


@dataclass(frozen=True, slots=True)
class Timed:
    """A decision and what it took, in seconds of wall and of CPU (the whole process's)."""

    trace: Trace
    seconds: float
    cpu: float

    @property
    def decision(self) -> Decision:
        """What was decided."""
        return self.trace.decision


class Rig:
    """Asks questions of the product.

    Args:
        parts: what the pipelines are built from.
        defects: what went wrong beside the questions; nothing may be counted any more once there is any.
    """

    def __init__(self, parts: Parts, defects: Sequence[str] = ()) -> None:
        self.parts = parts
        self._defects = defects
        self._policies = parts.snapshot.tenant(parts.tenant)
        self._pipelines: dict[tuple[str, Variation], Pipeline] = {}

    def under(self, standings: Allowance) -> Rig:
        """Give a rig of the same parts, whose evidence allows something else."""
        return Rig(replace(self.parts, standings=standings), self._defects)

    def answered_by(self, generator: Generator) -> Rig:
        """Give a rig of the same parts, where somebody else answers."""
        return Rig(replace(self.parts, generator=generator), self._defects)

    def storing_in(self, store: EntryStore) -> Rig:
        """Give a rig of the same parts, where answers are kept in another store."""
        return Rig(replace(self.parts, store=store), self._defects)

    def pipeline(self, row_domain: str, variation: Variation = AS_STATED) -> Pipeline:
        """Give the pipeline under whose policy a row of this domain is judged.

        Args:
            row_domain: as the row names it; see `domains.domain_of`.
            variation: what is to be otherwise than the policy states.
        """
        key = domain_of(self._policies, row_domain), variation
        if key not in self._pipelines:
            self._pipelines[key] = build_pipeline(self.parts, self._snapshot(*key))
        return self._pipelines[key]

    def _snapshot(self, domain: str, variation: Variation) -> PolicySnapshot:
        tenant = self.parts.tenant
        snapshot = varied(self.parts.snapshot, tenant, variation)
        return as_domain(snapshot, tenant, domain) if domain else snapshot

    async def ask(self, pipeline: Pipeline, asked: Asked) -> Timed:
        """Ask as a client does: a hit is served, anything else is answered and stored if it may be.

        Comes back once entry and vector are there. The time is that until the decision was known.

        Raises:
            SemcacheError: a part of the cache failed, so that nothing was measured.
        """
        began, cpu = time.perf_counter(), time.process_time()
        answer = await pipeline.answer(asked)
        timed = Timed(answer.trace, time.perf_counter() - began, time.process_time() - cpu)
        if isinstance(answer, Forwarded):
            async with answer.ticket as ticket:
                await ticket.completion()
        self._check(answer.trace)
        return timed

    async def explain(self, pipeline: Pipeline, asked: Asked) -> Timed:
        """Decide without serving or storing.

        Raises:
            SemcacheError: a part of the cache failed.
        """
        began, cpu = time.perf_counter(), time.process_time()
        trace = await pipeline.explain(asked)
        timed = Timed(trace, time.perf_counter() - began, time.process_time() - cpu)
        self._check(trace)
        return timed

    async def embed(self, text: str | None) -> Embedding | None:
        """Embed a question, so that its decision finds the vector ready; None if the encoder refuses it.

        Raises:
            EncoderError: the encoder failed.
        """
        if text is None:
            return None
        try:
            return await self.parts.encoder.encode(text)
        except EncoderError as error:
            if error.is_refusal:
                return None
            raise

    async def embed_cut(self, text: str | None) -> Embedding | None:
        """Embed a question as peers do: one that is too long for the encoder is cut at its end."""
        while text and text.strip():
            try:
                return await self.parts.encoder.encode(text)
            except EncoderError as error:
                if error.kind != "too_long":
                    return await self.embed(text)
            text = text[: len(text) * 4 // 5]
        return None

    def peer_scale(self, encoder: EncoderId, cosine: float) -> float:
        """Give the similarity that a peer would see: the raw cosine of MiniLM, others' put on its scale."""
        if self.parts.encoder.name_of(encoder) == _REFERENCE:
            return cosine
        known = self.parts.encoder.to_reference(encoder, cosine)
        return cosine if known is None else known

    async def forget(self) -> None:
        """Forget all vectors; what follows uses other namespaces."""
        await self.parts.index.clear()

    def _check(self, trace: Trace) -> None:
        """Refuse to count a failure as a miss.

        Raises:
            SemcacheError: a part failed (then it may go well on a calmer machine), or has a defect.
        """
        if self._defects:
            raise SemcacheError(f"a defect, so nothing was measured: {self._defects[0]}")
        if trace.faults:
            failed = ", ".join(trace.faults)
            message = (
                f"the cache itself failed ({failed}), so nothing was measured; try again on a calmer machine"
            )
            raise SemcacheError(message)


@asynccontextmanager
async def opened(
    settings: Settings, snapshot: PolicySnapshot, tenant: TenantId, clock: Clock | None = None
) -> AsyncIterator[Rig]:
    """Open the product's encoders and everything else; closed at the end.

    Args:
        settings: where the models are.
        snapshot: by whose policy,
        tenant: and whose part of it.
        clock: by which answers live and die; None: the machine's.

    Raises:
        SemcacheError: the models are not there, or the store cannot be started.
    """
    async with AsyncExitStack() as stack:
        try:
            options = encoder_options(settings, _DEADLINE)
            options = replace(options, limits=replace(options.limits, stall_after=_DEADLINE))
            encoder = await open_encoder(replace(options, memo_entries=max(_MEMO, options.memo_entries)))
            stack.push_async_callback(encoder.aclose)
            await encoder.warm()
        except EncoderError as error:
            raise SemcacheError(f"no encoder: {error}; get the models by: semcache models fetch") from error
        verifier, prior = verifier_or_none()
        yield await stack.enter_async_context(
            assembled(encoder, snapshot, tenant, encoder.is_awake, verifier, prior, clock)
        )


@asynccontextmanager
async def assembled(
    encoder: Encoder,
    snapshot: PolicySnapshot,
    tenant: TenantId,
    awake: Callable[[str], bool] = lambda _: True,
    verifier: ForestVerifier | None = None,
    prior: Prior | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Rig]:
    """Put everything around an encoder: store, index, classifiers, with classifiers that can speak.

    Raises:
        StoreError: Valkey cannot be started.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="semcache-eval-")))
        child = ValkeyChild(folder, ChildRules())
        await child.start()
        stack.push_async_callback(child.stop)
        clock = clock or SystemClock()
        store = RedisStore(child.url, clock, StoreRules(link=LinkRules(deadline=_DEADLINE)))
        stack.push_async_callback(store.aclose)
        index = FaissIndex()
        stack.push_async_callback(index.aclose)
        tasks = await stack.enter_async_context(Tasks())
        classifiers = Classifiers(encoder, tasks.spawn, awake)
        await _prepare(classifiers, snapshot)
        defects: list[str] = []
        stack.enter_context(_collecting(defects))
        numbers = itertools.count(1)
        yield Rig(
            Parts(
                snapshot=snapshot,
                tenant=tenant,
                encoder=encoder,
                classifiers=classifiers,
                index=index,
                store=store,
                spawn=tasks.spawn,
                new_id=lambda: EntryId(f"{next(numbers):016x}"),
                verifier=verifier,
                clock=clock,
                prior=prior,
            ),
            defects,
        )


@contextmanager
def _collecting(defects: list[str]) -> Iterator[None]:
    """Hear of exceptions that a flight kept from its readers: they cost an answer its place in the cache."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def heard(_: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        # By its kind alone: the words of an exception may be a question's.
        defects.append(f"{context.get('message')}: {type(context.get('exception')).__name__}")

    loop.set_exception_handler(heard)
    try:
        yield
    finally:
        loop.set_exception_handler(before)


async def _prepare(classifiers: Classifiers, snapshot: PolicySnapshot) -> None:
    await classifiers.prepare(snapshot, _PATIENCE)
    async with asyncio.timeout(_PATIENCE):
        while not classifiers.is_complete(snapshot):  # noqa: ASYNC110 - it sets no event for the last exemplar
            await asyncio.sleep(0.05)
