"""A fitted forest as plain arrays: what `semcache.decide.verify.forest` reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier


def arrays_of(model: HistGradientBoostingClassifier) -> dict[str, NDArray[np.generic]]:
    """Give the trees' arrays, without calibration."""
    grown = [stage[0].nodes for stage in model._predictors]  # noqa: SLF001 - the library exports no trees
    shape = (len(grown), max(len(nodes) for nodes in grown))
    arrays: dict[str, NDArray[np.generic]] = {
        "feature": np.full(shape, -1, np.int16),
        "threshold": np.zeros(shape, np.float32),
        "left": np.zeros(shape, np.int16),
        "right": np.zeros(shape, np.int16),
        "value": np.zeros(shape, np.float32),
    }
    for t, nodes in enumerate(grown):
        n = len(nodes)
        inner = nodes["is_leaf"] == 0
        arrays["feature"][t, :n] = np.where(inner, nodes["feature_idx"], -1)
        # Thresholds lie between float32 rows, but are kept in float64: rounding up keeps each row on its side.
        arrays["threshold"][t, :n] = np.nextafter(
            nodes["num_threshold"].astype(np.float32), np.float32(np.inf)
        )
        arrays["left"][t, :n] = nodes["left"]
        arrays["right"][t, :n] = nodes["right"]
        arrays["value"][t, :n] = np.where(inner, 0.0, nodes["value"])
    arrays["base"] = np.array(float(model._baseline_prediction[0, 0]))  # noqa: SLF001 - as above
    arrays["depth"] = np.array(max(int(nodes["depth"].max()) for nodes in grown) + 1)
    return arrays
