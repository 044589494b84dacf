"""How a worker is: what is not as it should be, and the gauges that say so. Reads parts, changes none.

A worker listens before all its parts are there: the change stream is yet to be heard, what the store holds to be taken
into the index, the exemplars of the classifiers to be embedded. That is a start and no fault, as long as it takes no
longer than a start does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from semcache.embed.router import RoutedEncoder
from semcache.lookup.follower import Follower
from semcache.policy.classifiers import Classifiers
from semcache.policy.watch import LivePolicies
from semcache.ports import Clock, VectorIndex
from semcache.proxy.edge import LoadGate
from semcache.proxy.own import Readiness
from semcache.store.near import NearCache

STORE_HEARD_WITHIN = 1.0
"""Seconds of silence after which what this process holds in memory is not trusted any more."""

START_WITHIN = 5.0
"""Seconds in which a part that was never well yet is starting; after that it is not as it should be."""


@dataclass(frozen=True, slots=True)
class PartState:
    """One part: whether it is as it should be, and whether, if not, it may be on its way there."""

    name: str
    well: bool
    may_start: bool = True


class Start:
    """Tells parts that are starting from those that are not as they should be.

    Args:
        began: monotonic seconds when the worker was put together.
        patience: seconds that a start may take.
    """

    def __init__(self, began: float, patience: float = START_WITHIN) -> None:
        self._until = began + patience
        self._were_well: set[str] = set()

    def sort(self, parts: Iterable[PartState], now: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Give the names of the parts that are starting, and of those that are degraded.

        A part that was seen to be well once starts no more: what befalls it then is a fault at once.
        """
        starting, degraded = [], []
        for part in parts:
            if part.well:
                self._were_well.add(part.name)
            elif part.may_start and now < self._until and part.name not in self._were_well:
                starting.append(part.name)
            else:
                degraded.append(part.name)
        return tuple(starting), tuple(degraded)


@dataclass(frozen=True, slots=True)
class Encoders:
    """The encoders, and whether each is to be loaded from the start."""

    router: RoutedEncoder
    preload: bool

    @property
    def are_well(self) -> bool:
        """True when every encoder is loaded, or need not be yet, and none hangs."""
        # One that waits to be asked first may take its time then.
        well = ("ready",) if self.preload else ("ready", "idle", "loading")
        return all(lane.state in well and not lane.stalled for lane in self.router.health())


@dataclass(frozen=True, slots=True)
class Health:
    """The parts of a worker whose state matters to others."""

    clock: Clock
    policies: LivePolicies
    encoders: Encoders | None
    classifiers: Classifiers | None
    index: VectorIndex
    near: NearCache
    follower: Follower
    gate: LoadGate
    start: Start = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", Start(self.clock.monotonic()))

    def store_alive(self) -> bool:
        """True while the change stream was heard a moment ago."""
        return self.clock.monotonic() - self.follower.last_contact < STORE_HEARD_WITHIN

    def readiness(self) -> Readiness:
        """Say what is not as it should be, and what is still starting."""
        starting, degraded = self.start.sort(self._states(), self.clock.monotonic())
        vectors, namespaces = self.index.sizes()
        detail = {
            "starting": starting,
            "worker": os.getpid(),
            "policy_generation": self.policies.generation,
            "policy_error": self.policies.last_error,
            "tenants": len(self.policies.current.tenants),
            "vectors": vectors,
            "namespaces": namespaces,
        }
        return Readiness(ready=not starting, degraded=degraded, detail=detail)

    def _states(self) -> Iterator[PartState]:
        yield PartState("store", self.store_alive())
        yield PartState("index", self.follower.is_synced)
        # What is loaded from the start is loaded before anybody can ask for this.
        yield PartState("encoder", self.encoders is not None and self.encoders.are_well, may_start=False)
        told = self.classifiers is None or self.classifiers.is_complete(self.policies.current)
        yield PartState("classifier", told)
        yield PartState("policies", not self.policies.last_error, may_start=False)

    def gauges(self) -> Iterable[tuple[str, str, float]]:
        """Give name, help text and value of each gauge."""
        vectors, namespaces = self.index.sizes()
        entries, size = self.near.size
        state = self.readiness()
        yield "semcache_index_vectors", "Vectors in this worker's index.", vectors
        yield "semcache_index_namespaces", "Namespaces in this worker's index.", namespaces
        yield "semcache_near_entries", "Entries in this worker's near cache.", entries
        yield "semcache_near_bytes", "Bytes in this worker's near cache.", size
        yield "semcache_inflight", "Requests being handled.", self.gate.inside
        yield "semcache_held_bytes", "Bytes of request bodies in memory.", self.gate.held.used
        yield "semcache_tasks", "Tasks on this worker's event loop.", len(asyncio.all_tasks())
        for part in ("store", "index", "encoder", "classifier", "policies"):
            yield (
                f"semcache_degraded_{part}",
                f"1 while the {part} is not as it should be.",
                part in state.degraded,
            )
