"""Decayed frequency: halves in time, orders at any time, survives years."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.prefix.frequency import HOUR, HalfLife

DAY = 24 * HOUR


def test_a_hit_counts_half_after_the_half_life() -> None:
    decay, weight = HalfLife(60.0), [decay_initial := 0.0, 0.0]
    decay.count(weight, [1], 1000.0)
    assert decay.value(weight[1], 1000.0) == pytest.approx(1.0)
    assert decay.value(weight[1], 1060.0) == pytest.approx(0.5)
    assert decay.value(weight[1], 1180.0) == pytest.approx(0.125)
    assert decay.value(decay_initial, 1180.0) == 0.0


def test_yesterdays_favourite_scores_below_what_is_in_use_after_two_hours() -> None:
    # 1,000 hits on one day, then never; others get 5 a minute on the next day.
    decay, weight = HalfLife(), [0.0] * 27
    for _ in range(1000):
        decay.count(weight, [1], DAY)
    for minute in range(120):
        for node in range(2, 27):
            for _ in range(5):
                decay.count(weight, [node], DAY + 60.0 * minute)
    now = DAY + 2 * HOUR
    assert decay.value(weight[1], now) == pytest.approx(250)
    assert [decay.value(weight[node], now) for node in range(2, 27)] == pytest.approx([325.0] * 25, rel=0.01)
    assert all(decay.rank(weight[1]) < decay.rank(weight[node]) for node in range(2, 27))


def test_a_path_gets_one_hit_each() -> None:
    decay, weight = HalfLife(), [0.0] * 5
    decay.count(weight, [1, 3], 7.0)
    assert [decay.value(stored, 7.0) for stored in weight] == pytest.approx([0, 1, 0, 1, 0])


def test_counts_for_years_and_keeps_the_order() -> None:
    decay, weight = HalfLife(HOUR), [0.0, 0.0, 0.0]
    decay.count(weight, [1], 0.0)
    ranks = []
    for day in range(0, 800, 7):
        decay.count(weight, [2], day * DAY)
        assert all(math.isfinite(stored) for stored in weight)
        ranks.append(decay.rank(weight[2]))
        assert decay.value(weight[2], day * DAY) == pytest.approx(1.0, abs=1.1)
    assert ranks == sorted(ranks)
    assert decay.rank(weight[1]) < decay.rank(weight[2])


def test_a_rank_survives_rescaling() -> None:
    decay, weight = HalfLife(1.0), [0.0, 0.0, 0.0]
    decay.count(weight, [1], 490.0)
    decay.count(weight, [1], 900.0)
    before = decay.rank(weight[1])
    decay.count(weight, [2], 1100.0)
    assert decay.rank(weight[1]) == pytest.approx(before)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_refuses_half_lives_that_are_none(seconds: float) -> None:
    with pytest.raises(ValueError, match="half-life"):
        HalfLife(seconds)


hits = st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 3)), max_size=30)


@given(hits, st.floats(0, 1e6))
def test_equals_the_plain_sum(uses: list[tuple[float, int]], wait: float) -> None:
    decay, weight = HalfLife(HOUR), [0.0] * 4
    uses.sort()
    for time, node in uses:
        decay.count(weight, [node], time)
    now = max((time for time, _ in uses), default=0.0) + wait
    for node in (1, 2, 3):
        plain = sum(2 ** ((time - now) / HOUR) for time, used in uses if used == node)
        assert decay.value(weight[node], now) == pytest.approx(plain, rel=1e-6, abs=1e-12)


def test_a_million_nodes_take_one_float_each() -> None:
    decay = HalfLife()
    weight = [0.0] * 1000
    decay.count(weight, range(1000), 5.0)
    assert len(vars(decay)) <= 2, "nothing is kept beside the column"
