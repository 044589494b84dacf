"""The products of one group of rows, bound to tensors once a pass and run for every layer.

A group's `Table` holds queries, scores and results of all its rows; each work here fills some
columns of the scores, and later adds its values, weighed by the chances that the scores became.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from semcache.engine.model.gathers import Gathers, filled_slots
from semcache.engine.model.plan import Segment, Tails
from semcache.engine.model.pool import KvPool
from semcache.engine.model.shape import Shape
from semcache.engine.model.spans import BLOCK

LEAST_ROWS = 4
"""No matrix product has fewer rows than this: others take other code, with other bits."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a group: token by token, and for each token the query heads that share a KV head.

    `queries` and `result` are [KV heads, rows, head dim], `scores` [KV heads, rows, columns].
    There are spare rows at the end, so that the last token's can be multiplied together with others.
    """

    tokens: int
    groups: int
    queries: Tensor
    scores: Tensor
    result: Tensor


@dataclass(frozen=True, slots=True)
class _Weighing:
    """Chances and values of one block, and where their product is added."""

    chances: Tensor
    values: tuple[Tensor, ...]


class SpanWork:
    """Some neighbouring tokens that attend to one span of keys together."""

    def __init__(self, segment: Segment, table: Table, gathers: Gathers) -> None:
        low, rows = _rows(segment, table)
        span = segment.span
        taken = slice(low, low + max(rows, LEAST_ROWS))
        self._queries = table.queries[:, taken]
        self._keys = gathers.keys(span)
        self._place = table.scores[:, low : low + rows, span.column : span.column + span.length]
        self._result = table.result[:, low : low + rows]
        self._is_narrow = rows < LEAST_ROWS
        blocks = [(start, min(start + BLOCK, span.length)) for start in range(0, span.length, BLOCK)]
        self._weighings = tuple(
            _Weighing(
                table.scores[:, taken, span.column + start : span.column + end],
                gathers.values(span, start, end),
            )
            for start, end in blocks
        )

    def score(self, layer: int) -> None:
        """Fill the span's columns of the scores."""
        if self._is_narrow:
            self._place.copy_(torch.bmm(self._queries, self._keys[layer])[:, : self._place.shape[1]])
        else:
            torch.bmm(self._queries, self._keys[layer], out=self._place)

    def add(self, layer: int) -> None:
        """Add the span's weighed values to the result, block by block."""
        for one in self._weighings:
            if self._is_narrow:
                self._result.add_(torch.bmm(one.chances, one.values[layer])[:, : self._result.shape[1]])
            else:
                self._result.baddbmm_(one.chances, one.values[layer])


class TailsWork:
    """Many lone tokens, each with a short end of keys of its own, as one batch of small products."""

    def __init__(self, tails: Tails, table: Table, pool: KvPool, shape: Shape) -> None:
        tokens, heads, groups = len(tails.runs), shape.kv_heads, table.groups
        slots = [slot for runs in tails.runs for slot in filled_slots(runs, tails.length, pool)]
        arena = pool.arena
        self._arena = arena
        self._index = torch.tensor(slots, device=arena.device)
        self._scratch = arena.new_empty(2 * heads, len(slots), shape.head_dim)
        halves = self._scratch.view(2, heads * tokens, tails.length, shape.head_dim)
        self._keys, self._values = halves[0].transpose(1, 2), halves[1]
        # Each token's rows are filled up to LEAST_ROWS; what the spare ones give is never read.
        rows = max(groups, LEAST_ROWS)
        self._queries = arena.new_zeros(heads, tokens, rows, shape.head_dim)
        self._scores = arena.new_zeros(heads, tokens, rows, tails.length)
        self._sums = arena.new_zeros(heads, tokens, rows, shape.head_dim)
        own = slice(tails.first * groups, (tails.first + tokens) * groups)
        columns = slice(tails.column, tails.column + tails.length)
        split = (tokens, groups)
        self._asked = torch.unflatten(table.queries[:, own], 1, split)
        self._place = torch.unflatten(table.scores[:, own, columns], 1, split)
        self._result = torch.unflatten(table.result[:, own], 1, split)

    def score(self, layer: int) -> None:
        """Copy the ends' keys and values, and fill their columns of the scores."""
        torch.index_select(self._arena[layer], 1, self._index, out=self._scratch)
        groups = self._asked.shape[2]
        self._queries[:, :, :groups].copy_(self._asked)
        torch.bmm(self._queries.flatten(0, 1), self._keys, out=self._scores.flatten(0, 1))
        self._place.copy_(self._scores[:, :, :groups])

    def add(self, layer: int) -> None:  # noqa: ARG002 - the copy of this layer was made when scoring
        """Add the ends' weighed values to the results, block by block."""
        groups = self._asked.shape[2]
        self._scores[:, :, :groups].copy_(self._place)
        chances, sums = self._scores.flatten(0, 1), self._sums.flatten(0, 1)
        for start in range(0, chances.shape[2], BLOCK):
            end = min(start + BLOCK, chances.shape[2])
            torch.bmm(chances[:, :, start:end], self._values[:, start:end], out=sums)
            self._result.add_(self._sums[:, :, :groups])


def _rows(segment: Segment, table: Table) -> tuple[int, int]:
    """Give the first row and the number of rows; all there are, spare ones too, where all tokens are meant."""
    if segment.last - segment.first == table.tokens:
        return 0, table.queries.shape[1]  # whole tensors are faster than most of them
    return segment.first * table.groups, (segment.last - segment.first) * table.groups
