"""A forest of boosted decision trees as plain arrays, and the map from its sum to a probability.

All trees are walked at once, level by level: a few array operations however many there are.
Knows nothing of what the numbers of a row mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees of one model.

    `feature` int16 [t, n] (-1 in a leaf), `threshold` float32 [t, n] (go left at or below), `left` and `right`
    int16 [t, n], `value` float32 [t, n] (of leaves), `base` the sum before any tree; `knots` float32 [k, 2]:
    (sum, probability), both rising, between which the way is straight.
    """

    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    value: NDArray[np.float32]
    base: float
    knots: NDArray[np.float32]
    depth: int

    def total(self, row: NDArray[np.float32]) -> float:
        """Give the sum over all trees (log-odds before calibration) for a row float32 [f]."""
        trees = np.arange(len(self.feature))
        node = np.zeros(len(self.feature), dtype=np.int64)
        for _ in range(self.depth):
            feature = self.feature[trees, node]
            goes_left = row[feature] <= self.threshold[trees, node]
            step = np.where(goes_left, self.left[trees, node], self.right[trees, node])
            node = np.where(feature < 0, node, step)
        return self.base + float(self.value[trees, node].sum(dtype=np.float64))

    def probability(self, row: NDArray[np.float32]) -> float:
        """Give the calibrated probability, in [0, 1]."""
        return float(np.interp(self.total(row), self.knots[:, 0], self.knots[:, 1]))


def forest_of(arrays: Mapping[str, NDArray[np.generic]]) -> Forest:
    """Build a forest from the arrays of a file.

    Raises:
        KeyError, ValueError: an array is missing or does not fit the others.
    """
    feature = arrays["feature"].astype(np.int16)
    others = [arrays[name] for name in ("threshold", "left", "right", "value")]
    if feature.ndim != 2 or any(array.shape != feature.shape for array in others):
        message = "the arrays of a forest have different shapes"
        raise ValueError(message)
    forest = Forest(
        feature=feature,
        threshold=others[0].astype(np.float32),
        left=others[1].astype(np.int16),
        right=others[2].astype(np.int16),
        value=others[3].astype(np.float32),
        base=float(arrays["base"].astype(np.float64).reshape(())),
        knots=arrays["knots"].astype(np.float32),
        depth=int(arrays["depth"].astype(np.int64).reshape(())),
    )
    _check_trees(forest)
    _check_knots(forest.knots)
    return forest


def _check_trees(forest: Forest) -> None:
    """Refuse what would lead out of a tree, or to a sum that is no number."""
    inner, nodes = forest.feature >= 0, forest.feature.shape[1]
    children = np.concatenate([forest.left[inner], forest.right[inner]])
    astray = ((children < 0) | (children >= nodes)).any() or (forest.feature < -1).any()
    if astray or nodes == 0 or forest.depth < 0:
        message = "a tree leads to nodes that it does not have"
        raise ValueError(message)
    if not (np.isfinite(forest.value).all() and np.isfinite(forest.base)):
        message = "a leaf of a tree holds no number"
        raise ValueError(message)


def _check_knots(knots: NDArray[np.float32]) -> None:
    """Refuse what is no rising map to probabilities."""
    if knots.ndim != 2 or knots.shape[0] == 0 or knots.shape[1] != 2 or not np.isfinite(knots).all():
        message = "the calibration is no list of points"
        raise ValueError(message)
    falls = (np.diff(knots, axis=0) < 0.0).any()
    if falls or knots[:, 1].min() < 0.0 or knots[:, 1].max() > 1.0:
        message = "the calibration does not rise from 0 to 1"
        raise ValueError(message)
