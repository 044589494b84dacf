"""The alarm: when it comes, when it must not, and what it takes away."""

from __future__ import annotations

import numpy as np
import pytest

from semcache.decide.risk.bound import Noise
from semcache.decide.risk.drift import WATCHED, alarms, expected_delay
from semcache.decide.risk.grid import BINS

CLEAN = Noise()


def table(n: float, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same counts from every bin up, [days, BINS]."""
    days = wrong.size
    return np.full((days, BINS), float(n)), np.repeat(wrong[:, None].astype(float), BINS, axis=1)


def test_watched_bins_are_strict_to_loose() -> None:
    assert list(WATCHED) == sorted(WATCHED, reverse=True)
    assert (WATCHED[0], WATCHED[-1]) == (BINS - 2, 0)


def test_all_well_no_alarm() -> None:
    found = alarms(0.01, CLEAN, 100.0, *table(500, np.full(90, 5)))
    assert found.last.max() == -1
    assert found.kept_from().max() == 0
    assert (found.discards, found.reach) == (False, -1)


def test_a_jump_is_found_and_located() -> None:
    wrong = np.r_[np.full(60, 2), np.full(5, 40)]
    found = alarms(0.01, CLEAN, 100.0, *table(500, wrong))
    assert set(found.last) == {64}
    assert set(found.onset) == {60}
    assert set(found.kept_from()) == {60}
    assert (found.discards, found.reach) == (True, BINS - 1)


def test_when_it_is_over_the_bad_stretch_stays_in_the_books() -> None:
    wrong = np.r_[np.full(20, 2), np.full(2, 40), np.full(30, 2)]
    found = alarms(0.01, CLEAN, 100.0, *table(500, wrong))
    assert set(found.last) != {51}
    assert set(found.onset) == {20}


def test_what_is_bad_below_does_not_touch_the_strict_cuts() -> None:
    n, wrong = np.full((30, BINS), 300.0), np.zeros((30, BINS))
    wrong[15:, : WATCHED[3] + 1] = 30.0
    found = alarms(0.01, CLEAN, 100.0, n, wrong)
    kept = found.kept_from()
    # Up to the next watched cut, whose hits were seen to be good.
    assert found.reach == WATCHED[2] - 1
    assert set(kept[: WATCHED[2]]) == {15}
    assert set(kept[WATCHED[2] :]) == {0}


def test_mean_run_length_at_the_budget_itself() -> None:
    """The worst case that counts as well: 20,000 days at the budget, all cuts one and the same."""
    rng = np.random.default_rng(5)
    days, first = 100, []
    for _ in range(200):
        found = alarms(0.01, CLEAN, 100.0, *table(400, rng.binomial(400, 0.01, days)))
        first.append(found.last.max() >= 0)
    # At a mean run length of 100 days at least, at most 1 - 1/e of the runs may alarm within 100.
    assert np.mean(first) <= 0.64
    # It is no dead detector either: a short promise is broken often.
    loud = [
        alarms(0.01, CLEAN, 1.0, *table(400, rng.binomial(400, 0.01, days))).last.max() >= 0
        for _ in range(200)
    ]
    assert np.mean(loud) > 0.3


@pytest.mark.parametrize("factor", [2.0, 3.0, 5.0, 10.0])
def test_delay_is_about_what_is_stated(factor: float) -> None:
    rng = np.random.default_rng(6)
    batch, delays = 20, []
    for _ in range(60):
        days = int(40 * expected_delay(0.01, CLEAN, 100.0, 0.01 * factor) / batch) // 10
        n, wrong = table(batch, rng.binomial(batch, 0.01 * factor, days))
        for upto in range(1, days + 1):
            if alarms(0.01, CLEAN, 100.0, n[:upto], wrong[:upto]).last.max() >= 0:
                delays.append(upto * batch)
                break
        else:
            delays.append(days * batch)
    stated = expected_delay(0.01, CLEAN, 100.0, 0.01 * factor)
    # The stated one is the longer: it counts one starting bucket, the detector all of them.
    assert 0.25 * stated < np.mean(delays) < 1.1 * stated + batch


def test_no_delay_is_stated_within_the_budget() -> None:
    assert expected_delay(0.01, CLEAN, 100.0, 0.01) == float("inf")
    assert expected_delay(0.01, Noise(0.1, 0.1), 100.0, 0.05) > 3 * expected_delay(0.01, CLEAN, 100.0, 0.05)
