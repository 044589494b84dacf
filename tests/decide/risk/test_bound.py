"""The bound: known values, coverage however often one looks, and how it moves with the counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.decide.risk.bound import Noise, bets_above, bets_below, labels_needed, log_wealth, upper_bound
from semcache.decide.risk.fixed import at_most, clopper_pearson

BETS = bets_below(0.01, Noise())
COUNTS = st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)).map(lambda pair: (max(pair), min(pair)))
NOISES = st.sampled_from([Noise(), Noise(0.1, 0.1), Noise(0.01, 0.2)])


@pytest.mark.parametrize("noise", [Noise(), Noise(0.1, 0.1), Noise(0.0, 0.5)])
@pytest.mark.parametrize("claim", [0.001, 0.01, 0.3])
def test_one_label_never_gains_in_the_mean(noise: Noise, claim: float) -> None:
    """The supermartingale property itself, for both directions, exactly."""
    for bets, rates in (
        (bets_below(0.01, noise), (claim, 1.5 * claim, 0.9)),
        (bets_above(0.01, noise), (claim, 0.3 * claim, 0.0)),
    ):
        for rate in rates:
            seen = noise.observed(rate)
            right, wrong = np.exp(log_wealth(bets, claim, 1, 0)), np.exp(log_wealth(bets, claim, 1, 1))
            assert (1 - seen) * right + seen * wrong <= 1 + 1e-12
    tight = np.exp(log_wealth(BETS, claim, [1, 1], [0, 1]))
    assert (1 - claim) * tight[0] + claim * tight[1] == pytest.approx(1.0)


def test_a_human_label_of_wrong_only_costs() -> None:
    assert log_wealth(BETS, 0.01, 500, 0, 1) < log_wealth(BETS, 0.01, 500, 0) < log_wealth(BETS, 0.01, 501, 0)


@pytest.mark.parametrize("rate", [0.005, 0.01, 0.05])
def test_coverage_under_optional_stopping(rate: float) -> None:
    """Looked at after every label; fixed-n Clopper-Pearson in the same runs shows that the test can fail."""
    runs, last = 600, 3000
    rng = np.random.default_rng(20)
    n = np.arange(1, last + 1)
    wrong = np.cumsum(rng.random((runs, last)) < rate, axis=1)
    goal = -math.log(0.05)
    broken = np.array([(log_wealth(BETS, rate, n, row) >= goal).any() for row in wrong])
    # Two standard errors of 600 runs above the stated 5 %.
    assert broken.mean() <= 0.05 + 0.018
    least = np.array([_least_n(bad, rate) for bad in range(int(wrong.max()) + 1)])
    peeked = (n >= least[wrong]).any(axis=1)
    assert peeked.mean() > 0.1


def _least_n(wrong: int, rate: float) -> int:
    low, high = wrong, int(20 * (wrong + 10) / rate)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if at_most(wrong, middle, rate) <= 0.05 else (middle + 1, high)
    return low


def test_coverage_when_the_rate_moves_on_purpose() -> None:
    """The mean of the rates so far is covered, also when they follow what was seen."""
    rng = np.random.default_rng(21)
    runs, last, goal = 1000, 3000, -math.log(0.05)
    wrong, total = np.zeros(runs), np.zeros(runs)
    broken = np.zeros(runs, bool)
    for n in range(1, last + 1):
        rate = np.where(wrong < 0.004 * n, 0.03, 0.001)
        total += rate
        wrong += rng.random(runs) < rate
        if n % 10 == 0:
            broken |= log_wealth(BETS, total / n, n, wrong) >= goal
    assert broken.mean() <= 0.05


@given(COUNTS, NOISES)
@settings(max_examples=60)
def test_the_bound_lies_above_the_estimate(counts: tuple[int, int], noise: Noise) -> None:
    n, wrong = counts
    bound = upper_bound(bets_below(0.01, noise), 0.95, n, wrong)
    assert 0.0 < bound <= 1.0
    if n:
        assert bound > wrong / n - noise.false_alarm or bound == 1.0
    if noise.false_alarm == 0.0 and n:
        assert noise.observed(bound) > wrong / n or bound == 1.0


@given(COUNTS, st.sampled_from([Noise(), Noise(0.0, 0.3)]), st.integers(1, 50))
@settings(max_examples=60)
def test_more_wrong_raises_more_right_lowers(counts: tuple[int, int], noise: Noise, more: int) -> None:
    n, wrong = counts
    bets = bets_below(0.01, noise)
    bound = upper_bound(bets, 0.95, n, wrong)
    assert upper_bound(bets, 0.95, n + more, wrong + more) >= bound
    assert upper_bound(bets, 0.95, n, wrong, human=more) >= bound
    assert upper_bound(bets, 0.95, n + more, wrong) <= bound
    assert upper_bound(bets, 0.99, n, wrong) >= bound


@given(st.integers(1, 400), st.floats(0.0, 0.2), st.integers(2, 20))
@settings(max_examples=60)
def test_more_evidence_of_the_same_kind_narrows(n: int, rate: float, times: int) -> None:
    wrong = round(rate * n)
    assert upper_bound(BETS, 0.95, n * times, wrong * times) <= upper_bound(BETS, 0.95, n, wrong)


@pytest.mark.parametrize(
    ("n", "wrong", "low", "high"),
    [
        (0, 0, 1.0, 1.0),
        (100, 100, 1.0, 1.0),
        (400, 0, 0.0075, 0.0105),
        (100_000, 500, 0.005, 0.0062),
        (10, 0, 0.25, 0.45),
    ],
)
def test_known_magnitudes(n: int, wrong: int, low: float, high: float) -> None:
    assert low <= upper_bound(BETS, 0.95, n, wrong) <= high


@pytest.mark.parametrize("budget", [0.01, 0.001, 0.2])
def test_labels_needed_is_where_the_bound_reaches_the_claim(budget: float) -> None:
    bets = bets_below(budget, Noise())
    needed = labels_needed(bets, 0.95, budget)
    # 3 / budget are needed by any bound; the mixture must not cost much more.
    assert 3.0 / budget * 0.8 < needed < 4.2 / budget
    assert upper_bound(bets, 0.95, needed * 1.01, 0) <= budget < upper_bound(bets, 0.95, needed * 0.98, 0)


def test_stated_noise_is_taken_out() -> None:
    noise = Noise(0.1, 0.1)
    rate = noise.observed(0.003)
    assert upper_bound(BETS, 0.95, 300_000, rate * 300_000) > 0.1
    assert 0.003 < upper_bound(bets_below(0.01, noise), 0.95, 300_000, rate * 300_000) < 0.006


def test_missed_wrong_ones_raise_the_bound() -> None:
    blind = bets_below(0.01, Noise(0.0, 0.5))
    assert upper_bound(blind, 0.95, 5000, 10) > 1.7 * upper_bound(BETS, 0.95, 5000, 10)


@pytest.mark.parametrize(("false_alarm", "miss"), [(-0.1, 0.0), (0.0, -0.1), (0.5, 0.5), (math.nan, 0.0)])
def test_noise_that_leaves_nothing_is_refused(false_alarm: float, miss: float) -> None:
    with pytest.raises(ValueError, match="noise rates"):
        Noise(false_alarm, miss)


@pytest.mark.parametrize(
    ("n", "wrong", "confidence", "low", "high"),
    [
        # R's binom.test.
        (100, 3, 0.95, 0.006229972, 0.08517605),
        (300, 0, 0.90, 0.0, 0.009936082),
        (20, 20, 0.95, 0.8315665, 1.0),
        (0, 0, 0.95, 0.0, 1.0),
        (100_000, 900, 0.95, 0.008423938, 0.009604804),
    ],
)
def test_clopper_pearson(n: int, wrong: int, confidence: float, low: float, high: float) -> None:
    assert clopper_pearson(n, wrong, confidence) == pytest.approx((low, high), rel=1e-5, abs=1e-12)


def test_binomial_sums() -> None:
    assert at_most(2, 4, 0.5) == pytest.approx(11 / 16)
    assert (at_most(-1, 4, 0.5), at_most(4, 4, 0.5), at_most(0, 4, 0.0), at_most(3, 4, 1.0)) == (0, 1, 1, 0)
