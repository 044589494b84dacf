"""Bins and buckets."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.risk.grid import BINS, BUCKET_SECONDS, EDGES, bin_of, bucket_of


def test_edges_rise_and_are_fine_near_one() -> None:
    assert list(EDGES) == sorted(set(EDGES))
    assert (EDGES[0], BINS) == (0.0, 30)
    # Five bins at least in each of the two last decades of risk.
    for top in (0.9, 0.99, 0.999):
        assert sum(top <= edge < 1 - (1 - top) / 10 for edge in EDGES) >= 5 - (top == 0.999) * 0


@pytest.mark.parametrize(
    ("score", "edge"),
    [(0.0, 0.0), (0.4999, 0.0), (0.5, 0.5), (0.99, 0.99), (0.98999, 0.985), (0.9999, 0.9999), (1.0, 0.9999)],
)
def test_a_score_falls_into_its_bin(score: float, edge: float) -> None:
    assert EDGES[bin_of(score)] == edge


@pytest.mark.parametrize("score", [math.nan, -0.1, 1.0000001, math.inf, -math.inf])
def test_what_is_no_probability_is_no_confidence(score: float) -> None:
    assert bin_of(score) == 0


@given(st.floats(0, 1), st.floats(0, 1))
def test_bins_rise_with_the_score(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert bin_of(low) <= bin_of(high)
    assert EDGES[bin_of(low)] <= low


@pytest.mark.parametrize(
    ("at", "bucket"),
    [(0.0, 0), (BUCKET_SECONDS - 1e-3, 0), (BUCKET_SECONDS, 1), (-5.0, 0), (math.nan, 0), (math.inf, 0)],
)
def test_buckets_are_days(at: float, bucket: int) -> None:
    assert bucket_of(at) == bucket
