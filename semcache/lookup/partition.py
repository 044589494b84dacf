"""The vectors of one namespace and one encoder: which entry lies in which slot, and the search.

Knows neither the other partitions nor threads; all writes come from the event loop's thread.
While a scan runs on another thread the partition is frozen: appends go behind what the scan
sees, removed rows stay as they are and are filled when it thaws. So a scan never reads a row
that is being written, and slots never shift: only the last row moves, into a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from semcache.core import EncoderId, EntryId, Namespace, Neighbour, Vector
from semcache.lookup import scan
from semcache.lookup.arena import Arena
from semcache.lookup.mirror import MAX_WIDTH, Mirror, Snapshot

SPLIT_ROWS = 100_000
"""From here a scan (0.3 ms) is worth being shared by two threads."""


Found = tuple[scan.Slots, scan.Cosines]


class Partition:
    """Entries and rows of one (namespace, encoder)."""

    __slots__ = ("_dead", "_ids", "arena", "encoder", "frozen", "mirror", "namespace", "number")

    def __init__(
        self, number: int, namespace: Namespace, encoder: EncoderId, dimension: int, flat_rows: int
    ) -> None:
        self.number = number
        self.namespace = namespace
        self.encoder = encoder
        self.arena = Arena(dimension, flat_rows)
        self.mirror: Mirror | None = None
        self.frozen = False
        self._ids: list[EntryId | None] = []
        self._dead: list[int] | None = None

    def __len__(self) -> int:
        """Give the number of live entries."""
        return len(self._ids) - self.dead

    @property
    def dead(self) -> int:
        """Rows of removed entries that wait for a scan to end."""
        return len(self._dead) if self._dead else 0

    def ids(self) -> list[EntryId]:
        """Give the live entries, in slot order."""
        return [entry_id for entry_id in self._ids if entry_id is not None]

    def slots(self) -> int:
        """Give the number of slots, dead ones included."""
        return len(self._ids)

    def id_at(self, slot: int) -> EntryId | None:
        """Give the entry in `slot`; None for a dead row."""
        return self._ids[slot]

    def append(self, entry_id: EntryId, vector: Vector) -> int:
        """Put an entry at the end and give its slot."""
        slot = self.arena.append(vector)
        self._ids.append(entry_id)
        if self.mirror is not None:
            self.mirror.touch(slot)
        return slot

    def extend(self, entry_ids: Sequence[EntryId], vectors: NDArray[np.float32]) -> int:
        """Put many entries at the end and give the slot of the first."""
        first = self.arena.extend(vectors)
        self._ids.extend(entry_ids)
        if self.mirror is not None:
            for slot in range(first, first + len(entry_ids)):
                self.mirror.touch(slot)
        return first

    def copy(self, start: int, stop: int) -> tuple[tuple[EntryId, ...], NDArray[np.float32]]:
        """Give the live entries in slots `start` to `stop`, and copies of their rows."""
        ids = self._ids[start:stop]
        rows = self.arena.copy(start, stop)
        if self._dead:
            alive = [number for number, entry_id in enumerate(ids) if entry_id is not None]
            rows = rows[alive]
        return tuple(entry_id for entry_id in ids if entry_id is not None), rows

    def release(self, slot: int) -> EntryId | None:
        """Remove the entry in `slot`; gives the entry that moved into it, if one did."""
        if not self.frozen:
            return self._fill(slot)
        self._ids[slot] = None
        if self._dead is None:
            self._dead = []
        self._dead.append(slot)
        return None

    def thaw(self) -> Iterator[tuple[EntryId, int]]:
        """Fill the holes after a scan; yields (entry, new slot) of each row that moved."""
        self.frozen = False
        dead, self._dead = self._dead or [], None
        # From the highest down: everything above the hole being filled is alive then.
        for slot in sorted(dead, reverse=True):
            moved = self._fill(slot)
            if moved is not None:
                yield moved, slot

    def _fill(self, slot: int) -> EntryId | None:
        self.arena.fill(slot)
        moved = self._ids.pop()
        if self.mirror is not None:
            self.mirror.drop(len(self._ids))
        if slot == len(self._ids):
            return None
        self._ids[slot] = moved
        if self.mirror is not None:
            self.mirror.touch(slot)
        return moved

    def search(self, query: Vector, k: int, width: int) -> list[Neighbour]:
        """Find the k best here and now."""
        if not self.arena.is_coded:
            wanted = min(k, len(self)) + self.dead
            return self._named(scan.flat(self.arena.parts()[0], query, wanted), k)
        propose = self._proposal(query, k, width, None, None)
        return self._named(self._scored(query, k, width, self._alive(propose())), k)

    def errand(
        self, asked: Sequence[tuple[Vector, int]], width: int, helper: Executor | None
    ) -> Callable[[], list[Found]]:
        """Prepare searches that another thread may make while this is frozen; a GPU copy proposes, if there is one.

        Args:
            asked: float32 [d] of unit length, and how many are wanted.
            width: how many are rescored at least.
            helper: who does a half: of a scan where there is one and the partition is very large, else of the scans.
        """
        widest = max(self._width(k, width) for _, k in asked)
        snapshot = self._snapshot(widest)
        alone = helper if len(asked) == 1 else None
        # What is seen now stays as it is until the thaw.
        parts, live = self.arena.parts(), len(self)

        def search(query: Vector, k: int, wide: int, propose: Callable[[], scan.Ranked]) -> Found:
            return scan.rescored(parts, query, propose(), min(k, live), wide)

        searches = [
            partial(search, query, k, self._width(k, width), self._proposal(query, k, width, snapshot, alone))
            for query, k in asked
        ]
        if snapshot is not None or helper is None or len(searches) == 1:
            return lambda: [one() for one in searches]
        return lambda: _by_two(searches, helper)

    def conclude(self, k: int, found: Found) -> list[Neighbour]:
        """Name the k best of what an errand found, without those that went meanwhile."""
        return self._named(found, k)

    def _proposal(
        self, query: Vector, k: int, width: int, snapshot: Snapshot | None, helper: Executor | None
    ) -> Callable[[], scan.Ranked]:
        signs = self.arena.signs()
        if signs is None:
            # It has shrunk since: everything is a candidate.
            everything = scan.Ranked(np.arange(self.arena.size))
            return lambda: everything
        width = self._width(k, width)
        most = max(width, scan.MOST + self.dead)
        if snapshot is not None:
            parts = self.arena.parts()
            return lambda: snapshot.candidates(parts, query, width)
        if helper is not None and len(signs.codes) >= SPLIT_ROWS:
            return lambda: scan.ranked_by_two(signs, query, most, helper)
        return lambda: scan.ranked(signs, query, most)

    def _scored(self, query: Vector, k: int, width: int, ranked: scan.Ranked) -> Found:
        k = min(k, len(self))
        return scan.rescored(self.arena.parts(), query, ranked, k, self._width(k, width))

    def _width(self, k: int, width: int) -> int:
        # Four times k: a long list needs a wider net for the same recall at its end.
        return max(width, 4 * min(k, len(self))) + self.dead

    def _alive(self, ranked: scan.Ranked) -> scan.Ranked:
        if not self._dead:
            return ranked
        keep = np.array([self._ids[slot] is not None for slot in ranked.slots.tolist()], np.bool_)
        distances = None if ranked.distances is None else ranked.distances[keep]
        return scan.Ranked(ranked.slots[keep], distances, ranked.signs)

    def _snapshot(self, width: int) -> Snapshot | None:
        if self.mirror is None or width > MAX_WIDTH:
            return None
        return self.mirror.snapshot(self.arena.size)

    def _named(self, ranked: Found, k: int) -> list[Neighbour]:
        slots, cosines = ranked
        found: list[Neighbour] = []
        for slot, cosine in zip(slots.tolist(), cosines.tolist(), strict=True):
            entry_id = self._ids[slot] if slot >= 0 else None
            if entry_id is not None:
                found.append(Neighbour(entry_id, max(-1.0, min(1.0, cosine))))
                if len(found) == k:
                    break
        return found


def _by_two(searches: Sequence[Callable[[], Found]], helper: Executor) -> list[Found]:
    theirs = helper.submit(lambda: [one() for one in searches[1::2]])
    found: list[Found | None] = [None] * len(searches)
    try:
        found[::2] = [one() for one in searches[::2]]
    finally:
        # Whatever happens, nobody reads these rows any more afterwards.
        found[1::2] = theirs.result()
    return [one for one in found if one is not None]
