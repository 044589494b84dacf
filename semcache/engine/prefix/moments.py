"""How far the token clock stood at a time of day, roughly, in bounded memory.

Knows no nodes.
"""

from __future__ import annotations

from bisect import bisect_right

_MOST = 512


class Moments:
    """At most 512 readings of a clock of tokens, dense in the near past, sparse further back."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._clocks: list[int] = []

    def note(self, now: float, clock: int) -> None:
        """Note that the clock stands at `clock` at `now` (seconds); a time before the last one is ignored."""
        if self._times and now <= self._times[-1]:
            return
        self._times.append(now)
        self._clocks.append(clock)
        if len(self._times) > _MOST:
            half = _MOST // 2
            self._times[:half] = self._times[:half:2]
            self._clocks[:half] = self._clocks[:half:2]

    def clock_at(self, time: float) -> int:
        """Give the last reading at or before a time, the first one for earlier times, 0 if there is none."""
        if not self._times:
            return 0
        return self._clocks[max(bisect_right(self._times, time) - 1, 0)]
