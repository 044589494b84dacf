"""From what was found to what is wanted: cutting a path to length, and hanging new runs behind it."""

from __future__ import annotations

from collections.abc import Sequence

from semcache.engine.prefix.spans import TOKEN_BYTES, Span, clipped
from semcache.engine.prefix.store import ROOT, NodeStore
from semcache.engine.prefix.structure import Structure
from semcache.engine.runs import Run, cut


def ending_at(structure: Structure, path: list[int], length: int) -> list[int]:
    """Shorten a path (head first) to the nodes of its first `length` tokens, splitting the last if need be."""
    end, parent = structure.store.end, structure.store.parent
    while path and end[parent[path[-1]]] >= length:
        path = path[:-1]
    if path and end[path[-1]] > length:
        path = [*path[:-1], structure.split(path[-1], length)]
    return path


def grow(
    structure: Structure,
    path: list[int],
    tokens: bytes,
    spans: Sequence[Span],
    runs: tuple[Run, ...],
    now: float,
) -> None:
    """Hang `runs` behind a pinned path, cut where the owner changes; the path grows with them.

    They hold the KV of `tokens` from the end of the path on. New nodes are pinned once.
    """
    store = structure.store
    first = at = store.end[path[-1]] if path else 0
    for stop, owner in spans:
        # Spans before the path's end give no run: `cut` of an empty range is empty.
        for run in cut(runs, at - first, stop - first):
            behind = at + run.length
            text = tokens[at * TOKEN_BYTES : behind * TOKEN_BYTES]
            digest = structure.digester.of(tokens[: behind * TOKEN_BYTES], clipped(spans, behind))
            last = path[-1] if path else ROOT
            if last and store.owner_of(last) == owner and _may_lengthen(store, last, run):
                structure.lengthen(last, run, text, digest, now)
            else:
                path.append(structure.chain(last, owner, run, text, digest, now))
            at = behind


def _may_lengthen(store: NodeStore, node: int, run: Run) -> bool:
    """True if only the present caller ever used a node and the run lies right behind it."""
    return (
        store.start[node] + store.length[node] == run.start
        and store.pins[node] == 1
        and not store.below[node]
        and not store.hits[node]
    )
