"""Sign codes: one bit a number, which side of the partition's own centre it lies on, and bits more to a good length.

About the centre and not about zero, since some encoders put all texts into a narrow cone: of
multilingual-e5-small's 384 signs many are the same for every text, and with them the nearest was
among the best 1,024 for 86 to 99 % of near questions; about the centre for all.

FAISS counts codes of 8, 16, 32 and 64 bytes with code of its own, and those of 48 bytes, of 384 signs, half as fast as
those of 64. So what is missing is filled up, with the signs of as many directions drawn at random: they cost 16 bytes,
and tell the far ones apart better (scripts/bench/scale.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector

Codes = NDArray[np.uint8]
"""uint8 [n, bytes]: as many bits as numbers, and more up to the next of `_LENGTHS`."""

_LENGTHS = (64, 128, 256, 512)
"""Bits."""

RECENTRED_ROWS = 32_768
"""Up to here the centre is taken anew whenever the codes grow (5 ms at the last time)."""

_SAMPLE = 1024
_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class Signs:
    """Codes about `centre` float32 [d]; the arrays are never replaced."""

    codes: Codes
    centre: Vector

    def code(self, vectors: NDArray[np.float32]) -> Codes:
        """Give the codes of float32 [..., d] about this centre."""
        beside = directions(self.centre.size)
        bits = vectors > self.centre
        if beside is not None:
            bits = np.concatenate([bits, (vectors - self.centre) @ beside > 0], axis=-1)
        return np.packbits(bits, axis=-1)

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
        bits = _bits(query.size)
        return bits * share + _DEVIATIONS * math.sqrt(bits * share * (1.0 - share))


@lru_cache(maxsize=8)
def directions(dimension: int) -> NDArray[np.float32] | None:
    """Give directions for the bits that are missing, float32 [d, more]: always the same; None where none are."""
    more = _bits(dimension) - dimension
    if not more:
        return None
    return np.random.default_rng(dimension).standard_normal((dimension, more), np.float32)


def _bits(dimension: int) -> int:
    return next((length for length in _LENGTHS if length >= dimension), dimension)


def coded(chunks: list[NDArray[np.float32]], rows: int, capacity: int) -> Signs:
    """Give the signs of the first `rows` rows of `chunks`, about their centre, with room for `capacity`."""
    step = max(1, rows // _SAMPLE)
    sample = np.concatenate([chunk[::step] for chunk in _cut(chunks, rows)])
    centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    signs = Signs(np.empty((capacity, (_bits(centre.size) + 7) // 8), np.uint8), centre)
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
