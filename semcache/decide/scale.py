"""Explicit thresholds of an encoder without a calibration table, as a scale of their own. Pure.

Such an encoder's policy says at which raw cosines the bars lie; between them the way is straight.
"""

from __future__ import annotations

from collections.abc import Sequence


def rescale(cosine: float, knots: Sequence[tuple[float, float]]) -> float:
    """Map a raw cosine by straight lines between knots.

    Args:
        cosine: raw, in [-1, 1].
        knots: pairs (raw, reference), in any order; the ends (-1, -1) and (1, 1) are added.

    Returns:
        A similarity on the reference scale; never above 1 nor below -1, and never falling while
        the cosine rises.
    """
    points = sorted({(-1.0, -1.0), *knots, (1.0, 1.0)})
    at = max(-1.0, min(1.0, cosine))
    for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
        if at <= x1:
            return y1 if x1 == x0 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return 1.0
