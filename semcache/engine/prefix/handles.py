"""What the tree hands out: frozen records, tuples because millions pass by."""

from __future__ import annotations

from typing import NamedTuple

from semcache.engine.layers import Layers, Owner
from semcache.engine.prefix.spans import Span
from semcache.engine.runs import Run


class Match(NamedTuple):
    """The longest prefix found for some tokens: `length` tokens of it.

    A look, not a hold: nothing keeps it true. `lock` finds out whether the tree has changed since
    (`version`) and looks again if so. `path` lists the nodes, head first; the last may reach
    further than `length`.
    """

    length: int
    path: list[int]
    version: object
    tokens: bytes
    layers: Layers
    spans: tuple[Span, ...]


class Handle(NamedTuple):
    """A pinned prefix: while it is held, its slots stay where they are and what they are.

    `length` tokens in the slots of `runs`, in order, one run for each node. `public_length` of
    them are everybody's. `youngest` is the time in seconds when the youngest of them was computed.
    `digest` names the prefix (16 bytes; empty for no tokens). `serial` and `node` are the tree's.
    """

    serial: int
    node: int
    length: int
    runs: tuple[Run, ...]
    public_length: int
    youngest: float
    digest: bytes


class Inserted(NamedTuple):
    """The handle of the longer prefix, and those of the caller's slots that the tree has no use for."""

    handle: Handle
    duplicates: tuple[Run, ...]


class Leaving(NamedTuple):
    """What is evicted, told while its slots still hold it: KV of `tokens`, which belong to `owner`.

    `before` is the digest of the prefix before them (empty for none), as `Handle.digest` gives it,
    of `start` tokens.
    """

    run: Run
    before: bytes
    start: int
    tokens: bytes
    owner: Owner


class Found(NamedTuple):
    """A prefix in the tree, as one finds it by its digest; not its slots, for nothing holds them."""

    length: int
    owner: Owner
    hits: int
    frequency: float


class Valuable(NamedTuple):
    """A prefix worth computing again; `frequency` is its decayed number of hits."""

    digest: bytes
    length: int
    frequency: float
    owner: Owner


class Counts(NamedTuple):
    """Present sizes of the tree (tokens, unless said otherwise) and counters since it was made.

    `pinned + evictable == tokens`. `forgotten` is the part of `pinned` that only waits for its
    last user after `clear`. `collisions` counts lookups by digest that met another prefix of the
    same digest. `evictions` are pairs of reason and tokens.
    """

    tokens: int
    pinned: int
    evictable: int
    forgotten: int
    nodes: int
    handles: int
    owners: int
    collisions: int
    inserted: int
    duplicates: int
    evictions: tuple[tuple[str, int], ...]
