"""Counts over time: what was added in each slot of a fixed width, the last slots only. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

LARGEST = 1 << 53
"""What a JSON reader elsewhere still takes for an integer."""


@dataclass(slots=True)
class Series:
    """Counters in slots.

    Args:
        columns: counters a slot.
        width: seconds of a slot.
        keep: slots kept.
    """

    columns: int
    width: float
    keep: int
    slots: dict[int, list[int]] = field(default_factory=dict)

    def add(self, at: float, counts: Sequence[int]) -> None:
        """Add counts to the slot of a time; one that is long past is left out."""
        slot = int(at // self.width)
        newest = max(self.slots, default=slot)
        if slot <= newest - self.keep:
            return
        kept = self.slots.setdefault(slot, [0] * self.columns)
        for place, count in enumerate(counts):
            kept[place] = min(LARGEST, kept[place] + max(0, count))
        for old in [one for one in self.slots if one <= max(newest, slot) - self.keep]:
            del self.slots[old]

    def total(self, since: float, until: float) -> list[int]:
        """Add up the slots that end after `since` and begin before `until`."""
        sums = [0] * self.columns
        for slot, counts in self.slots.items():
            if (slot + 1) * self.width > since and slot * self.width < until:
                sums = [a + b for a, b in zip(sums, counts, strict=True)]
        return sums

    def whole(self, until: float) -> Iterator[list[int]]:
        """Yield the counts of the slots that ended by then."""
        for slot, counts in self.slots.items():
            if (slot + 1) * self.width <= until:
                yield counts

    def is_idle(self, now: float) -> bool:
        """True when nothing is left to be known: every slot is past."""
        return not any(slot > int(now // self.width) - self.keep for slot in self.slots)

    def dump(self) -> list[list[int]]:
        """Give the slots as plain JSON values: the slot's number, then its counts."""
        return [[slot, *counts] for slot, counts in sorted(self.slots.items())]

    def load(self, rows: Any) -> None:
        """Take slots that `dump` gave; rows of another form are left out."""
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, list) and len(row) == self.columns + 1 and all(map(_is_count, row)):
                self.slots[row[0]] = row[1:]
        newest = max(self.slots, default=0)
        self.slots = {slot: counts for slot, counts in self.slots.items() if slot > newest - self.keep}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST
