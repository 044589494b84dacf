"""A priority queue of nodes by tenant: the least of all, of one tenant, or of those who may give.

Heaps with lazy deletion: what is taken out stays in its heap until it comes up or the dead are
more than the living. One heap a tenant, and one of the tenants by their least: 10,000 tenants
cost no more than their logarithm. Knows nothing of what a key means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

NODE_BITS = 28
"""As many as the number of a node may have; entries are ints, `key << 28 | node`, for their size."""

_NODE = (1 << NODE_BITS) - 1
_SLACK = 16


class Head(NamedTuple):
    """The node of the least key."""

    key: int
    node: int
    tenant: str


class _Pile:
    """One tenant's heap. `listed` is the key under which the tenant is found among all, if it is."""

    __slots__ = ("heap", "listed", "living")

    def __init__(self) -> None:
        self.heap: list[int] = []
        self.living = 0
        self.listed: int | None = None


class Lane:
    """Nodes with int keys (least first, then by number), each of one tenant.

    `is_current(node, key)` says whether a node is still queued in this lane under this key: the
    owner of the lane keeps that, since a column of it is cheaper than a table of tickets here.
    """

    def __init__(self, is_current: Callable[[int, int], bool]) -> None:
        self._is_current = is_current
        self._piles: dict[str, _Pile] = {}
        self._tops: list[tuple[int, str]] = []

    def add(self, node: int, key: int, tenant: str) -> None:
        """Put a node in; `is_current` must hold for it by now. O(log n)."""
        pile = self._piles.get(tenant)
        if pile is None:
            pile = self._piles[tenant] = _Pile()
        heappush(pile.heap, key << NODE_BITS | node)
        pile.living += 1
        if pile.listed is None or key < pile.listed:
            self._list(pile, key, tenant)

    def drop(self, tenant: str) -> None:
        """Count one of a tenant's nodes off; `is_current` must no longer hold for it. O(1), amortised."""
        pile = self._piles[tenant]
        pile.living -= 1
        if not pile.living:
            del self._piles[tenant]
        elif len(pile.heap) > 2 * pile.living + _SLACK:
            self._compact(pile)

    def least_of(self, tenant: str) -> Head | None:
        """Find the least node of a tenant."""
        pile = self._piles.get(tenant)
        if pile is None:
            return None
        entry = self._settle(pile)
        return Head(entry >> NODE_BITS, entry & _NODE, tenant)

    def least(self, may_give: Callable[[str], bool]) -> Head | None:
        """Find the least node of all tenants but those that may not give.

        Those are set aside until `relist` names them: asked again, they would cost again.
        """
        tops = self._tops
        while tops:
            key, tenant = tops[0]
            pile = self._piles.get(tenant)
            if pile is None or pile.listed != key:
                heappop(tops)
                continue
            entry = self._settle(pile)
            actual = entry >> NODE_BITS
            if actual != key:
                pile.listed = actual
                heapreplace(tops, (actual, tenant))
            elif may_give(tenant):
                return Head(key, entry & _NODE, tenant)
            else:
                pile.listed = None
                heappop(tops)
        return None

    def relist(self, tenant: str) -> None:
        """Let a tenant that was set aside be found again."""
        pile = self._piles.get(tenant)
        if pile is not None and pile.listed is None:
            self._list(pile, self._settle(pile) >> NODE_BITS, tenant)

    def clear(self) -> None:
        """Forget everything."""
        self._piles.clear()
        self._tops.clear()

    @property
    def entries(self) -> int:
        """Count the entries that take memory, living or dead."""
        return len(self._tops) + sum(len(pile.heap) for pile in self._piles.values())

    def _list(self, pile: _Pile, key: int, tenant: str) -> None:
        pile.listed = key
        heappush(self._tops, (key, tenant))
        if len(self._tops) > 2 * len(self._piles) + _SLACK:
            piles = self._piles.items()
            self._tops = [(pile.listed, name) for name, pile in piles if pile.listed is not None]
            heapify(self._tops)

    def _settle(self, pile: _Pile) -> int:
        """Take dead entries off the top of a heap that has living ones; give the least of these."""
        heap = pile.heap
        while not self._is_current(heap[0] & _NODE, heap[0] >> NODE_BITS):
            heappop(heap)
        return heap[0]

    def _compact(self, pile: _Pile) -> None:
        pile.heap = [*self._current(pile.heap)]
        heapify(pile.heap)

    def _current(self, entries: Iterable[int]) -> set[int]:
        # A set: a node that left and came back under its old key is in the heap twice.
        return {entry for entry in entries if self._is_current(entry & _NODE, entry >> NODE_BITS)}
