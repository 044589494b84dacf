"""Recounting the tree: everything that is kept in two places, or kept at all, is counted again.

Reads only, slowly. What it finds wrong it says in numbers, never in tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import pairwise

from semcache.engine.prefix.faults import IntegrityError
from semcache.engine.prefix.handles import Handle
from semcache.engine.prefix.store import ROOT, NodeStore
from semcache.engine.prefix.structure import Structure
from semcache.engine.runs import Run


def check(structure: Structure, handles: Collection[Handle]) -> None:
    """Recount all of it.

    Raises:
        IntegrityError: something does not add up.
    """
    living = structure.store.living()
    _check_rows(structure.store, living)
    _check_slots(structure.store, living)
    _check_links(structure, living)
    _check_pins(structure, living, handles)
    _check_totals(structure, living)
    _check_names(structure, living)
    _check_queue(structure, living)


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise IntegrityError(what)


def _check_rows(store: NodeStore, living: list[int]) -> None:
    spare = store.spare
    _demand(store.nodes == len(living), f"{store.nodes} nodes counted, {len(living)} found")
    _demand(len(set(spare)) == len(spare), "a row is spare twice")
    _demand(not set(spare) & set(living), "a living row is spare")
    _demand(len(spare) + len(living) + 1 == len(store.length), "rows are lost")
    for row in spare:
        blank = not (
            store.only[row] or store.hits[row] or store.pins[row] or store.below[row] or store.weight[row]
        )
        _demand(blank and not store.end[row], f"dead row {row} is not blank")


def _check_slots(store: NodeStore, living: list[int]) -> None:
    runs = sorted(store.run(node) for node in living)
    edges = [Run(0, 0), *runs, Run(store.capacity, 0)]
    for before, behind in pairwise(edges):
        _demand(before.end <= behind.start, f"slot {behind.start} has two owners, or none exists")
        gap = Run(before.end, behind.start - before.end)
        _demand(store.is_vacant(gap), f"a free slot from {gap.start} to {gap.end} has a token")


def _check_links(structure: Structure, living: list[int]) -> None:
    store, forgotten = structure.store, structure.forgotten
    children = Counter(
        store.parent[node] for node in living if not (node in forgotten and store.parent[node] == ROOT)
    )
    for node in (ROOT, *living):
        _demand(store.below[node] == children[node], f"node {node} has {children[node]} children")
    known = [node for node in living if node not in forgotten]
    for node in living:
        parent = store.parent[node]
        _demand(parent == ROOT or store.length[parent] > 0, f"the parent of {node} is dead")
        _demand(store.end[node] == store.end[parent] + store.length[node], f"node {node} ends wrongly")
        _demand(store.created[node] >= store.created[parent], f"node {node} is older than what it needs")
        _demand(parent == ROOT or (parent in forgotten) == (node in forgotten), f"half-forgotten: {node}")
    by_edge = [node for node in known if store.only[store.parent[node]] != node]
    for node in by_edge:
        _demand(structure.edges.get(structure.key(node)) == node, f"no edge leads to {node}")
        _demand(not _hides(store, node), f"{node} is hidden by an only child")
    _demand(len(structure.edges) == len(by_edge), "edges lead nowhere")
    only = {node: store.only[node] for node in (ROOT, *living) if store.only[node]}
    _demand(
        all(store.parent[child] == node and store.length[child] for node, child in only.items()),
        "an only child is none",
    )
    _demand(forgotten <= set(living), "a dead node is still to be forgotten")


def _hides(store: NodeStore, node: int) -> bool:
    """True if the parent says that another node is its only child of this owner."""
    parent = store.parent[node]
    return bool(store.only[parent]) and store.owner[node] == store.owner[parent]


def _check_pins(structure: Structure, living: list[int], handles: Collection[Handle]) -> None:
    store = structure.store
    pins: Counter[int] = Counter()
    for handle in handles:
        slots: list[Run] = []
        node = handle.node
        _demand(store.end[node] == handle.length, f"a handle of {handle.length} tokens moved")
        while node:
            pins[node] += 1
            slots.append(store.run(node))
            node = store.parent[node]
        _demand(_joined(slots[::-1]) == _joined(handle.runs), "the slots of a handle changed")
    for node in living:
        _demand(store.pins[node] == pins[node], f"node {node}: {store.pins[node]} pins, {pins[node]} users")
    pinned = sum(store.length[node] for node in living if pins[node])
    _demand(structure.pinned == pinned, f"{structure.pinned} tokens pinned by count, {pinned} in fact")
    _demand(all(pins[node] for node in structure.forgotten), "a forgotten node without users remains")


def _joined(runs: Collection[Run]) -> list[Run]:
    """Join runs that follow one another directly."""
    joined: list[Run] = []
    for run in runs:
        if joined and joined[-1].end == run.start:
            joined[-1] = Run(joined[-1].start, joined[-1].length + run.length)
        else:
            joined.append(run)
    return joined


def _check_totals(structure: Structure, living: list[int]) -> None:
    store = structure.store
    held: Counter[str] = Counter()
    owners = Counter(store.owner[node] for node in living)
    for node in living:
        held[store.owner_of(node).tenant] += store.length[node]
    _demand(dict(held) == dict(store.held), "the tenants' tokens do not add up")
    _demand(held.total() == store.tokens, f"{store.tokens} tokens counted, {held.total()} found")
    _demand(
        set(store.codes.values()) == set(owners), "an owner is remembered without nodes, or not with them"
    )
    _demand(all(store.owners[code] == owner for owner, code in store.codes.items()), "owners are mixed up")


def _check_names(structure: Structure, living: list[int]) -> None:
    table = structure.table
    known = [node for node in living if node not in structure.forgotten]
    for node in known:
        spans = structure.spans(node)
        digest = structure.digester.of(structure.text(node), spans)
        _demand(table.digest(node) == digest, f"node {node} has another prefix's digest")
        _demand(node in table.find(digest), f"node {node} cannot be found by its digest")
    _demand(len(table) == len(known), "the hash table holds nodes that are not there")


def _check_queue(structure: Structure, living: list[int]) -> None:
    queued = list(structure.queue.queued())
    leaves = {node for node in living if structure.is_leaf(node) and node not in structure.forgotten}
    _demand(len(queued) == len(structure.queue), "the queue miscounts itself")
    _demand(len(set(queued)) == len(queued), "a node is queued twice")
    _demand(set(queued) == leaves, f"{len(queued)} nodes queued, {len(leaves)} unpinned leaves")
    structure.queue.check_integrity()
