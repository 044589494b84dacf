"""What becomes of nodes: how far apart the uses of one are, learned while the tree runs.

Of every stretch between two uses of a node (or from its making to its first use) it is noted how
often the node had been used before, or where it hangs (its `kind`) and how many tokens the tree took in during the
stretch (its age, which is what eviction makes a node survive: a clock that stands still at night).
From that follows what a slot is worth that holds such a node at such an age: the most reuses per
slot and token taken in that any further holding time promises (Gittins' index; Hit Density of
Beckmann, Chen and Cidon 2018 is its relative for evictions by sampling). Knows no nodes, no
queue, no time of day.
"""

from __future__ import annotations

STARTS, CONTINUES, BRANCHES, LEFT = range(4)
"""Kinds of what was never used again: the start of a prompt; what follows on something that was used
once at most (the next turn of a conversation); what branches off something used more often; what
was left behind when only the tokens before it were used."""

_USED = 4
KINDS = _USED + 9
"""Kinds 4 and above: used again once, 2-3, 4-7 ... times; the last one: 256 times and more."""

BANDS = 13
"""Ages below 1/256 of the capacity, then doubling: the last band begins at 8 capacities."""

_FINEST = 1 << (BANDS - 5)
_WIDTHS = (1 / _FINEST, *(2.0**band / (2 * _FINEST) for band in range(1, BANDS)))
"""Width of each band, in capacities."""

_NEIGHBOUR = 0.15
_PRIOR = 8.0
_GUESSED_NEVER = 0.01
_FIRST_FIT, _LATER_FIT = 64, 256
_MEMORY = 1 << 16


def kind_of(uses: int, origin: int = STARTS) -> int:
    """Give the kind of a node that was used again `uses` times; `origin` is its kind while that is 0."""
    return min(uses.bit_length() + _USED - 1, KINDS - 1) if uses else origin


class ReuseTable:
    """Counts of stretches by kind and age, and the worth of a slot that follows from them.

    Ages are in tokens; `capacity` (tokens) scales them. Everything is counted in tokens, so that
    it adds up however nodes are cut. Counts are halved whenever 65,536 stretches have been counted,
    so that what was long ago is forgotten. Until it has
    seen `evidence` reuses it gives a guess: the more often used and the later, the more worth.
    """

    def __init__(self, capacity: int, evidence: int = 100) -> None:
        if capacity < 1:
            message = f"a capacity is at least one token, not {capacity}"
            raise ValueError(message)
        self._capacity = capacity
        self._evidence = evidence
        self._begun = [0.0] * KINDS
        self._reused = [0.0] * (KINDS * BANDS)
        self._stretches = 0
        self._events = 0
        self._next_fit = 0
        self._worth: list[float] = []

    def band_of(self, age: int) -> int:
        """Give the band of an age in tokens."""
        return min((age * _FINEST // self._capacity).bit_length(), BANDS - 1)

    def begin(self, kind: int, length: int) -> None:
        """Note that a node of `length` tokens was made or used, and is of this kind now."""
        self._begun[kind] += length
        self._stretches += 1
        if self._stretches >= _MEMORY:
            self._stretches //= 2
            self._begun = [count / 2 for count in self._begun]
            self._reused = [count / 2 for count in self._reused]

    def leave(self, kind: int, length: int) -> None:
        """Note that `length` tokens of this kind were left behind when those before them were used."""
        self._begun[kind] -= length
        self._begun[LEFT] += length

    def reuse(self, kind: int, age: int, length: int) -> None:
        """Note that a node which was of this kind was used at this age."""
        self._reused[kind * BANDS + self.band_of(age)] += length
        self._events += 1

    def worth(self, kind: int, age: int) -> float:
        """Give what a slot with such a node is worth: reuses per slot and capacity of tokens taken in."""
        if self._events >= self._next_fit:
            self._fit()
        return self._worth[kind * BANDS + self.band_of(age)]

    def _fit(self) -> None:
        if self._events < self._evidence:
            self._next_fit = self._evidence
            self._worth = [worth for kind in range(KINDS) for worth in _index(_guess(kind), _GUESSED_NEVER)]
            return
        self._next_fit = self._events + (_FIRST_FIT if self._events < 16 * _FIRST_FIT else _LATER_FIT)
        weight = max(sum(self._begun) / self._stretches, 1.0) if self._stretches else 1.0
        prior = _PRIOR * weight
        overall = self._overall()
        shares: list[list[float]] = []
        self._worth = []
        for kind in range(KINDS):
            if kind in (STARTS, _USED):
                before = _halfway(overall, _guess(kind))
            elif kind == LEFT:
                before = _guess(LEFT)
            elif kind < _USED:
                before = shares[STARTS]
            else:
                before = _halfway(shares[kind - 1], _guess(kind))
            shares.append(self._shares(kind, before, prior))
            # One stretch more than was seen is taken never to end: what was always used may still die.
            self._worth += _index(shares[-1], weight / (max(self._begun[kind], 0.0) + prior))

    def _overall(self) -> list[float]:
        total = sum(self._begun) + 1.0
        return [
            (
                sum(self._reused[kind * BANDS + band] for kind in range(KINDS))
                + 0.1 * _WIDTHS[band] / _WIDTHS[-1]
            )
            / total
            for band in range(BANDS)
        ]

    def _shares(self, kind: int, before: list[float], prior: float) -> list[float]:
        """Estimate which share of a kind's stretches ends, by reuse, in each band."""
        counts = self._reused[kind * BANDS : (kind + 1) * BANDS]
        left = [counts[0], *counts[:-1]]
        right = [*counts[1:], counts[-1]]
        own = 1 - 2 * _NEIGHBOUR
        total = max(self._begun[kind], 0.0) + prior
        return [
            (own * count + _NEIGHBOUR * (lower + upper) + prior * expected) / total
            for count, lower, upper, expected in zip(counts, left, right, before, strict=True)
        ]


def _guess(kind: int) -> list[float]:
    """Give what to expect of a kind before anything is seen of it.

    A node used n times within about one capacity of tokens has a rate that is gamma-distributed
    with shape n + 0.3, so its next stretch is Lomax-distributed: often used or lately used is worth
    more, both at once most.
    """
    uses = 0.0 if kind < _USED else 1.4 * 2.0 ** ((kind - _USED) / 2)
    if kind == LEFT:
        uses = -0.25
    alive, guess, end = 1.0, [], 0.0
    for width in _WIDTHS:
        end += width
        left = (1 + end) ** -(uses + 0.3)
        guess.append(alive - left)
        alive = left
    return guess


def _halfway(one: list[float], other: list[float]) -> list[float]:
    return [(left + right) / 2 for left, right in zip(one, other, strict=True)]


def _index(shares: list[float], never: float) -> list[float]:
    """Give, for each age, the best ratio of reuses to holding time over all later ages to give up at.

    `never` is the least share of stretches that are not ended by any reuse.
    """
    scale = min(1.0, (1 - never) / max(sum(shares), 1e-9))
    alive = [1.0]
    for share in shares:
        alive.append(alive[-1] - scale * share)
    held = [(alive[band] + alive[band + 1]) / 2 * _WIDTHS[band] for band in range(BANDS)]
    best = [0.0] * BANDS
    for age in range(BANDS):
        gained = spent = 0.0
        for band in range(age, BANDS):
            gained += scale * shares[band]
            spent += held[band]
            best[age] = max(best[age], gained / spent)
    return best
