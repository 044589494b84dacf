"""How large a cache must be: distances between uses of the same thing, in things used in between (Mattson et al. 1970).

A cache that forgets what was used longest ago serves a use exactly when it holds as much as was used since the last one.
So one pass gives the gain of every size at once. Beyond `most` things only a part of them is followed, chosen by their
digests, and distances are scaled up (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015). Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_PRECISION = 64
"""Sizes are told apart to about 1.5 %."""
_SPACE = 1 << 24
_MOST = 1 << 15


@dataclass(frozen=True, slots=True)
class Curve:
    """Gain by size: `points` (size, gain of a cache of that size) rise in both; `total` is that of an unlimited cache."""

    points: tuple[tuple[float, float], ...]
    total: float
    distinct: float
    rate: float

    def size_for(self, share: float) -> float:
        """Give the least size that gives this share of all; 0 where there is nothing to gain."""
        wanted = share * self.total
        return next((size for size, gain in self.points if gain >= wanted - 1e-9), 0.0) if self.total else 0.0

    def share_at(self, size: float) -> float:
        """Give the share of all that a cache of this size gives."""
        reached = [gain for at, gain in self.points if at <= size]
        return reached[-1] / self.total if reached and self.total else 0.0


class Distances:
    """Hears of every use, in order.

    Args:
        most: things followed at once.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._limit = _SPACE
        self._slots: dict[int, tuple[int, float]] = {}
        self._tree = _Fenwick(4 * most)
        self._gains: dict[int, float] = {}
        self._total = 0.0

    def use(self, name: int, size: float, gain: float) -> None:
        """Hear of one use.

        Args:
            name: digest of the thing, evenly spread.
            size: what it takes in the cache; above 0.
            gain: what is gained if it is still there; 0 where it is of no use even then (a first use, an answer too old).
        """
        self._total += gain
        if name % _SPACE >= self._limit:
            return
        known = self._slots.pop(name, None)
        if known is not None:
            slot, old = known
            if gain:
                distance = (self._tree.after(slot) + size) * _SPACE / self._limit
                bucket = math.ceil(math.log(max(distance, 1.0)) * _PRECISION)
                self._gains[bucket] = self._gains.get(bucket, 0.0) + gain * _SPACE / self._limit
            self._tree.add(slot, -old)
        if self._tree.is_full:
            self._pack()
        self._slots[name] = (self._tree.append(size), size)
        if len(self._slots) > self._most:
            self._thin()

    def _thin(self) -> None:
        """Follow half of them from now on."""
        self._limit //= 2
        for name in [name for name in self._slots if name % _SPACE >= self._limit]:
            slot, size = self._slots.pop(name)
            self._tree.add(slot, -size)

    def _pack(self) -> None:
        """Close the gaps that old uses left."""
        # A use puts a thing at the end of the dictionary: it is in the order of last use.
        held = [(name, size) for name, (_, size) in self._slots.items()]
        self._tree = _Fenwick(4 * self._most)
        self._slots = {name: (self._tree.append(size), size) for name, size in held}

    def curve(self) -> Curve:
        """Give the gain of every size so far."""
        rate = self._limit / _SPACE
        gains = dict(self._gains)
        if gains and rate < 1:
            # Few things have most of the uses: whether they are followed is chance, that they are near is not.
            first = min(gains)
            gains[first] = max(0.0, gains[first] + self._total - sum(gains.values()))
        points, gained = [], 0.0
        for bucket in sorted(gains):
            gained += gains[bucket]
            points.append((math.exp(bucket / _PRECISION), gained))
        return Curve(tuple(points), gained, len(self._slots) / rate, rate)


class _Fenwick:
    """Sums over a row of slots (Fenwick 1994): adding and summing take the logarithm of their number."""

    def __init__(self, slots: int) -> None:
        self._sums = [0.0] * (slots + 1)
        self._slots = slots
        self._next = 0
        self._all = 0.0

    @property
    def is_full(self) -> bool:
        return self._next >= self._slots

    def append(self, value: float) -> int:
        slot = self._next
        self._next += 1
        self.add(slot, value)
        return slot

    def add(self, slot: int, value: float) -> None:
        self._all += value
        at = slot + 1
        while at <= self._slots:
            self._sums[at] += value
            at += at & -at

    def after(self, slot: int) -> float:
        """Sum what stands behind a slot."""
        found, at = self._all, slot + 1
        while at > 0:
            found -= self._sums[at]
            at -= at & -at
        return max(0.0, found)
