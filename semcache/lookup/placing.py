"""What a stored entry means for the index, and how a store is compared with it.

Knows the store's and the index's doors, not the change stream. Comparing marks and sweeps
instead of clearing first: what is held stays searchable meanwhile, which is safe since every
search result is read from the store again before it is served. What is held already is told by
a piece of its vector; only what differs is read whole.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from semcache.core import EncoderId, Entry, EntryId, Namespace, ReviewStatus, TenantId
from semcache.errors import VectorIndexError
from semcache.ports import SAMPLE, EntryStore, Glimpses, VectorIndex

T = TypeVar("T")

_FAULTS = frozenset({"down", "late", "closed"})
"""Kinds of index errors that say nothing about the entry."""

_SLICE = 64
"""Entries handled between two breaths for the event loop: about 1 ms."""

_MOST_TOUCHED = 500_000
"""Entries changed during one comparison; a bound on memory that no sane load reaches."""

_REST = 9.0
"""Seconds of rest for each second of unhurried work: a tenth of one core at most."""

_CLOSE, _CLOSE_SHARE = 1e-4, 2e-3
"""A number is the same when it is this close, or within this share of itself: rounding to float16, and the length
set right afterwards. Another text's numbers agree so well once in 300, and all `SAMPLE` of them never."""


class FollowedIndex(VectorIndex, Protocol):
    """A vector index that can say what it holds."""

    async def samples(self, entry_ids: Sequence[EntryId]) -> NDArray[np.float32]:
        """Give the first `SAMPLE` numbers of each entry's vector, zeros behind shorter ones: float32 [n, SAMPLE].

        Rows of NaN stand for entries that are not held.

        Raises:
            VectorIndexError: it could not be asked.
        """
        ...

    def held(self, tenant: TenantId | None = None) -> AsyncIterator[tuple[TenantId, list[EntryId]]]:
        """Yield what is held (of one tenant), page by page; what changes meanwhile may come, or not.

        Raises:
            VectorIndexError: it could not be asked.
        """
        ...

    async def drop(self, namespace: Namespace) -> None:
        """Remove all of a namespace.

        Raises:
            VectorIndexError: it could not be done.
        """
        ...

    async def retire(self, generations: AbstractSet[EncoderId]) -> None:
        """Remove the vectors of all encoders but these.

        Raises:
            VectorIndexError: it could not be done.
        """
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
    foreign: int = 0
    """Entries whose vector is of an encoder that is not in service, as the last whole comparison met them."""


