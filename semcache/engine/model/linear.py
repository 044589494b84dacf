"""Linear layers by kind: packed float32, plain, and row-scaled int8, behind one small interface.

Knows matrices only. In exact mode a row's result has the same bits whatever rows stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import linear, pad

from semcache.engine.model.kernels import Product, integer_product, packed_product

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
    """8-bit weights scaled by output, 7-bit activations scaled by row; sums are whole numbers, hence exact.

    Each row is scaled by its own largest value and rounded here, so that nothing in a row depends
    on its neighbours, and the integer product cannot saturate.
    """

    def __init__(self, product: Product, scales: Tensor, bias: Tensor | None) -> None:
        self._product = product
        self._scales = scales
        self._bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        """Take float32 [rows, in], give float32 [rows, out]; a row that is not finite gives such a row."""
        step = x.abs().amax(1, keepdim=True).mul_(1 / _ACTIVATION_LIMIT).clamp_(min=_TINY)
        # Not finite rows become zeros for the product, and are marked again by their own scale.
        whole = torch.nan_to_num(x / step, 0.0, 0.0, 0.0).round_()
        result = self._product(whole).mul_(self._scales).mul_(step)
        return result if self._bias is None else result.add_(self._bias)


_ACTIVATION_LIMIT = 63
_WEIGHT_LIMIT = 127
_TINY = 1e-30


def packed(weight: Tensor, bias: Tensor | None) -> Linear:
    """Make a float32 layer for the CPU: packed where torch can, else plain."""
    return packed_product(weight, bias) or Plain(weight, bias)


def row_int8(weight: Tensor, bias: Tensor | None) -> Linear:
    """Round float32 weights to 8 bits, each output by its own largest weight.

    Raises:
        NotImplementedError: this torch has no integer product.
    """
    scales = weight.abs().amax(1).div_(_WEIGHT_LIMIT).clamp_(min=_TINY)
    whole = (weight / scales[:, None]).round_().to(torch.int8)
    product = integer_product(whole)
    if product is None:
        raise NotImplementedError("this torch has no integer product")
    return RowInt8(product, scales, bias)
