"""A circuit breaker as plain state (pure): time and chance are arguments.

Closed, it lets everything through and counts faults in a row. Open, it refuses until its pause is
over. Then exactly one caller at a time may probe: a success closes it, a fault opens it again for
twice as long, with jitter so that replicas do not come back in step.

This module knows nothing of Redis, clocks or tasks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """When to open and for how long; times in seconds."""

    faults: int = 5
    first_pause: float = 0.5
    longest_pause: float = 10.0


class Breaker:
    """The state; belongs to one event loop."""

    __slots__ = ("_faults", "_opened", "_pause", "_probing", "_rules", "_until")

    def __init__(self, rules: BreakerRules) -> None:
        self._rules = rules
        self._faults = 0
        self._opened = 0
        self._pause = 0.0
        self._until = 0.0
        self._probing = False

    @property
    def is_open(self) -> bool:
        """True from opening until a probe has succeeded."""
        return self._pause > 0.0

    @property
    def opened(self) -> int:
        """How often it opened since it was made."""
        return self._opened

    def allows(self, now: float) -> bool:
        """Ask for one call; True obliges the caller to report how it went.

        Args:
            now: Monotonic seconds.
        """
        if not self.is_open:
            return True
        if self._probing or now < self._until:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """Report that the server answered."""
        self._faults = 0
        self._pause = 0.0
        self._probing = False

    def failed(self, now: float, chance: float) -> None:
        """Report that the server was of no use.

        Args:
            now: Monotonic seconds.
            chance: Uniform in [0, 1): the pause is between half and all of its length.
        """
        self._faults += 1
        if self.is_open and not self._probing:
            return  # a call that began before the opening
        if not self._probing and self._faults < self._rules.faults:
            return
        longer = max(self._rules.first_pause, 2 * self._pause)
        self._pause = min(longer, self._rules.longest_pause)
        self._until = now + self._pause * (0.5 + chance / 2)
        self._opened += 1
        self._probing = False

    def abandoned(self) -> None:
        """Report that the caller gave up before the outcome was known (it was cancelled)."""
        self._probing = False
