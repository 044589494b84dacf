"""The frozen grid on which evidence is counted: score bins and time buckets. Pure; knows no evidence.

Scores are calibrated probabilities of being right, so what matters lies near 1: there the bins
follow the risk 1 - score, about five a decade. The edges are part of stored counters; changing
them makes old counters unreadable, so they are written out.
"""

from __future__ import annotations

from bisect import bisect_right
from math import isfinite

EDGES: tuple[float, ...] = (
    0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985, 0.99, 0.992,
    0.994, 0.996, 0.9975, 0.9985, 0.999, 0.9992, 0.9994, 0.9996, 0.99975, 0.99985, 0.9999,
)  # fmt: skip
"""Lower edges of the bins, rising; bin i holds scores in [EDGES[i], EDGES[i + 1]), the last one up to 1."""

BINS = len(EDGES)
BUCKET_SECONDS = 86_400
"""Length of a time bucket: one day."""


def bin_of(score: float) -> int:
    """Give the bin of a score; what is no number in [0, 1] counts as no confidence at all (bin 0)."""
    return max(0, bisect_right(EDGES, score) - 1) if 0.0 <= score <= 1.0 else 0


def bucket_of(at: float) -> int:
    """Give the bucket (days since the epoch, UTC) of a Unix time in seconds; 0 for what is no time."""
    return max(0, int(at // BUCKET_SECONDS)) if isfinite(at) else 0
