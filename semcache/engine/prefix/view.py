"""The tree as people and the warm-up see it: which prefixes are worth most. No tokens, no slots.

Reads only. Each view is one pass over all rows (up to a microsecond a row), so it is for pages
and for keeping statistics, not for every request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from heapq import nlargest

from semcache.engine.layers import Owner
from semcache.engine.prefix.handles import Valuable
from semcache.engine.prefix.store import ROOT, NodeStore
from semcache.engine.prefix.structure import Structure
from semcache.engine.prefix.victims import Decay
from semcache.engine.report import TreeNode


def top(structure: Structure, decay: Decay, n: int, now: float) -> tuple[Valuable, ...]:
    """Give the `n` prefixes of highest frequency x length, best first.

    Left out are those never reused, those of a model that is gone, and those that are always
    continued: if a longer prefix is as frequent, who has it has the shorter one, too.
    """
    store = structure.store
    worth = {
        node: decay.value(store.weight[node], now) * store.end[node]
        for node, hits in enumerate(store.hits)
        if hits and node not in structure.forgotten
    }
    always_continued = {
        store.parent[node] for node in worth if store.weight[node] >= store.weight[store.parent[node]]
    }
    best = nlargest(n, (node for node in worth if node not in always_continued), key=worth.__getitem__)
    return tuple(
        Valuable(
            structure.table.digest(node),
            store.end[node],
            decay.value(store.weight[node], now),
            store.owner_of(node),
        )
        for node in best
    )


def snapshot(
    structure: Structure, decay: Decay, now: float, limit: int, min_tokens: int
) -> tuple[TreeNode, ...]:
    """Show at most `limit` nodes: the most valuable ones with all above them, depth first."""
    store = structure.store
    worth: dict[int, tuple[float, float]] = {
        node: (decay.value(store.weight[node], now) * store.end[node], store.touched[node])
        for node, length in enumerate(store.length)
        if length >= max(1, min_tokens) and node not in structure.forgotten
    }
    best = nlargest(limit, worth, key=worth.__getitem__)
    children: dict[int, list[int]] = {}
    for node in _with_ancestors(store, best, limit):
        children.setdefault(store.parent[node], []).append(node)
    return tuple(_shown(structure, decay, now, node, depth) for node, depth in _depth_first(children))


def short_name(owner: Owner) -> str:
    """Give what an owner is called on pages: "public", or a digest of the tenant's name."""
    return "public" if owner.is_public else sha256(owner.tenant.encode()).hexdigest()[:8]


def _with_ancestors(store: NodeStore, best: Iterable[int], limit: int) -> list[int]:
    """Give nodes in order of value, each with what is above it, as long as they fit."""
    kept: dict[int, None] = {}
    for node in best:
        line: list[int] = []
        at = node
        while at != ROOT and at not in kept:
            line.append(at)
            at = store.parent[at]
        if len(kept) + len(line) <= limit:
            kept.update(dict.fromkeys(line))
    return list(kept)


def _depth_first(children: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    """Walk down from the root; siblings in the order in which they were found worth showing."""
    open_nodes = [(node, 0) for node in reversed(children.get(ROOT, []))]
    while open_nodes:
        node, depth = open_nodes.pop()
        yield node, depth
        open_nodes += [(child, depth + 1) for child in reversed(children.get(node, []))]


def _shown(structure: Structure, decay: Decay, now: float, node: int, depth: int) -> TreeNode:
    store = structure.store
    return TreeNode(
        depth=depth,
        start=store.end[node] - store.length[node],
        tokens=store.length[node],
        owner=short_name(store.owner_of(node)),
        hits=store.hits[node],
        frequency=decay.value(store.weight[node], now),
        users=store.pins[node],
        idle_seconds=max(0.0, now - store.touched[node]),
        age_seconds=max(0.0, now - store.created[node]),
        digest=structure.table.digest(node).hex(),
    )
