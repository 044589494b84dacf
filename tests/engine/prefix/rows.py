"""Rows of nodes without a tree, for tests of the order of eviction alone."""

from __future__ import annotations

from collections import Counter

from semcache.engine.layers import Owner


class Rows:
    """Columns that a test writes as the tree would (`victims.Nodes`); row 0 is the root."""

    def __init__(self) -> None:
        self.end = [0]
        self.length = [0]
        self.parent = [0]
        self.hits = [0]
        self.weight = [0.0]
        self.touched = [0.0]
        self.created = [0.0]
        self.held: Counter[str] = Counter()
        self.tenants = [""]
        self.places = [b""]

    def owner_of(self, node: int) -> Owner:
        return Owner(self.tenants[node], b"")

    def place_of(self, node: int) -> bytes:
        return self.places[node]

    def new(
        self,
        length: int,
        now: float = 0.0,
        *,
        tenant: str = "a",
        parent: int = 0,
        place: bytes | None = None,
    ) -> int:
        node = len(self.end)
        self.end.append(self.end[parent] + length)
        self.length.append(length)
        self.parent.append(parent)
        self.hits.append(0)
        self.weight.append(0.0)
        self.touched.append(now)
        self.created.append(now)
        self.tenants.append(tenant)
        self.places.append(place if place is not None else b"%d" % node)
        self.held[tenant] += length
        return node

    def free(self, node: int) -> None:
        """Count off what was evicted; the row is not given out again."""
        self.held[self.tenants[node]] -= self.length[node]
        if not self.held[self.tenants[node]]:
            del self.held[self.tenants[node]]

    def trim(self, node: int, tokens: int) -> None:
        self.end[node] -= tokens
        self.length[node] -= tokens
        self.held[self.tenants[node]] -= tokens