class Placer:
    """Puts entries into the index, or out of it, as they deserve."""

    def __init__(
        self, store: EntryStore, index: FollowedIndex, generations: Callable[[], frozenset[EncoderId]]
    ) -> None:
        self._store = store
        self._index = index
        self._generations = generations
        self._touched: set[EntryId] | None = None
        self._foreign = 0
        self.counts = PlacingCounts()

    async def reread(self, tenant: TenantId, entry_ids: Sequence[EntryId]) -> int:
        """Bring the index up to the store's present word on `entry_ids`; gives how many are gone.

        Raises:
            StoreError: they could not be read.
            VectorIndexError: the index could not be written.
        """
        self._touch(entry_ids)
        return await self._read(tenant, entry_ids, frozenset())

    async def remove(self, entry_ids: Iterable[EntryId]) -> int:
        """Take entries out of the index; gives how many were there. Breathes on long lists."""
        removed = 0
        for some in _sliced(entry_ids, _SLICE):
            self._touch(some)
            removed += await self._index.remove(some)
            await asyncio.sleep(0)
        return removed

    async def drop(self, namespace: Namespace) -> None:
        """Take a namespace out of the index."""
        await self._index.drop(namespace)

    async def compare(
        self, *, lost: Callable[[], bool], hurried: bool, tenant: TenantId | None = None
    ) -> bool:
        """Compare the whole store, or one tenant, with the index and mend the index.

        Changes that are applied meanwhile win over what was read before.

        Args:
            lost: True when the comparison has become void; asked now and then.
            hurried: False to rest between slices.
            tenant: None for all.

        Returns:
            False when it was given up, because of `lost` or of too many changes meanwhile.

        Raises:
            StoreError: the store could not be read to its end.
            VectorIndexError: the index could not be asked or written.
        """
        touched = self._touched = set[EntryId]()
        self.counts.scanned = 0
        self._foreign = 0
        breath = _Breath(hurried=hurried)
        # Hashes and not names: 8 bytes each. One that comes twice keeps a ghost, which harms nobody.
        seen = array("q")
        try:
            await self._index.retire(self._generations())
            async for page in self._store.glimpses(tenant):
                for start in range(0, len(page.ids), _SLICE):
                    await self._mend(page, start, touched)
                    await breath.take()
                    if lost() or len(touched) > _MOST_TOUCHED:
                        return False
                seen.extend(map(hash, page.ids))
            known = np.sort(np.frombuffer(seen, np.int64)) if seen else np.empty(0, np.int64)
            async for owner, ids in self._index.held(tenant):
                for some in _sliced(_strangers(ids, known), _SLICE):
                    ghosts = [name for name in some if name not in touched]
                    self.counts.ghosts += await self._read(owner, ghosts, touched) if ghosts else 0
                    await breath.take()
                    if lost():
                        return False
        finally:
            self._touched = None
        self.counts.comparisons += 1
        if tenant is None:
            self.counts.foreign = self._foreign
        return not lost()

    async def _mend(self, page: Glimpses, start: int, touched: AbstractSet[EntryId]) -> None:
        ids = page.ids[start : start + _SLICE]
        same = _same(page.samples[start : start + _SLICE], await self._index.samples(ids))
        self.counts.scanned += len(ids)
        odd = [name for name, held in zip(ids, same, strict=True) if not held and name not in touched]
        if odd:
            await self._read(page.tenant, odd, touched)

    async def _read(self, tenant: TenantId, entry_ids: Sequence[EntryId], newer: AbstractSet[EntryId]) -> int:
        """Read entries and do what they say, but for those in `newer` by then; gives how many of them were held and are gone."""
        entries = await self._store.get_many(tenant, entry_ids)
        gone = []
        for name, entry in zip(entry_ids, entries, strict=True):
            if name in newer:
                continue
            if entry is None:
                gone.append(name)
            else:
                await self._place(entry)
        return await self._index.remove(gone) if gone else 0

    async def _place(self, entry: Entry) -> None:
        embedding = entry.embedding
        if (
            embedding is None
            or embedding.encoder not in self._generations()
            or entry.status is ReviewStatus.REJECTED
        ):
            self._foreign += embedding is not None and embedding.encoder not in self._generations()
            await self._index.remove((entry.id,))
            return
        try:
            await self._index.add(Namespace(entry.tenant, entry.namespace), entry.id, embedding)
        except VectorIndexError as error:
            if error.kind in _FAULTS:
                raise
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


def _same(samples: Sequence[bytes], held: NDArray[np.float32]) -> list[bool]:
    """Tell of which entries exactly the stored vector is held, or rightly none."""
    raw = b"".join(sample[: 2 * SAMPLE].ljust(2 * SAMPLE, b"\0") for sample in samples)
    stored = np.frombuffer(raw, "<f2").reshape(-1, SAMPLE).astype(np.float32)
    close = np.abs(stored - held) <= _CLOSE + _CLOSE_SHARE * np.abs(stored)
    without = np.array([not sample for sample in samples], np.bool_)
    same: list[bool] = np.where(without, np.isnan(held[:, 0]), close.all(axis=1)).tolist()
    return same


def _strangers(ids: Sequence[EntryId], known: NDArray[np.int64]) -> list[EntryId]:
    """Give those of `ids` whose hash is not among `known` (ascending)."""
    if not len(known):
        return list(ids)
    hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return [ids[place] for place in np.flatnonzero(known[places] != hashes).tolist()]


def _sliced(items: Iterable[T], size: int) -> Iterable[list[T]]:
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some
