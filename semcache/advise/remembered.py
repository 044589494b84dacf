"""What was met before, in bounded memory: two generations of which the older one is forgotten. Pure."""

from __future__ import annotations


class Remembered:
    """Numbers with a value each; what was not touched for long is forgotten.

    At least the last `most / 2` different numbers are known, at most `most`.

    Args:
        most: numbers held, about 130 bytes each.
    """

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._young: dict[int, float] = {}
        self._old: dict[int, float] = {}
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._young) + sum(1 for number in self._old if number not in self._young)

    def get(self, number: int) -> float | None:
        """Give a number's value, None when it was never met or is forgotten."""
        found = self._young.get(number)
        return self._old.get(number) if found is None else found

    def put(self, number: int, value: float) -> None:
        """Set a value."""
        self._young[number] = value
        if len(self._young) >= self._half:
            self.forgotten += sum(1 for known in self._old if known not in self._young)
            self._old, self._young = self._young, {}
