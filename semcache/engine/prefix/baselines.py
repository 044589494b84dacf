"""Plain orders of eviction, to compare with: least recently used first, least frequently used first.

The same seam as the hybrid order (`victims.Queue`) without floors, warm-up or memory of what left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from semcache.engine.prefix.lanes import Lanes
from semcache.engine.prefix.victims import Nodes, Victim


class _PlainOrder(ABC):
    """One lane of unpinned leaves under a key that says how soon they go."""

    reason = ""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._lanes = Lanes(1)

    @abstractmethod
    def key(self, node: int) -> int:
        """Give a node's key, 0 or more: the least goes first."""

    def add(self, node: int) -> None:
        """Take in a node that became an unpinned leaf."""
        self._lanes.add(node, 0, self.key(node), self._nodes.owner_of(node).tenant)

    def remove(self, node: int) -> None:
        """Let go of a queued node."""
        self._lanes.drop(node)

    def pop(
        self,
        now: float,  # noqa: ARG002 (the seam's)
        tenant: str | None = None,
        *,
        floors: bool = True,  # noqa: ARG002 (the seam's)
    ) -> Victim | None:
        """Take out the next victim, of one tenant if named."""
        head = self._lanes.least(0, lambda _: True) if tenant is None else self._lanes.least_of(0, tenant)
        if head is None:
            return None
        self._lanes.drop(head.node)
        return Victim(head.node, self.reason)

    def clear(self) -> None:
        """Forget everything."""
        self._lanes.clear()

    def __len__(self) -> int:
        """Count the queued nodes."""
        return len(self._lanes)

    def queued(self) -> Iterable[int]:
        """List the queued nodes."""
        return [node for node, *_ in self._lanes.standing()]

    def check_integrity(self) -> None:
        """Count again.

        Raises:
            IntegrityError: something does not add up.
        """
        self._lanes.check_integrity()


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
