"""Anytime-valid upper confidence bound on a rate of wrong answers, from counts alone. Pure.

For each ratio r a bet is fixed that the risk is r times a design risk: a label multiplies
its stake by theta ** wrong / (1 - m + m * theta), where theta is the odds ratio of the two rates. Against
any true rate of at least m (for r < 1) a stake is a nonnegative supermartingale, so by
Ville's inequality a mixture of stakes ever reaches 1 / (1 - confidence) with a probability
of at most 1 - confidence, however often one looks. The order of labels does not matter, only their
numbers. docs/risk.md has proofs and sources (Ville 1939; Howard et al. 2021; Waudby-Smith
and Ramdas 2024). Knows no bins, times or policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_BELOW = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)
_BELOW_STAKES = (6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 0.5, 0.5)
_ABOVE = (1.6, 3.0, 6.0, 15.0)
_CEILING = 0.99
_COARSE = np.geomspace(1e-7, 1.0, 57)
_FINE = np.linspace(0.0, 1.0, 81)[1:]


@dataclass(frozen=True, slots=True)
class Noise:
    """Errors of whoever judges: `false_alarm` of right answers, `miss` of wrong ones; together below 1.

    To stay on the safe side state the least false-alarm and the greatest miss rate that one believes in.

    Raises:
        ValueError: A rate is negative or both together reach 1: then labels say nothing.
    """

    false_alarm: float = 0.0
    miss: float = 0.0

    def __post_init__(self) -> None:
        if not (self.false_alarm >= 0.0 and self.miss >= 0.0 and self.false_alarm + self.miss < 1.0):
            raise ValueError("noise rates must not be negative and must sum to less than 1")

    def observed(self, rate: float) -> float:
        """Give the rate of labels `wrong` at a true rate."""
        return self.false_alarm + rate * (1.0 - self.false_alarm - self.miss)


@dataclass(frozen=True, slots=True, eq=False)
class Bets:
    """A fixed mixture of bets on sampled labels and on human ones, which have no noise.

    `design`: risk near which the bets are best. `sampled`, `human`: float64 [k], odds ratios theta.
    `stakes`: float64 [k], logs of shares that sum to 1.
    """

    design: float
    noise: Noise
    sampled: Floats
    human: Floats
    stakes: Floats

    @property
    def log_sampled(self) -> Floats:
        """Give the logs of `sampled`."""
        return np.log(self.sampled)


@lru_cache(maxsize=256)
def bets_below(design: float, noise: Noise) -> Bets:
    """Bets that the risk is lower than claimed; the best power lies at claims near `design`."""
    return _bets(design, noise, _BELOW, _BELOW_STAKES)


@lru_cache(maxsize=256)
def bets_above(design: float, noise: Noise) -> Bets:
    """Bets that the risk is higher than claimed."""
    return _bets(design, noise, _ABOVE, (1.0,) * len(_ABOVE))


def _bets(design: float, noise: Noise, ratios: tuple[float, ...], stakes: tuple[float, ...]) -> Bets:
    rates = [min(_CEILING, ratio * design) for ratio in ratios]
    clean = Noise()
    return Bets(
        design,
        noise,
        np.array([_odds(noise.observed(rate)) / _odds(noise.observed(design)) for rate in rates]),
        np.array([_odds(clean.observed(rate)) / _odds(clean.observed(design)) for rate in rates]),
        np.log(np.array(stakes) / sum(stakes)),
    )


def _odds(rate: float) -> float:
    return rate / (1.0 - rate)


def stakes_after(
    bets: Bets, claim: ArrayLike, n: ArrayLike, wrong: ArrayLike, human: ArrayLike = 0.0
) -> Floats:
    """Give the log of each stake after the labels, its share of the mixture included.

    Args:
        bets: The mixture.
        claim: True risk that is bet against, in (0, 1]; shape [...].
        n: Sampled labels, weighted; shape [...].
        wrong: Those that say wrong.
        human: Answers that humans called wrong, weighted; each is a label of its own.

    Returns:
        float64 [..., k]; the log of the mixture is the log-sum-exp over the last axis.
    """
    claims = np.asarray(claim, np.float64)[..., None]
    said, total = np.asarray(wrong, np.float64)[..., None], np.asarray(n, np.float64)[..., None]
    seen = bets.noise.false_alarm + claims * (1.0 - bets.noise.false_alarm - bets.noise.miss)
    gained: Floats = bets.stakes + said * bets.log_sampled - total * np.log1p(seen * (bets.sampled - 1.0))
    if np.any(human):
        by_human = np.asarray(human, np.float64)[..., None]
        gained = gained + by_human * (np.log(bets.human) - np.log1p(claims * (bets.human - 1.0)))
    return gained


def log_wealth(
    bets: Bets, claim: ArrayLike, n: ArrayLike, wrong: ArrayLike, human: ArrayLike = 0.0
) -> Floats:
    """Give the log of the mixture, an e-process against the claim; arguments as in `stakes_after`."""
    each = stakes_after(bets, claim, n, wrong, human)
    top = each.max(axis=-1)
    wealth: Floats = top + np.log(np.exp(each - top[..., None]).sum(axis=-1))
    return wealth


def refuting(
    bets: Bets, confidence: float, claim: ArrayLike, n: Floats, wrong: Floats, human: Floats
) -> Floats:
    """Give the log wealth against claims as `log_wealth` does, unless the labels refute the stated noise.

    Fewer labels `wrong` than the stated false alarms alone would give even at no risk at all: then that
    statement is taken back, and every label `wrong` is read as a wrong answer. Shapes all [...].
    """
    wealth = log_wealth(bets, claim, n, wrong, human)
    if bets.noise.false_alarm == 0.0:
        return wealth
    refuted = log_wealth(bets, 0.0, n, wrong) >= -np.log1p(-confidence)
    return np.where(refuted, log_wealth(_literal(bets), claim, n, wrong, human), wealth)


def _literal(bets: Bets) -> Bets:
    return bets_below(bets.design, Noise(0.0, bets.noise.miss))


def upper_bound(bets: Bets, confidence: float, n: float, wrong: float, human: float = 0.0) -> float:
    """Give the least risk (rounded up, by at most 0.4 %) that the labels refute at this confidence, or 1.

    Args:
        bets: From `bets_below`.
        confidence: In (0, 1).
        n: Sampled labels, weighted.
        wrong: Those that say wrong; at most `n`.
        human: Answers that humans called wrong, weighted.
    """
    goal = -np.log1p(-confidence)
    if bets.noise.false_alarm and log_wealth(bets, 0.0, n, wrong) >= goal:
        bets = _literal(bets)
    # Wealth rises with the claim, and the claims asked about never depend on the counts: so the result
    # is monotone in the counts as well.
    at = int(np.searchsorted(log_wealth(bets, _COARSE, n, wrong, human), goal))
    if at == _COARSE.size:
        return 1.0
    low = _COARSE[at - 1] if at else 0.0
    claims = low + (_COARSE[at] - low) * _FINE
    within = int(np.searchsorted(log_wealth(bets, claims, n, wrong, human), goal))
    return float(claims[min(within, claims.size - 1)])


def labels_needed(bets: Bets, confidence: float, claim: float) -> float:
    """Give how many labels, all of them right, refute the claim: nothing opens on fewer."""
    goal, low, high = -np.log1p(-confidence), 0.0, 1.0
    while log_wealth(bets, claim, high, 0.0) < goal:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if log_wealth(bets, claim, middle, 0.0) >= goal else (middle, high)
    return high
