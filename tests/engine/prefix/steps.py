"""The steps that tests of the tree are made of."""

from __future__ import annotations

from semcache.engine.layers import Layers
from semcache.engine.prefix.handles import Handle
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.runs import Run


def lock(
    index: PrefixTree, text: bytes, layers: Layers = (), now: float = 1.0, *, counts: bool = True
) -> Handle:
    match = index.match(text, layers)
    return index.lock(match, match.length, now, counts=counts)


def put(index: PrefixTree, text: bytes, *runs: Run, layers: Layers = (), now: float = 1.0) -> None:
    """Insert what is missing of a prompt and let go of it."""
    handle = lock(index, text, layers, now, counts=False)
    index.unlock(index.insert(handle, text, layers, runs, now).handle)
    index.check_integrity()


def slots(runs: tuple[Run, ...]) -> list[int]:
    return [slot for run in runs for slot in range(run.start, run.end)]


def reach(index: PrefixTree, text: bytes, layers: Layers = ()) -> int:
    return index.match(text, layers).length
