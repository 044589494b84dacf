"""A backend that failed several times in a row is asked nothing beside requests for a while: it has other troubles. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Pause:
    """Counts failures by backend.

    Attributes:
        most: failures in a row that begin a rest.
        rest: seconds.
    """

    most: int = 5
    rest: float = 60.0
    _failed: dict[str, int] = field(default_factory=dict)
    _until: dict[str, float] = field(default_factory=dict)

    def holds(self, backend: str, now: float) -> bool:
        """True while a backend is left alone; `now` in seconds that never go back."""
        return now < self._until.get(backend, now)

    def note(self, backend: str, now: float, *, failed: bool) -> None:
        """Take note of how a call ended."""
        if not failed:
            self._failed.pop(backend, None)
            return
        count = self._failed[backend] = self._failed.get(backend, 0) + 1
        if count >= self.most:
            self._failed.pop(backend)
            self._until[backend] = now + self.rest
