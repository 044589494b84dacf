"""Root-mean-square norms: with weights of their own, or with the weights moved into the next matrix.

The second is half of the work on the CPU. Both work on each row alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum, auto

import torch
from torch import Tensor
from torch.nn.functional import rms_norm

Norm = Callable[[Tensor], Tensor]
"""Takes [rows, hidden], gives [rows, hidden]."""


class RmsNorm:
    """x / sqrt(mean(x^2) + epsilon) * weight, by torch's own function."""

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        self._weight = weight
        self._epsilon = epsilon

    def __call__(self, x: Tensor) -> Tensor:
        """Norm each row."""
        return rms_norm(x, self._weight.shape, self._weight, self._epsilon)


class LengthNorm:
    """The same by fewer and faster steps for the CPU: x / sqrt(sum(x^2) + size * epsilon), then `gain` if any."""

    def __init__(self, size: int, epsilon: float, gain: Tensor | None) -> None:
        self._added = size * epsilon
        self._gain = gain

    def __call__(self, x: Tensor) -> Tensor:
        """Norm each row."""
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        result: Tensor = x * length.square_().add_(self._added).rsqrt_()
        return result if self._gain is None else result.mul_(self._gain)


class NormPlace(Enum):
    """Where a norm's weight goes: FOLDED into the next matrix, APART beside a fast norm, or in TORCH's own."""

    FOLDED = auto()
    APART = auto()
    TORCH = auto()


def split_norm(weight: Tensor, epsilon: float, place: NormPlace) -> tuple[Norm, Tensor | None]:
    """Give a norm, and what the columns of the next matrix must be multiplied by (None: nothing)."""
    size = len(weight)
    gain = weight * math.sqrt(size)
    match place:
        case NormPlace.FOLDED:
            return LengthNorm(size, epsilon, None), gain
        case NormPlace.APART:
            return LengthNorm(size, epsilon, gain), None
        case NormPlace.TORCH:
            return RmsNorm(weight.clone(), epsilon), None
