"""The free runs of a pool, found by where they begin, where they end, and how long they are.

Coalesced: no two free runs touch. There are at most sqrt(2 n) different lengths among the runs
of n slots (1,414 for a million), so a sorted list of lengths with a bucket behind each finds the
best fit by one bisection, however fragmented the pool is. Knows nothing of who holds the rest. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import pairwise

from semcache.engine.runs import Run


class FreeRuns:
    """Disjoint runs that never touch one another; the caller sees to it that what it adds is disjoint."""

    def __init__(self) -> None:
        self._length_at: dict[int, int] = {}
        self._start_before: dict[int, int] = {}
        self._lengths: list[int] = []
        # Dicts serve as ordered sets: the run last freed is used first, and order is reproducible.
        self._buckets: dict[int, dict[int, None]] = {}

    def __len__(self) -> int:
        return len(self._length_at)

    @property
    def largest(self) -> int:
        """Give the length of the longest run, 0 when there is none."""
        return self._lengths[-1] if self._lengths else 0

    def at(self, start: int) -> int:
        """Give the length of the run that begins at a slot, 0 when none does."""
        return self._length_at.get(start, 0)

    def fitting(self, length: int) -> Run | None:
        """Give the shortest run of at least `length` slots."""
        index = bisect_left(self._lengths, length)
        if index == len(self._lengths):
            return None
        size = self._lengths[index]
        return Run(_last(self._buckets[size]), size)

    def longest(self) -> Run:
        """Give a longest run; there must be one."""
        size = self._lengths[-1]
        return Run(_last(self._buckets[size]), size)

    def add(self, run: Run) -> None:
        """Free a run, joining it with its free neighbours."""
        start, end = run.start, run.end
        before = self._start_before.get(start)
        if before is not None:
            self._remove(before, start - before)
            start = before
        behind = self._length_at.get(end)
        if behind is not None:
            self._remove(end, behind)
            end += behind
        self._insert(start, end - start)

    def cut_front(self, start: int, length: int) -> None:
        """Take the first `length` slots of the run that begins at `start`; it must be long enough."""
        size = self._length_at[start]
        self._remove(start, size)
        if size > length:
            self._insert(start + length, size - length)

    def runs(self) -> list[Run]:
        """List all runs by place; costs a sort."""
        return [Run(start, length) for start, length in sorted(self._length_at.items())]

    def is_sound(self) -> bool:
        """Tell whether the views by begin, end and length agree and no two runs touch; costs a sort."""
        runs = self.runs()
        by_length = {(size, start): None for size, bucket in self._buckets.items() for start in bucket}
        return (
            all(one.end < other.start for one, other in pairwise(runs))
            and self._start_before == {run.end: run.start for run in runs}
            and by_length == {(run.length, run.start): None for run in runs}
            and self._lengths == sorted(self._buckets)
            and all(self._buckets.values())
        )

    def _insert(self, start: int, length: int) -> None:
        self._length_at[start] = length
        self._start_before[start + length] = start
        bucket = self._buckets.get(length)
        if bucket is None:
            insort(self._lengths, length)
            self._buckets[length] = {start: None}
        else:
            bucket[start] = None

    def _remove(self, start: int, length: int) -> None:
        del self._length_at[start]
        del self._start_before[start + length]
        bucket = self._buckets[length]
        del bucket[start]
        if not bucket:
            del self._buckets[length]
            del self._lengths[bisect_left(self._lengths, length)]


def _last(bucket: dict[int, None]) -> int:
    """Give the key last added; unlike an iterator, `popitem` forgets the gaps that deletions left."""
    start, _ = bucket.popitem()
    bucket[start] = None
    return start
