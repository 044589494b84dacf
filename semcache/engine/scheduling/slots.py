"""Where slots come from: free ones first, then what the tree can do without, within tenants' limits.

Knows nothing of sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.shares import Shares
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.runs import Run
from semcache.engine.scheduling.tier import SecondTier
from semcache.errors import EngineError


class Slots:
    """The allocator and the tree as one source of slots. Every slot is free, the tree's, or out (`running`)."""

    def __init__(
        self,
        allocator: RunAllocator,
        tree: PrefixTree,
        shares: Shares | None,
        clock: Callable[[], float],
        tier: SecondTier | None = None,
    ) -> None:
        self._allocator = allocator
        self._tree = tree
        self._shares = shares
        self._clock = clock
        self._leaving = None if tier is None else tier.keep

    @property
    def capacity(self) -> int:
        """Count all slots."""
        return self._allocator.capacity

    @property
    def free(self) -> int:
        """Count the slots that nobody holds."""
        return self._allocator.free

    @property
    def room(self) -> int:
        """Count the slots that can be had: free ones, and those of the tree that nobody reads."""
        return self._allocator.free + self._tree.evictable

    @property
    def running(self) -> int:
        """Count the slots that are neither free nor the tree's."""
        return self._allocator.used - self._tree.tokens

    def take(self, count: int, near: int | None, tenant: str) -> tuple[Run, ...] | None:
        """Get slots for a tenant, at `near` if possible; None when there is no room for them."""
        self._evict(count - self._allocator.free, None)
        # Others' floors may have withheld some: then the tenant's own go.
        self._evict(count - self._allocator.free, tenant)
        return self._allocator.take(count, near)

    def give(self, runs: Iterable[Run]) -> None:
        """Take slots back."""
        self._allocator.give(runs)

    def may_keep(self, tokens: int, tenant: str) -> bool:
        """Make room below a tenant's ceiling for what the tree is to get; False when it would pass it."""
        ceiling = None if self._shares is None else self._shares.share_of(tenant).ceiling
        if ceiling is None:
            return True
        held = self._tree.held
        self._evict(held.get(tenant, 0) + tokens - ceiling, tenant)
        return held.get(tenant, 0) + tokens <= ceiling

    def forget(self, tokens: int) -> None:
        """Evict some tokens, as if somebody needed their slots."""
        self._evict(tokens, None)

    def evict_all(self) -> int:
        """Forget all prefixes that nobody reads; gives the number of tokens."""
        before = self._allocator.free
        self._evict(self._tree.evictable, None)
        for tenant in tuple(self._tree.held):  # what floors withheld
            self._evict(self._tree.evictable, tenant)
        return self._allocator.free - before

    def check_integrity(self, private: int) -> None:
        """Compare the books; `private` slots are out.

        Raises:
            EngineError: slots are lost or counted twice, or the tree contradicts itself.
        """
        self._allocator.check_integrity()
        self._tree.check_integrity()
        if private != self.running:
            raise EngineError("the engine's account of its slots is broken")

    def _evict(self, count: int, tenant: str | None) -> None:
        if count > 0:
            self._allocator.give(self._tree.evict(count, self._clock(), tenant=tenant, leaving=self._leaving))
