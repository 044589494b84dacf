"""Attention of one pass by torch's own fused kernel, for GPUs: every sequence attends over its own gathered keys.

The same interface as `attention`, made of the same plans. Sequences with equally many new tokens
share a call, one in each row of the batch, so that no sequence ever multiplies another's values;
shared prefixes are read once for each row, which a GPU's memory bears better than many small
calls. Runs on any device, and is tested on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from semcache.engine.model.plan import Group, Plan, Tails
from semcache.engine.model.pool import KvPool
from semcache.engine.model.shape import Shape
from semcache.engine.runs import Run

_COLUMNS = 64
"""Keys are filled up to multiples of this with the pool's zero slot: fused kernels want aligned masks."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Sequences with equally many new tokens.

    `rows` [sequences, tokens] are places in the pass, `slots` [sequences * keys] the gathered
    ones, `seen` [sequences, 1, tokens * groups, keys] what each query may attend to.
    """

    rows: Tensor
    slots: Tensor
    seen: Tensor


class SdpaAttention:
    """Writes and attends for every layer of one pass that was planned without joint groups.

    `is_batched` false gives each sequence calls of its own, so that their shapes, and with them
    the kernels that a GPU's libraries choose, depend on that sequence alone.
    """

    def __init__(self, plan: Plan, shape: Shape, pool: KvPool, *, is_batched: bool) -> None:
        self._shape = shape
        self._arena = pool.arena
        self._writes = _slots(plan.writes, pool)
        self._batches = [
            self._batch(groups, pool)
            for groups in (_by_tokens(plan.groups) if is_batched else _one_each(plan.groups))
        ]

    def __call__(self, layer: int, mixed: Tensor) -> Tensor:
        """Store the new keys and values, and attend: see `attention.Attention`."""
        shape = self._shape
        tokens, width = len(mixed), shape.heads * shape.head_dim
        arena = self._arena[layer]
        fresh = mixed[:, width:].view(tokens, 2 * shape.kv_heads, shape.head_dim).transpose(0, 1)
        arena.index_copy_(1, self._writes, fresh)
        result = mixed.new_empty(tokens, width)
        for batch in self._batches:
            result[batch.rows.flatten()] = self._attend(arena, mixed[:, :width], batch)
        return result

    def _attend(self, arena: Tensor, queries: Tensor, batch: _Batch) -> Tensor:
        """Give [sequences * tokens, heads * head dim]."""
        shape = self._shape
        sequences, tokens = batch.rows.shape
        keys = batch.seen.shape[-1]
        asked = queries[batch.rows].view(sequences, tokens, shape.kv_heads, shape.groups, shape.head_dim)
        folded = asked.transpose(1, 2).reshape(sequences, shape.kv_heads, -1, shape.head_dim)
        both = arena.index_select(1, batch.slots).view(2, shape.kv_heads, sequences, keys, shape.head_dim)
        found = scaled_dot_product_attention(
            folded, both[0].transpose(0, 1), both[1].transpose(0, 1), attn_mask=batch.seen, scale=1.0
        )
        heads = (sequences, shape.kv_heads, tokens, shape.groups * shape.head_dim)
        return found.view(heads).transpose(1, 2).reshape(sequences * tokens, -1)

    def _batch(self, groups: Sequence[Group], pool: KvPool) -> _Batch:
        device = pool.arena.device
        keys = -(-max(group.lengths[-1] for group in groups) // _COLUMNS) * _COLUMNS
        rows = torch.tensor([[group.first + at for at in range(len(group.lengths))] for group in groups])
        slots = torch.full((len(groups), keys), pool.slots)
        for number, group in enumerate(groups):
            own = _slots(_runs(group), pool, "cpu")
            slots[number, : len(own)] = own
        lengths = torch.tensor([group.lengths for group in groups]).repeat_interleave(self._shape.groups, 1)
        seen = torch.arange(keys)[None, None] < lengths[:, :, None]
        return _Batch(rows.to(device), slots.flatten().to(device), seen[:, None].to(device))


def _runs(group: Group) -> tuple[Run, ...]:
    """Give the runs of a group of one sequence, planned without joint groups."""
    [segment] = group.segments
    if isinstance(segment, Tails):
        raise TypeError("a plan with joint groups")
    return segment.span.runs


def _slots(runs: Iterable[tuple[int, int]], pool: KvPool, device: str | None = None) -> Tensor:
    slots = [slot for start, length in runs for slot in range(start, start + length)]
    return torch.tensor(slots, device=device or pool.arena.device)


def _by_tokens(groups: Sequence[Group]) -> list[list[Group]]:
    """Put groups with equally many new tokens together."""
    found: dict[int, list[Group]] = {}
    for group in groups:
        found.setdefault(len(group.lengths), []).append(group)
    return list(found.values())


def _one_each(groups: Sequence[Group]) -> list[list[Group]]:
    return [[group] for group in groups]
