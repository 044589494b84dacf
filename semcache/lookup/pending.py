"""Changes read from the stream and not yet applied: bounded, in order, taken in batches.

Knows the kinds of change and nothing else.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from semcache.core import EntryId, TenantId
from semcache.ports import Change, EntriesDeleted, EntryPut, EpochBumped, StoreReset


class Pending:
    """A queue of at most `limit` changes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changes: deque[tuple[Change, float]] = deque()
        self._some = asyncio.Event()
        self.generation = 0
        """Counts the clearings; what was taken under another generation is void."""

    def __len__(self) -> int:
        """Give the number of changes waiting."""
        return len(self._changes)

    @property
    def oldest(self) -> float | None:
        """When the longest waiting change came; None when none waits."""
        return self._changes[0][1] if self._changes else None

    def put(self, change: Change, now: float) -> bool:
        """Append a change; False, and nothing done, when full."""
        if len(self._changes) >= self._limit:
            return False
        self._changes.append((change, now))
        self._some.set()
        return True

    def clear(self) -> None:
        """Drop everything."""
        self._changes.clear()
        self._some.clear()
        self.generation += 1

    async def take(self, most: int) -> Batch:
        """Wait for changes and take the first, with those after it that can be applied with it."""
        while not self._changes:
            self._some.clear()
            await self._some.wait()
        match self._changes.popleft()[0]:
            case EntryPut(tenant, entry_id):
                return Puts(tenant, self._more_puts(tenant, entry_id, most))
            case other:
                return other

    def _more_puts(self, tenant: TenantId, first: EntryId, most: int) -> Sequence[EntryId]:
        # A dict, since an entry that was put twice is read once.
        found = {first: None}
        while self._changes and len(found) < most:
            match self._changes[0][0]:
                case EntryPut(other, entry_id) if other == tenant:
                    found[entry_id] = None
                    self._changes.popleft()
                case _:
                    break
        return tuple(found)


class Puts:
    """Entries of one tenant that were put."""

    __match_args__ = ("tenant", "entry_ids")
    __slots__ = ("entry_ids", "tenant")

    def __init__(self, tenant: TenantId, entry_ids: Sequence[EntryId]) -> None:
        self.tenant = tenant
        self.entry_ids = entry_ids


Batch = Puts | EntryPut | EntriesDeleted | EpochBumped | StoreReset
