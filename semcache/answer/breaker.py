"""A circuit breaker: after several failures in a row, fail at once for a short while.

Pure: time is an argument (monotonic seconds). It knows nothing of HTTP or of why a call failed.
States as in the pattern's usual description: closed (calls pass), open (calls are refused), half
open (one probe passes; its outcome decides).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class CircuitBreaker:
    """Counts consecutive failures; every `admit` that gave True needs exactly one outcome.

    Attributes:
        threshold: Consecutive failures that open it.
        pause: Seconds it stays open before a probe is let through.
    """

    threshold: int = 5
    pause: float = 2.0
    _failures: int = field(default=0, init=False)
    _open_until: float = field(default=0.0, init=False)
    _probing: bool = field(default=False, init=False)

    @property
    def is_closed(self) -> bool:
        """True while calls pass freely."""
        return self._failures < self.threshold

    def admit(self, now: float) -> bool:
        """Say whether a call may be tried at `now`; when half open, only one at a time."""
        if not self.would_admit(now):
            return False
        self._probing = not self.is_closed
        return True

    def would_admit(self, now: float) -> bool:
        """Say what `admit` would, without asking for an outcome."""
        return self.is_closed or not (self._probing or now < self._open_until)

    def succeeded(self) -> None:
        """Record that the upstream was reached."""
        self._failures = 0
        self._probing = False

    def failed(self, now: float) -> None:
        """Record that the upstream could not be reached."""
        self._failures += 1
        self._probing = False
        if not self.is_closed:
            self._open_until = now + self.pause

    def abandoned(self) -> None:
        """Record that a call ended without telling anything (its caller went away)."""
        self._probing = False
