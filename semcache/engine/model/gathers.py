"""Keys and values that do not lie in one piece, copied side by side once for each layer."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from semcache.engine.model.pool import KvPool
from semcache.engine.model.shape import Shape
from semcache.engine.model.spans import Span
from semcache.engine.runs import Run


def filled_slots(runs: Iterable[Run], length: int, pool: KvPool) -> list[int]:
    """Give the slots of runs, filled up to `length` with the pool's zero slot."""
    slots = [slot for run in runs for slot in range(run.start, run.end)]
    return slots + [pool.slots] * (length - len(slots))


class Gathers:
    """The gathered spans of one pass in one copy; others are views of the pool."""

    def __init__(self, spans: Iterable[Span], pool: KvPool, shape: Shape) -> None:
        self._arena = pool.arena
        self._shape = shape
        self._starts: dict[Span, int] = {}
        slots: list[int] = []
        for span in spans:
            if span.is_gathered:
                self._starts[span] = len(slots)
                slots += filled_slots(span.runs, span.length, pool)
        self._index = torch.tensor(slots, dtype=torch.int64, device=self._arena.device)
        self._scratch = self._arena.new_empty(self._arena.shape[1], len(slots), self._arena.shape[3])

    def __call__(self, layer: int) -> None:
        """Copy a layer's keys and values."""
        if len(self._index):
            torch.index_select(self._arena[layer], 1, self._index, out=self._scratch)

    def keys(self, span: Span) -> tuple[Tensor, ...]:
        """Give for each layer the keys of a span: [KV heads, head dim, length]."""
        heads = self._shape.kv_heads
        if span.is_gathered:
            start = self._starts[span]
            part = self._scratch[:heads, start : start + span.length].transpose(1, 2)
            return (part,) * self._shape.layers
        start = span.runs[0].start
        return self._arena[:, :heads, start : start + span.length].transpose(2, 3).unbind(0)

    def values(self, span: Span, low: int, high: int) -> tuple[Tensor, ...]:
        """Give for each layer the values `low` up to `high` of a span: [KV heads, high - low, head dim]."""
        heads = self._shape.kv_heads
        if span.is_gathered:
            start = self._starts[span]
            return (self._scratch[heads:, start + low : start + high],) * self._shape.layers
        start = span.runs[0].start
        return self._arena[:, heads:, start + low : start + high].unbind(0)
