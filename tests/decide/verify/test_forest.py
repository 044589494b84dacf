"""Trees walked by hand, and forests that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from semcache.decide.verify.forest import forest_of

#        x0 <= 0.5 ?                 x1 <= 2 ?
#       /          \                /         \
#   -1.0        x1 <= 1 ?         0.25       -0.25
#              /         \
#            0.5         2.0
ARRAYS: dict[str, NDArray[Any]] = {
    "feature": np.array([[0, -1, 1, -1, -1], [1, -1, -1, -1, -1]], np.int16),
    "threshold": np.array([[0.5, 0, 1, 0, 0], [2, 0, 0, 0, 0]], np.float32),
    "left": np.array([[1, 0, 3, 0, 0], [1, 0, 0, 0, 0]], np.int16),
    "right": np.array([[2, 0, 4, 0, 0], [2, 0, 0, 0, 0]], np.int16),
    "value": np.array([[0, -1, 0, 0.5, 2], [0, 0.25, -0.25, 0, 0]], np.float32),
    "base": np.array(0.125),
    "knots": np.array([[-2.0, 0.1], [0.0, 0.5], [2.0, 0.9]], np.float32),
    "depth": np.array(2),
}


@pytest.mark.parametrize(
    ("row", "total"),
    [
        ((0.5, 1.0), -1.0 + 0.25), ((0.0, 3.0), -1.0 - 0.25), ((0.6, 1.0), 0.5 + 0.25), ((0.6, 1.5), 2.0 + 0.25),
        ((0.6, 2.5), 2.0 - 0.25), ((np.inf, -np.inf), 0.5 + 0.25),
    ],
)  # fmt: skip
def test_sums_are_those_of_the_leaves_that_a_row_reaches(row: tuple[float, float], total: float) -> None:
    assert forest_of(ARRAYS).total(np.array(row, np.float32)) == pytest.approx(0.125 + total)


@pytest.mark.parametrize(
    ("row", "probability"),
    [((0.5, 1.0), 0.5 - 0.625 * 0.2), ((0.6, 2.5), 0.5 + 1.875 * 0.2), ((0.6, 1.5), 0.9)],
)
def test_probabilities_lie_on_the_way_between_the_knots_and_never_beyond(
    row: tuple[float, float], probability: float
) -> None:
    assert forest_of(ARRAYS).probability(np.array(row, np.float32)) == pytest.approx(probability)


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_a_missing_array_is_named(name: str) -> None:
    with pytest.raises(KeyError, match=name):
        forest_of({key: array for key, array in ARRAYS.items() if key != name})


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("feature", np.zeros(5, np.int16)),
        ("threshold", np.zeros((2, 4), np.float32)),
        ("left", np.full((2, 5), 5, np.int16)),
        ("right", np.full((2, 5), -1, np.int16)),
        ("value", np.full((2, 5), np.nan, np.float32)),
        ("feature", np.full((2, 5), -2, np.int16)),
        ("base", np.zeros(2)),
        ("base", np.array(np.nan)),
        ("depth", np.zeros(2)),
        ("depth", np.array(-1)),
        ("knots", np.zeros((0, 2), np.float32)),
        ("knots", np.zeros((3, 3), np.float32)),
        ("knots", np.zeros(4, np.float32)),
        ("knots", np.array([[0.0, 0.5], [-1.0, 0.6]], np.float32)),
        ("knots", np.array([[0.0, 0.5], [1.0, 0.4]], np.float32)),
        ("knots", np.array([[0.0, 0.5], [1.0, 1.5]], np.float32)),
        ("knots", np.array([[0.0, -0.5], [1.0, 0.5]], np.float32)),
        ("knots", np.array([[0.0, np.nan], [1.0, 0.5]], np.float32)),
        ("value", np.array([["x"] * 5] * 2)),
    ],
)
def test_shapes_and_values_that_fit_no_forest_are_refused(name: str, array: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        forest_of(ARRAYS | {name: array})
