"""How many of the hits by meaning would be wrong, as an interval and never as a bare number. Pure.

Two ways, the first wherever it can be had:

- `compared`: the log holds both answers, the stored one and what the model really answered. The product's own comparison
  calls each pair right, wrong or undecided; a Clopper-Pearson interval of wrong among the decided follows (undecided
  pairs are counted apart). The comparison errs: of pairs of right answers in other words it calls some
  wrong, and it overlooks some wrong ones. So the low end is what is left when the highest believed share of false alarms is
  taken off, the high end what there would be if none were false and the believed share had been overlooked (Rogan and Gladen
  1978). Pairs that are equal but for form cannot be false alarms: the share that is taken off belongs to the others alone.
- `calibrated`: the log holds no answers. Each hit has a probability p to be right, by the shipped verifier; sum(1 - p) are expected to be
  wrong. Three doubts make it an interval, by drawing all three: the calibration rests on a finite number of held-out pairs
  (a beta distribution for each score bin, Jeffreys' prior); hits are wrong by chance (binomial); and this log is other traffic
  than that (its odds are those of the calibration times exp(SHIFT x normal), one factor for the whole log). SHIFT is
  stated, not fitted: 2.5 times the odds either way at one standard deviation covers what public streams showed.

Knows no pipeline and no files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.fixed import clopper_pearson
from semcache.decide.risk.grid import BINS, EDGES, bin_of
from semcache.decide.risk.prior import Prior

FALSE_ALARM = 0.12
"""Greatest share of right pairs in other words that the comparison may call wrong (docs/evidence.md: 8 of 70 decided)."""
OVERLOOKED = 0.1
"""Share of wrong pairs that it may call right, as the bound on live traffic believes (`standings.COMPARER`)."""
SHIFT = 0.9
"""Standard deviation of the log odds between the calibration's traffic and another."""
_DRAWS = 4000
_ENOUGH = 20
"""Decided pairs from which on the comparison says more than the calibration."""

Floats = NDArray[np.float64]


class Method(StrEnum):
    """What an interval rests on."""

    COMPARED = "compared"
    CALIBRATED = "calibrated"
    UNKNOWN = "unknown"
    """Neither answers nor scores: nothing can be said."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What the comparison said of hits whose both answers the log holds; `equal` of the right ones were equal but for form."""

    right: int = 0
    wrong: int = 0
    undecided: int = 0
    equal: int = 0

    @property
    def decided(self) -> int:
        """Pairs that it said something about."""
        return self.right + self.wrong

    def __add__(self, other: Compared) -> Compared:
        return Compared(
            self.right + other.right,
            self.wrong + other.wrong,
            self.undecided + other.undecided,
            self.equal + other.equal,
        )


@dataclass(frozen=True, slots=True)
class WrongHits:
    """Wrong hits among `hits` by meaning: shares in [0, 1], a 95 % interval and the likeliest one.

    `method` says where they come from; `compared` what the comparison said, whichever way was taken. `low` is 0 and `high` 1
    where nothing is known, `likely` then None.
    """

    hits: int
    low: float
    high: float
    likely: float | None
    method: Method
    compared: Compared

    @property
    def at_most(self) -> float:
        """Wrong hits at most, of so many (a number, no share)."""
        return self.high * self.hits


def expected_wrong(hits: int, scores: Sequence[float], compared: Compared, prior: Prior | None) -> WrongHits:
    """Give how many of these hits are wrong, by the best way that there is.

    Args:
        hits: hits by meaning.
        scores: the verifier's, of those that have one, in [0, 1].
        compared: of those whose both answers are known (a fair sample of them is enough).
        prior: the shipped calibration; None: there is no verifier.
    """
    if compared.decided >= _ENOUGH or (compared.decided and not (scores and prior)):
        return _by_answers(hits, compared)
    if scores and prior is not None:
        low, likely, high = calibrated(scores, prior)
        return WrongHits(hits, low, high, likely, Method.CALIBRATED, compared)
    return WrongHits(hits, 0.0, 1.0, None, Method.UNKNOWN, compared)


def _by_answers(hits: int, found: Compared) -> WrongHits:
    low, high = clopper_pearson(found.decided, found.wrong)
    in_words = 1.0 - found.equal / found.decided
    alarm = FALSE_ALARM * in_words
    return WrongHits(
        hits,
        max(0.0, (low - alarm) / (1.0 - alarm)),
        min(1.0, high / (1.0 - OVERLOOKED)),
        found.wrong / found.decided,
        Method.COMPARED,
        found,
    )


def calibrated(scores: Sequence[float], prior: Prior, seed: int = 0) -> tuple[float, float, float]:
    """Give (low, likely, high) of the share of wrong ones among hits with these scores; the likely one is mean(1 - p).

    The same for the same scores, in any order. `seed` is that of the draws.
    """
    counts, promised = _binned(scores)
    alpha, beta = _believed(prior, promised)
    draw = np.random.default_rng(seed)
    used = np.flatnonzero(counts)
    rates = draw.beta(alpha[used], beta[used], (_DRAWS, used.size))
    shift = np.exp(draw.normal(0.0, SHIFT, (_DRAWS, 1)))
    odds = rates / np.maximum(1.0 - rates, 1e-12) * shift
    rates = odds / (1.0 + odds)
    wrong = draw.binomial(counts[used], rates).sum(1) / counts.sum()
    # Of a handful of hits most likely none is wrong: the risk that they ran is told all the same.
    risk = rates @ counts[used] / counts.sum()
    low = min(np.quantile(wrong, 0.025), np.quantile(risk, 0.025))
    high = max(np.quantile(wrong, 0.975), np.quantile(risk, 0.975))
    likely = float(np.clip(1.0 - np.mean([min(1.0, max(0.0, p)) for p in scores]), 0.0, 1.0))
    return min(float(low), likely), likely, max(float(high), likely)


def _binned(scores: Sequence[float]) -> tuple[NDArray[np.int64], Floats]:
    """Give hits by bin, int64 [BINS], and the risk that their own scores promise, float64 [BINS]."""
    counts, risk = np.zeros(BINS, np.int64), np.zeros(BINS)
    for score in scores:
        at = bin_of(score)
        counts[at] += 1
        risk[at] += 1.0 - score if 0.0 <= score <= 1.0 else 1.0
    middles = 1.0 - (np.array(EDGES) + np.array((*EDGES[1:], 1.0))) / 2.0
    return counts, np.where(counts > 0, risk / np.maximum(counts, 1), middles)


def _believed(prior: Prior, promised: Floats) -> tuple[Floats, Floats]:
    """Give the beta distribution of each bin's risk: the held-out pairs' counts, and half a pair each way.

    A bin without held-out pairs takes its scores' own promise, weighing ten pairs.
    """
    hits, wrong = np.array(prior.hits), np.array(prior.wrong)
    empty = hits < 1.0
    promise = np.clip(promised, 1e-4, 1.0 - 1e-4)
    alpha = np.where(empty, 10.0 * promise, wrong + 0.5)
    beta = np.where(empty, 10.0 * (1.0 - promise), hits - wrong + 0.5)
    return alpha, beta
