"""A store whose only user remembers what it put there: reads of the plain kind need no way to the server.

For one process that stores and reads, one thing after the other, where nobody else writes: as when a log is asked again. All
writes go to the server and wait for it. What is remembered is trusted only as long as nothing happened that a server decides by itself:
the first invalidation, judged entry, refusal, or half a quota reached ends it, and from then on every call is the server's.
Knows no vectors and no policies.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence

from semcache.core import Entry, EntryId, Epochs, ExactKey, ReviewStatus, TenantId
from semcache.ports import Change, Clock, Glimpses, Selector, StreamCursor
from semcache.store.browse import Counts, Page
from semcache.store.packing import OVERHEAD, Quota
from semcache.store.redis_store import RedisStore

_MOST = 16_384
"""Entries remembered; others are read from the server."""
_Name = tuple[TenantId, EntryId]


class SoleStore:
    """`ports.EntryStore` over a server that was empty when this began.

    Args:
        inner: the server's store.
        clock: the one that it goes by.
        quota: of any tenant; None: none is in force.
        most: entries remembered.
    """

    def __init__(
        self, inner: RedisStore, clock: Clock, quota: Quota | None = None, most: int = _MOST
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._quota = quota
        self._most = most
        self._entries: OrderedDict[_Name, Entry] = OrderedDict()
        self._newest: dict[tuple[TenantId, ExactKey], EntryId] = {}
        self._sizes: dict[TenantId, tuple[int, int]] = {}
        self.is_trusted = True

    async def get_exact(self, tenant: TenantId, key: ExactKey) -> Entry | None:
        """Give the live entry of an exact key."""
        return (await self.lookup(tenant, key, ()))[0]

    async def lookup(
        self, tenant: TenantId, key: ExactKey, epoch_keys: Sequence[str]
    ) -> tuple[Entry | None, Epochs]:
        """Give the live entry of an exact key, and the present epochs; without either while nothing was invalidated."""
        if self.is_trusted:
            name = self._newest.get((tenant, key))
            if name is None:
                return None, Epochs()
            entry = self._entries.get((tenant, name))
            if entry is not None:
                return (entry if entry.is_fresh(self._clock.now()) else None), Epochs()
        return await self._inner.lookup(tenant, key, epoch_keys)

    async def get_many(self, tenant: TenantId, ids: Sequence[EntryId]) -> list[Entry | None]:
        """Give live entries by id, in order."""
        if not self.is_trusted:
            return await self._inner.get_many(tenant, ids)
        now, held = self._clock.now(), [self._recent((tenant, name)) for name in ids]
        away = [name for name, entry in zip(ids, held, strict=True) if entry is None]
        read = iter(await self._inner.get_many(tenant, away)) if away else iter(())
        found = [next(read) if entry is None else entry for entry in held]
        return [entry if entry is not None and entry.is_fresh(now) else None for entry in found]

    async def epochs(self, tenant: TenantId, keys: Sequence[str]) -> Epochs:
        """Give the present invalidation counters."""
        return Epochs() if self.is_trusted else await self._inner.epochs(tenant, keys)

    async def put(self, entry: Entry) -> bool:
        """Store and announce an entry."""
        if not self._is_plain(entry):
            self._distrust()
        stored = await self._inner.put(entry)
        if not stored:
            self._distrust()
        elif self.is_trusted:
            self._remember(entry)
        return stored

    async def confirm(self, entry: Entry, user: str) -> bool:
        """Note that a user got this answer from the model themselves."""
        self._distrust()
        return await self._inner.confirm(entry, user)

    async def delete(self, selector: Selector) -> int:
        """Invalidate what the selector names."""
        self._distrust()
        return await self._inner.delete(selector)

    def scan(self, tenant: TenantId | None = None) -> AsyncIterator[Entry]:
        """Yield all live entries."""
        return self._inner.scan(tenant)

    def glimpses(self, tenant: TenantId | None = None) -> AsyncIterator[Glimpses]:
        """Yield what tells the vectors of live entries apart."""
        return self._inner.glimpses(tenant)

    def changes(self, cursor: StreamCursor | None = None) -> AsyncIterator[Change | None]:
        """Follow the change stream."""
        return self._inner.changes(cursor)

    async def ping(self) -> None:
        """Prove the store answers and takes writes."""
        await self._inner.ping()

    async def tenants(self) -> list[TenantId]:
        """List the tenants that hold entries, or lately did."""
        return await self._inner.tenants()

    async def list_entries(self, selector: Selector, cursor: str = "", limit: int = 50) -> Page:
        """List entries, newest first."""
        return await self._inner.list_entries(selector, cursor, limit)

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        """Give an entry by id, whether or not it may be served."""
        return await self._inner.show(tenant, id)

    async def counts(self, tenant: TenantId) -> Counts:
        """Count what a tenant holds."""
        return await self._inner.counts(tenant)

    async def tidy(self, tenant: TenantId | None = None) -> int:
        """Forget what has expired and what exceeds a quota; gives how many."""
        self._distrust()
        return await self._inner.tidy(tenant)

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._inner.aclose()

    def _recent(self, name: _Name) -> Entry | None:
        entry = self._entries.get(name)
        if entry is not None:
            self._entries.move_to_end(name)
        return entry

    def _is_plain(self, entry: Entry) -> bool:
        """Tell whether nothing decides about this entry but its own lifetime: new, unjudged, of no earlier epoch."""
        is_new = (entry.tenant, entry.id) not in self._entries and not entry.epochs.values
        return is_new and entry.status is ReviewStatus.UNREVIEWED and entry.version == 1

    def _remember(self, entry: Entry) -> None:
        place = entry.tenant, entry.key
        before = self._newest.get(place)
        if before is not None:
            self._entries.pop((entry.tenant, before), None)
        self._newest[place] = entry.id
        self._entries[entry.tenant, entry.id] = entry
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)
        if self._quota is not None and self._nears(entry, self._quota):
            self._distrust()

    def _nears(self, entry: Entry, quota: Quota) -> bool:
        """Tell whether the server may soon let entries go to keep the tenant's quota."""
        number, size = self._sizes.get(entry.tenant, (0, 0))
        vector = 0 if entry.embedding is None else entry.embedding.vector.nbytes
        size += OVERHEAD + entry.completion.size + vector + 4 * len(entry.prompt)
        self._sizes[entry.tenant] = number + 1, size
        return 2 * (number + 1) > quota.entries or 2 * size > quota.bytes

    def _distrust(self) -> None:
        self.is_trusted = False
        self._entries.clear()
        self._newest.clear()
