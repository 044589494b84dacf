"""All that keeps account of slots: the tree, the allocator, the second tier, and the scheduler over them.

Made together and thrown away together: after a fault that nobody foresaw no part of the account may
be trusted, for what one part says of a slot, others rely on. Knows no thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.memory.host import HostTier
from semcache.engine.prefix.eviction import HybridPolicy
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.scheduling.counters import Counters
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.pool import Keeping
from semcache.engine.scheduling.ports import Model
from semcache.engine.scheduling.queue import WaitingQueue
from semcache.engine.scheduling.scheduler import Parts, Scheduler
from semcache.engine.scheduling.slots import Slots
from semcache.engine.scheduling.tier import SecondTier


@dataclass(frozen=True, slots=True)
class Site:
    """What outlives the books: the model, the settings, who waits, and what was counted.

    `clock` gives seconds that never go back.
    """

    model: Model
    limits: Limits
    keeping: Keeping
    users: WaitingQueue
    background: WaitingQueue
    counters: Counters
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Books:
    """One account of all slots of a network's pool."""

    tree: PrefixTree
    allocator: RunAllocator
    tier: SecondTier | None
    slots: Slots
    scheduler: Scheduler

    def close(self, counters: Counters) -> None:
        """Keep what was counted in these books beyond their end."""
        counters.high_water = max(counters.high_water, self.allocator.high_water)
        for reason, tokens in self.tree.counts().evictions:
            counters.evictions[reason] = counters.evictions.get(reason, 0) + tokens


def open_books(site: Site) -> Books:
    """Begin a new account, in which every slot is free."""
    model, keeping, clock = site.model, site.keeping, site.clock
    capacity = model.network.slots
    policy = HybridPolicy(capacity, keeping.rules, keeping.shares)
    tree = PrefixTree(capacity, policy.order, policy, (("model", model.fingerprint),))
    allocator = RunAllocator(capacity)
    tier = SecondTier(HostTier(keeping.host_bytes), model.network) if keeping.host_bytes else None
    slots = Slots(allocator, tree, keeping.shares, clock, tier)
    parts = Parts(
        model=model,
        slots=slots,
        tree=tree,
        users=site.users,
        background=site.background,
        warm=lambda node: policy.warm(node, clock() + keeping.warm_seconds),
        tier=tier,
        clock=clock,
    )
    return Books(tree, allocator, tier, slots, Scheduler(parts, site.limits, site.counters))
