"""torch's own inner operators, all in one place: each is asked for by name and may be missing.

They are not part of torch's public interface, so every user of this file has another way to go,
and a test says when one of them is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]
"""Takes float32 [rows, in], gives float32 [rows, out]."""


def packed_product(weight: Tensor, bias: Tensor | None) -> Product | None:
    """Lay float32 [out, in] weights out once for oneDNN's matrix product.

    Gives None where this torch cannot. On x86 with AVX2 a row's bits do not depend on the number
    of rows beside it, not even for one or two rows, where `torch.nn.functional.linear` does
    (measured with torch 2.13; the probe checks it on the machine at hand).
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
        result: Tensor = product(x, packed, bias, "none", [], "")
        return result

    return multiply


def integer_product(weight: Tensor) -> Product | None:
    """Lay int8 [out, in] weights out once for fbgemm's integer product.

    The product takes whole numbers as float32 [rows, in], each within +-63 so that no pair of
    8-bit products leaves 16 bits, and gives exact sums as float32 [rows, out] (exact below 2^24).
    Gives None where this torch cannot.
    """
    try:
        prepack = torch.ops.quantized.linear_prepack
        product = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        scales = torch.ones(len(weight), dtype=torch.float64)
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        quantised = torch._make_per_channel_quantized_tensor(weight, scales, zeros, 0)  # noqa: SLF001 - as above
        packed: Any = prepack(quantised, None)
        product(torch.zeros(1, weight.shape[1]), 1.0, _MIDDLE, packed)
    except (AttributeError, RuntimeError, NotImplementedError):
        return None

    def multiply(x: Tensor) -> Tensor:
        result: Tensor = product(x, 1.0, _MIDDLE, packed)
        return result

    return multiply


_MIDDLE = 64
"""fbgemm takes unsigned bytes: -63..63 becomes 1..127."""
