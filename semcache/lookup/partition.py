"""The vectors of one namespace and one encoder: which entry lies in which slot, and the search.

Knows neither the other partitions nor threads; all writes come from the event loop's thread.
While a scan runs on another thread the partition is frozen: appends go behind what the scan
sees, removed rows stay as they are and are filled when it thaws. So a scan never reads a row
that is being written, and slots never shift: only the last row moves, into a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from semcache.core import EncoderId, EntryId, Namespace, Neighbour, Vector
from semcache.lookup import scan
from semcache.lookup.arena import Arena
from semcache.lookup.mirror import MAX_WIDTH, Mirror, Snapshot


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

    def plan(
        self, query: Vector, k: int, width: int, *, mirrored: bool = False
    ) -> Callable[[], list[Neighbour]]:
        """Prepare a search for the k best; the result may run on another thread while frozen.

        It holds views, so it sees the rows as they were when it was made. With `mirrored` the
        GPU copy proposes, if there is one; then the partition must be frozen.
        """
        parts = self.arena.parts()
        k = min(k, len(self))
        wanted = k + self.dead
        if not self.arena.is_coded:
            return lambda: self._named(scan.flat(parts[0], query, wanted), k)
        # Four times k: a long list needs a wider net for the same recall at its end.
        width = max(width, 4 * k) + self.dead
        snapshot = self._snapshot(width) if mirrored else None
        if snapshot is None:
            return lambda: self._named(scan.coded(parts, query, wanted, width, max(width, scan.MOST)), k)
        proposer = snapshot
        return lambda: self._named(scan.rescored(parts, query, proposer.candidates(parts, query, width)), k)

    def _snapshot(self, width: int) -> Snapshot | None:
        if self.mirror is None or width > MAX_WIDTH:
            return None
        return self.mirror.snapshot(self.arena.size)

    def _named(self, ranked: tuple[scan.Slots, scan.Cosines], k: int) -> list[Neighbour]:
        slots, cosines = ranked
        found: list[Neighbour] = []
        for slot, cosine in zip(slots.tolist(), cosines.tolist(), strict=True):
            entry_id = self._ids[slot] if slot >= 0 else None
            if entry_id is not None:
                found.append(Neighbour(entry_id, max(-1.0, min(1.0, cosine))))
                if len(found) == k:
                    break
        return found
