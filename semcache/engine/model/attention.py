"""Attention of one pass over the pool, segment by segment: the plan bound to tensors once, then run for each layer.

Knows tensors and plans, no weights. Scores of all rows that share a prefix stand in one table
whose columns are absolute positions; each segment fills its columns, one softmax runs over whole
rows, and values are summed block by block in the order of positions. A query row is one token
and one head of those that share a KV head, so that grouped queries need no copies of keys.

No key or value outside of the runs named by the caller is ever read (gathers are filled up with
the pool's own zero slot), so nothing that is not finite can come from somebody else's slots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from semcache.engine.model.gathers import Gathers
from semcache.engine.model.plan import Group, Plan, Segment, Tails
from semcache.engine.model.pool import KvPool
from semcache.engine.model.shape import Shape
from semcache.engine.model.works import LEAST_ROWS, SpanWork, Table, TailsWork


@dataclass(frozen=True, slots=True)
class _Bound:
    """One group: its tokens' place in the pass, its tensors, the mask of unseen columns, and the products."""

    own: slice
    queries: Tensor
    scores: Tensor
    whole_result: Tensor
    result: Tensor
    masked: Tensor
    mask: Tensor
    works: tuple[SpanWork | TailsWork, ...]


class Attention:
    """Writes and attends for every layer of one pass. Its tables are reused from layer to layer."""

    def __init__(self, plan: Plan, shape: Shape, pool: KvPool) -> None:
        self._shape = shape
        self._pool = pool
        self._arena = pool.arena
        device = pool.arena.device
        self._writes = _write_views(plan, pool) if len(plan.writes) <= _MOST_SLICES else None
        slots = [slot for run in plan.writes for slot in range(run.start, run.end)]
        self._slots = torch.tensor(slots, device=device)
        segments = [segment for group in plan.groups for segment in group.segments]
        spans = [segment.span for segment in segments if isinstance(segment, Segment)]
        self._gathers = Gathers(spans, pool, shape)
        self._groups = tuple(map(self._bind, plan.groups))

    def __call__(self, layer: int, mixed: Tensor) -> Tensor:
        """Store the new keys and values, and attend.

        `mixed` is [tokens, (heads + 2 KV heads) * head dim]: queries, keys, values, turned and
        scaled. Gives [tokens, heads * head dim].
        """
        shape = self._shape
        tokens, width = len(mixed), shape.heads * shape.head_dim
        fresh = mixed[:, width:].view(tokens, 2 * shape.kv_heads, shape.head_dim).transpose(0, 1)
        self._store(layer, fresh)
        self._gathers(layer)
        queries = mixed[:, :width].view(tokens, shape.kv_heads, shape.groups, shape.head_dim).transpose(0, 1)
        result = mixed.new_empty(tokens, shape.kv_heads, shape.groups, shape.head_dim)
        for group in self._groups:
            group.queries.copy_(queries[:, group.own])
            _attend(group, layer)
            result[group.own].copy_(group.result.transpose(0, 1))
        return result.view(tokens, width)

    def _store(self, layer: int, fresh: Tensor) -> None:
        if self._writes is None:
            self._arena[layer].index_copy_(1, self._slots, fresh)
            return
        at = 0
        for places in self._writes:
            place = places[layer]
            place.copy_(fresh[:, at : at + place.shape[1]])
            at += place.shape[1]

    def _bind(self, group: Group) -> _Bound:
        shape, arena = self._shape, self._arena
        tokens = len(group.lengths)
        rows = tokens * shape.groups
        size = (shape.kv_heads, rows + max(0, LEAST_ROWS - shape.groups))
        table = Table(
            tokens=tokens,
            groups=shape.groups,
            queries=arena.new_zeros(*size, shape.head_dim),
            # Zeros and not whatever was there: masking adds minus infinity, which leaves a NaN a NaN.
            scores=arena.new_zeros(*size, group.columns),
            result=arena.new_zeros(*size, shape.head_dim),
        )
        seen = min(group.lengths)
        lengths = torch.tensor(group.lengths).repeat_interleave(shape.groups)
        unseen = torch.arange(seen, group.columns)[None] >= lengths[:, None]
        split = (tokens, shape.groups)
        return _Bound(
            own=slice(group.first, group.first + tokens),
            queries=torch.unflatten(table.queries[:, :rows], 1, split),
            scores=table.scores,
            whole_result=table.result,
            result=torch.unflatten(table.result[:, :rows], 1, split),
            masked=table.scores[:, :rows, seen:],
            mask=torch.zeros(unseen.shape).masked_fill_(unseen, -math.inf).to(arena),
            works=tuple(self._work(segment, table) for segment in group.segments),
        )

    def _work(self, segment: Segment | Tails, table: Table) -> SpanWork | TailsWork:
        if isinstance(segment, Tails):
            return TailsWork(segment, table, self._pool, self._shape)
        return SpanWork(segment, table, self._gathers)


_MOST_SLICES = 4
"""Up to so many runs of new slots are copied slice by slice, more by an index."""


def _write_views(plan: Plan, pool: KvPool) -> tuple[tuple[Tensor, ...], ...]:
    return tuple(pool.arena[:, :, run.start : run.end].unbind(0) for run in plan.writes)


def _attend(group: _Bound, layer: int) -> None:
    for work in group.works:
        work.score(layer)
    group.masked.add_(group.mask)
    if group.scores.dtype == torch.float32:
        torch.softmax(group.scores, -1, out=group.scores)
    else:
        group.scores.copy_(torch.softmax(group.scores, -1, dtype=torch.float32))
    group.whole_result.zero_()
    for work in group.works:
        work.add(layer)
