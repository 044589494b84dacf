"""The composition root: settings -> adapters -> Pipeline -> ASGI.

The only place that names concrete classes. `App` is the ASGI application of one worker; its
lifespan opens everything, owns every background task in one group, and closes in reverse.
The store's and the engine's servers are children of whoever starts the workers (see `cli`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import secrets
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from semcache.answer.assemble import JsonAssembler, StreamAssembler
from semcache.answer.flight import Flights
from semcache.answer.limits import Limits as UpstreamLimits
from semcache.answer.upstream import HttpUpstream
from semcache.core import EntryId
from semcache.cost.ledger import Ledger
from semcache.cost.metrics import CONTENT_TYPE, Metrics
from semcache.embed.batcher import Limits as EncoderLimits
from semcache.embed.open import EncoderOptions, open_encoder
from semcache.embed.router import RoutedEncoder
from semcache.errors import EncoderError, PolicyError
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower
from semcache.models.resolve import resolve
from semcache.journey import Backend
from semcache.pipeline import Pipeline
from semcache.policy.classifiers import Classifiers
from semcache.policy.watch import LivePolicies
from semcache.proxy.admission import Admission
from semcache.proxy.chat import ChatEndpoint
from semcache.proxy.edge import Edge, LoadGate
from semcache.proxy.own import OwnParts, Readiness, own_app
from semcache.proxy.replay import Replay
from semcache.proxy.types import Receive, Scope, Send
from semcache.settings import Settings, UpstreamSettings, resolve_secret
from semcache.store.link import LinkRules
from semcache.store.near import NearCache
from semcache.store.redis_store import Quota, RedisStore, StoreRules

_log = structlog.get_logger()
_STORE_HEARD_WITHIN = 2.0
_CLASSIFIER_PATIENCE = 5.0


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Give Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Give seconds that never go back."""
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Wiring:
    """Where this worker finds the servers that its parent started."""

    store_url: str
    engine_socket: str = ""


