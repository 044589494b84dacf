"""How a route shares its calls out: the pure rules of `balance`, and what is known of the traffic.

Belongs to one event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.routing.affinity import head_of
from semcache.routing.balance import Balance, Node, ranks
from semcache.routing.widths import Widths


@dataclass(frozen=True, slots=True)
class Sharing:
    """Says who takes a call.

    Args:
        balance: when a node is full.
        near: to how many nodes the conversations of one head keep: to so many, to as many as its share of the
            traffic is worth, or (None) to all.
    """

    balance: Balance
    near: int | Widths | None = None

    def note(self, affinity: bytes) -> None:
        """Take notice of a call; once, before it is shared out."""
        if isinstance(self.near, Widths):
            self.near.note(head_of(affinity))

    def order(self, affinity: bytes, nodes: Sequence[Node]) -> list[str]:
        """Give the names of the nodes in the order in which they are to be asked."""
        return self.balance.order(affinity, nodes, self._near(affinity))

    def home(self, affinity: bytes, nodes: Sequence[Node]) -> str:
        """Give the node that takes such a call while none is full; "": there are no nodes."""
        return next(iter(ranks(affinity, nodes, self._near(affinity))), "")

    def _near(self, affinity: bytes) -> int | None:
        return self.near.width(head_of(affinity)) if isinstance(self.near, Widths) else self.near
