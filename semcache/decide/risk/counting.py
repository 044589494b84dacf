"""Labels weighed by age and source, summed for each possible cut. Pure; knows no bound and no states."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.bound import Noise
from semcache.decide.risk.grid import BUCKET_SECONDS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Counts(NamedTuple):
    """Weighted labels of the hits from each bin up, float64 [BINS].

    `n`: sampled ones. `wrong`: those that say wrong. `human`: answers that humans called wrong.
    """

    n: Floats
    wrong: Floats
    human: Floats


def from_bin_up(counts: Floats) -> Floats:
    """Sum over the bins from each one up; [..., BINS] to [..., BINS]."""
    return counts[..., ::-1].cumsum(axis=-1)[..., ::-1]


@lru_cache(maxsize=64)
def ageing(half_life: float, buckets: int) -> Floats:
    """Give a label's weight by its bucket, float64 [buckets], the oldest first, the present one 1."""
    ages = np.arange(buckets - 1, -1, -1) * float(BUCKET_SECONDS)
    weights: Floats = np.exp2(-ages / half_life)
    weights.flags.writeable = False
    return weights


def counted(window: Floats, weight: Floats, feedback_weight: float) -> Counts:
    """Weigh and sum the buckets, and put humans' labels beside the sampled ones.

    Complaints come from all hits while labels come from a sample of them: without the factor
    labels / hits the complaints of ten thousand hits would stand against two hundred labels.

    Args:
        window: float64 [5, buckets, BINS], see `Evidence.window`, from each bin up.
        weight: float64 [buckets] or, for each cut its own, [buckets, BINS].
        feedback_weight: Of a complaint.
    """
    kept = (
        np.tensordot(weight, window, (0, 1)) if weight.ndim == 1 else np.einsum("tb,ktb->kb", weight, window)
    )
    n, wrong, verdicts, complaints, seen = kept
    share = np.where(seen > 0.0, np.minimum(1.0, n / np.maximum(seen, 1e-9)), 1.0)
    return Counts(n, wrong, verdicts + feedback_weight * share * complaints)


def since(weight: Floats, first: Ints) -> Floats:
    """Give the weights [buckets, BINS] when each cut (int64 [BINS]) counts only from a bucket on."""
    kept: Floats = weight[:, None] * (np.arange(weight.size)[:, None] >= first)
    return kept


def until(weight: Floats, last: int) -> Floats:
    """Give the weights [buckets] when only buckets before `last` count."""
    kept: Floats = weight * (np.arange(weight.size) < last)
    return kept


def estimates(counts: Counts, noise: Noise) -> Floats:
    """Give the share of wrong answers by cut, [BINS], corrected for noise (Rogan and Gladen 1978)."""
    trust = 1.0 - noise.false_alarm - noise.miss
    clean = np.clip((counts.wrong / np.maximum(counts.n, 1e-9) - noise.false_alarm) / trust, 0.0, 1.0)
    return np.minimum(1.0, clean + counts.human / np.maximum(counts.n + counts.human, 1e-9))
