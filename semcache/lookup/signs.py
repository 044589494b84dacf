"""Sign codes: one bit a number, which side of the partition's own centre it lies on.

About the centre and not about zero, since some encoders put all texts into a narrow cone: of
multilingual-e5-small's 384 signs many are the same for every text, and with them the nearest was
among the best 1,024 for 86 to 99 % of near questions; about the centre for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector

Codes = NDArray[np.uint8]
"""uint8 [n, ceil(d/8)]."""

RECENTRED_ROWS = 32_768
"""Up to here the centre is taken anew whenever the codes grow (5 ms at the last time)."""

_SAMPLE = 1024
_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class Signs:
    """Codes uint8 [n, ceil(d/8)] about `centre` float32 [d]; the arrays are never replaced."""

    codes: Codes
    centre: Vector

    def code(self, vectors: NDArray[np.float32]) -> Codes:
        """Give the codes of float32 [..., d] about this centre."""
        return np.packbits(vectors > self.centre, axis=-1)

    def first(self, count: int) -> Signs:
        """Give a view of the first `count` codes."""
        return Signs(self.codes[:count], self.centre)

    def resized(self, kept: int, capacity: int) -> Signs:
        """Give a copy of the first `kept` codes with room for `capacity`."""
        codes = np.empty((capacity, self.codes.shape[1]), np.uint8)
        codes[:kept] = self.codes[:kept]
        return Signs(codes, self.centre)

    def reach(self, query: Vector, rows: NDArray[np.float32]) -> float:
        """Give the bits in which a row as near as the furthest of `rows` will hardly differ more.

        Each bit differs with probability angle / pi (Charikar 2002), the angle being that at the
        centre; three standard deviations above that.
        """
        here, there = query - self.centre, rows - self.centre
        lengths = np.linalg.norm(there, axis=1) * np.linalg.norm(here)
        cosine = float(np.min(there @ here / np.maximum(lengths, 1e-12)))
        share = math.acos(max(-1.0, min(1.0, cosine))) / math.pi
        return query.size * share + _DEVIATIONS * math.sqrt(query.size * share * (1.0 - share))


def coded(chunks: list[NDArray[np.float32]], rows: int, capacity: int) -> Signs:
    """Give the signs of the first `rows` rows of `chunks`, about their centre, with room for `capacity`."""
    step = max(1, rows // _SAMPLE)
    sample = np.concatenate([chunk[::step] for chunk in _cut(chunks, rows)])
    centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    signs = Signs(np.empty((capacity, (centre.size + 7) // 8), np.uint8), centre)
    start = 0
    for chunk in _cut(chunks, rows):
        for offset in range(0, len(chunk), _SAMPLE):
            some = chunk[offset : offset + _SAMPLE]
            signs.codes[start : start + len(some)] = signs.code(some)
            start += len(some)
    return signs


def _cut(chunks: list[NDArray[np.float32]], rows: int) -> list[NDArray[np.float32]]:
    found: list[NDArray[np.float32]] = []
    for chunk in chunks:
        if rows > 0:
            found.append(chunk[:rows])
            rows -= len(chunk)
    return found
