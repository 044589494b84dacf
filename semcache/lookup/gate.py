"""The one gate every vector passes, on write and on query.

Knows numbers only: not whose vector it is nor what it is for. FAISS itself checks the dimension
with an `assert` (gone under `python -O`), answers NaN with id -1 and lets an unnormalised row win
every search, so nothing reaches it that did not pass here.
"""

from __future__ import annotations

import math

import numpy as np

from semcache.core import Vector
from semcache.errors import VectorIndexError

NORM_TOLERANCE = 1e-3
"""A norm this close to 1 is rounding and is put right; any other is a defect of the encoder."""

_ROUNDING = 1e-6


def checked(vector: Vector, dimension: int | None) -> Vector:
    """Give `vector` as a contiguous float32 [d] row of unit length.

    Args:
        vector: what an encoder gave; nothing about it is believed.
        dimension: what its encoder gives, or None when that is not known yet.

    Raises:
        VectorIndexError: `dtype` (no float32 array), `dimension` (not one row, or of another
            length), `not_finite`, or `norm` (further than `NORM_TOLERANCE` from 1).
    """
    if not isinstance(vector, np.ndarray) or vector.dtype != np.float32:
        raise VectorIndexError("a vector must be a float32 array", kind="dtype")
    if vector.ndim != 1 or vector.size == 0:
        raise VectorIndexError("a vector must be one row of at least one number", kind="dimension")
    if dimension is not None and vector.size != dimension:
        raise VectorIndexError(
            f"vector of {vector.size} numbers, its encoder gives {dimension}", kind="dimension"
        )
    # In double precision, so that a huge vector is refused for its norm and does not overflow.
    wide = vector.astype(np.float64)
    norm = math.sqrt(float(wide @ wide))
    if not math.isfinite(norm):
        raise VectorIndexError("a vector must be finite", kind="not_finite")
    if abs(norm - 1.0) > NORM_TOLERANCE:
        raise VectorIndexError(f"vector of length {norm:.4g}, expected 1", kind="norm")
    if abs(norm - 1.0) > _ROUNDING:
        return (wide / norm).astype(np.float32)
    return np.ascontiguousarray(vector)
