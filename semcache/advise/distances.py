"""How large a cache must be: distances between uses of the same thing, in things used in between (Mattson et al. 1970).

A cache that forgets what was used longest ago serves a use exactly when it holds as much as was used since the last one.
So one pass gives the gain of every size at once. Beyond `most` things the latest of them are still followed each, and of the
others a part that is chosen by digest, whose distances and gains are scaled up (Waldspurger et al., "Efficient MRC
Construction with SHARDS", FAST 2015): short distances are exact, long ones estimates. Pure.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
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
        most: things followed at once, and half as many again.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._limit = _SPACE
        self._followed = _Stack(2 * most)
        self._latest: _Stack | None = None
        self._near: dict[int, float] = {}
        self._far: dict[int, float] = {}
        self._total = 0.0

    def use(self, name: int, size: float, gain: float) -> None:
        """Hear of one use.

        Args:
            name: digest of the thing, evenly spread.
            size: what it takes in the cache; above 0.
            gain: what is gained if it is still there; 0 where it is of no use even then (a first use, an answer too old).
        """
        self._total += gain
        near = None if self._latest is None else self._latest.use(name, size)
        far = None
        if name % _SPACE < self._limit:
            far = self._followed.use(name, size)
            if len(self._followed) > self._most:
                self._thin()
        if self._latest is not None and len(self._latest) > self._most // 2:
            self._latest.forget_oldest()
        if not gain:
            return
        if near is not None:
            _add(self._near, near, gain)
        elif far is not None:
            scale = _SPACE / self._limit
            _add(self._far if scale > 1 else self._near, far * scale, gain * scale)

    def _thin(self) -> None:
        """Follow half of them from now on, and the latest ones each."""
        if self._latest is None:
            self._latest = self._followed.latest(self._most // 2)
        self._limit //= 2
        self._followed.keep(lambda name: name % _SPACE < self._limit)

    def curve(self) -> Curve:
        """Give the gain of every size so far."""
        rate = self._limit / _SPACE
        gains = dict(self._near)
        estimated = sum(self._far.values())
        if estimated:
            # All of the gain is known, and what of it is near: the rest is spread as the estimates are.
            scale = max(0.0, self._total - sum(self._near.values())) / estimated
            for bucket, gain in self._far.items():
                gains[bucket] = gains.get(bucket, 0.0) + gain * scale
        points, gained = [], 0.0
        for bucket in sorted(gains):
            gained += gains[bucket]
            points.append((math.exp(bucket / _PRECISION), gained))
        return Curve(tuple(points), gained, len(self._followed) / rate, rate)


def _add(gains: dict[int, float], distance: float, gain: float) -> None:
    bucket = math.ceil(math.log(max(distance, 1.0)) * _PRECISION - 1e-9)
    gains[bucket] = gains.get(bucket, 0.0) + gain


class _Stack:
    """Things in the order of their last use, and what lies between them.

    Args:
        slots: uses until gaps are closed; more than things are ever held.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._tree = _Fenwick(slots)
        self._held: OrderedDict[int, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def use(self, name: int, size: float) -> float | None:
        """Put a thing on top; gives what was used since its last use, itself included, or None."""
        known = self._held.pop(name, None)
        distance = None
        if known is not None:
            distance = self._tree.after(known[0]) + size
            self._tree.add(known[0], -known[1])
        if self._tree.is_full:
            self._pack(self._held)
        self._held[name] = (self._tree.append(size), size)
        return distance

    def forget_oldest(self) -> None:
        """Let the thing go that was used longest ago."""
        _, (slot, size) = self._held.popitem(last=False)
        self._tree.add(slot, -size)

    def keep(self, wanted: Callable[[int], bool]) -> None:
        """Let all others go."""
        self._pack({name: held for name, held in self._held.items() if wanted(name)})

    def latest(self, count: int) -> _Stack:
        """Give a stack of those used last."""
        found = _Stack(self._slots)
        for name in list(self._held)[-count:]:
            found.use(name, self._held[name][1])
        return found

    def _pack(self, held: Mapping[int, tuple[int, float]]) -> None:
        """Close the gaps that old uses left."""
        self._tree = _Fenwick(self._slots)
        self._held = OrderedDict((name, (self._tree.append(size), size)) for name, (_, size) in held.items())


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
