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

_DOUBT = 8
"""The part of what floors withheld that is forgotten whenever a request ends."""


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
        self._withheld = 0

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
        """Count the slots that can be had: free ones, and those of the tree that nobody reads.

        Less what tenants' floors withhold, as far as that is known: it shows when slots lack.
        """
        return self._allocator.free + max(self._tree.evictable - self._withheld, 0)

    @property
    def running(self) -> int:
        """Count the slots that are neither free nor the tree's."""
        return self._allocator.used - self._tree.tokens

    def take(
        self, count: int, near: int | None, tenant: str, *, most: int = 0, floors: bool = True
    ) -> tuple[Run, ...] | None:
        """Get `count` slots for a tenant, at `near` if possible; None when there is no room for them.

        Up to `most` where that costs nothing that a floor keeps. Without `floors` what they keep
        goes, too, when all else is not enough.
        """
        free, wanted = self._allocator, max(count, most)
        self._evict(wanted - free.free, None)
        # Others' floors may have withheld some: then the tenant's own go, and what these stood on.
        self._evict(count - free.free, tenant)
        self._evict(count - free.free, None, floors=floors)
        if free.free < wanted:
            self._withheld = self._tree.evictable
        return free.take(max(count, min(wanted, free.free)), near)

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

    def reconsider(self) -> None:
        """Believe a little less that floors withhold so much: a request is over, and its holds are gone.

        A floor withholds what nobody reads of it, which changes with every request. Forgotten at once, it
        would have to be found out again by letting somebody in who is then preempted, after each request.
        """
        self._withheld -= -(-self._withheld // _DOUBT)

    def forget(self, tokens: int) -> None:
        """Evict some tokens, as if somebody needed their slots."""
        self._evict(tokens, None)

    def evict_all(self) -> int:
        """Forget all prefixes that nobody reads; gives the number of tokens."""
        before = self._allocator.free
        self._evict(self._tree.evictable, None, floors=False)
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

    def _evict(self, count: int, tenant: str | None, *, floors: bool = True) -> None:
        if count > 0:
            freed = self._tree.evict(
                count, self._clock(), tenant=tenant, floors=floors, leaving=self._leaving
            )
            self._allocator.give(freed)
