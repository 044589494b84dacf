"""Explicit thresholds of an encoder without a calibration table, as a scale of their own. Pure.

Such an encoder's policy says at which raw cosines the bars lie; between them the way is straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from semcache.core import Curve


def on_curves(cosine: float, curves: Sequence[Curve]) -> float:
    """Give the least similarity that any of the curves gives for a raw cosine.

    Args:
        cosine: raw, in [-1, 1].
        curves: at least one; see `rescale`.
    """
    return min(rescale(cosine, curve) for curve in curves)


def rescale(cosine: float, knots: Curve) -> float:
    """Map a raw cosine by straight lines between knots.

    Args:
        cosine: raw, in [-1, 1].
        knots: points (raw, reference), in any order; the ends (-1, -1) and (1, 1) are added.

    Returns:
        A similarity on the reference scale, never falling while the cosine rises; where a raw
        value has two references, the lower one.
    """
    points = sorted({(-1.0, -1.0), *knots, (1.0, 1.0)})
    at = max(-1.0, min(1.0, cosine))
    for (x0, y0), (x1, y1) in pairwise(points):
        if at <= x1:
            return y0 if x1 == x0 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return 1.0
