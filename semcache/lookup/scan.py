"""The searches themselves: pure functions over the parts of an arena.

Knows FAISS, rows and slots; nothing of entries, namespaces or threads. Everything here lets go
of the interpreter lock while FAISS counts.

Above the flat size a scan has two stages: FAISS ranks sign bits by Hamming distance (48 bytes a
vector instead of 1,536), then the best rows are scored in full precision. Signs keep the order
of angles roughly (Charikar 2002, "Similarity estimation techniques from rounding algorithms");
what is lost near the cut is measured in scripts/bench/search.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import faiss
import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector
from semcache.lookup.arena import Codes, Part, sign_code

Slots = NDArray[np.int64]
Cosines = NDArray[np.float32]

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


def coded(
    parts: Sequence[Part], query: Vector, k: int, width: int = WIDTH, most: int = MOST
) -> tuple[Slots, Cosines]:
    """Rank sign bits, rescore the best: (slots, cosines), best first, `width` to `most` of them.

    After `width` rows the k-th best cosine is known, and with it how many bits a row that beats
    it may differ in; whatever lies within that reach is rescored, too.
    """
    slots, distances = _ranked(parts, sign_code(query)[None], max(width, most))
    best, cosines = rescored(parts, query, slots[:width])
    if len(slots) <= width:
        return best, cosines
    reach = _reach(float(cosines[min(k, width) - 1]), query.size)
    within = min(int(np.searchsorted(distances, reach, side="right")), most)
    if within <= width:
        return best, cosines
    more, more_cosines = rescored(parts, query, slots[width:within])
    return _sorted(np.concatenate([best, more]), np.concatenate([cosines, more_cosines]))


def _ranked(parts: Sequence[Part], code: Codes, most: int) -> tuple[Slots, NDArray[np.uint16]]:
    """Give the candidates of all parts, nearest first, and the number of bits they differ in."""
    distances: list[NDArray[np.int32]] = []
    slots: list[Slots] = []
    for part in parts:
        if part.codes is not None:
            distance, labels = faiss.knn_hamming(code, part.codes, min(most, len(part.codes)), variant="mc")
            known = labels[0] >= 0
            distances.append(distance[0][known])
            slots.append(labels[0][known] + part.offset)
    # 16 bits are sorted by counting, in linear time.
    all_distances = np.concatenate(distances).astype(np.uint16)
    order = np.argsort(all_distances, kind="stable")
    return np.concatenate(slots)[order], all_distances[order]


def _reach(cosine: float, bits: int) -> float:
    """Give the bits in which a row at `cosine` will hardly ever differ more.

    Each bit differs with probability angle / pi (Charikar 2002); three standard deviations above
    that.
    """
    share = math.acos(max(-1.0, min(1.0, cosine))) / math.pi
    return bits * share + _DEVIATIONS * math.sqrt(bits * share * (1.0 - share))


def rescored(parts: Sequence[Part], query: Vector, candidates: Slots) -> tuple[Slots, Cosines]:
    """Score `candidates` in full precision: (slots, cosines), best first."""
    slots = np.sort(candidates)
    cosines = np.empty(len(slots), np.float32)
    bounds = np.searchsorted(slots, [part.offset for part in parts])
    for index, part in enumerate(parts):
        start = bounds[index]
        stop = bounds[index + 1] if index + 1 < len(parts) else len(slots)
        if start < stop:
            cosines[start:stop] = part.rows[slots[start:stop] - part.offset] @ query
    return _sorted(slots, cosines)


def _sorted(slots: Slots, cosines: Cosines) -> tuple[Slots, Cosines]:
    order = np.argsort(-cosines, kind="stable")
    return slots[order], cosines[order]
