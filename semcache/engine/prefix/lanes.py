"""Priority queues of nodes by lane and tenant: the least of all, of one tenant, or of those who may give.

Heaps with lazy deletion: what is taken out stays in its heap until it comes up or the dead are
more than the living. One heap a tenant, and one of the tenants by their least: 10,000 tenants
cost no more than their logarithm. Knows nothing of what a lane or a key means.

Where a node stands is kept here alone, from `add` to `drop`: its heap and its entry, whatever becomes
of the columns that they were made from. The entry of a node that left a heap is dead for good, even
if the same number comes back under the same key in another heap.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from semcache.engine.prefix.faults import IntegrityError

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
    """One tenant's heap in a lane. `listed` is the key under which the tenant is found among all, if it is.

    A pile without living nodes is thrown away with its dead entries; only then another gets its `number`.
    """

    __slots__ = ("heap", "lane", "listed", "living", "number", "tenant")

    def __init__(self, number: int, lane: int, tenant: str) -> None:
        self.number = number
        self.lane = lane
        self.tenant = tenant
        self.heap: list[int] = []
        self.living = 0
        self.listed: int | None = None


class _Lane:
    """All tenants' piles, and a heap of (key, tenant) that finds the least of them."""

    __slots__ = ("piles", "tops")

    def __init__(self) -> None:
        self.piles: dict[str, _Pile] = {}
        self.tops: list[tuple[int, str]] = []


