"""The near cache: entries this process served or stored a moment ago, kept in its own memory.

It never decides freshness by itself: every change that the store announces drops what it names,
a read that overlapped a change is not kept, and the caller uses it only while the change stream
is known to be alive. It holds nothing for longer than its life, counted by a clock that never jumps: one who puts the
machine's time back must not lengthen it. Bounded by count and bytes, least recently used goes first. Not thread-safe;
lives on the event loop.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from semcache.core import Entry, EntryId, ExactKey, TenantId
from semcache.ports import Change, EntriesDeleted, EntryPut, EpochBumped, StoreReset

_OVERHEAD = 1024
"""Bytes reckoned for the objects around an entry's texts."""

_Name = tuple[TenantId, EntryId]
"""Entries that are imported bring their ids along: in two tenants there may be one id twice."""
_REMEMBERED_CHANGES = 4096
"""Changed ids remembered, to tell whether a read overlapped a change of its own entry."""


class NearCache:
    """An LRU of entries by exact key.

    Args:
        max_entries: entries held at most; 0 switches it off.
        max_bytes: texts and vectors held at most.
        now: Unix seconds.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        max_entries: int,
        max_bytes: int,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        self._monotonic = monotonic
        self._until: dict[_Name, float] = {}
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[TenantId, ExactKey], Entry] = OrderedDict()
        self._keys: dict[_Name, tuple[TenantId, ExactKey]] = {}
        self._bytes = 0
        self._changes = 0
        self._floor = 0
        self._changed: OrderedDict[_Name, int] = OrderedDict()

    @property
    def changes(self) -> int:
        """Number of changes seen; take it before a read and hand it to `put` after."""
        return self._changes

    @property
    def size(self) -> tuple[int, int]:
        """Entries and bytes held."""
        return len(self._entries), self._bytes

    def get(self, tenant: TenantId, key: ExactKey) -> Entry | None:
        """Give the entry of an exact key, if held."""
        place = (tenant, key)
        entry = self._entries.get(place)
        if entry is None:
            return None
        if self._monotonic() >= self._until[tenant, entry.id]:
            self._drop(place)
            return None
        self._entries.move_to_end(place)
        return entry

    def put(self, entry: Entry, changes: int) -> None:
        """Hold an entry read (or written) when `changes` was current; a change of it since then wins."""
        size = _size(entry)
        overtaken = changes < self._floor or self._changed.get((entry.tenant, entry.id), 0) > changes
        if overtaken or not self._max_entries or size > self._max_bytes // 8:
            return
        place = (entry.tenant, entry.key)
        self._drop(place)
        self._entries[place] = entry
        self._keys[entry.tenant, entry.id] = place
        life = min(entry.expires_at - self._now(), entry.expires_at - entry.created_at)
        self._until[entry.tenant, entry.id] = self._monotonic() + life
        self._bytes += size
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def on_change(self, change: Change) -> None:
        """Drop what a change may have made untrue."""
        match change:
            case EntryPut(tenant=tenant, entry_id=entry_id):
                self._forget(tenant, (entry_id,))
            case EntriesDeleted(tenant=tenant, entry_ids=entry_ids):
                self._forget(tenant, entry_ids)
            case EpochBumped(tenant=tenant):
                self._changes += 1
                self._floor = self._changes
                for place in [place for place in self._entries if place[0] == tenant]:
                    self._drop(place)
            case StoreReset():
                self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._changes += 1
        self._floor = self._changes
        self._changed.clear()
        self._entries.clear()
        self._keys.clear()
        self._until.clear()
        self._bytes = 0

    def _forget(self, tenant: TenantId, entry_ids: tuple[EntryId, ...]) -> None:
        self._changes += 1
        for entry_id in entry_ids:
            name = (tenant, entry_id)
            self._changed[name] = self._changes
            self._changed.move_to_end(name)
            if len(self._changed) > _REMEMBERED_CHANGES:
                _, self._floor = self._changed.popitem(last=False)
            place = self._keys.get(name)
            if place is not None:
                self._drop(place)

    def _drop(self, place: tuple[TenantId, ExactKey]) -> None:
        entry = self._entries.pop(place, None)
        if entry is not None:
            self._keys.pop((entry.tenant, entry.id), None)
            self._until.pop((entry.tenant, entry.id), None)
            self._bytes -= _size(entry)


def _size(entry: Entry) -> int:
    vector = entry.embedding.vector.nbytes if entry.embedding else 0
    return entry.completion.size + len(entry.prompt) * 2 + vector + _OVERHEAD
