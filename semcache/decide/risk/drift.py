"""A sequential alarm on bucket counts: has the risk risen above the budget since some moment? Pure.

For each bet that the risk is a multiple of the budget, the wealth since each possible starting bucket is
summed up: a Shiryaev-Roberts e-detector. While the risk is within the budget the sum grows by 1 in the mean with each bucket,
so the mean number of buckets until it reaches A is at least A (Shin, Ramdas and Rinaldo
2023). The starting bucket that won most is where it began. Knows no policy beyond the budget.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.bound import Noise, bets_above
from semcache.decide.risk.grid import BINS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WATCHED: tuple[int, ...] = (28, 25, 22, 19, 15, 9, 0)
"""Bins whose hits from there up are watched, strict to loose."""

_REACH: Ints = np.array((BINS, *WATCHED[:-1])) - 1


class Alarms(NamedTuple):
    """What was found, a value for each watched bin.

    `last`: int [watched], index of the last bucket in alarm, -1 for none. `onset`: int
    [watched], first bucket of the stretch that gave this alarm, -1 for none.
    """

    last: Ints
    onset: Ints

    @property
    def discards(self) -> bool:
        """True when an alarm makes anything obsolete: its onset is not the very first bucket."""
        return bool(self.onset.max() > 0)

    @property
    def reach(self) -> int:
        """Strictest bin whose cut an alarm concerns, -1 for none."""
        return int(np.max(_REACH, where=self.last >= 0, initial=-1))

    def kept_from(self) -> Ints:
        """Give for each cut (int64 [BINS]) the first bucket that still counts.

        An alarm concerns its own cut, all looser ones, whose hits contain these, and those up to the next
        watched one, whose hits may be the same. What was counted since the onset stays: the
        bad stretch must be outweighed before anything reopens.
        """
        first = np.zeros(BINS, np.int64)
        for reach, onset in zip(_REACH.tolist(), self.onset, strict=True):
            first[: reach + 1] = np.maximum(first[: reach + 1], onset)
        return first


def alarms(budget: float, noise: Noise, run_length: float, n: Floats, wrong: Floats) -> Alarms:
    """Look through the buckets for alarms.

    Args:
        budget: Risk up to which all is well.
        noise: Of the labels.
        run_length: Mean number of buckets with labels until a false alarm, at least, over all watched cuts.
        n: float64 [buckets, BINS], sampled labels of the hits from each bin up, unweighted.
        wrong: Those that say wrong.
    """
    bets = bets_above(budget, noise)
    watched = np.array(WATCHED)
    total, bad = n[:, watched, None], wrong[:, watched, None]
    step = bad * np.log(bets.sampled) - total * np.log1p(noise.observed(budget) * (bets.sampled - 1.0))
    path = np.cumsum(step, axis=0)
    # Nobody can start in a bucket without labels: idle days would pile up equal starts.
    starts = np.where(total > 0.0, step - path, -np.inf)
    height = path + np.logaddexp.accumulate(starts, axis=0) + bets.stakes
    found = np.logaddexp.reduce(height, axis=2) >= log(run_length * len(WATCHED))
    if not found.any():
        none = np.full(len(WATCHED), -1, np.int64)
        return Alarms(none, none)
    return _located(found, height, starts)


def _located(found: NDArray[np.bool_], height: Floats, starts: Floats) -> Alarms:
    last = np.full(len(WATCHED), -1, np.int64)
    onset = last.copy()
    for which in np.flatnonzero(found.any(axis=0)):
        end = int(np.flatnonzero(found[:, which])[-1])
        bet = int(height[end, which].argmax())
        last[which], onset[which] = end, int(starts[: end + 1, which, bet].argmax())
    return Alarms(last, onset)


def expected_delay(budget: float, noise: Noise, run_length: float, rate: float) -> float:
    """Give about how many labels pass between a change to `rate` and the alarm; infinity within the budget.

    First order (Lorden 1971): the height to climb over the mean growth of the best bet.
    """
    bets = bets_above(budget, noise)
    seen, claimed = noise.observed(rate), noise.observed(budget)
    growth = seen * np.log(bets.sampled) - np.log1p(claimed * (bets.sampled - 1.0))
    best = float(growth.max())
    height = log(run_length * len(WATCHED)) - float(bets.stakes[0])
    return height / best if rate > budget and best > 0.0 else float("inf")
