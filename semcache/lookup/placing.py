"""What a stored entry means for the index, and how a whole store is compared with it.

Knows the store's and the index's doors, not the change stream. Comparing marks and sweeps
instead of clearing first: what is held stays searchable meanwhile, which is safe since every
search result is read from the store again before it is served.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

from semcache.core import EncoderId, Entry, EntryId, Namespace, ReviewStatus, TenantId
from semcache.errors import VectorIndexError
from semcache.ports import EntryStore, VectorIndex

T = TypeVar("T")

_SLICE = 64
"""Entries handled between two breaths for the event loop: about 1 ms."""

_READ = 128
"""Entries read at once."""

_MOST_TOUCHED = 500_000
"""Entries changed during one comparison; a bound on memory that no sane load reaches."""

_REST = 9.0
"""Seconds of rest for each second of unhurried work: a tenth of one core at most."""


class FollowedIndex(VectorIndex, Protocol):
    """A vector index that can say what it holds."""

    def entry_ids(self, namespace: Namespace | None = None) -> list[EntryId]:
        """Give the entries of one namespace, or all of them."""
        ...

    def tenant_of(self, entry_id: EntryId) -> TenantId | None:
        """Give the tenant of an entry; None when it is not held."""
        ...


@dataclass(slots=True)
class PlacingCounts:
    """What was met; all but `scanned` only grow."""

    scanned: int = 0
    """Entries seen by the comparison that runs, or ran last."""
    comparisons: int = 0
    ghosts: int = 0
    """Vectors removed because their entry was gone, found by comparing or reported by searches."""
    refused: int = 0
    """Entries whose vector the index did not take."""


class Placer:
    """Puts entries into the index, or out of it, as they deserve."""

    def __init__(
        self, store: EntryStore, index: FollowedIndex, generations: Callable[[], frozenset[EncoderId]]
    ) -> None:
        self._store = store
        self._index = index
        self._generations = generations
        self._touched: set[EntryId] | None = None
        self.counts = PlacingCounts()

    async def reread(self, tenant: TenantId, entry_ids: Sequence[EntryId]) -> int:
        """Bring the index up to the store's present word on `entry_ids`; gives how many are gone.

        Raises:
            StoreError: they could not be read.
        """
        self._touch(entry_ids)
        entries = await self._store.get_many(tenant, entry_ids)
        gone = [entry_id for entry_id, entry in zip(entry_ids, entries, strict=True) if entry is None]
        for entry in entries:
            if entry is not None:
                await self._place(entry)
        return await self.remove(gone)

    async def remove(self, entry_ids: Iterable[EntryId]) -> int:
        """Take entries out of the index; gives how many were there. Breathes on long lists."""
        removed = 0
        for some in _sliced(entry_ids, _SLICE):
            self._touch(some)
            removed += await self._index.remove(some)
            await asyncio.sleep(0)
        return removed

    async def compare(self, *, lost: Callable[[], bool], hurried: bool) -> bool:
        """Compare the whole store with the index and mend the index.

        Changes that are applied meanwhile win over what the scan read before.

        Args:
            lost: True when the comparison has become void; asked now and then.
            hurried: False to rest between slices.

        Returns:
            False when it was given up, because of `lost` or of too many changes meanwhile.

        Raises:
            StoreError: the store could not be read to its end.
        """
        self._touched = set()
        self.counts.scanned = 0
        try:
            unseen = await self._held()
            breath = _Breath(hurried=hurried)
            async for entry in self._store.scan():
                if entry.id not in self._touched:
                    unseen.discard(entry.id)
                    await self._place(entry)
                self.counts.scanned += 1
                if self.counts.scanned % _SLICE == 0:
                    await breath.take()
                    if lost() or len(self._touched) > _MOST_TOUCHED:
                        return False
            await self._verify(unseen - self._touched, breath, lost)
        finally:
            self._touched = None
        self.counts.comparisons += 1
        return not lost()

    async def verify_tenant(self, tenant: TenantId, *, lost: Callable[[], bool]) -> None:
        """Reread, unhurried, whatever the index holds of `tenant`, until `lost`.

        Raises:
            StoreError: it could not be read.
        """
        held = await self._held()
        mine = [entry_id for entry_id in held if self._index.tenant_of(entry_id) == tenant]
        await self._verify(mine, _Breath(hurried=False), lost)

    async def _held(self) -> set[EntryId]:
        held: set[EntryId] = set()
        for some in _sliced(self._index.entry_ids(), 4096):
            held.update(some)
            await asyncio.sleep(0)
        return held

    async def _verify(self, entry_ids: Iterable[EntryId], breath: _Breath, lost: Callable[[], bool]) -> None:
        by_tenant: defaultdict[TenantId, list[EntryId]] = defaultdict(list)
        for entry_id in entry_ids:
            tenant = self._index.tenant_of(entry_id)
            if tenant is not None:
                by_tenant[tenant].append(entry_id)
        for tenant, mine in by_tenant.items():
            for some in _sliced(mine, _READ):
                self.counts.ghosts += await self.reread(tenant, some)
                await breath.take()
                if lost():
                    return

    async def _place(self, entry: Entry) -> None:
        embedding = entry.embedding
        if (
            embedding is None
            or embedding.encoder not in self._generations()
            or entry.status is ReviewStatus.REJECTED
        ):
            await self._index.remove((entry.id,))
            return
        try:
            await self._index.add(Namespace(entry.tenant, entry.namespace), entry.id, embedding)
        except VectorIndexError:
            # Full, or a vector that must not be compared: without one the entry is a missed hit.
            self.counts.refused += 1
            await self._index.remove((entry.id,))

    def _touch(self, entry_ids: Iterable[EntryId]) -> None:
        if self._touched is not None:
            self._touched.update(entry_ids)


class _Breath:
    """Lets the event loop run, and rests in proportion to the time worked when not hurried."""

    def __init__(self, *, hurried: bool) -> None:
        self._hurried = hurried
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()

    async def take(self) -> None:
        worked = self._loop.time() - self._since
        await asyncio.sleep(0 if self._hurried else min(1.0, worked * _REST))
        self._since = self._loop.time()


def _sliced(items: Iterable[T], size: int) -> Iterable[list[T]]:
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some
