"""The searches themselves: pure functions over the parts of an arena.

Knows FAISS, rows and slots; nothing of entries, namespaces or threads. Everything here lets go
of the interpreter lock while FAISS counts.

Above the flat size a scan has two stages: FAISS ranks sign bits by Hamming distance (48 bytes a
vector instead of 1,536), then the best `width` rows are scored in full precision. Random
hyperplane signs keep the order of angles (Charikar 2002, "Similarity estimation techniques from
rounding algorithms"); what they lose near the cut is measured in scripts/bench/search.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import faiss
import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector
from semcache.lookup.arena import Part, sign_code

Slots = NDArray[np.int64]
Cosines = NDArray[np.float32]

WIDTH = 128
"""Rows rescored: 14 us for 128; 32 lose up to 0.6 % of the nearest where near-duplicates abound."""

_COUNTING_ROWS = 8192
"""Below this FAISS's counting variant is faster than its heap (4 against 12 us of set-up)."""


def flat(part: Part, query: Vector, k: int) -> tuple[Slots, Cosines]:
    """Score every row: (slots int64 [k], cosines float32 [k]), best first; k <= rows."""
    cosines, labels = faiss.knn(query[None], part.rows, k, metric=faiss.METRIC_INNER_PRODUCT)
    return labels[0] + part.offset, cosines[0]


def coded(parts: Sequence[Part], query: Vector, width: int) -> tuple[Slots, Cosines]:
    """Rank sign bits, rescore the best `width`: (slots, cosines), best first, at most `width`."""
    code = sign_code(query)[None]
    distances: list[NDArray[np.int32]] = []
    slots: list[Slots] = []
    for part in parts:
        if part.codes is None:
            continue
        count = min(width, len(part.codes))
        variant = "mc" if len(part.codes) < _COUNTING_ROWS else "hc"
        distance, labels = faiss.knn_hamming(code, part.codes, count, variant=variant)
        known = labels[0] >= 0
        distances.append(distance[0][known])
        slots.append(labels[0][known] + part.offset)
    if not slots:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    candidates = np.concatenate(slots)
    if len(candidates) > width:
        candidates = candidates[np.argpartition(np.concatenate(distances), width - 1)[:width]]
    return rescored(parts, query, candidates)


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
    order = np.argsort(-cosines, kind="stable")
    return slots[order], cosines[order]
