"""An entry store in memory under the same contract as the real one, with switches for faults.

Values go through the real codec, so what comes back is what the real store would give back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from semcache.core import Entry, EntryId, Epochs, ExactKey, ReviewStatus, TenantId
from semcache.errors import StoreError
from semcache.ports import (
    SAMPLE,
    Change,
    Clock,
    EntriesDeleted,
    EntryPut,
    EpochBumped,
    Glimpses,
    Selector,
    StoreReset,
    StreamCursor,
)
from semcache.review_rules import MOST_CONFIRMERS
from semcache.store import codec
from semcache.store.browse import Counts, Page
from semcache.store.keys import KEY_EPOCH, epoch_keys, selector_keys
from semcache.store.packing import size_of
from semcache.store.redis_store import Quota, same_quota
from semcache.store.server import FULL
from tests.fakes.entry_worth import Worths

TOMBSTONE = 3600.0


def sampled(entry: Entry) -> bytes:
    """Give the piece of an entry's vector that tells it from others."""
    return b"" if entry.embedding is None else entry.embedding.vector[:SAMPLE].astype("<f2").tobytes()


@dataclass
class _Tenant:
    values: dict[EntryId, bytes] = field(default_factory=dict)  # in order of storing
    order: dict[EntryId, int] = field(default_factory=dict)
    worths: Worths = field(default_factory=Worths)
    exact: dict[ExactKey, EntryId] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    dead_ids: dict[EntryId, float] = field(default_factory=dict)
    marks: dict[ExactKey, tuple[int, float]] = field(default_factory=dict)
    barred: dict[ExactKey, set[str]] = field(default_factory=dict)
    confirmed: dict[EntryId, set[str]] = field(default_factory=dict)
    versions: dict[EntryId, list[bytes]] = field(default_factory=dict)
    log: list[bytes] = field(default_factory=list)


