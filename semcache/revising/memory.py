"""What backends turned out not to take, remembered for a while. Pure but for the time that comes in.

By backend and model: what one model refuses another may take. Bounded; forgetting costs one refused call.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_MOST = 1000


@dataclass(slots=True)
class Refusals:
    """Words for what was refused, by backend and model.

    Attributes:
        rest: seconds for which they hold.
    """

    rest: float = 3600.0
    _until: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def holds(self, backend: str, model: str, word: str, now: float) -> bool:
        """True while `word` is known to be refused; `now` in seconds that never go back."""
        return now < self._until.get((backend, model, word), now)

    def note(self, backend: str, model: str, word: str, now: float, seconds: float | None = None) -> None:
        """Take note that a backend refused something for a model; for `seconds` instead of `rest`, if given."""
        key = (backend, model, word)
        self._until.pop(key, None)
        self._until[key] = now + (self.rest if seconds is None else seconds)
        while len(self._until) > _MOST:
            del self._until[next(iter(self._until))]
