"""In which order the requests of a batch go out, so that what they begin alike with is computed once. Pure.

Sorted by their marks, requests with a common beginning stand together. But the second one profits only once the first has been
answered: until then nobody has computed their beginning. So of those that share one that is being computed, one is under
way and the others wait, while requests with other beginnings go out beside it. Few groups are begun at a
time: each takes room in the memory of whoever computes, and one that is pushed out before its last request is computed twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice, pairwise

from semcache.batching.lines import Item
from semcache.batching.marks import SIZE, common

_AHEAD = 512
"""Requests looked at for one that need not wait."""


class Schedule:
    """Hands requests out, one at a time.

    Args:
        items: all that are to be sent.
        by_prefix: order them; else they go out as they stand in the file.
        leaders: requests at most that are the first of others, at a time.
    """

    def __init__(self, items: Sequence[Item], *, by_prefix: bool = True, leaders: int = 2) -> None:
        ordered = sorted(items, key=lambda item: (item.marks, item.index)) if by_prefix else list(items)
        self._waiting = deque(ordered)
        self._shared = _shared(ordered) if by_prefix else {}
        self._warm: set[bytes] = set()
        self._warming: set[bytes] = set()
        self._leading: set[int] = set()
        self._leaders = leaders

    @property
    def is_empty(self) -> bool:
        """True when everything has been handed out."""
        return not self._waiting

    def take(self) -> Item | None:
        """Give the next request that need not wait for one under way; None while all of them do (or none is left)."""
        for place, item in enumerate(islice(self._waiting, _AHEAD)):
            cold = self._cold(item)
            if cold and (len(self._leading) >= self._leaders or not self._warming.isdisjoint(cold)):
                continue
            del self._waiting[place]
            if cold:
                self._leading.add(item.index)
                self._warming.update(cold)
            return item
        return None

    def done(self, item: Item, *, answered: bool) -> None:
        """Take note that a request was answered, or that it failed and its beginning must be computed by another."""
        cold = self._cold(item)
        self._leading.discard(item.index)
        self._warming.difference_update(cold)
        if answered:
            self._warm.update(cold)

    def _cold(self, item: Item) -> list[bytes]:
        """The beginnings it shares with others that nobody has computed yet."""
        ends = range(SIZE, self._shared.get(item.index, 0) * SIZE + 1, SIZE)
        return [mark for end in ends if (mark := item.marks[end - SIZE : end]) not in self._warm]


def _shared(ordered: Sequence[Item]) -> dict[int, int]:
    """Say how many of its marks each request has in common with a neighbour; those with none are left away."""
    shared: dict[int, int] = {}
    for one, other in pairwise(ordered):
        count = common(one.marks, other.marks)
        if count:
            shared[one.index] = max(shared.get(one.index, 0), count)
            shared[other.index] = max(shared.get(other.index, 0), count)
    return shared
