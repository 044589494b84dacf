"""Rotary position embedding as one complex product: angles from transformers, weights laid out for it.

transformers pairs value i of a head with value i + half. Here pairs stand side by side (the rows
of the query and key weights are reordered once), so that turning all heads of all tokens is one
product of complex numbers. Scores do not change: both sides of each product are reordered alike.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_CHUNK = 4096


def angles(rotary: Any, positions: int, head_dim: int) -> Tensor:
    """Ask a transformers rotary module for all positions: complex64 [positions, head dim / 2] on the CPU.

    The module's own scaling of attention is part of the numbers' lengths.
    """
    parts: list[Tensor] = []
    like = torch.zeros(1, dtype=torch.float32)
    for start in range(0, positions, _CHUNK):
        at = torch.arange(start, min(start + _CHUNK, positions))[None]
        cosine, sine = rotary(like, at)
        parts.append(torch.complex(cosine[0, :, : head_dim // 2], sine[0, :, : head_dim // 2]))
    return torch.cat(parts)


def paired(rows: Tensor, head_dim: int) -> Tensor:
    """Reorder [heads * head dim, ...] so that the two values of each pair are neighbours."""
    split = torch.unflatten(rows, 0, (-1, 2, head_dim // 2))
    return split.transpose(1, 2).reshape(rows.shape)


def turn(vectors: Tensor, angles: Tensor) -> None:
    """Turn [tokens, heads, head dim] in place by complex64 [tokens, head dim / 2]."""
    turns = angles[:, None]
    if vectors.dtype == torch.float32:
        torch.view_as_complex(torch.unflatten(vectors, 2, (-1, 2))).mul_(turns)
        return
    whole = torch.view_as_complex(torch.unflatten(vectors.float(), 2, (-1, 2))) * turns
    vectors.copy_(torch.view_as_real(whole).flatten(2))
