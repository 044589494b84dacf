"""On how many nodes the conversations of one head are kept: so many that it fills none of them by more than half.

A system prompt that is computed on every node takes room on each; one that everybody uses needs them all. Counts calls
by head, forgets slowly, and changes its mind only when a share has clearly changed, since each change moves some
conversations. Knows no nodes and no time. Belongs to one event loop.
"""

from __future__ import annotations

import math

_FILL = 0.5
"""Share of a node that one head may be worth: two that meet on one node by chance still have room there."""
_ENOUGH = 64
"""Calls after which shares are believed; until then conversations go anywhere."""
_SLACK = 0.15
"""By how much of a step a share must have passed a border before it counts."""


class Widths:
    """Counts heads.

    Args:
        nodes: how many there are, away or not: one that fails for a while must move no conversation but its own.
        memory: calls after which what came before counts half; as many heads at most are remembered.
    """

    __slots__ = ("_counts", "_memory", "_nodes", "_total", "_widths")

    def __init__(self, nodes: int, memory: int = 2048) -> None:
        self._nodes = nodes
        self._memory = memory
        self._counts: dict[bytes, float] = {}
        self._widths: dict[bytes, int] = {}
        self._total = 0.0

    def note(self, head: bytes) -> None:
        """Count a call."""
        self._counts[head] = self._counts.get(head, 0.0) + 1
        self._total += 1
        if self._total >= self._memory:
            self._forget()

    def width(self, head: bytes) -> int:
        """Give to how many nodes a head's conversations keep; at least 1."""
        if self._total < _ENOUGH:
            return self._nodes
        worth = self._counts.get(head, 0.0) / self._total * self._nodes / _FILL
        before = self._widths.get(head)
        if before is None or worth > before + _SLACK or worth < before - 1 - _SLACK:
            before = self._widths[head] = max(1, math.ceil(worth))
        return min(before, self._nodes)

    def _forget(self) -> None:
        self._counts = {head: count / 2 for head, count in self._counts.items() if count >= 1}
        self._widths = {head: width for head, width in self._widths.items() if head in self._counts}
        self._total = sum(self._counts.values())
