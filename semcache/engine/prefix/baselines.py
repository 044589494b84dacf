"""Plain orders of eviction, to compare with: least recently used first, least frequently used first.

The same seam as the hybrid order (`victims.Queue`) without floors, warm-up or memory of what left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable

from semcache.engine.prefix.lanes import Lane
from semcache.engine.prefix.victims import Nodes, Victim


class _PlainOrder(ABC):
    """One lane of unpinned leaves under a key that says how soon they go."""

    reason = ""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._keys = array("q")
        self._lane = Lane(lambda node, key: self._keys[node] == key)
        self._queued = 0

    @abstractmethod
    def key(self, node: int) -> int:
        """Give a node's key, 0 or more: the least goes first."""

    def add(self, node: int) -> None:
        """Take in a node that became an unpinned leaf."""
        missing = node + 1 - len(self._keys)
        if missing > 0:
            self._keys.extend([-1] * (missing + len(self._keys) // 16))
        self._keys[node] = key = self.key(node)
        self._queued += 1
        self._lane.add(node, key, self._nodes.owner_of(node).tenant)

    def remove(self, node: int) -> None:
        """Let go of a queued node."""
        self._leave(node, self._nodes.owner_of(node).tenant)

    def pop(self, now: float, tenant: str | None = None) -> Victim | None:  # noqa: ARG002 (the seam's)
        """Take out the next victim, of one tenant if named."""
        head = self._lane.least(lambda _: True) if tenant is None else self._lane.least_of(tenant)
        if head is None:
            return None
        self._leave(head.node, head.tenant)
        return Victim(head.node, self.reason)

    def clear(self) -> None:
        """Forget everything."""
        self._lane.clear()
        self._keys = array("q")
        self._queued = 0

    def __len__(self) -> int:
        """Count the queued nodes."""
        return self._queued

    def queued(self) -> Iterable[int]:
        """List the queued nodes."""
        return [node for node, key in enumerate(self._keys) if key >= 0]

    def _leave(self, node: int, tenant: str) -> None:
        self._keys[node] = -1
        self._queued -= 1
        self._lane.drop(tenant)


class LeastRecent(_PlainOrder):
    """Least recently used first (LRU), to the millisecond."""

    reason = "recency"

    def key(self, node: int) -> int:
        """Give the time of the last use."""
        return max(int(self._nodes.touched[node] * 1000), 0)


class LeastFrequent(_PlainOrder):
    """Fewest hits since it was made first, the least recently used among equals (LFU with LRU ties)."""

    reason = "frequency"

    def key(self, node: int) -> int:
        """Give the hits above the time of the last use."""
        return self._nodes.hits[node] << 44 | max(int(self._nodes.touched[node] * 1000), 0)