class App:
    """The ASGI application of one worker.

    Args:
        settings: the configuration.
        wiring: addresses of store and engine.
    """

    def __init__(self, settings: Settings, wiring: Wiring) -> None:
        self._settings = settings
        self._wiring = wiring
        self._edge: Edge | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, or the lifespan."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif self._edge is not None:
            await self._edge(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with opened(self._settings, self._wiring) as self._edge:
                await send({"type": "lifespan.startup.complete"})
                await receive()
                self._edge.gate.drain()
        except (PolicyError, OSError) as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def opened(settings: Settings, wiring: Wiring) -> AsyncIterator[Edge]:
    """Open every part of a worker, give its outermost callable, close all of it.

    Raises:
        PolicyError: policies or configuration are refused.
    """
    async with AsyncExitStack() as stack:
        async with _Tasks() as tasks:
            parts = await _open(settings, wiring, stack, tasks)
            yield parts.edge()


class _Tasks:
    """Background tasks of a worker, all cancelled and awaited at its end, before any adapter closes.

    Not a TaskGroup: one request's defect must not end everybody's.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> _Tasks:
        return self

    async def __aexit__(self, *error: object) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that lives no longer than the worker."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a background task failed", error=type(error).__name__, exc_info=error)


async def _open(settings: Settings, wiring: Wiring, stack: AsyncExitStack, tasks: _Tasks) -> _Parts:
    clock = SystemClock()
    policies = await LivePolicies.open(settings.policies)
    tasks.spawn(policies.run())

    store = RedisStore(
        wiring.store_url,
        clock,
        StoreRules(link=LinkRules(deadline=settings.store.deadline), quota_of=_quotas(policies)),
    )
    stack.push_async_callback(store.aclose)

    encoder = await _encoder(settings, stack)
    classifiers = None
    if encoder is not None:
        if settings.encoder.preload:
            tasks.spawn(_warm(encoder))
        classifiers = Classifiers(encoder, tasks.spawn)
        await classifiers.prepare(policies.current, _CLASSIFIER_PATIENCE)

    index = FaissIndex()
    near = NearCache(settings.store.near_entries, settings.store.near_bytes)
    follower = Follower(store, index, encoder, on_change=near.on_change)
    tasks.spawn(follower.run())

    backends = _backends(settings, wiring)
    for backend in backends.values():
        stack.push_async_callback(backend.generator.aclose)

    parts = _Parts(
        settings, clock, policies, store, encoder, classifiers, index, near, follower, backends, tasks
    )
    parts.ledger.start()
    stack.callback(parts.ledger.stop)
    return parts


async def _encoder(settings: Settings, stack: AsyncExitStack) -> RoutedEncoder | None:
    """Open the encoder; without one the proxy serves exact repeats only, and says so."""
    options = EncoderOptions(
        latin=str(resolve(settings.encoder.latin, settings.data)),
        multilingual=str(resolve(settings.encoder.multilingual, settings.data)),
        device=settings.encoder.device,
        memo_entries=settings.encoder.memo,
        limits=EncoderLimits(deadline=settings.encoder.deadline, queue=settings.encoder.queue),
    )
    try:
        encoder = await open_encoder(options)
    except EncoderError as error:
        _log.error("no encoder: only exact repeats will be served", problem=str(error))
        return None
    stack.push_async_callback(encoder.aclose)
    return encoder


async def _warm(encoder: RoutedEncoder) -> None:
    try:
        await encoder.warm()
    except EncoderError as error:
        _log.error("an encoder cannot be loaded", problem=str(error))


def _quotas(policies: LivePolicies) -> Any:
    def quota_of(tenant: Any) -> Quota:
        default = Quota()
        if tenant not in policies.current.tenants:
            return default
        told = policies.current.quota(tenant)
        return Quota(told.max_entries or default.entries, told.max_bytes or default.bytes)

    return quota_of


def _backends(settings: Settings, wiring: Wiring) -> dict[str, Backend]:
    """Every upstream by name, and the local engine when it runs."""
    backends = {name: _backend(name, upstream) for name, upstream in settings.all_upstreams.items()}
    if wiring.engine_socket:
        name = settings.engine.name
        generator = HttpUpstream(name, f"unix:{wiring.engine_socket}")
        backends[name] = Backend(generator, f"engine:{_model_identity(settings)}", stream_usage=True)
    return backends


def _backend(name: str, upstream: UpstreamSettings) -> Backend:
    limits = UpstreamLimits(
        connect=upstream.connect_timeout,
        head=upstream.first_byte_timeout,
        idle=upstream.idle_timeout,
        connections=upstream.max_connections,
    )
    return Backend(
        # Paths come whole from the client, so the base is what stands before them.
        generator=HttpUpstream(name, upstream.base_url.removesuffix("/v1"), limits),
        identity=name,
        authorization=f"Bearer {resolve_secret(upstream.api_key)}" if upstream.api_key else None,
        stream_usage=upstream.stream_usage,
    )


def _model_identity(settings: Settings) -> str:
    """Tell the local model's weights apart, so that another model never answers from the old one's entries."""
    folder = Path(resolve(settings.engine.model, settings.data))
    manifest = folder / "semcache-model.json"
    if manifest.is_file():
        return str(json.loads(manifest.read_bytes()).get("fingerprint", folder.name))
    return hashlib.sha256(str(folder).encode()).hexdigest()


@dataclass
class _Parts:
    """Everything a worker holds, and how it is put together."""

    settings: Settings
    clock: SystemClock
    policies: LivePolicies
    store: RedisStore
    encoder: RoutedEncoder | None
    classifiers: Classifiers | None
    index: FaissIndex
    near: NearCache
    follower: Follower
    backends: dict[str, Backend]
    tasks: _Tasks

    def __post_init__(self) -> None:
        self.gate = LoadGate(self.settings.limits.concurrent_requests)
        self.metrics = Metrics(self._gauges)
        self.ledger = Ledger(self.metrics, sys.stdout.buffer if self.settings.log_requests else None)

    def edge(self) -> Edge:
        """Put the proxy together."""
        admission = Admission(lambda: self.policies.current)
        pipeline = self._pipeline()
        chat = ChatEndpoint(
            pipeline=pipeline,
            admission=admission,
            replay=Replay(_completion_id, self.clock.now, self.settings.store.near_bytes),
            records=self.ledger,
            clock=self.clock,
            new_request_id=_request_id,
            body_limit=self.settings.limits.body_bytes,
            body_deadline=self.settings.limits.body_seconds,
        )
        own = own_app(
            OwnParts(self._readiness, self.metrics.render, CONTENT_TYPE, pipeline, admission, _request_id)
        )
        return Edge(
            chat=chat,
            own=own,
            admission=admission,
            backend_of=pipeline.backend_of,
            records=self.ledger,
            clock=self.clock,
            new_request_id=_request_id,
            gate=self.gate,
        )

    def _pipeline(self) -> Pipeline:
        return Pipeline(
            policies=lambda: self.policies.current,
            classifiers=self.classifiers,
            encoder=self.encoder,
            index=self.index,
            store=self.store,
            near=self.near,
            store_alive=self._store_alive,
            flights=Flights(self.tasks.spawn),
            backends=self.backends,
            default_backend=self.settings.first_upstream,
            assembler=lambda stream: StreamAssembler() if stream else JsonAssembler(),
            clock=self.clock,
            spawn=self.tasks.spawn,
            new_id=lambda: EntryId(secrets.token_urlsafe(12)),
            jitter=random.random,
        )

    def _store_alive(self) -> bool:
        return self.clock.monotonic() - self.follower.last_contact < _STORE_HEARD_WITHIN

    def _readiness(self) -> Readiness:
        degraded = []
        if not self._store_alive():
            degraded.append("store")
        if not self.follower.is_synced:
            degraded.append("index")
        if self.encoder is None or any(not lane.healthy for lane in self.encoder.health()):
            degraded.append("encoder")
        if self.policies.last_error:
            degraded.append("policies")
        vectors, namespaces = self.index.sizes()
        detail = {
            "policy_generation": self.policies.generation,
            "policy_error": self.policies.last_error,
            "tenants": len(self.policies.current.tenants),
            "vectors": vectors,
            "namespaces": namespaces,
        }
        return Readiness(ready=True, degraded=tuple(degraded), detail=detail)

    def _gauges(self) -> Iterable[tuple[str, str, float]]:
        vectors, namespaces = self.index.sizes()
        entries, size = self.near.size
        state = self._readiness()
        yield "semcache_index_vectors", "Vectors in this worker's index.", vectors
        yield "semcache_index_namespaces", "Namespaces in this worker's index.", namespaces
        yield "semcache_near_entries", "Entries in this worker's near cache.", entries
        yield "semcache_near_bytes", "Bytes in this worker's near cache.", size
        yield "semcache_inflight", "Requests being handled.", self.gate.inside
        for part in ("store", "index", "encoder", "policies"):
            yield (
                f"semcache_degraded_{part}",
                f"1 while the {part} is not as it should be.",
                part in state.degraded,
            )


def _request_id() -> str:
    return f"req_{secrets.token_hex(12)}"


def _completion_id() -> str:
    return f"chatcmpl-{secrets.token_hex(12)}"

