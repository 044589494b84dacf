"""How a worker is: what is not as it should be, and the gauges that say so. Reads parts, changes none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from semcache.embed.router import RoutedEncoder
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower
from semcache.policy.classifiers import Classifiers
from semcache.policy.watch import LivePolicies
from semcache.ports import Clock
from semcache.proxy.edge import LoadGate
from semcache.proxy.own import Readiness
from semcache.store.near import NearCache

STORE_HEARD_WITHIN = 1.0
"""Seconds of silence after which what this process holds in memory is not trusted any more."""


@dataclass(frozen=True, slots=True)
class Encoders:
    """The encoders, and whether each is to be loaded from the start."""

    router: RoutedEncoder
    preload: bool

    @property
    def are_well(self) -> bool:
        """True when every encoder is loaded, or need not be yet, and none hangs."""
        well = ("ready",) if self.preload else ("ready", "idle")
        return all(lane.state in well and not lane.stalled for lane in self.router.health())


@dataclass(frozen=True, slots=True)
class Health:
    """The parts of a worker whose state matters to others."""

    clock: Clock
    policies: LivePolicies
    encoders: Encoders | None
    classifiers: Classifiers | None
    index: FaissIndex
    near: NearCache
    follower: Follower
    gate: LoadGate

    def store_alive(self) -> bool:
        """True while the change stream was heard a moment ago."""
        return self.clock.monotonic() - self.follower.last_contact < STORE_HEARD_WITHIN

    def readiness(self) -> Readiness:
        """Say what is not as it should be."""
        degraded = []
        if not self.store_alive():
            degraded.append("store")
        if not self.follower.is_synced:
            degraded.append("index")
        if self.encoders is None or not self.encoders.are_well:
            degraded.append("encoder")
        if self.classifiers is not None and not self.classifiers.is_complete(self.policies.current):
            degraded.append("classifier")
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
        for part in ("store", "index", "encoder", "classifier", "policies"):
            yield (
                f"semcache_degraded_{part}",
                f"1 while the {part} is not as it should be.",
                part in state.degraded,
            )
