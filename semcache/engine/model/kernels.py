"""torch's own inner operators, all in one place: each is asked for by name and may be missing.

They are not part of torch's public interface, so every user of this file has another way to go,
and a test says when one of them is gone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

Product = Callable[[Tensor], Tensor]
"""Takes float32 [rows, in], gives float32 [rows, out]."""


def packed_product(weight: Tensor, bias: Tensor | None) -> Product | None:
    """Lay float32 [out, in] weights out once for oneDNN's matrix product.

    Gives None where this torch cannot. On x86 with AVX2 a row's bits do not depend on the number
    of rows beside it, where those of `torch.nn.functional.linear` do (measured with torch 2.13; the
    probe checks it on the machine at hand). But for one row alone: with AVX-512 on AMD long rows are then
    added up in another order, so a lone row gets a second one (which takes no longer).
    """
    operators = torch.ops.mkldnn
    try:
        reorder = operators._reorder_linear_weight  # noqa: SLF001 - this file is the door to such names
        product = operators._linear_pointwise  # noqa: SLF001 - as above
        packed = reorder(weight, None)
        product(torch.zeros(1, weight.shape[1]), packed, bias, "none", [], "")
    except (AttributeError, RuntimeError, NotImplementedError):
        return None

    def multiply(x: Tensor) -> Tensor:
        rows = len(x)
        result: Tensor = product(x if rows > 1 else pad(x, (0, 0, 0, 2 - rows)), packed, bias, "none", [], "")
        return result if rows > 1 else result[:rows]

    return multiply


def integer_product(weight: Tensor, scales: Tensor, lowest: int) -> Product | None:
    """Lay int8 [out, in] weights out once for fbgemm's integer product.

    The product takes whole numbers from `lowest` to `lowest` + 255 as float32 [rows, in] and gives
    their exact integer sums times `scales` [out] as float32 [rows, out]. fbgemm adds pairs of
    products in 16 bits that do not wrap but stick, so the caller must keep twice the largest
    product of (value - lowest) and weight below 2^15. Gives None where this torch cannot.
    """
    try:
        prepack = torch.ops.quantized.linear_prepack
        product = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        with warnings.catch_warnings():
            # torch announces that such tensors will go; the test of this function will tell when.
            warnings.simplefilter("ignore")
            quantised = torch._make_per_channel_quantized_tensor(  # noqa: SLF001 - as above
                weight, scales.double(), torch.zeros(len(weight), dtype=torch.int64), 0
            )
            packed: Any = prepack(quantised, None)
            product(torch.zeros(1, weight.shape[1]), 1.0, -lowest, packed)
    except (AttributeError, RuntimeError, NotImplementedError):
        return None

    def multiply(x: Tensor) -> Tensor:
        result: Tensor = product(x, 1.0, -lowest, packed)
        return result

    return multiply
