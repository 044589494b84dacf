"""Attention of one pass over the pool, segment by segment: the plan bound to tensors once, then run for each layer.

Knows tensors and plans, no weights. Scores of all rows that share a prefix stand in one table
whose columns are absolute positions; each segment fills its columns, one softmax runs over whole
rows, and values are summed block by block in the order of positions. A query row is one token
and one head of those that share a KV head, so that grouped queries need no copies of keys.

No key or value outside of the runs named by the caller is ever read (gathers are filled up with
the pool's own zero slot), so nothing that is not finite can come from somebody else's slots.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from semcache.engine.model.plan import Group, Plan, Segment
from semcache.engine.model.pool import KvPool
from semcache.engine.model.shape import Shape
from semcache.engine.model.spans import BLOCK, Span

LEAST_ROWS = 4
"""No matrix product has fewer rows than this: others take other code, with other bits."""


@dataclass(frozen=True, slots=True)
class _Scoring:
    """One product of queries and keys. `narrow` holds where the rows belong when `out` has more of them."""

    queries: Tensor
    keys: tuple[Tensor, ...]
    out: Tensor
    narrow: Tensor | None


@dataclass(frozen=True, slots=True)
class _Summing:
    """One product of chances and values, added to `out`; `rows` of it count."""

    chances: Tensor
    values: tuple[Tensor, ...]
    out: Tensor
    rows: int


@dataclass(frozen=True, slots=True)
class _Table:
    """The tensors of one group: queries, scores and results of all its rows, and the mask of unseen columns."""

    first: int
    tokens: int
    queries: Tensor
    scores: Tensor
    result: Tensor
    masked: Tensor
    mask: Tensor
    scorings: tuple[_Scoring, ...]
    summings: tuple[_Summing, ...]


class Attention:
    """Writes and attends for every layer of one pass. Its tables are reused from layer to layer."""

    def __init__(self, plan: Plan, shape: Shape, pool: KvPool) -> None:
        self._shape = shape
        self._arena = pool.arena
        device = pool.arena.device
        self._writes = _write_views(plan, pool) if len(plan.writes) <= _MOST_SLICES else None
        slots = [slot for run in plan.writes for slot in range(run.start, run.end)]
        self._slots = torch.tensor(slots, device=device)
        gathers = _Gathers(pool, shape)
        segments = [segment.span for group in plan.groups for segment in group.segments]
        for span in segments:
            gathers.add(span)
        self._gathers = gathers.seal()
        self._tables = tuple(self._table(group, gathers) for group in plan.groups)

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
        for table in self._tables:
            own = slice(table.first, table.first + table.tokens)
            table.queries.copy_(queries[:, own])
            _attend(table, layer)
            result[own].copy_(table.result.transpose(0, 1))
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

    def _table(self, group: Group, gathers: _Gathers) -> _Table:
        shape, arena = self._shape, self._arena
        tokens = len(group.lengths)
        rows = tokens * shape.groups
        spare = max(
            0, LEAST_ROWS - shape.groups
        )  # so that the last token's rows, too, can be read with others
        size = (shape.kv_heads, rows + spare)
        queries = arena.new_zeros(*size, shape.head_dim)
        # Zeros and not whatever was there: masking adds minus infinity, which leaves a NaN a NaN.
        scores = arena.new_zeros(*size, group.columns)
        result = arena.new_zeros(*size, shape.head_dim)
        seen = min(group.lengths)
        lengths = torch.tensor(group.lengths).repeat_interleave(shape.groups)
        unseen = torch.arange(seen, group.columns)[None] >= lengths[:, None]
        mask = torch.zeros(unseen.shape).masked_fill_(unseen, -math.inf).to(arena)
        binder = _Binder(shape, arena, tokens, gathers, queries, scores, result)
        heads = (tokens, shape.groups)
        return _Table(
            first=group.first,
            tokens=tokens,
            queries=torch.unflatten(queries[:, :rows], 1, heads),
            scores=scores,
            result=torch.unflatten(result[:, :rows], 1, heads),
            masked=scores[:, :rows, seen:],
            mask=mask,
            scorings=tuple(binder.scoring(segment) for segment in group.segments),
            summings=tuple(itertools.chain.from_iterable(map(binder.summings, group.segments))),
        )


_MOST_SLICES = 4
"""Up to so many runs of new slots are copied slice by slice, more by an index."""


def _write_views(plan: Plan, pool: KvPool) -> tuple[tuple[Tensor, ...], ...]:
    return tuple(pool.arena[:, :, run.start : run.end].unbind(0) for run in plan.writes)


def _attend(table: _Table, layer: int) -> None:
    for one in table.scorings:
        torch.bmm(one.queries, one.keys[layer], out=one.out)
        if one.narrow is not None:
            one.narrow.copy_(one.out[:, : one.narrow.shape[1]])
    table.masked.add_(table.mask)
    if table.scores.dtype == torch.float32:
        torch.softmax(table.scores, -1, out=table.scores)
    else:
        table.scores.copy_(torch.softmax(table.scores, -1, dtype=torch.float32))
    table.result.zero_()
    for other in table.summings:
        if other.rows >= LEAST_ROWS:
            other.out.baddbmm_(other.chances, other.values[layer])
        else:
            other.out.add_(torch.bmm(other.chances, other.values[layer])[:, : other.rows])


class _Gathers:
    """Keys and values that straddle runs, copied side by side once for each layer."""

    def __init__(self, pool: KvPool, shape: Shape) -> None:
        self._pool = pool
        self._shape = shape
        self._starts: dict[Span, int] = {}
        self._slots: list[int] = []
        self._index: Tensor | None = None
        self._scratch = pool.arena.new_empty(0)

    def add(self, span: Span) -> None:
        """Take note of a span that must be gathered; others need nothing."""
        if not span.is_gathered:
            return
        self._starts[span] = len(self._slots)
        for run in span.runs:
            self._slots.extend(range(run.start, run.end))
        lacking = self._starts[span] + span.length - len(self._slots)
        self._slots.extend([self._pool.slots] * lacking)

    def seal(self) -> _Gathers:
        """Take the memory for all that was added."""
        arena = self._pool.arena
        if self._slots:
            self._index = torch.tensor(self._slots, device=arena.device)
            self._scratch = arena.new_empty(arena.shape[1], len(self._slots), arena.shape[3])
        return self

    def __call__(self, layer: int) -> None:
        """Copy a layer's keys and values."""
        if self._index is not None:
            torch.index_select(self._pool.arena[layer], 1, self._index, out=self._scratch)

    def keys(self, span: Span) -> tuple[Tensor, ...]:
        """Give for each layer the keys of a span: [KV heads, head dim, length]."""
        heads = self._shape.kv_heads
        if span.is_gathered:
            start = self._starts[span]
            part = self._scratch[:heads, start : start + span.length].transpose(1, 2)
            return (part,) * self._shape.layers
        start = span.runs[0].start
        return self._pool.arena[:, :heads, start : start + span.length].transpose(2, 3).unbind(0)

    def values(self, span: Span, low: int, high: int) -> tuple[Tensor, ...]:
        """Give for each layer the values `low` up to `high` of a span: [KV heads, high - low, head dim]."""
        heads = self._shape.kv_heads
        if span.is_gathered:
            start = self._starts[span]
            return (self._scratch[heads:, start + low : start + high],) * self._shape.layers
        start = span.runs[0].start
        return self._pool.arena[:, heads:, start + low : start + high].unbind(0)


