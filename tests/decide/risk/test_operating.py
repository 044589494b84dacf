"""Choosing the cut: order of tests, starts, and that a wrong cut is chosen at most as often as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semcache.decide.risk.bound import Noise, bets_below, log_wealth
from semcache.decide.risk.grid import BINS, EDGES, bin_of
from semcache.decide.risk.operating import Start, least_proven, starts

GOAL = -math.log(0.05)
SURE = GOAL + 10
MANY = np.arange(BINS, 0, -1) * 100.0


def wealth(**proven: float) -> np.ndarray:
    """All bins unproven but those named b<bin>."""
    values = np.zeros(BINS)
    for name, value in proven.items():
        values[int(name[1:])] = value
    return values


def test_starts_lie_where_a_calibrated_score_is_well_within_the_budget() -> None:
    main, strict, *loose = starts(0.01)
    assert (EDGES[main.bin], EDGES[strict.bin]) == (0.9975, 0.99975)
    assert [EDGES[start.bin] for start in loose] == [0.98, 0.95, 0.9]
    assert sum(start.share for start in starts(0.01)) == pytest.approx(1.0)
    assert EDGES[starts(0.001)[0].bin] == 0.99975
    # A budget finer than the grid: both strict ones begin in the last bin, as one.
    first, *rest = starts(1e-6)
    assert first == Start(BINS - 1, pytest.approx(0.5))
    assert len(rest) == len(loose)


def test_a_verifier_that_never_says_much_can_be_proven() -> None:
    """Scores of 0.93 to 0.97 are below where a calibrated score would promise the budget."""
    low = bin_of(0.93)
    values = np.where(np.arange(BINS) <= bin_of(0.97), SURE + 5, 0.0)
    found = least_proven(values, np.where(np.arange(BINS) <= low, 2000.0, 0.0), 0.95, starts(0.01))
    assert found is not None
    assert EDGES[found.bin] <= 0.93


def test_the_walk_stops_at_the_first_failure() -> None:
    begins = (Start(10, 1.0),)
    values = wealth(b10=SURE, b9=SURE, b7=SURE)
    found = least_proven(values, MANY, 0.95, begins)
    assert found is not None
    assert found.bin == 9
    assert least_proven(wealth(b9=SURE, b8=SURE), MANY, 0.95, begins) is None
    everything = least_proven(np.full(BINS, SURE), MANY, 0.95, begins)
    assert everything is not None
    assert everything.bin == 0


def test_nobody_walks_into_bins_without_labels() -> None:
    begins, sure = (Start(10, 1.0),), np.full(BINS, SURE)
    only_above = np.minimum(MANY, MANY[8])
    found = least_proven(sure, only_above, 0.95, begins)
    assert found is not None
    assert found.bin == 8


def test_a_start_below_all_labels_moves_up_to_them() -> None:
    begins, above = (Start(10, 1.0),), np.where(np.arange(BINS) <= 25, 500.0, 0.0)
    found = least_proven(np.full(BINS, SURE), above, 0.95, begins)
    assert found == Start(25, 1.0)
    # Few labels between the two may be wrong ones or right ones; what is served must be proven itself.
    for failed in (10, 18, 25):
        values = np.full(BINS, SURE)
        values[failed] = GOAL - 0.01
        assert least_proven(values, above, 0.95, begins) is None
    assert least_proven(np.full(BINS, SURE), np.zeros(BINS), 0.95, begins) is None


def test_each_sequence_pays_for_its_share() -> None:
    begins = (Start(10, 0.8), Start(20, 0.2))
    only_main = np.full(BINS, GOAL - math.log(0.8) + 0.01)
    found = least_proven(only_main, MANY, 0.95, begins)
    assert found == Start(0, 0.8)
    assert least_proven(np.full(BINS, GOAL), MANY, 0.95, begins) is None
    only_strict = wealth(**{f"b{b}": SURE for b in range(15, 21)})
    assert least_proven(only_strict, MANY, 0.95, begins) == Start(15, 0.2)


def test_a_wrong_cut_is_chosen_at_most_as_often_as_stated() -> None:
    """The risk passes the budget in the midst of the grid; looked at after every batch.

    Trusting each cut alone (no order, no sharing) in the same runs shows that the test can fail.
    """
    rng, runs, budget = np.random.default_rng(3), 200, 0.05
    risk = np.linspace(0.5, 0.0, BINS) ** 2
    mass = np.full(BINS, 1.0 / BINS)
    true = np.cumsum((mass * risk)[::-1])[::-1] / np.cumsum(mass[::-1])[::-1]
    chosen_wrong, any_wrong = np.zeros(runs, bool), np.zeros(runs, bool)
    n, wrong = np.zeros((runs, BINS)), np.zeros((runs, BINS))
    bets = bets_below(budget, Noise())
    for _ in range(60):
        come = rng.multinomial(60, mass, runs)
        n += come
        wrong += rng.binomial(come, risk)
        above = (n[:, ::-1].cumsum(axis=1)[:, ::-1], wrong[:, ::-1].cumsum(axis=1)[:, ::-1])
        values = log_wealth(bets, budget, *above)
        any_wrong |= ((above[1] <= budget * above[0]) & (above[0] > 20) & (true > budget)).any(axis=1)
        for run in range(runs):
            cut = least_proven(values[run], above[0][run], 0.95, starts(budget))
            chosen_wrong[run] |= cut is not None and true[cut.bin] > budget
    assert chosen_wrong.mean() <= 0.05
    assert any_wrong.mean() > 0.3
