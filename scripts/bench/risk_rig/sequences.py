"""The two sequential tests alone: the bound looked at after every label, and the alarm's delay and silence."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from risk_rig.choosers import least_n
from semcache.decide.risk.bound import Noise, bets_below, log_wealth
from semcache.decide.risk.drift import WATCHED, alarms, expected_delay
from semcache.decide.risk.grid import BINS

Floats = NDArray[np.float64]
CLEAN = Noise()


def coverage(rate: float, runs: int, labels: int, seed: int) -> dict[str, float]:
    """Share of runs in which a 95 % upper bound ever fell below the true rate, by kind of bound."""
    rng = np.random.default_rng(seed)
    n = np.arange(1, labels + 1)
    bets, goal = bets_below(rate, CLEAN), -math.log(0.05)
    table = np.array([least_n(bad, rate) for bad in range(int(rate * labels * 3) + 60)])
    broken = np.zeros(3)
    for _ in range(runs):
        wrong = np.cumsum(rng.random(labels) < rate)
        share = wrong / n
        wald = share + 1.645 * np.sqrt(share * (1.0 - share) / n)
        broken += (
            (log_wealth(bets, rate, n, wrong) >= goal).any(),
            (n >= table[wrong]).any(),
            (wald[29:] < rate).any(),
        )
    anytime, exact, plain = broken / runs
    return {"anytime": anytime, "clopper_pearson": exact, "wald_after_30": plain}


def delay(budget: float, factor: float, run_length: float, runs: int, seed: int) -> dict[str, float]:
    """Labels between a jump to `factor` x budget, after a hundred quiet days at half of it, and the alarm."""
    rng = np.random.default_rng(seed)
    stated = expected_delay(budget, CLEAN, run_length, factor * budget)
    batch = max(1, int(stated / 20))
    quiet, found = 100, []
    for _ in range(runs):
        rates = np.r_[np.full(quiet, 0.5 * budget), np.full(200, factor * budget)]
        wrong = rng.binomial(batch, rates).astype(np.float64)
        n = np.full((rates.size, BINS), float(batch))
        after = _first(budget, run_length, n, wrong, quiet)
        found.append(after * batch)
    return {"stated": stated, "mean": float(np.mean(found)), "p95": float(np.quantile(found, 0.95))}


def _first(budget: float, run_length: float, n: Floats, wrong: Floats, quiet: int) -> int:
    """Batches after the quiet ones until the first alarm; alarms look back only, so a bisection finds it."""
    bad = np.repeat(wrong[:, None], BINS, axis=1)
    low, high = quiet, len(n)
    while low < high:
        middle = (low + high) // 2
        last = alarms(budget, CLEAN, run_length, n[: middle + 1], bad[: middle + 1]).last
        low, high = (low, middle) if last.max() >= quiet else (middle + 1, high)
    return low - quiet + 1


def silence(budget: float, rate: float, run_length: float, runs: int, seed: int) -> dict[str, float]:
    """False alarms at a risk within the budget: days between alarmed stretches, over runs of 1,000 days."""
    rng = np.random.default_rng(seed)
    days, labels = 1000, max(10, int(4 / budget))
    alarmed = 0
    first: list[float] = []
    for _ in range(runs):
        wrong = rng.binomial(labels, rate, days).astype(np.float64)
        begin = 0
        n = np.full((days, BINS), float(labels))
        bad = np.repeat(wrong[:, None], BINS, axis=1)
        low, high = begin, days
        while low < high:
            middle = (low + high) // 2
            quiet = alarms(budget, CLEAN, run_length, n[: middle + 1], bad[: middle + 1]).last.max() < 0
            low, high = (middle + 1, high) if quiet else (low, middle)
        alarmed += low < days
        first.append(low + 1)
    return {"stated": run_length, "mean_days_at_least": float(np.mean(first)), "runs_alarmed": alarmed / runs}


def watched() -> int:
    """Number of cuts that are watched."""
    return len(WATCHED)