class FakeEntryStore:
    """In memory; `fault`, `delay` and `flush()` make it misbehave."""

    def __init__(self, clock: Clock, quota_of: Callable[[TenantId], Quota] = same_quota) -> None:
        self.fault: StoreError | None = None
        """Raised by every call while set."""
        self.delay = 0.0
        """Seconds that every call takes while set."""
        self.calls: list[str] = []
        """Names of the calls so far."""
        self._clock = clock
        self._quota_of = quota_of
        self._tenants: dict[TenantId, _Tenant] = {}
        self._log: list[Change] = []
        self._news = asyncio.Event()
        self._identity = 0
        self._sequence = 0

    def flush(self) -> None:
        """Lose everything, as FLUSHALL does."""
        self._tenants.clear()
        self._log.clear()
        self._identity += 1
        self._wake()

    async def get_exact(self, tenant: TenantId, key: ExactKey) -> Entry | None:
        return (await self.lookup(tenant, key, ()))[0]

    async def lookup(
        self, tenant: TenantId, key: ExactKey, epoch_keys: Sequence[str]
    ) -> tuple[Entry | None, Epochs]:
        await self._enter("lookup")
        name = self._of(tenant).exact.get(key)
        entry = self._live(tenant, name) if name else None
        return entry, self._epochs(tenant, epoch_keys)

    async def get_many(self, tenant: TenantId, ids: Sequence[EntryId]) -> list[Entry | None]:
        await self._enter("get_many")
        return [self._live(tenant, name) for name in ids]

    async def epochs(self, tenant: TenantId, keys: Sequence[str]) -> Epochs:
        await self._enter("epochs")
        return self._epochs(tenant, keys)

    async def put(self, entry: Entry) -> bool:
        await self._enter("put")
        if not min(entry.expires_at - self._clock.now(), entry.expires_at - entry.created_at) > 0:
            return False
        if not entry.id or len(entry.id) > 256 or entry.id.startswith("#"):
            raise StoreError("id", kind="invalid")
        value, quota = codec.encode(entry), self._quota_of(entry.tenant)
        if size_of(entry, value) > quota.bytes:
            raise StoreError("quota", kind="quota")
        held = self._of(entry.tenant)
        if self._refuses(held, entry, value):
            return False
        return self._place(held, entry, value, quota)

    def _place(self, held: _Tenant, entry: Entry, value: bytes, quota: Quota) -> bool:
        gone: list[EntryId] = []
        # Not of a human's own words: nobody got those from the model.
        kept = set() if entry.status is ReviewStatus.EDITED else held.confirmed.pop(entry.id, set())
        before = max(held.worths.score(entry.id), held.worths.score(held.exact.get(entry.key)))
        self._forget(held, entry.id, bury=False)
        held.confirmed[entry.id] = kept
        other = held.exact.get(entry.key)
        if other:
            self._forget(held, other)
            gone.append(other)
        gone += self._expired(entry.tenant, held)
        self._sequence += 1
        held.values[entry.id], held.exact[entry.key] = value, entry.id
        held.order[entry.id] = self._sequence
        held.worths.put(entry, size_of(entry, value), quota, before)
        if entry.status is ReviewStatus.REJECTED:
            self._mark(held, entry.key)
        gone += self._crowded(held, quota, entry.id)
        if gone:
            self._log.append(EntriesDeleted(entry.tenant, tuple(gone)))
        stays = entry.id in held.values
        if stays:
            self._log.append(EntryPut(entry.tenant, entry.id))
        self._wake()
        return stays

    async def confirm(self, entry: Entry, user: str) -> bool:
        await self._enter("confirm")
        held, now = self._of(entry.tenant), self._live(entry.tenant, entry.id)
        if now is None or now.version != entry.version:
            return False
        users = held.confirmed.setdefault(entry.id, set())
        if user not in users and len(users) < MOST_CONFIRMERS:
            users.add(user)
            self._log.append(EntryPut(entry.tenant, entry.id))
            self._wake()
        return True

    async def unconfirm(self, tenant: TenantId, user: str) -> int:
        await self._enter("unconfirm")
        found = [name for name, users in self._of(tenant).confirmed.items() if user in users]
        for name in found:
            self._of(tenant).confirmed[name].discard(user)
            self._log.append(EntryPut(tenant, name))
        self._wake()
        return len(found)

    async def delete(self, selector: Selector) -> int:
        await self._enter("delete")
        held, keys = self._of(selector.tenant), selector_keys(selector)
        if not selector.ids and len(keys) <= 1:
            return self._invalidate(selector.tenant, keys[0] if keys else "")
        named = selector.ids or tuple(held.values)
        gone = []
        for name in named:
            entry = self._entry(selector.tenant, name)
            if keys and not (entry and set(keys) <= set(epoch_keys(entry))):
                continue
            held.dead_ids[name] = self._clock.now() + TOMBSTONE
            if entry:
                self._mark(held, entry.key)
            gone.append((name, entry is not None))
            self._forget(held, name)
            held.versions.pop(name, None)
        self._announce_gone(selector.tenant, [name for name, _ in gone])
        return sum(there for _, there in gone)

    async def scan(self, tenant: TenantId | None = None) -> AsyncIterator[Entry]:
        await self._enter("scan")
        for owner in [tenant] if tenant is not None else list(self._tenants):
            for name in list(self._of(owner).values):
                entry = self._live(owner, name)
                if entry:
                    yield entry

    async def glimpses(self, tenant: TenantId | None = None) -> AsyncIterator[Glimpses]:
        await self._enter("glimpses")
        for owner in [tenant] if tenant is not None else list(self._tenants):
            live = [entry for name in list(self._of(owner).values) if (entry := self._live(owner, name))]
            if live:
                yield Glimpses(owner, tuple(entry.id for entry in live), tuple(map(sampled, live)))

    async def changes(self, cursor: StreamCursor | None = None) -> AsyncIterator[Change | None]:
        await self._enter("changes")
        cursor = cursor or StreamCursor()
        identity, at = self._identity, len(self._log)
        if cursor.identity == str(identity) and cursor.number <= at:
            at = cursor.number
        else:
            cursor.identity, cursor.number = str(identity), at
            yield StoreReset()
        while True:
            if self.fault:
                raise self.fault
            if identity != self._identity:
                identity, at = self._identity, len(self._log)
                cursor.identity, cursor.number = str(identity), at
                yield StoreReset()
            elif at < len(self._log):
                at += 1
                yield self._log[at - 1]
                cursor.number = at
            else:
                try:
                    await asyncio.wait_for(self._news.wait(), 0.2)
                except TimeoutError:
                    yield None

    async def ping(self) -> None:
        await self._enter("ping")

    async def tenants(self) -> list[TenantId]:
        await self._enter("tenants")
        return sorted(name for name, held in self._tenants.items() if held.values)

    async def list_entries(self, selector: Selector, cursor: str = "", limit: int = 50) -> Page:
        await self._enter("list_entries")
        if cursor and not cursor.isdigit():
            raise StoreError("cursor", kind="invalid")
        held, wanted = self._of(selector.tenant), set(selector_keys(selector))
        found: list[Entry] = []
        for name in selector.ids or sorted(held.values, key=lambda name: -held.order[name]):
            entry = self._entry(selector.tenant, name)
            after = not cursor or held.order.get(name, 0) < int(cursor)
            if entry and after and wanted <= set(epoch_keys(entry)):
                found.append(entry)
                if len(found) >= limit and not selector.ids:
                    return Page(tuple(found), str(held.order[name]))
        return Page(tuple(found), "")

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        await self._enter("show")
        return self._entry(tenant, id)

    async def counts(self, tenant: TenantId) -> Counts:
        await self._enter("counts")
        entries = [name for name in self._of(tenant).values if self._entry(tenant, name)]
        return Counts(len(entries), self._size(self._of(tenant)))

    async def tidy(self, tenant: TenantId | None = None) -> int:
        await self._enter("tidy")
        count = 0
        for owner in [tenant] if tenant is not None else list(self._tenants):
            held = self._of(owner)
            gone = self._expired(owner, held) + self._crowded(held, self._quota_of(owner), EntryId(""))
            self._announce_gone(owner, gone)
            count += len(gone)
        return count

    async def use(self, tenant: TenantId, uses: Mapping[EntryId, float]) -> None:
        await self._enter("use")
        self._of(tenant).worths.use(uses)

    async def aclose(self) -> None:
        return

    async def _enter(self, call: str) -> None:
        self.calls.append(call)
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.fault:
            raise self.fault

    def _of(self, tenant: TenantId) -> _Tenant:
        return self._tenants.setdefault(tenant, _Tenant())

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _entry(self, tenant: TenantId, name: EntryId) -> Entry | None:
        value = self._of(tenant).values.get(name)
        confirmed = frozenset(self._of(tenant).confirmed.get(name, ()))
        entry = (
            codec.decode(value, tenant, id=name, aside=codec.Aside(confirmed=confirmed)) if value else None
        )
        if not entry or not entry.is_fresh(self._clock.now()):
            return None
        barred = self._of(tenant).barred.get(entry.key)
        return replace(entry, barred=frozenset(barred) - {FULL}) if barred else entry

    def _is_current(self, held: _Tenant, entry: Entry) -> bool:
        born = dict(entry.epochs.values)
        return all(held.epochs.get(key, 0) == born.get(key, 0) for key in epoch_keys(entry))

    def _live(self, tenant: TenantId, name: EntryId) -> Entry | None:
        entry = self._entry(tenant, name)
        if not entry or entry.status is ReviewStatus.REJECTED:
            return None
        return entry if self._is_current(self._of(tenant), entry) else None

    def _epochs(self, tenant: TenantId, keys: Sequence[str]) -> Epochs:
        held, found = self._of(tenant), []
        for key in sorted(keys, key=lambda key: key.startswith(KEY_EPOCH)):
            if key.startswith(KEY_EPOCH):
                value, until = held.marks.get(ExactKey(key.removeprefix(KEY_EPOCH)), (0, 0.0))
                value = value if self._clock.now() < until else 0
            else:
                value = held.epochs.get(key, 0)
            if value:
                found.append((key, value))
        return Epochs(tuple(found))

    def _refuses(self, held: _Tenant, entry: Entry, value: bytes) -> bool:
        if not self._is_current(held, entry) or self._clock.now() < held.dead_ids.get(entry.id, 0.0):
            return True
        mine = self._entry(entry.tenant, entry.id)
        if mine and self._is_current(held, mine):
            if self._stands(mine, entry) and value != held.values[entry.id]:
                return True
            if mine.version > entry.version:
                return True
        else:
            mark, until = held.marks.get(entry.key, (0, 0.0))
            asked = dict(entry.epochs.values).get(f"{KEY_EPOCH}{entry.key}", 0)
            if self._clock.now() < until and mark != asked:
                return True
        other = held.exact.get(entry.key, entry.id)
        rival = self._entry(entry.tenant, other)
        if other == entry.id or not rival or not self._is_current(held, rival):
            return False
        return entry.status is ReviewStatus.REJECTED or (
            rival.status.is_verified and not entry.status.is_verified
        )

    @staticmethod
    def _stands(mine: Entry, entry: Entry) -> bool:
        if mine.status is ReviewStatus.UNREVIEWED:
            return False
        return mine.version == entry.version or entry.status is ReviewStatus.UNREVIEWED

    def _mark(self, held: _Tenant, key: ExactKey) -> None:
        self._sequence += 1
        held.marks[key] = (self._sequence, self._clock.now() + TOMBSTONE)

    def _forget(self, held: _Tenant, name: EntryId, *, bury: bool = True) -> None:
        value = held.values.pop(name, b"")
        if bury and value[3:4] == b"r":
            held.dead_ids[name] = self._clock.now() + TOMBSTONE
        held.order.pop(name, None)
        held.worths.held.pop(name, None)
        held.confirmed.pop(name, None)
        for key in [key for key, owner in held.exact.items() if owner == name]:
            del held.exact[key]

    def _expired(self, tenant: TenantId, held: _Tenant) -> list[EntryId]:
        gone = [name for name in held.values if self._entry(tenant, name) is None]
        for name in gone:
            self._forget(held, name)
        return gone

    def _size(self, held: _Tenant) -> int:
        return sum(one.size for one in held.worths.held.values())

    def _crowded(self, held: _Tenant, quota: Quota, keep: EntryId) -> list[EntryId]:
        gone = []
        while len(held.values) > quota.entries or self._size(held) > quota.bytes:
            first = held.worths.first(quota, keep, by_number=len(held.values) > quota.entries)
            if first == keep and len(held.values) == 1:
                break
            self._forget(held, first)
            gone.append(first)
            if first == keep:
                break
        return gone

    def _invalidate(self, tenant: TenantId, key: str) -> int:
        held = self._of(tenant)
        held.epochs[key] = held.epochs.get(key, 0) + 1
        self._log.append(EpochBumped(tenant, key, held.epochs[key]))
        gone = []
        for name in list(held.values):
            entry = self._entry(tenant, name)
            if entry and key in epoch_keys(entry):
                self._forget(held, name)
                held.versions.pop(name, None)
                gone.append(name)
        self._announce_gone(tenant, gone)
        return len(gone)

    def _announce_gone(self, tenant: TenantId, gone: list[EntryId]) -> None:
        if gone:
            self._log.append(EntriesDeleted(tenant, tuple(gone)))
        self._wake()