@dataclass(frozen=True, slots=True)
class _Binder:
    """Cuts a group's tensors for its segments."""

    shape: Shape
    arena: Tensor
    tokens: int
    gathers: _Gathers
    queries: Tensor
    scores: Tensor
    result: Tensor

    def scoring(self, segment: Segment) -> _Scoring:
        """Bind a segment's product of queries and keys."""
        low, rows = self._rows(segment)
        columns = slice(segment.span.column, segment.span.column + segment.span.length)
        heads = self.shape.kv_heads
        keys = self.gathers.keys(segment.span)
        queries = self.queries[:, low : low + max(rows, LEAST_ROWS)]
        place = self.scores[:, low : low + rows, columns]
        if rows >= LEAST_ROWS:
            return _Scoring(queries, keys, place, None)
        return _Scoring(queries, keys, self.arena.new_empty(heads, LEAST_ROWS, segment.span.length), place)

    def summings(self, segment: Segment) -> list[_Summing]:
        """Bind a segment's products of chances and values, block by block."""
        low, rows = self._rows(segment)
        found: list[_Summing] = []
        for start in range(0, segment.span.length, BLOCK):
            end = min(start + BLOCK, segment.span.length)
            column = segment.span.column + start
            chances = self.scores[:, low : low + max(rows, LEAST_ROWS), column : column + end - start]
            values = self.gathers.values(segment.span, start, end)
            found.append(_Summing(chances, values, self.result[:, low : low + rows], rows))
        return found

    def _rows(self, segment: Segment) -> tuple[int, int]:
        """Give the first row and the number of rows; all there are, spare ones too, where all tokens are meant."""
        groups = self.shape.groups
        if segment.last - segment.first == self.tokens:
            return 0, self.queries.shape[1]  # whole tensors are faster than most of them
        return segment.first * groups, (segment.last - segment.first) * groups
