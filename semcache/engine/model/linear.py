"""Linear layers by kind: packed float32, plain, and row-scaled int8, behind one small interface.

Knows matrices only. In exact mode a row's result has the same bits whatever rows stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import linear, pad

from semcache.engine.model.kernels import Product, integer_product, packed_product
from semcache.errors import EngineError

LEAST_ROWS = 4
"""From this many rows on, the bits of a matrix product's row do not depend on the number of rows."""


Linear = Callable[[Tensor], Tensor]
"""A matrix product with fixed weights: takes [rows, in], gives [rows, out]."""

LinearMaker = Callable[[Tensor, Tensor | None], Linear]
"""Makes a layer of weights [out, in] and a bias [out] or None."""


class Plain:
    """torch's own product, with at least `least` rows."""

    def __init__(self, weight: Tensor, bias: Tensor | None, least: int = LEAST_ROWS) -> None:
        self._weight = weight.contiguous()
        self._bias = bias
        self._least = least

    def __call__(self, x: Tensor) -> Tensor:
        """Take [rows, in], give [rows, out]."""
        rows = len(x)
        if rows >= self._least:
            return linear(x, self._weight, self._bias)
        return linear(pad(x, (0, 0, 0, self._least - rows)), self._weight, self._bias)[:rows]


class InRows:
    """Another layer's product, always over exactly `count` rows at a time: the recipe for machines that mix rows."""

    def __init__(self, inner: Linear, count: int) -> None:
        self._inner = inner
        self._count = count

    def __call__(self, x: Tensor) -> Tensor:
        """Take [rows, in], give [rows, out]."""
        rows = len(x)
        padded = pad(x, (0, 0, 0, -rows % self._count))
        return torch.cat([self._inner(part) for part in torch.split(padded, self._count)])[:rows]


class RowInt8:
    """Activations rounded to 8 bits between each row's own ends, weights to 7 bits by output.

    Sums are whole numbers, hence exact, and each row is rounded here by its own values alone, so
    a row neither feels its neighbours nor the number of rows. A row that is not finite stays so.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        whole, scales = _rounded(weight, _SEVEN_BITS)
        self._product = _integer(whole, scales, 0)
        self._sums = whole.sum(1, dtype=torch.float32).mul_(scales)
        self._bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        """Take float32 [rows, in], give float32 [rows, out]."""
        low, high = torch.aminmax(x, dim=1, keepdim=True)
        step = (high - low).mul_(1 / 254).clamp_(min=_TINY)
        # Zero stays exactly zero: most values are near it, and a common error of theirs would add up.
        zero = (low / step).round_()
        result = self._product((x / step).round_().sub_(zero))
        result.mul_(step).addcmul_(zero.mul_(step), self._sums)
        return result if self._bias is None else result.add_(self._bias)


class SplitInt8:
    """Activations rounded to 14 bits, as two rows of 7, weights to 8 bits by output: twice the rows of RowInt8.

    For the head, where rounding tells most and rows are few (one costs hardly less than two).
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._product = _integer(*_rounded(weight, _EIGHT_BITS), -_SEVEN_BITS - 1)
        self._bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        """Take float32 [rows, in], give float32 [rows, out]."""
        low, high = torch.aminmax(x, dim=1, keepdim=True)
        step = torch.maximum(high, -low).mul_(1 / (_SEVEN_BITS * _EIGHT_BITS)).clamp_(min=_TINY)
        whole = (x / step).round_()
        coarse = (whole / _EIGHT_BITS).round_()
        both = self._product(torch.cat([coarse, whole.sub_(coarse, alpha=_EIGHT_BITS)]))
        result = both[: len(x)].mul_(_EIGHT_BITS).add_(both[len(x) :]).mul_(step)
        return result if self._bias is None else result.add_(self._bias)


_SEVEN_BITS = 63
_EIGHT_BITS = 127
_TINY = 1e-30


def _rounded(weight: Tensor, limit: int) -> tuple[Tensor, Tensor]:
    """Round [out, in] to int8 within +-limit, each output by its own largest weight; give the scales [out], too."""
    scales = weight.abs().amax(1).div_(limit).clamp_(min=_TINY)
    return (weight / scales[:, None]).round_().to(torch.int8), scales


def _integer(weight: Tensor, scales: Tensor, lowest: int) -> Product:
    product = integer_product(weight, scales, lowest)
    if product is None:
        raise EngineError("int8 is not possible with this torch; fp32 is")
    return product


def packed(weight: Tensor, bias: Tensor | None) -> Linear:
    """Make a float32 layer for the CPU: packed where torch can, else plain."""
    return packed_product(weight, bias) or Plain(weight, bias)
