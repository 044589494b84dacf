"""How much a worker does beside serving in a second, so that the one never competes with the other. Pure.

Comparing two answers embeds both: on the thread that embeds questions, and for longer than a question takes. Which
of the hits that are due find room does not depend on what they will tell, so those that do stay a fair sample.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """A bucket of checks: `burst` at most, `rate` more a second."""

    rate: float = 1.0
    burst: float = 32.0
    _left: float | None = None
    _at: float = 0.0

    def take(self, now: float) -> bool:
        """Take one; False when there is none. `now` in seconds that never go back."""
        if self._left is None:
            self._left, self._at = self.burst, now
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
