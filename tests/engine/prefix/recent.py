"""The plainest order of eviction and the plainest decay, for tests of the tree alone."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from heapq import heappop, heappush

from semcache.engine.layers import Owner
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.prefix.victims import Nodes, Victim


class LeastRecent:
    """Least recently used first; tails first among equals."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._heap: list[tuple[float, int, int, int]] = []
        self._tickets: dict[int, int] = {}
        self._next = 0

    def add(self, node: int) -> None:
        assert node not in self._tickets, "queued twice"
        self._next += 1
        self._tickets[node] = self._next
        heappush(self._heap, (self._nodes.touched[node], -self._nodes.end[node], self._next, node))

    def remove(self, node: int) -> None:
        del self._tickets[node]

    def pop(self, now: float, tenant: str | None = None, *, floors: bool = True) -> Victim | None:
        kept = []
        found = None
        while self._heap and found is None:
            entry = heappop(self._heap)
            _, _, ticket, node = entry
            if self._tickets.get(node) != ticket:
                continue
            if tenant is not None and self._nodes.owner_of(node).tenant != tenant:
                kept.append(entry)
                continue
            found = node
        for entry in kept:
            heappush(self._heap, entry)
        if found is None:
            return None
        del self._tickets[found]
        return Victim(found, "recency")

    def clear(self) -> None:
        self._heap.clear()
        self._tickets.clear()

    def __len__(self) -> int:
        return len(self._tickets)

    def queued(self) -> Iterable[int]:
        return self._tickets

    def check_integrity(self) -> None:
        waiting = {ticket for _, _, ticket, _ in self._heap}
        assert set(self._tickets.values()) <= waiting


class HalfLife:
    """A sum of hits that halves every `seconds`, counted from the time 0."""

    initial = 0.0

    def __init__(self, seconds: float = 3600.0) -> None:
        self._seconds = seconds

    def count(self, weight: MutableSequence[float], path: Sequence[int], now: float) -> None:
        more = 2 ** (now / self._seconds)
        for node in path:
            weight[node] += more

    def value(self, stored: float, now: float) -> float:
        return stored / 2 ** (now / self._seconds)


def tokens(ids: Iterable[int]) -> bytes:
    return b"".join(token.to_bytes(4, "little", signed=True) for token in ids)


def tenant(name: str, salt: bytes = b"s") -> Owner:
    return Owner(name, salt)


def tree(capacity: int = 10_000, **options: object) -> PrefixTree:
    return PrefixTree(capacity, LeastRecent, HalfLife(), **options)