class Lanes:
    """Nodes with int keys (least first, then by number), each of one tenant and in one of `count` lanes.

    Two columns by node number say where a node stands: `_at`, the number of its pile (0: in none),
    and `_entries`. 12 bytes a node.
    """

    def __init__(self, count: int) -> None:
        self._lanes = [_Lane() for _ in range(count)]
        self._piles: list[_Pile | None] = [None]
        self._spare: list[int] = []
        self._at = array("I")
        self._entries: list[int] = []
        self._queued = 0

    def add(self, node: int, lane: int, key: int, tenant: str) -> None:
        """Put a node in. O(log n).

        Raises:
            IntegrityError: it stands in a lane already.
        """
        if node >= len(self._at):
            self._widen(node + 1 - len(self._at))
        elif self._at[node]:
            message = f"node {node} is queued already"
            raise IntegrityError(message)
        piles = self._lanes[lane].piles
        pile = piles.get(tenant)
        if pile is None:
            pile = piles[tenant] = self._new_pile(lane, tenant)
        entry = key << NODE_BITS | node
        heappush(pile.heap, entry)
        pile.living += 1
        self._at[node] = pile.number
        self._entries[node] = entry
        self._queued += 1
        if pile.listed is None and pile.living > 1:
            # It was set aside, and is found under its least node, which need not be this one.
            self._list(pile, self._settle(pile) >> NODE_BITS)
        elif pile.listed is None or key < pile.listed:
            self._list(pile, key)

    def drop(self, node: int) -> int:
        """Take a node out, and give the lane that it stood in. O(1), amortised.

        Raises:
            IntegrityError: it stands in none.
        """
        pile = self._piles[self._at[node]] if node < len(self._at) else None
        if pile is None:
            message = f"node {node} is not queued"
            raise IntegrityError(message)
        self._at[node] = 0
        self._entries[node] = 0
        self._queued -= 1
        pile.living -= 1
        if not pile.living:
            del self._lanes[pile.lane].piles[pile.tenant]
            self._piles[pile.number] = None
            self._spare.append(pile.number)
        elif len(pile.heap) > 2 * pile.living + _SLACK:
            self._compact(pile)
        return pile.lane

    def has(self, node: int) -> bool:
        """Tell whether a node stands in any lane."""
        return node < len(self._at) and self._at[node] > 0

    def least_of(self, lane: int, tenant: str) -> Head | None:
        """Find the least node of a tenant in a lane."""
        pile = self._lanes[lane].piles.get(tenant)
        if pile is None:
            return None
        entry = self._settle(pile)
        return Head(entry >> NODE_BITS, entry & _NODE, tenant)

    def least(self, lane: int, may_give: Callable[[str], bool]) -> Head | None:
        """Find the least node in a lane of all tenants but those that may not give.

        Those are set aside until `relist` names them: asked again, they would cost again.
        """
        tops, piles = self._lanes[lane].tops, self._lanes[lane].piles
        while tops:
            key, tenant = tops[0]
            pile = piles.get(tenant)
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
        """Let a tenant that was set aside be found again, in every lane."""
        for lane in self._lanes:
            pile = lane.piles.get(tenant)
            if pile is not None and pile.listed is None:
                self._list(pile, self._settle(pile) >> NODE_BITS)

    def clear(self) -> None:
        """Forget everything."""
        self._lanes = [_Lane() for _ in self._lanes]
        self._piles = [None]
        self._spare.clear()
        self._at = array("I")
        self._entries.clear()
        self._queued = 0

    def __len__(self) -> int:
        """Count the nodes."""
        return self._queued

    def standing(self) -> Iterator[tuple[int, int, int, str]]:
        """List all nodes, each with its lane, its key and its tenant. Walks all rows."""
        for node, number in enumerate(self._at):
            pile = self._piles[number]
            if pile is not None:
                yield node, pile.lane, self._entries[node] >> NODE_BITS, pile.tenant

    @property
    def entries(self) -> int:
        """Count the entries that take memory, living or dead."""
        return sum(
            len(lane.tops) + sum(len(pile.heap) for pile in lane.piles.values()) for lane in self._lanes
        )

    def check_integrity(self) -> None:
        """Count again: every node is to be found in one heap, and nobody else is counted there. Slow.

        Raises:
            IntegrityError: something does not add up.
        """
        living = Counter(number for number in self._at if number)
        piles = [pile for lane in self._lanes for pile in lane.piles.values()]
        sound = (
            living.total() == self._queued
            and {pile.number: pile.living for pile in piles} == living
            and len(living) == len(piles) == len(self._piles) - 1 - len(self._spare)
            and all(self._is_sound(pile) for pile in piles)
        )
        if not sound:
            raise IntegrityError("the lanes of the eviction queue do not add up")

    def _is_sound(self, pile: _Pile) -> bool:
        current = self._current(pile)
        nodes = {entry & _NODE for entry in current}
        lane = self._lanes[pile.lane]
        return (
            self._piles[pile.number] is lane.piles.get(pile.tenant) is pile
            and len(current) == len(nodes) == pile.living
            and (
                pile.listed is None
                or (pile.listed <= min(current) >> NODE_BITS and (pile.listed, pile.tenant) in lane.tops)
            )
        )

    def _widen(self, missing: int) -> None:
        """Add rows, at least so many."""
        more = missing + len(self._at) // 16
        self._at.frombytes(bytes(more * self._at.itemsize))
        self._entries.extend([0] * more)

    def _new_pile(self, lane: int, tenant: str) -> _Pile:
        if not self._spare:
            self._spare.append(len(self._piles))
            self._piles.append(None)
        number = self._spare.pop()
        pile = self._piles[number] = _Pile(number, lane, tenant)
        return pile

    def _list(self, pile: _Pile, key: int) -> None:
        lane = self._lanes[pile.lane]
        pile.listed = key
        heappush(lane.tops, (key, pile.tenant))
        if len(lane.tops) > 2 * len(lane.piles) + _SLACK:
            piles = lane.piles.items()
            lane.tops[:] = [(pile.listed, name) for name, pile in piles if pile.listed is not None]
            heapify(lane.tops)

    def _settle(self, pile: _Pile) -> int:
        """Take dead entries off the top of a heap; give the least living one, of which there is one at least."""
        heap, number, at, entries = pile.heap, pile.number, self._at, self._entries
        entry = heap[0]
        while at[entry & _NODE] != number or entries[entry & _NODE] != entry:
            heappop(heap)
            entry = heap[0]
        return entry

    def _compact(self, pile: _Pile) -> None:
        pile.heap = [*self._current(pile)]
        heapify(pile.heap)

    def _current(self, pile: _Pile) -> set[int]:
        # A set: a node that left and came back under its old key is in the heap twice.
        number, at, entries = pile.number, self._at, self._entries
        return {
            entry for entry in pile.heap if at[entry & _NODE] == number and entries[entry & _NODE] == entry
        }
