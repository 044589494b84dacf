"""Which node takes a call: its home, while that is not much busier than the others. Pure.

Consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, arXiv 1608.01350) over rendezvous ranks:
a key that finds its node full goes to the next in its own order, always the same one, so that what is computed there
is found there. The load is that of one process; if each keeps its own calls within the bound, the sum is within it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from semcache.routing.affinity import head_of
from semcache.routing.rendezvous import ranked


@dataclass(frozen=True, slots=True)
class Node:
    """A node: `active` calls are under way on it; on one without room one more would wait; one that is away refuses."""

    name: str
    weight: float
    active: int
    has_room: bool = True
    is_away: bool = False


@dataclass(frozen=True, slots=True)
class Balance:
    """How calls are shared out.

    A node is full with `floor` calls and more than `load_factor` times its share by weight, or when it has no room.
    """

    load_factor: float = 1.25
    floor: int = 4

    def order(self, affinity: bytes, nodes: Sequence[Node], near: int | None = None) -> list[str]:
        """Give the names of the nodes that can be asked, in the order in which they are to be.

        Args:
            affinity: see `affinity.affinity_of`; must not be empty.
            nodes: all, those that are away too: it does not change whose home is where.
            near: to how many nodes the conversations of one head keep while these are not full; None: to all.
        """
        present = {node.name for node in nodes if not node.is_away}
        rank = [name for name in ranks(affinity, nodes, near) if name in present]
        bound = self.bounds([node for node in nodes if not node.is_away])
        active = {node.name: node.active for node in nodes}
        crowded = {node.name for node in nodes if not node.has_room}
        roomy = [name for name in rank if active[name] < bound[name] and name not in crowded]
        full = [name for name in rank if name not in roomy]
        # The drained stand last whatever the others do.
        full.sort(key=lambda name: active[name] / bound[name] if bound[name] else math.inf)
        return roomy + full

    def bounds(self, nodes: Sequence[Node]) -> dict[str, int]:
        """Give how many calls each of the nodes that can be asked may have under way, the one at hand included."""
        total = sum(node.active for node in nodes if node.weight) + 1
        weights = sum(node.weight for node in nodes)
        return {
            node.name: max(self.floor, math.ceil(self.load_factor * total * node.weight / weights))
            if node.weight
            else 0
            for node in nodes
        }


def ranks(affinity: bytes, nodes: Sequence[Node], near: int | None = None) -> list[str]:
    """Give the names of the nodes in the order of a call that finds none of them full; its home stands first."""
    weights = {node.name: node.weight for node in nodes}
    rank = ranked(affinity, weights)
    if near is None or near >= len(nodes):
        return rank
    head = head_of(affinity)
    by_head = ranked(head, weights)
    close = set(by_head[:near])
    return [name for name in rank if name in close] + by_head[near:]
