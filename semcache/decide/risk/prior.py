"""Offline calibration as declared pseudo-evidence. Pure; knows no times or states.

A prior is what the verifier's model card says: hits and wrong ones by score bin. It weighs at most
its declared strength, less with every real label, and less again with what real
labels say against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.grid import BINS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prior:
    """Offline labels by score bin, BINS numbers each.

    Raises:
        ValueError: Not as many bins as the grid has, or not 0 <= wrong <= hits.
    """

    hits: tuple[float, ...]
    wrong: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.hits) == len(self.wrong) == BINS:
            raise ValueError(f"a prior has {BINS} bins")
        if not all(0.0 <= bad <= hits < 1e15 for hits, bad in zip(self.hits, self.wrong, strict=True)):
            raise ValueError("a prior needs 0 <= wrong <= hits in every bin")

    def from_bin_up(self) -> tuple[Floats, Floats]:
        """Give hits and wrong from each bin up, float64 [BINS] each."""
        hits, wrong = np.array(self.hits), np.array(self.wrong)
        return np.cumsum(hits[::-1])[::-1], np.cumsum(wrong[::-1])[::-1]


def faded(prior: Prior, strength: float, labels: Floats, against: Floats) -> tuple[Floats, Floats]:
    """Give the pseudo-hits from each bin up, and the wrong ones among them, as far as they still count.

    Args:
        prior: As declared; never scaled up, for nobody has more evidence than the card.
        strength: Pseudo-hits at most, for every cut on its own.
        labels: float64 [BINS], real labels from each bin up; as many as the strength halve the weight.
        against: float64 [BINS], log wealth of the bet that the real risk is over the budget;
            what it gained divides the weight, as Bayes' rule would with even odds.
    """
    hits, wrong = prior.from_bin_up()
    scale = np.minimum(1.0, strength / np.maximum(hits, 1e-9))
    fade = strength / (strength + labels) if strength > 0.0 else np.zeros(BINS)
    weight = scale * fade * np.exp(-np.maximum(against, 0.0))
    return hits * weight, wrong * weight
