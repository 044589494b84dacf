"""The entry store on Redis or Valkey: embedded, a single server, or a cluster.

Every public operation is one script on the server (`store.scripts`), so it costs one round trip
and happens whole or not at all. Who may serve an entry is decided here from what the server
says now: not rejected, not expired, born under the present epochs, and the bytes say that they
are this tenant's and this key's.

On a cluster the change stream lives on another node than the tenant: there the announcement is
a second script after the first. If a process dies between the two, other replicas learn of a
new entry only when they rebuild, and of a deletion when they next read the entry (they always
do before they serve it); nothing deleted is served either way.

This module knows nothing of vectors' meaning, policies or HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from semcache.core import Entry, EntryId, Epochs, ExactKey, ReviewStatus, TenantId
from semcache.errors import StoreError
from semcache.ports import Change, Clock, Glimpses, Selector, StreamCursor
from semcache.store.browse import Counts, Page, TenantReader
from semcache.store.cluster import open_link
from semcache.store.follower import Seen, follow
from semcache.store.keys import KEY_EPOCH, Keys, digest, epoch_field, selector_keys
from semcache.store.lease import Lease
from semcache.store.link import Argument, LinkRules, Reply
from semcache.store.packing import OVERHEAD as OVERHEAD  # noqa: PLC0414  handed on
from semcache.store.packing import Quota as Quota  # noqa: PLC0414  handed on
from semcache.store.packing import packed
from semcache.store.packing import same_quota as same_quota  # noqa: PLC0414  handed on
from semcache.store.server import Server, named, raw
from semcache.store.shapes import a_list, a_number, beside, bytes_or_nil, is_yes, pairs, some_bytes, triples
from semcache.store.worth import level

_BATCH = 64
_USES = 500
_GLANCE = 256
"""Entries glimpsed at a time: 1 to 2 ms of the server."""


@dataclass(frozen=True, slots=True)
class StoreRules:
    """How a store behaves: bounds of its link, key prefix, length of the change stream."""

    link: LinkRules = field(default_factory=LinkRules)
    prefix: str = "sc"
    stream_length: int = 10_000
    quota_of: Callable[[TenantId], Quota] = same_quota


class RedisStore:
    """`ports.EntryStore` on the server that a URL names; see the module's docstring."""

    def __init__(self, url: str, clock: Clock, rules: StoreRules) -> None:
        """Prepare; nothing is connected before the first call.

        Args:
            url: redis://, rediss:// or unix://, or redis+cluster:// and rediss+cluster:// with any node.
            clock: Time for lifetimes that callers count in Unix seconds.
            rules: Bounds.

        Raises:
            StoreError: `config`: the URL is not usable.
        """
        keys = Keys(rules.prefix)
        self._link = open_link(url, rules.link)
        self._server = Server(self._link, keys, rules.stream_length)
        self._reader = TenantReader(self._server)
        self._rules = rules
        self._clock = clock
        self._keys = keys
        self._seen = Seen()

    @property
    def is_open(self) -> bool:
        """True while the breaker refuses calls."""
        return self._link.is_open

    @property
    def corrupt(self) -> int:
        """Values found damaged and dropped since the start."""
        return self._server.corrupt

    async def get_exact(self, tenant: TenantId, key: ExactKey) -> Entry | None:
        """Give the live entry of an exact key in one round trip."""
        return (await self.lookup(tenant, key, ()))[0]

    async def lookup(
        self, tenant: TenantId, key: ExactKey, epoch_keys: Sequence[str]
    ) -> tuple[Entry | None, Epochs]:
        """Give the live entry of an exact key, and the present epochs, in one round trip.

        A caller that will store its own answer after a miss needs both.

        Raises:
            StoreError: unreachable, late or corrupt (the corrupt value is dropped).
        """
        (name, value, barred), epochs = await self._look(tenant, digest(key), epoch_keys)
        if value is None:
            return None, epochs
        entry = await self._server.decoded(value, tenant, named(name), key, barred)
        return (entry if self._is_live(entry) else None), epochs

    async def get_many(self, tenant: TenantId, ids: Sequence[EntryId]) -> list[Entry | None]:
        """Give live entries by id, in order, in one round trip for each 64."""
        found: list[Entry | None] = []
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            names = [raw(name) for name in batch]
            reply = await self._server.read(self._server.scripts.get_many, tenant, names)
            for name, (value, barred) in zip(batch, beside(a_list(reply), len(batch)), strict=True):
                found.append(await self._live(bytes_or_nil(value), tenant, name, barred))
        return found

    async def epochs(self, tenant: TenantId, keys: Sequence[str]) -> Epochs:
        """Give the present invalidation counters; those at 0 are left out.

        `key:<exact key>` may be among them: not 0 for an hour after an entry of that key was
        deleted by id or rejected, and checked by `put` only.
        """
        return (await self._look(tenant, b"", keys))[1]

    async def put(self, entry: Entry) -> bool:
        """Store and announce an entry in one round trip; see `EntryStore.put`.

        False also when the entry has expired on arrival, when its id or exact key was deleted by
        id or rejected since its epochs were asked for, when a later verdict stands in its place, or when
        verified entries leave it no room.

        Raises:
            StoreError: also `invalid` (cannot be written) and `quota` (larger than a tenant's all).
        """
        ready = await packed(entry, self._clock.now(), self._rules.quota_of)
        if ready is None:
            return False
        mark = dict(entry.epochs.values).get(f"{KEY_EPOCH}{entry.key}", 0)
        reply = await self._server.write(
            self._server.scripts.put,
            entry.tenant,
            (
                raw(entry.id),
                ready.value,
                ready.ttl,
                mark or "",
                ready.size,
                ready.room,
                ready.worth,
            ),
            lead=2,
            dies=True,
        )
        return is_yes(a_list(reply, 1)[0], b"ok", (b"epoch", b"deleted", b"older", b"verified", b"full"))

    async def confirm(self, entry: Entry, user: str) -> bool:
        """Note in one round trip that a user got this answer from the model; see `EntryStore.confirm`."""
        arguments = (raw(entry.id), entry.version, raw(user))
        reply = await self._server.write(self._server.scripts.confirm, entry.tenant, arguments, lead=1)
        return is_yes(a_list(reply, 1)[0], b"ok", (b"gone",))

    async def unconfirm(self, tenant: TenantId, user: str) -> int:
        """Forget a user among those who confirmed a tenant's entries; gives of how many.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        count, cursor = 0, b"-inf"
        while cursor:
            arguments = (raw(user), cursor, _BATCH)
            reply = await self._server.write(self._server.scripts.unconfirm, tenant, arguments, lead=2)
            cursor, count = some_bytes(a_list(reply, 2)[0]), count + a_number(reply[1])
        return count

    async def delete(self, selector: Selector) -> int:
        """Invalidate what the selector names; see `EntryStore.delete`.

        One field alone (or none: the tenant) bumps its epoch, so that nothing born before comes
        back. Ids, and several fields together, remove what is there and bar each removed id
        and exact key for an hour against writes begun before. Like a verdict (`store.verdicts`), what is
        acknowledged is in the server's file.
        """
        count = await self._deleted(selector)
        await self._server.written(selector.tenant)
        return count

    async def _deleted(self, selector: Selector) -> int:
        fields = selector_keys(selector)
        if selector.ids:
            return await self._delete_ids(selector.tenant, fields, [raw(name) for name in selector.ids])
        if len(fields) > 1:
            members = await self._reader.members(selector.tenant, fields[0])
            return await self._delete_ids(selector.tenant, fields, members)
        return await self._invalidate(selector.tenant, fields[0] if fields else "")

    async def scan(self, tenant: TenantId | None = None) -> AsyncIterator[Entry]:
        """Yield all live entries, page by page; one changed meanwhile may come twice."""
        tenants = [tenant] if tenant is not None else await self.tenants()
        for owner in tenants:
            cursor = b"-inf"
            while cursor:
                reply = await self._server.read(self._server.scripts.page, owner, (cursor, _BATCH))
                cursor = some_bytes(a_list(reply, 1)[0])
                for name, value, barred in triples(reply[1:]):
                    entry = await self._live(value, owner, named(name), barred)
                    if entry is not None:
                        yield entry

    async def glimpses(self, tenant: TenantId | None = None) -> AsyncIterator[Glimpses]:
        """Yield ids and pieces of vectors, page by page; see `EntryStore.glimpses`."""
        for owner in [tenant] if tenant is not None else await self.tenants():
            cursor = b"-inf"
            while cursor:
                reply = await self._server.read(self._server.scripts.glimpses, owner, (cursor, _GLANCE))
                cursor = some_bytes(a_list(reply, 1)[0])
                seen = pairs(reply[1:])
                if seen:
                    yield Glimpses(owner, tuple(named(name) for name, _ in seen), tuple(s for _, s in seen))

    def changes(self, cursor: StreamCursor | None = None) -> AsyncIterator[Change | None]:
        """Follow the change stream on a connection of its own; see `EntryStore.changes`."""
        return follow(self._link, self._keys, max(1.0, self._rules.link.deadline), self._seen, cursor)

    def lease(self, name: str) -> Lease:
        """Give a right that one process of all has at a time."""
        return Lease(self._link, self._keys.shared(name))

    async def ping(self) -> None:
        """Prove the store answers and takes writes."""
        await self._link.call("SET", self._keys.shared("ping"), "1", "PX", 60_000)

    async def evicts(self) -> str:
        """Name the rule by which the server drops keys when it is full; `""` where it drops none.

        Entries may go any time; but with them go the questions that they were barred from, and the counters of
        invalidations: whatever this names may be forgotten too.

        Raises:
            StoreError: unreachable, late, or not allowed to be asked.
        """
        said = some_bytes(await self._link.call("INFO", "memory")).decode("utf-8", "replace")
        told = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
        policy = told.get("maxmemory_policy", "")
        return "" if policy == "noeviction" or told.get("maxmemory", "0") == "0" else policy

    async def tenants(self) -> list[TenantId]:
        """List the tenants that hold entries, or lately did."""
        return await self._reader.tenants()

    async def list_entries(self, selector: Selector, cursor: str = "", limit: int = 50) -> Page:
        """List entries, newest first, rejected and invalidated ones too; see `TenantReader`."""
        return await self._reader.list_entries(selector, cursor, limit)

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        """Give an entry by id, whether or not it may be served; None when it is gone."""
        return await self._reader.show(tenant, id)

    async def counts(self, tenant: TenantId) -> Counts:
        """Count what a tenant holds."""
        return await self._reader.counts(tenant)

    async def tidy(self, tenant: TenantId | None = None) -> int:
        """Forget what has expired and what exceeds a quota; gives how many.

        Storing does this too, a little at a time; this is for tenants that store nothing and for
        quotas that were lowered.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        gone = 0
        for owner in [tenant] if tenant is not None else await self.tenants():
            quota = self._rules.quota_of(owner)
            while True:
                batch = await self._server.write(self._server.scripts.tidy, owner, (quota.told,), lead=0)
                gone += len(batch) // 2
                if not batch:
                    break
        return gone

    async def use(self, tenant: TenantId, uses: Mapping[EntryId, float]) -> None:
        """Note that answers were served again, and what that saved of each, in micro-USD; unknown ids are no error.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        told = [part for name, saved in uses.items() for part in (raw(name), f"{level(max(1.0, saved)):.6f}")]
        for start in range(0, len(told), 2 * _USES):
            batch = told[start : start + 2 * _USES]
            await self._server.write(self._server.scripts.use, tenant, batch, lead=0)

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    async def _look(
        self, tenant: TenantId, exact: bytes, keys: Sequence[str]
    ) -> tuple[tuple[bytes, bytes | None, Reply], Epochs]:
        durable = [key for key in keys if not key.startswith(KEY_EPOCH)]
        marked = [key for key in keys if key.startswith(KEY_EPOCH)]
        arguments: list[Argument] = [exact, len(durable), *map(epoch_field, durable)]
        arguments += [digest(key.removeprefix(KEY_EPOCH)) for key in marked]
        reply = await self._server.read(self._server.scripts.lookup, tenant, arguments)
        name, value, counts, marks, barred = a_list(reply, 5, 5)
        now = [*a_list(counts, len(durable), len(durable)), *a_list(marks, len(marked), len(marked))]
        present = zip([*durable, *marked], map(a_number, now), strict=True)
        epochs = Epochs(tuple((key, count) for key, count in present if count))
        return (bytes_or_nil(name) or b"", bytes_or_nil(value), barred), epochs

    async def _live(self, value: bytes | None, tenant: TenantId, id: EntryId, barred: Reply) -> Entry | None:
        if value is None:
            return None
        try:
            entry = await self._server.decoded(value, tenant, id, None, barred)
        except StoreError:
            return None  # counted and dropped there; the others of the batch are sound
        return entry if self._is_live(entry) else None

    def _is_live(self, entry: Entry) -> bool:
        return entry.status is not ReviewStatus.REJECTED and entry.is_fresh(self._clock.now())

    async def _delete_ids(self, tenant: TenantId, fields: Sequence[str], ids: Sequence[bytes]) -> int:
        count = 0
        filters = [epoch_field(field) for field in fields]
        usable = [name for name in ids if name and not name.startswith(b"#")]
        for start in range(0, len(usable), _BATCH):
            arguments: list[Argument] = [len(filters), *filters, *usable[start : start + _BATCH]]
            reply = await self._server.write(self._server.scripts.delete_ids, tenant, arguments, lead=1)
            count += a_number(a_list(reply, 1)[0])
        return count

    async def _invalidate(self, tenant: TenantId, key: str) -> int:
        scripts, field = self._server.scripts, epoch_field(key)
        bumped = await self._server.write(scripts.bump, tenant, (field, raw(key)), lead=1)
        bound, first, count = a_number(a_list(bumped, 1)[0]), 0, 0
        members = b"s:" + field if key else b"age"
        while True:
            arguments = (members, field, bound, first, _BATCH)
            reply = await self._server.write(scripts.sweep, tenant, arguments, lead=3)
            seen, kept, removed = map(a_number, a_list(reply, 3)[:3])
            first += kept
            count += removed
            if seen < _BATCH:
                return count
