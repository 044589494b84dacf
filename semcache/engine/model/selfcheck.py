"""The fused forward pass against transformers' own on the same weights, at every load.

A variant of a known family that computes something else is found here, so that it is refused
and never answers wrongly.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from semcache.engine.forward import Network, Piece
from semcache.engine.runs import Run
from semcache.errors import EngineError

TOKENS = 16
"""How many tokens are compared."""

TOLERANCE = {"fp32": 1e-3, "bf16": 0.15, "int8": 0.35}
"""Largest accepted distance of logits, relative to their own length, by precision.

A forgotten norm, bias or turn makes it about 1; rounding makes it 1e-6, 0.02 and 0.05.
"""


@torch.inference_mode()
def reference(model: Any) -> Tensor:
    """Ask transformers for float32 [TOKENS, vocabulary] on the CPU."""
    tokens = torch.tensor([_sample(int(model.config.vocab_size))], device=model.device)
    logits: Tensor = model(input_ids=tokens, use_cache=False).logits[0]
    return logits.float().cpu()


def compare(network: Network, expected: Tensor, precision: str) -> None:
    """Compare a network with what `reference` gave; leaves the used slots zero.

    Raises:
        EngineError: they disagree.
    """
    run = Run(0, TOKENS)
    [found] = network.forward([Piece(_sample(expected.shape[1]), 0, (run,), TOKENS)])
    network.clear([run])
    distance = float((found - expected).norm() / expected.norm())
    if not distance <= TOLERANCE[precision]:  # a NaN is no agreement
        raise EngineError(
            f"unsupported model: its logits differ from transformers' own by {distance:.2g} of their size"
        )


def _sample(vocabulary: int) -> tuple[int, ...]:
    """Spread tokens over the vocabulary."""
    return tuple((at * 7919 + 13) % vocabulary for at in range(TOKENS))
