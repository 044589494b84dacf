"""Finding: from tokens to the longest path of nodes that holds their prefix.

Reads only. Descends by first tokens alone and compares all tokens at the end in one go, which
is one comparison of memory instead of one for each node.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.engine.prefix.spans import TOKEN_BYTES, Span
from semcache.engine.prefix.store import ROOT, NodeStore
from semcache.engine.prefix.structure import OWNER_SHIFT, PARENT_BITS, Structure


def longest(structure: Structure, tokens: bytes, spans: Sequence[Span]) -> tuple[list[int], int]:
    """Give the nodes of the longest known prefix, head first, and its length in tokens.

    A token counts only if its owner agrees, too. The last node may reach further than the length.
    """
    path, length = _descend(structure, tokens, spans)
    store = structure.store
    same = _agreeing(store, path, tokens, length)
    while path and store.end[store.parent[path[-1]]] >= same:
        path.pop()
    return path, same


def _descend(structure: Structure, tokens: bytes, spans: Sequence[Span]) -> tuple[list[int], int]:
    """Follow edges as far as there are any; whether the tokens between them agree is not yet known."""
    ids = memoryview(tokens).cast("I")
    edge, lengths = structure.edges.get, structure.store.length
    owners, only, codes = structure.store.owner, structure.store.only, structure.store.codes
    path: list[int] = []
    node: int | None = ROOT
    at = 0
    for stop, owner in spans:
        code = codes.get(owner)
        if code is None or node is None:
            break
        turn = 0 if owners[node] == code else (code + 1) << OWNER_SHIFT
        while at < stop:
            if turn:
                node = edge(ids[at] << PARENT_BITS | node | turn)
                turn = 0
            else:
                # An only child is taken untried: where it does not agree, the match ends anyway.
                node = only[node] or edge(ids[at] << PARENT_BITS | node)
            if node is None:
                return path, at
            path.append(node)
            at += lengths[node]
        if at > stop:
            # The node goes on under one owner, the prompt under another.
            return path, stop
    return path, at


def _agreeing(store: NodeStore, path: Sequence[int], tokens: bytes, length: int) -> int:
    """Count the tokens, at most `length`, in which a path and `tokens` agree."""
    held = b"".join(map(store.texts.__getitem__, path))
    if tokens.startswith(held if len(held) == length * TOKEN_BYTES else held[: length * TOKEN_BYTES]):
        return length
    low, high = 0, length - 1
    while low < high:
        middle = (low + high + 1) // 2
        if held.startswith(tokens[: middle * TOKEN_BYTES]):
            low = middle
        else:
            high = middle - 1
    return low
