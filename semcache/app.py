"""The composition root: settings -> adapters -> Pipeline -> ASGI.

The only place that names concrete classes. `App` is the ASGI application of one worker; its
lifespan opens everything, owns every background task in one group, and closes in reverse.
The store's and the engine's servers are children of whoever starts the workers (see `cli`).
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from semcache.answer.engine_door import EngineDoor, Warmed
from semcache.auditing.tallying import Tallying
from semcache.auditing_parts import auditing_of
from semcache.cost.metrics import CONTENT_TYPE, Metrics
from semcache.cost.symptoms import Retries
from semcache.cost_parts import Around, CostParts
from semcache.decide.risk.prior import Prior
from semcache.decide.verify.verifier import ForestVerifier
from semcache.dialects.table import BY_FAMILY
from semcache.embed.router import RoutedEncoder
from semcache.errors import SemcacheError
from semcache.health import Encoders, Health
from semcache.index_parts import Indexing, indexing
from semcache.journey import Backend
from semcache.parts import (
    Ids,
    assembler_for,
    flights_of,
    interpreted,
    judge_of_chats,
    likeness,
    log_standing,
    open_or_do_without,
    tell,
    upstreams_known,
    verifier_or_none,
    warm,
)
from semcache.pipeline import Pipeline
from semcache.policy.classifiers import Classifiers
from semcache.policy.snapshot import PolicySnapshot
from semcache.policy.watch import LivePolicies
from semcache.ports import Change
from semcache.prefix_parts import engine_door, open_shelf, prefixes_of, warming_of
from semcache.prefixes import Prefixes
from semcache.process import SystemClock, Tasks, quotas
from semcache.proxy.admission import Admission
from semcache.proxy.chat import ChatEndpoint
from semcache.proxy.edge import Edge, LoadGate
from semcache.proxy.model_lists import ModelLists
from semcache.proxy.own import OwnParts, own_app
from semcache.proxy.recent import RecentRequests
from semcache.proxy.replay import Replay
from semcache.proxy.types import Receive, Scope, Send
from semcache.remembering import Memory
from semcache.renewing_parts import upkeep
from semcache.reviewing_parts import ReviewShelves, feedback_of, revising_of, sights_of, sweeping
from semcache.routing.hearing import Ears
from semcache.routing_parts import aliases_of, backends_of, bounded, told_to
from semcache.settings import Settings, resolve_secret
from semcache.sighting.uses import Uses
from semcache.sighting.watches import Watches
from semcache.standings import Standings
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from semcache.store.near import NearCache
from semcache.store.redis_store import RedisStore, StoreRules

_CLASSIFIER_PATIENCE = 5.0
_VERDICT_DEADLINE = 3.0


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
        self._parts: _Parts | None = None

    def reload_policies(self) -> None:
        """Read the policy files again, on purpose: tenants whose files vanished are then gone."""
        if self._parts is not None:
            self._parts.tasks.spawn(self._parts.policies.reload())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, or the lifespan."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif self._edge is not None:
            await self._edge(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with opened(self._settings, self._wiring) as self._parts:
                self._edge = self._parts.edge()
                await send({"type": "lifespan.startup.complete"})
                await receive()
                self._edge.gate.drain()
        except (SemcacheError, OSError) as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        except asyncio.CancelledError:
            # Told to stop at once: everything is closed by now, and nobody waits for our answer.
            return
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def opened(settings: Settings, wiring: Wiring) -> AsyncIterator[_Parts]:
    """Open every part of a worker, give them, close all of it.

    Raises:
        PolicyError: policies or configuration are refused.
    """
    async with AsyncExitStack() as stack, Tasks() as tasks:
        yield await _open(settings, wiring, stack, tasks)


async def _open(settings: Settings, wiring: Wiring, stack: AsyncExitStack, tasks: Tasks) -> _Parts:
    clock = SystemClock()
    policies = await LivePolicies.open(settings.policies, check=upstreams_known(settings))
    tasks.spawn(policies.run())

    kept = StoreRules(link=LinkRules(deadline=settings.store.deadline), quota_of=quotas(policies))
    store = RedisStore(wiring.store_url, clock, kept)
    stack.push_async_callback(store.aclose)
    # No request waits for verdicts, but for complaints: they may take as long as a disk takes.
    patient = LinkRules(deadline=max(_VERDICT_DEADLINE, settings.store.deadline))
    reviewing = ReviewShelves(wiring.store_url, clock, replace(kept, link=patient))
    stack.push_async_callback(reviewing.aclose)
    tasks.spawn(sweeping(reviewing, store.tenants))

    encoder = await open_or_do_without(settings, stack)
    classifiers = None
    if encoder is not None:
        if settings.encoder.preload:
            # Before anybody is served: reading a large tokenizer holds the interpreter for a second or more.
            await warm(encoder)
        classifiers = Classifiers(encoder, tasks.spawn, encoder.is_awake)
        await classifiers.prepare(policies.current, _CLASSIFIER_PATIENCE)

    near = NearCache(settings.store.near_entries, settings.store.near_bytes)
    listeners: list[Callable[[Change], None]] = [near.on_change]
    kept_index = indexing(settings, store, encoder, lambda change: tell(listeners, change))
    index = await stack.enter_async_context(kept_index)
    upkeep(tasks.spawn, wiring.store_url, store, encoder, index.follower)

    later = asyncio.get_running_loop().call_soon
    prefixes = prefixes_of(settings, clock, later) if wiring.engine_socket else None
    ears = Ears()
    backends = backends_of(settings, wiring.engine_socket, prefixes, ears)
    backends = interpreted(backends, Ids().completion, clock.now)
    backends, places = bounded(backends, lambda: policies.current)
    for backend in backends.values():
        stack.push_async_callback(backend.generator.aclose)

    evidence = EvidenceShelves(wiring.store_url, LinkRules(deadline=settings.store.deadline))
    stack.push_async_callback(evidence.aclose)
    verifier, prior = verifier_or_none()
    standings = Standings(evidence.labels, prior, clock, tasks.spawn, log_standing)

    parts = _Parts(
        settings,
        clock,
        policies,
        store,
        encoder,
        classifiers,
        index,
        near,
        backends,
        tasks,
        verifier,
        standings,
        evidence,
        reviewing,
        wiring.store_url,
        prior,
    )
    told_to(ears, places, parts.metrics)
    parts.watch_over_hits()
    for written in (parts.auditing, parts.sights, parts.uses):
        stack.push_async_callback(written.flush)
    parts.costs.start()
    listeners.append(parts.costs.on_change)
    stack.push_async_callback(parts.costs.aclose)
    if prefixes is not None:
        parts.door = engine_door(f"unix:{wiring.engine_socket}")
        stack.push_async_callback(parts.door.aclose)
        if settings.prewarm.enabled:
            listeners.append(_prewarm(parts, wiring, prefixes, parts.door, stack))
    return parts


def _prewarm(
    parts: _Parts, wiring: Wiring, prefixes: Prefixes, door: EngineDoor, stack: AsyncExitStack
) -> Callable[[Change], None]:
    """Begin to compute beforehand what comes again and again; gives who is to hear of changes in the store."""
    shelf = open_shelf(parts.settings, wiring.store_url)
    stack.push_async_callback(shelf.aclose)
    warming = warming_of(
        parts.settings, prefixes, shelf, door, lambda: parts.policies.current, parts.count_prewarm
    )
    parts.tasks.spawn(warming.run())
    return warming.on_change


@dataclass
class _Parts:
    """Everything a worker holds, and how it is put together."""

    settings: Settings
    clock: SystemClock
    policies: LivePolicies
    store: RedisStore
    encoder: RoutedEncoder | None
    classifiers: Classifiers | None
    indexing: Indexing
    near: NearCache
    backends: dict[str, Backend]
    tasks: Tasks
    verifier: ForestVerifier | None
    standings: Standings
    evidence: EvidenceShelves
    reviewing: ReviewShelves
    store_url: str
    prior: Prior | None
    door: EngineDoor | None = None

    def __post_init__(self) -> None:
        self.ids = Ids()
        self.gate = LoadGate(self.settings.limits.concurrent_requests, self.settings.limits.held_bytes)
        self.health = Health(
            self.clock,
            self.policies,
            self.encoder if self.encoder is None else Encoders(self.encoder, self.settings.encoder.preload),
            self.classifiers,
            self.indexing.index,
            self.near,
            self.indexing.follower,
            self.gate,
        )
        told = (self.health, self.indexing)
        self.metrics = Metrics(
            lambda: (*(one for part in told for one in part.gauges()), *self.costs.gauges())
        )
        spawn, clock = self.tasks.spawn, self.clock
        around = Around(self.settings, self.store_url, self.metrics, self._snapshot, clock, spawn)
        out = sys.stdout.buffer if self.settings.log_requests else None
        self.costs = CostParts(around, out, self.prior)
        self.uses = Uses(self.store.use)
        settling, price, asked = self.costs.settling, self.costs.book.micro_usd, self.backends
        self.sights = sights_of(
            self.reviewing, self.evidence, asked, clock, spawn, self.metrics.review, settling, price
        )
        self.auditing = auditing_of(
            self.evidence,
            asked,
            self.encoder,
            self.standings.audit_share,
            clock,
            spawn,
            self.metrics.evidence,
            heard=self.sights.on_label,
            price=price,
            sides=settling,
        )
        self.revising = revising_of(
            asked,
            self.evidence.labels,
            self.auditing.books.count,
            self.standings,
            self.verifier,
            clock,
            spawn,
            self.ids.completion,
            self.metrics.drafts,
            price,
        )

    def watch_over_hits(self) -> None:
        """Begin to write down what was served."""
        self.tasks.spawn(self.auditing.run())
        self.tasks.spawn(self.sights.run())
        self.tasks.spawn(self.uses.run())

    def edge(self) -> Edge:
        """Put the proxy together."""
        admission = Admission(self._snapshot)
        pipeline = self._pipeline()
        chat = ChatEndpoint(
            pipeline=pipeline,
            admission=admission,
            recent=RecentRequests(self.settings.store.near_bytes // 4),
            replay=Replay(self.ids.completion, self.clock.now, self.settings.store.near_bytes),
            records=Tallying(self.costs.settling, self.auditing.books),
            price=self.costs.price,
            retries=Retries(),
            clock=self.clock,
            new_request_id=self.ids.request,
            new_completion_id=self.ids.completion,
            body_limit=self.settings.limits.body_bytes,
            body_deadline=self.settings.limits.body_seconds,
        )
        own = own_app(
            OwnParts(
                readiness=self.health.readiness,
                metrics=self.costs.rendered,
                metrics_type=CONTENT_TYPE,
                pipeline=pipeline,
                admission=admission,
                new_request_id=self.ids.request,
                token=resolve_secret(token) if (token := self.settings.metrics_token) else None,
                engine_page=None if self.door is None else self.door.page,
                feedback=feedback_of(
                    self.evidence, self.reviewing, self.auditing.flush, self.metrics.evidence, self.near
                ),
            )
        )
        return Edge(
            chat=chat,
            own=own,
            admission=admission,
            backend_of=pipeline.backend_of,
            records=self.costs.settling,
            clock=self.clock,
            new_request_id=self.ids.request,
            gate=self.gate,
            models=ModelLists(pipeline.aliases, int(self.clock.now()), BY_FAMILY),
            budget=self.costs.plain_budget(),
        )

    def _pipeline(self) -> Pipeline:
        made = Pipeline(
            policies=self._snapshot,
            classifiers=self.classifiers,
            encoder=self.encoder,
            index=self.indexing.index,
            store=self.store,
            near=self.near,
            store_alive=self.health.store_alive,
            flights=flights_of(self.settings, self.tasks.spawn),
            backends=self.backends,
            aliases=aliases_of(self.settings),
            default_backend=self.settings.first_upstream,
            assembler=assembler_for,
            clock=self.clock,
            spawn=self.tasks.spawn,
            verifier=self.verifier,
            kin=judge_of_chats(self.verifier),
            standings=self.standings,
            watch=Watches(self.auditing, self.sights, self.costs.prompts(), self.uses),
            revising=self.revising,
            budgets=self.costs.gate,
            shortening=None,
            memory=Memory(
                encoder=self.encoder,
                classifiers=self.classifiers,
                index=self.indexing.index,
                store=self.store,
                clock=self.clock,
                spawn=self.tasks.spawn,
                new_id=self.ids.entry,
                jitter=random.random,
                price=self.costs.book.micro_usd,
                told=self.metrics.confirmations,
                similar=likeness(self.encoder, self.clock),
            ),
        )
        return replace(made, shortening=self.costs.shortening(made.backend_of))

    def _snapshot(self) -> PolicySnapshot:
        return self.policies.current

    def count_prewarm(self, outcome: str, warmed: Warmed | None) -> None:
        """Count a head that was computed beforehand, or was to be."""
        done = (warmed.computed, warmed.cached, warmed.seconds) if warmed is not None else ()
        self.metrics.count_prewarm(outcome, *done)
