"""What keeping an answer is worth."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Completion, Usage
from semcache.store.lua_worth import WORTH
from semcache.store.worth import HALF_LIFE, added, level, made_for, step
from tests.store.servers import entry

costs = st.floats(1.0, 1e9)


def test_script_and_module_count_time_alike() -> None:
    assert f"FAR, HALF = {2**40}, {HALF_LIFE:g}\n" in WORTH


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"worth": 250.0}, 250.0),
        ({"worth": 0.2}, 1.0),
        ({"worth": 1e30}, 1e12),
        ({"worth": 0.0, "completion": Completion(b"{}", Usage(1000, 500))}, 450.0),
        ({"worth": float("nan"), "completion": Completion(b"{}", Usage(1000, 500))}, 450.0),
        ({"completion": Completion(b"{}", Usage(-5, -5))}, 1.0),
        ({"completion": Completion(b"x" * 4000, None), "prompt": "y" * 400}, 615.0),
        ({"completion": Completion(b"{}", None), "prompt": ""}, 1.0),
    ],
)
def test_what_making_an_answer_cost(changes: dict[str, object], expected: float) -> None:
    assert made_for(dataclasses.replace(entry(), **changes)) == pytest.approx(expected)  # type: ignore[arg-type]


@given(costs, costs, st.floats(0, 1e5))
def test_savings_add_up(one: float, two: float, now: float) -> None:
    both = added(now + level(one), now + level(two))
    assert both == pytest.approx(now + math.log2(one + two), abs=1e-6)
    assert both == added(now + level(two), now + level(one))
    assert added(None, level(one, 4)) == pytest.approx(math.log2(4 * one))


@given(costs, st.floats(0, 1e4), st.integers(1, 40))
def test_a_saving_counts_half_after_a_half_life(cost: float, now: float, halves: int) -> None:
    """Saved long ago, it is worth as much as so much less saved today."""
    later = now + halves * HALF_LIFE * 1000 * step(800, 1000, 1 << 40)
    assert now + level(cost * 2**halves) == pytest.approx(later + level(cost), abs=1e-4)


def test_large_answers_fill_a_room_faster() -> None:
    assert step(500_000, 1000, 1_000_000) == pytest.approx(0.5 / HALF_LIFE)
    assert step(800, 1000, 1_000_000) == pytest.approx(0.001 / HALF_LIFE)
