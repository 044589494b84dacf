"""Explicit thresholds as a scale: exact at the knots, rising between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.scale import on_curves, rescale

BAND = ((0.94, 0.85), (0.96, 0.90), (0.97, 0.92))
unit = st.floats(-1, 1)


@pytest.mark.parametrize(("raw", "reference"), [*BAND, (1.0, 1.0), (-1.0, -1.0), (0.965, 0.91), (2.0, 1.0)])
def test_exact_at_the_knots_and_straight_between(raw: float, reference: float) -> None:
    assert rescale(raw, BAND) == pytest.approx(reference)


@given(unit, unit)
def test_never_falls(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert rescale(low, BAND) <= rescale(high, BAND) + 1e-12


def test_no_knots_change_nothing_and_the_strictest_curve_rules() -> None:
    assert rescale(0.3, ()) == pytest.approx(0.3)
    assert on_curves(0.97, [BAND, ((0.97, 0.5),)]) == pytest.approx(0.5)
