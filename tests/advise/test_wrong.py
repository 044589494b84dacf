"""Intervals of wrong hits: by compared answers, by the calibration, or none; never a bare number."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.advise.wrong import (
    FALSE_ALARM,
    OVERLOOKED,
    SHIFT,
    Compared,
    Method,
    calibrated,
    expected_wrong,
)
from semcache.decide.risk.fixed import clopper_pearson
from semcache.decide.risk.grid import BINS, EDGES
from semcache.decide.risk.prior import Prior
from semcache.decide.verify.verifier import open_prior

_SCORES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60)
PROMISED = Prior((1000.0,) * BINS, tuple(1000.0 * (1.0 - edge) for edge in EDGES))
"""A calibration that promises what the lower edge of each bin says."""


def test_equal_answers_leave_no_room_for_false_alarms() -> None:
    found = expected_wrong(200, [], Compared(right=190, wrong=10, equal=200), None)
    low, high = clopper_pearson(200, 10)
    assert (found.method, found.likely) == (Method.COMPARED, 0.05)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high / (1 - OVERLOOKED)))


def test_what_the_comparison_may_have_called_wrong_by_mistake_is_taken_off_below_and_never_above() -> None:
    in_words = expected_wrong(200, [], Compared(right=180, wrong=20), None)
    equal = expected_wrong(200, [], Compared(right=180, wrong=20, equal=180), None)
    assert in_words.low < equal.low
    assert in_words.high == equal.high
    assert expected_wrong(200, [], Compared(right=1000, wrong=int(1000 * FALSE_ALARM)), None).low == 0.0


def test_undecided_pairs_are_counted_apart() -> None:
    some = expected_wrong(500, [], Compared(right=95, wrong=5), None)
    more = expected_wrong(500, [], Compared(right=95, wrong=5, undecided=400), None)
    assert (some.low, some.high) == (more.low, more.high)
    assert more.compared.undecided == 400


def test_a_handful_of_answers_gives_way_to_the_calibration() -> None:
    few = Compared(right=5)
    assert expected_wrong(50, [0.95] * 50, few, PROMISED).method is Method.CALIBRATED
    assert expected_wrong(50, [], few, PROMISED).method is Method.COMPARED
    assert expected_wrong(50, [0.95] * 50, Compared(right=20), PROMISED).method is Method.COMPARED


def test_without_answers_and_scores_nothing_is_said() -> None:
    found = expected_wrong(50, [], Compared(undecided=9), PROMISED)
    assert (found.method, found.low, found.high, found.likely) == (Method.UNKNOWN, 0.0, 1.0, None)
    assert found.at_most == 50.0
    assert expected_wrong(50, [0.9], Compared(), None).method is Method.UNKNOWN


@given(_SCORES, st.randoms(use_true_random=False))
def test_the_calibrations_interval_holds_its_likely_share_whatever_the_order(
    scores: list[float], order: random.Random
) -> None:
    low, likely, high = calibrated(scores, PROMISED)
    assert 0.0 <= low <= likely <= high <= 1.0
    assert high > likely or likely == 1.0
    shuffled = list(scores)
    order.shuffle(shuffled)
    assert np.allclose(calibrated(shuffled, PROMISED), (low, likely, high))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, 2.0])
def test_what_is_no_probability_counts_as_no_confidence(bad: float) -> None:
    low, likely, high = calibrated([bad], PROMISED)
    assert np.isfinite([low, likely, high]).all()
    assert high == 1.0


def test_more_hits_of_the_same_scores_do_not_take_away_the_doubt_about_the_traffic() -> None:
    few, many = calibrated([0.98] * 20, open_prior()), calibrated([0.98] * 20_000, open_prior())
    assert few[2] - few[0] > many[2] - many[0]
    # One standard deviation of the shift is a factor of 2.5 in the odds; two each way remain.
    assert many[2] / max(many[0], 1e-9) > 5


@pytest.mark.parametrize("deviations", [-1.5, -1.0, 0.0, 1.0, 1.5])
def test_the_true_share_lies_inside_wherever_traffic_is_as_unlike_as_believed(deviations: float) -> None:
    """Logs drawn from a world whose odds are those of the calibration times a factor."""
    inside = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        scores = draw.choice([0.89, 0.93, 0.97, 0.985, 0.993, 0.998], 300)
        odds = (1.0 - scores) / scores * np.exp(deviations * SHIFT)
        wrong = draw.binomial(1, odds / (1.0 + odds)).mean()
        low, _, high = calibrated(list(scores), PROMISED)
        inside += low <= wrong <= high
    assert inside >= 36
