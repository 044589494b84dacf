"""The operating point: the least score whose hits are proven to be within the budget. Pure.

Cuts are tested in a fixed sequence from strict to loose, each at the full level of its sequence, up to the first
that fails (Bauer 1991; "learn then test", Angelopoulos et al. 2021). The strictest bins are thinly
populated, so the main sequence does not begin with them; a second one does, for verifiers that
promise too much, and the error probability is shared out between the two (Wiens 2003). Knows no times or sources.
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
_SHARES = (0.8, 0.2)
_LEAST_SEEN = 5.0


class Start(NamedTuple):
    """Where a sequence begins, and its share of the error probability."""

    bin: int
    share: float


@lru_cache(maxsize=256)
def starts(budget: float) -> tuple[Start, ...]:
    """Give the beginnings of the sequences; fixed before any label is seen.

    The main one begins where a calibrated score says three tenths of the budget: low enough to be
    proven soon, and wide enough to be met often.
    """
    main, strict = (_edge(1.0 - ratio * budget) for ratio in (_MAIN, _STRICT))
    if main == strict:
        return (Start(main, 1.0),)
    return Start(main, _SHARES[0]), Start(strict, _SHARES[1])


def _edge(score: float) -> int:
    return min(int(np.searchsorted(EDGES, score)), BINS - 1)


def least_proven(wealth: Floats, n: Floats, confidence: float, begins: tuple[Start, ...]) -> Start | None:
    """Walk down from each start while cuts are proven, but not into bins that nobody has looked into.

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
    failed = np.flatnonzero(wealth[: begin.bin + 1] < -log(level(confidence, begin.share)))
    end = int(failed[-1]) + 1 if failed.size else 0
    if end > begin.bin:
        return None
    known = seen[(seen >= end) & (seen <= begin.bin)]
    return Start(int(known[0]) if known.size else begin.bin, begin.share)


def level(confidence: float, share: float) -> float:
    """Give the error probability of a sequence."""
    return (1.0 - confidence) * share
