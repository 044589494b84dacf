"""How often a prefix is used, old uses counting less: sums that halve every half-life.

A node's stored value is one float, the sum of 2^((time of use - epoch) / half-life) over its uses
("forward decay", Cormode, Shkapenyuk, Srivastava and Xu 2009). Nothing has to be touched as time
goes by: all values shrink alike, so their order stays and only new uses change it. Knows no nodes,
only a column of floats.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from math import inf, log2

HOUR = 3600.0

_MOST_HALVINGS = 500.0
"""A float holds 2^1023; 2^500 leaves room for 2^500 uses at one time."""


class HalfLife:
    """Hits that count half after `seconds`, a quarter after twice that (a `victims.Decay`)."""

    def __init__(self, seconds: float = HOUR) -> None:
        if not 0 < seconds < inf:
            message = f"a half-life is a positive number of seconds, not {seconds}"
            raise ValueError(message)
        self.seconds = seconds
        self._epoch: float | None = None

    @property
    def initial(self) -> float:
        """Give the stored value of a node that was never hit."""
        return 0.0

    def count(self, weight: MutableSequence[float], path: Sequence[int], now: float) -> None:
        """Add one hit at `now` (seconds) to every node of a path.

        Once in 500 half-lives the whole column is scaled down, to stay within a float's range.
        """
        if self._epoch is None:
            self._epoch = now
        halvings = (now - self._epoch) / self.seconds
        if halvings > _MOST_HALVINGS:
            self._rescale(weight, halvings)
            self._epoch = now
            halvings = 0.0
        one = 2.0**halvings
        for node in path:
            weight[node] += one

    def value(self, stored: float, now: float) -> float:
        """Give the decayed number of hits at `now`; 0 for `initial`."""
        if not stored or self._epoch is None:
            return 0.0
        # In logarithms, since either factor alone may leave a float's range.
        exponent = log2(stored) - (now - self._epoch) / self.seconds
        return 2.0**exponent if exponent < _MOST_HALVINGS else inf

    def rank(self, stored: float) -> float:
        """Give a number by which stored values order as their `value`s do, at any time; -inf for `initial`.

        Stays the same (up to rounding) when the column is rescaled.
        """
        if not stored or self._epoch is None:
            return -inf
        return log2(stored) + self._epoch / self.seconds

    def _rescale(self, weight: MutableSequence[float], halvings: float) -> None:
        # Beyond 1074 halvings even the smallest float is 0, and 2.0**-1075 says so without an error.
        factor = 2.0**-halvings
        for node, stored in enumerate(weight):
            if stored:
                weight[node] = stored * factor
