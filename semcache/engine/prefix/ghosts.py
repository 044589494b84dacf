"""What was evicted not long ago: names and counts, no tokens.

A prefix that returns after its eviction is not new: it goes on with its count, and its stretch
counts as a reuse, so that reuses just beyond the pool's reach are seen (the ghost lists of ARC,
Megiddo and Modha 2003). Knows no queue.
"""

from __future__ import annotations

from typing import NamedTuple


class Ghost(NamedTuple):
    """How often the node was used again, its kind, the token clock at its last use, and its length in tokens."""

    uses: int
    kind: int
    since: int
    length: int


class Ghosts:
    """At most `most` evicted places, the oldest forgotten first; about 200 bytes each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[bytes, Ghost] = {}

    def __len__(self) -> int:
        """Count the places that are remembered."""
        return len(self._known)

    def leave(self, place: bytes, ghost: Ghost) -> None:
        """Remember an evicted node."""
        self._known.pop(place, None)
        self._known[place] = ghost
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def recall(self, place: bytes) -> Ghost | None:
        """Take back what is remembered of a place, if anything."""
        return self._known.pop(place, None)

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
