"""The operating point: the least score whose hits are proven to be within the budget. Pure.

Cuts are tested in a fixed sequence from strict to loose, each at the full level of its sequence, up to the first
that fails (Bauer 1991; "learn then test", Angelopoulos et al. 2021). The strictest bins are thinly
populated, so the main sequence does not begin with them; a second one does, for verifiers that
promise too much, and three begin looser, for those that promise too little. The error probability is shared
out between them (Wiens 2003). Knows no times or sources.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.grid import BINS, EDGES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MAIN, _STRICT = 0.3, 0.03
_SHARES = (0.4, 0.1)
_LOOSE = (0.98, 0.95, 0.9)
_LOOSE_SHARE = (1.0 - sum(_SHARES)) / len(_LOOSE)
_LEAST_SEEN = 5.0


class Start(NamedTuple):
    """Where a sequence begins, and its share of the error probability."""

    bin: int
    share: float


@lru_cache(maxsize=256)
def starts(budget: float) -> tuple[Start, ...]:
    """Give the beginnings of the sequences; fixed before any label is seen.

    The main one begins where a calibrated score says three tenths of the budget: low enough to be
    proven soon, and wide enough to be met often. A verifier may never say so much; then the loose ones open.
    """
    stated = [1.0 - ratio * budget for ratio in (_MAIN, _STRICT)]
    wanted = [*zip(stated, _SHARES, strict=True), *((score, _LOOSE_SHARE) for score in _LOOSE)]
    shares: dict[int, float] = {}
    for score, share in wanted:
        shares[_edge(score)] = shares.get(_edge(score), 0.0) + share
    return tuple(Start(bin_, share) for bin_, share in shares.items())


def _edge(score: float) -> int:
    return min(int(np.searchsorted(EDGES, score)), BINS - 1)


def least_proven(wealth: Floats, n: Floats, confidence: float, begins: tuple[Start, ...]) -> Start | None:
    """Walk down from each start while cuts are proven, but not into bins that nobody has looked into.

    A start below all that was seen moves up to the lowest bin with labels, which must be proven, too: the
    sum of the risks above it is at most what was proven of the start.

    Args:
        wealth: float64 [BINS], log of the e-process of the hits from each bin up.
        n: float64 [BINS], labels from each bin up. A bin without labels of its own changes no sum, so
            every walk would run through it; what may come there one day is not known.
        confidence: Of the choice as a whole.
        begins: From `starts`.

    Returns:
        The loosest bin reached, and the share of the sequence that reached it; None if no start is proven.
    """
    own = n - np.append(n[1:], 0.0)
    seen = np.flatnonzero(own >= _LEAST_SEEN)
    reached = [_end(wealth, seen, confidence, begin) for begin in begins]
    return min((end for end in reached if end is not None), default=None)


def _end(wealth: Floats, seen: Ints, confidence: float, begin: Start) -> Start | None:
    goal = -log(level(confidence, begin.share))
    failed = np.flatnonzero(wealth[: begin.bin + 1] < goal)
    end = int(failed[-1]) + 1 if failed.size else 0
    if end > begin.bin:
        return None
    known = seen[seen >= end]
    if not known.size or (wealth[begin.bin : known[0] + 1] < goal).any():
        return None
    return Start(int(known[0]), begin.share)


def level(confidence: float, share: float) -> float:
    """Give the error probability of a sequence."""
    return (1.0 - confidence) * share
