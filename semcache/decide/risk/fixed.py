"""Clopper-Pearson bounds for reports: valid for a number of labels fixed beforehand, and only looked at once. Pure.

Nothing is opened or closed by them: looked at after each label they fail far more often than they say.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, fsum, lgamma, log, log1p


def clopper_pearson(n: int, wrong: int, confidence: float = 0.95) -> tuple[float, float]:
    """Give the exact two-sided interval of a rate (Clopper and Pearson 1934).

    Args:
        n: Labels.
        wrong: Those that say wrong; 0 <= wrong <= n.
        confidence: In (0, 1).

    Returns:
        (low, high); (0, 1) without labels.
    """
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if wrong <= 0 else _root(lambda rate: 1.0 - at_most(wrong - 1, n, rate) >= tail)
    high = 1.0 if wrong >= n else _root(lambda rate: at_most(wrong, n, rate) <= tail)
    return low, high


def at_most(wrong: int, n: int, rate: float) -> float:
    """Give the probability of at most `wrong` wrong ones among `n` at this rate."""
    if rate <= 0.0 or wrong >= n:
        return 1.0
    if rate >= 1.0 or wrong < 0:
        return 0.0
    if wrong > n * rate:
        return 1.0 - fsum(_term(k, n, rate) for k in _near(wrong + 1, n, n, rate))
    return fsum(_term(k, n, rate) for k in _near(0, wrong, n, rate))


def _near(first: int, last: int, n: int, rate: float) -> range:
    """Leave out the terms that are more than forty standard deviations from the mean."""
    reach = 40.0 * (n * rate * (1.0 - rate)) ** 0.5 + 100.0
    return range(max(first, int(n * rate - reach)), min(last, int(n * rate + reach)) + 1)


def _term(k: int, n: int, rate: float) -> float:
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(rate) + (n - k) * log1p(-rate))


def _root(reached: Callable[[float], bool]) -> float:
    """Give the least rate in [0, 1] from which on the condition holds."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
