"""The searches themselves: pure functions over the parts of an arena.

Knows FAISS, rows and slots; nothing of entries, namespaces or threads.

Above the flat size a scan has two stages: FAISS ranks sign bits by Hamming distance (48 bytes a
vector instead of 1,536), then the best rows are scored in full precision. Signs keep the order
of angles roughly (Charikar 2002, "Similarity estimation techniques from rounding algorithms");
what is lost near the cut is measured in scripts/bench/search.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import faiss
import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector
from semcache.lookup.arena import Codes, Part, sign_code

Slots = NDArray[np.int64]
Cosines = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates: slots int64 [n], and the bits each differs in, int32 [n], where that is known."""

    slots: Slots
    distances: NDArray[np.int32] | None = None


WIDTH = 128
"""Rows rescored at least: 14 us. Enough for whatever is near (cosine 0.8 and up); see `MOST`."""

MOST = 1024
"""Rows rescored at most, when signs cannot tell the best from the rest (dense clusters, far
questions). FAISS's counting search finds 1,024 candidates nearly as fast as 128."""

_DEVIATIONS = 3.0


def flat(part: Part, query: Vector, k: int) -> tuple[Slots, Cosines]:
    """Score every row: (slots int64 [k], cosines float32 [k]), best first; k <= rows."""
    cosines, labels = faiss.knn(query[None], part.rows, k, metric=faiss.METRIC_INNER_PRODUCT)
    return labels[0] + part.offset, cosines[0]


def ranked(codes: Codes, query: Vector, most: int) -> Ranked:
    """Rank sign bits: the `most` candidates. One call, so that a thread gives the lock up once."""
    distances, labels = faiss.knn_hamming(sign_code(query)[None], codes, min(most, len(codes)), variant="mc")
    known = labels[0] >= 0
    return Ranked(labels[0][known], distances[0][known])


def rescored(
    parts: Sequence[Part], query: Vector, candidates: Ranked, k: int, width: int = WIDTH
) -> tuple[Slots, Cosines]:
    """Rescore the best candidates in full precision: (slots, cosines), best first.

    After `width` rows the k-th best cosine is known, and with it how many bits a row that beats
    it may differ in; whatever lies within that reach is rescored, too. Candidates without
    distances are rescored all.
    """
    slots, distances = candidates.slots, candidates.distances
    if distances is None or len(slots) <= width:
        return _sorted(*_scored(parts, query, slots))
    # 16 bits are sorted by counting, in linear time.
    order = np.argsort(distances.astype(np.uint16), kind="stable")
    best, cosines = _scored(parts, query, slots[order[:width]])
    bar = float(np.partition(cosines, -min(k, width))[-min(k, width)])
    within = int(np.searchsorted(distances[order], _reach(bar, query.size), side="right"))
    if within > width:
        more, more_cosines = _scored(parts, query, slots[order[width:within]])
        best, cosines = np.concatenate([best, more]), np.concatenate([cosines, more_cosines])
    return _sorted(best, cosines)


def _reach(cosine: float, bits: int) -> float:
    """Give the bits in which a row at `cosine` will hardly ever differ more.

    Each bit differs with probability angle / pi (Charikar 2002); three standard deviations above
    that.
    """
    share = math.acos(max(-1.0, min(1.0, cosine))) / math.pi
    return bits * share + _DEVIATIONS * math.sqrt(bits * share * (1.0 - share))


def _scored(parts: Sequence[Part], query: Vector, candidates: Slots) -> tuple[Slots, Cosines]:
    slots = np.sort(candidates)
    cosines = np.empty(len(slots), np.float32)
    bounds = [*np.searchsorted(slots, [part.offset for part in parts]).tolist(), len(slots)]
    for part, start, stop in zip(parts, bounds, bounds[1:], strict=False):
        if start < stop:
            cosines[start:stop] = part.rows[slots[start:stop] - part.offset] @ query
    return slots, cosines


def _sorted(slots: Slots, cosines: Cosines) -> tuple[Slots, Cosines]:
    order = np.argsort(-cosines, kind="stable")
    return slots[order], cosines[order]
