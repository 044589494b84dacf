"""The searches themselves: pure functions over the parts of an arena.

Knows FAISS, rows and slots; nothing of entries, namespaces or threads.

Above the flat size a scan has two stages: FAISS ranks sign bits by Hamming distance (64 bytes a
vector instead of 1,536; see `signs`), then the best rows are scored in full precision. Signs keep the order
of angles roughly (Charikar 2002, "Similarity estimation techniques from rounding algorithms");
what is lost near the cut is measured in scripts/bench/search.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import faiss
import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector
from semcache.lookup.arena import Part
from semcache.lookup.signs import Signs

Slots = NDArray[np.int64]
Cosines = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates: slots int64 [n], best first or not.

    `distances`, int32 [n], are the bits each differs in, and `signs` whose bits; None where it
    was not signs that proposed.
    """

    slots: Slots
    distances: NDArray[np.int32] | None = None
    signs: Signs | None = None


WIDTH = 128
"""Rows rescored at least: 14 us. Enough for whatever is near (cosine 0.8 and up); see `MOST`."""

MOST = 2048
"""Rows rescored at most, when signs cannot tell the best from the rest (dense clusters, far
questions). FAISS's counting search finds as many nearly as fast as 128."""


def flat(part: Part, query: Vector, k: int) -> tuple[Slots, Cosines]:
    """Score every row: (slots int64 [k], cosines float32 [k]), best first; k <= rows."""
    cosines, labels = faiss.knn(query[None], part.rows, k, metric=faiss.METRIC_INNER_PRODUCT)
    return labels[0] + part.offset, cosines[0]


def ranked(signs: Signs, query: Vector, most: int) -> Ranked:
    """Rank sign bits: the `most` candidates. One call, so that a thread gives the lock up once."""
    code, count = signs.code(query)[None], min(most, len(signs.codes))
    distances, labels = faiss.knn_hamming(code, signs.codes, count, variant="mc")
    known = labels[0] >= 0
    return Ranked(labels[0][known], distances[0][known], signs)


def ranked_by_two(signs: Signs, query: Vector, most: int, helper: Executor) -> Ranked:
    """Give what `ranked` does; `helper` does the second half meanwhile."""
    half = len(signs.codes) // 2
    other = helper.submit(ranked, Signs(signs.codes[half:], signs.centre), query, most)
    try:
        one = ranked(signs.first(half), query, most)
    finally:
        # Whatever happens, nobody reads these codes any more afterwards.
        two = other.result()
    if one.distances is None or two.distances is None:
        raise TypeError("signs that were ranked have distances")
    slots = np.concatenate([one.slots, two.slots + half])
    distances = np.concatenate([one.distances, two.distances])
    # All of the best may lie in one half.
    best = np.argsort(distances.astype(np.uint16), kind="stable")[:most]
    return Ranked(slots[best], distances[best], signs)


def rescored(
    parts: Sequence[Part], query: Vector, candidates: Ranked, k: int, width: int = WIDTH
) -> tuple[Slots, Cosines]:
    """Rescore the best candidates in full precision: (slots, cosines), best first.

    After `width` rows the k best so far are known, and with them how many bits a row that beats
    them may differ in; whatever lies within that reach is rescored, too. Candidates without
    distances are rescored all.
    """
    slots, distances, signs = candidates.slots, candidates.distances, candidates.signs
    if distances is None or signs is None or len(slots) <= width:
        return _sorted(*_scored(parts, query, slots))
    # 16 bits are sorted by counting, in linear time.
    order = np.argsort(distances.astype(np.uint16), kind="stable")
    best, cosines = _sorted(*_scored(parts, query, slots[order[:width]]))
    reach = signs.reach(query, gathered(parts, np.sort(best[:k])))
    within = int(np.searchsorted(distances[order], reach, side="right"))
    if within <= width:
        return best, cosines
    more, more_cosines = _scored(parts, query, slots[order[width:within]])
    return _sorted(np.concatenate([best, more]), np.concatenate([cosines, more_cosines]))


def gathered(parts: Sequence[Part], slots: Slots) -> NDArray[np.float32]:
    """Give copies of the rows in `slots` (ascending), float32 [n, d]."""
    bounds = [*np.searchsorted(slots, [part.offset for part in parts]).tolist(), len(slots)]
    return np.concatenate(
        [
            part.rows[slots[start:stop] - part.offset]
            for part, start, stop in zip(parts, bounds, bounds[1:], strict=False)
        ]
    )


def _scored(parts: Sequence[Part], query: Vector, candidates: Slots) -> tuple[Slots, Cosines]:
    slots = np.sort(candidates)
    cosines: Cosines = gathered(parts, slots) @ query
    return slots, cosines


def _sorted(slots: Slots, cosines: Cosines) -> tuple[Slots, Cosines]:
    order = np.argsort(-cosines, kind="stable")
    return slots[order], cosines[order]
