"""The memory of keys and values: one tensor that holds every slot of every layer.

Knows shapes and copies; who owns a slot is the allocator's affair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

from semcache.engine.model.shape import Shape
from semcache.engine.runs import Run

ZERO_SLOTS = 1
"""Slots behind the last one that are always zero: what short gathers are filled up with."""


class KvPool:
    """Keys and values as [layers, 2 * KV heads, slots + 1, head dim]; keys first, then values.

    Head-major, so that a run of slots is one matrix for each head. Zero at first, by the
    operating system's own zero pages: memory is taken when a slot is first written.
    """

    def __init__(self, shape: Shape, slots: int, dtype: torch.dtype, device: torch.device) -> None:
        self._heads = shape.kv_heads
        self.slots = slots
        size = (shape.layers, 2 * shape.kv_heads, slots + ZERO_SLOTS, shape.head_dim)
        self.arena = _zeros(size, dtype, device)
        self.bytes_per_slot = 2 * shape.layers * shape.kv_heads * shape.head_dim * dtype.itemsize

    def clear(self, runs: Sequence[Run]) -> None:
        """Zero slots."""
        for run in runs:
            self._view(run).zero_()

    def read(self, run: Run) -> Tensor:
        """Copy a run to the host: [2, layers, KV heads, length, head dim]."""
        return self._split(run).contiguous().cpu()

    def write(self, run: Run, values: Tensor) -> None:
        """Put back what `read` gave.

        Raises:
            ValueError: `values` has another shape or dtype than such a run.
        """
        place = self._split(run)
        if values.shape != place.shape or values.dtype != place.dtype:
            raise ValueError(f"a run of {run.length} slots cannot take {tuple(values.shape)} {values.dtype}")
        place.copy_(values)

    def _view(self, run: Run) -> Tensor:
        if run.start < 0 or run.length < 0 or run.end > self.slots:
            raise ValueError(f"{run} is outside of the pool")
        return self.arena[:, :, run.start : run.end]

    def _split(self, run: Run) -> Tensor:
        return torch.unflatten(self._view(run), 1, (2, self._heads)).transpose(0, 1)


_ALIGNMENT = 64


def _zeros(size: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Give zeros; on the CPU untouched pages of the operating system, which `torch.zeros` would all write to.

    Raises:
        MemoryError: more than the machine can ever have.
    """
    if device.type != "cpu":
        return torch.zeros(size, dtype=dtype, device=device)
    count = math.prod(size) * dtype.itemsize
    raw = numpy.zeros(count + _ALIGNMENT, dtype=numpy.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return torch.from_numpy(raw[start : start + count]).view(dtype).view(size)
