"""Verdicts in memory, on the entries of a `FakeEntryStore`, under the same contract suite as the real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from semcache.core import Entry, EntryId, Epochs, ExactKey, TenantId
from semcache.errors import StoreError
from semcache.ports import EntryPut
from semcache.review_port import Act, Line, LogPage, Pair
from semcache.review_rules import WHOLE
from semcache.store import audit_chain, codec
from semcache.store.keys import epoch_keys
from semcache.store.packing import check_id
from semcache.store.server import FULL
from semcache.store.verdicts import VerdictRules
from tests.fakes.entry_store import TOMBSTONE, FakeEntryStore

MOST_BARRED = 300


def nobody(_: TenantId, __: EntryId) -> None:
    """Have no queue."""


class FakeVerdicts:
    """Args: the store that holds the entries; how much is kept; `leaves` hears of entries that leave the queue."""

    def __init__(
        self,
        store: FakeEntryStore,
        kept: VerdictRules | None = None,
        leaves: Callable[[TenantId, EntryId], None] = nobody,
    ) -> None:
        self.store = store
        self._kept = kept or VerdictRules()
        self._leaves = leaves
        self._gone: dict[TenantId, tuple[int, str]] = {}

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        return await self.store.show(tenant, id)

    async def apply(
        self,
        expected: Entry,
        changed: Entry | None,
        act: Act,
        bar: Sequence[str] = (),
        unbar: Sequence[str] = (),
    ) -> Line | None:
        await self.store._enter("apply")
        self._questions((*bar, *unbar))
        if changed and (changed.id, changed.tenant, changed.version) != (
            expected.id,
            expected.tenant,
            expected.version + 1,
        ):
            raise StoreError("change", kind="invalid")
        tenant, held = expected.tenant, self.store._of(expected.tenant)
        found = self.store._entry(tenant, expected.id)
        text = audit_chain.canonical(act)
        if not found or not self._same(found, expected) or (changed and not self._fits(changed)):
            return None
        if changed:
            self._keep(expected.id, held.values[expected.id], tenant)
            self.store._place(held, changed, codec.encode(changed), self.store._quota_of(tenant))
        else:
            held.dead_ids[expected.id] = self.store._clock.now() + TOMBSTONE
            self.store._mark(held, expected.key)
            self.store._forget(held, expected.id)
            held.versions.pop(expected.id, None)
            self.store._announce_gone(tenant, [expected.id])
        self._bar(tenant, expected.key, bar)
        self._unbar(tenant, expected.key, unbar)
        if changed and changed.key != expected.key:
            held.barred.setdefault(changed.key, set()).update(held.barred.get(expected.key, ()))
        self._leaves(tenant, expected.id)
        return self._append(tenant, act, text)

    async def bar(self, tenant: TenantId, entry: EntryId, pair: Pair, act: Act) -> bool:
        await self.store._enter("bar")
        check_id(entry)
        self._questions((pair.asked,))
        text = audit_chain.canonical(act)
        held = self.store._of(tenant)
        barred = held.barred.get(pair.key, set())
        if pair.asked in barred or (FULL in barred and len(pair.asked) > 1):
            return False
        self._bar(tenant, pair.key, (pair.asked,))
        self._append(tenant, act, text)
        for name in dict.fromkeys((entry, held.exact.get(pair.key, entry))):
            self.store._log.append(EntryPut(tenant, name))
        self.store._wake()
        return True

    async def publish(self, entry: Entry, public: Entry, act: Act) -> Line | None:
        await self.store._enter("publish")
        check_id(public.id)
        self._questions(tuple(public.barred))
        found = self.store._entry(entry.tenant, entry.id)
        if not found or not self._same(found, entry) or not public.is_fresh(self.store._clock.now()):
            return None
        line = self._append(entry.tenant, act, audit_chain.canonical(act))
        held = self.store._of(public.tenant)
        old = self.store._entry(public.tenant, public.id)
        born = Epochs(tuple((key, held.epochs[key]) for key in epoch_keys(public) if held.epochs.get(key)))
        placed = replace(public, version=max(public.version, old.version + 1 if old else 1), epochs=born)
        if old:
            self._keep(public.id, held.values[public.id], public.tenant)
        self._bar(public.tenant, public.key, tuple(public.barred))
        self.store._place(held, placed, codec.encode(placed), self.store._quota_of(public.tenant))
        return line

    async def versions(self, tenant: TenantId, id: EntryId) -> list[Entry]:
        await self.store._enter("versions")
        return [codec.decode(value, tenant, id=id) for value in self.store._of(tenant).versions.get(id, [])]

    async def write(self, tenant: TenantId, act: Act) -> Line:
        await self.store._enter("write")
        return self._append(tenant, act, audit_chain.canonical(act))

    async def log(self, tenant: TenantId, cursor: str = "", limit: int = 50) -> LogPage:
        await self.store._enter("log")
        if cursor and not (cursor.isascii() and cursor.isdigit()):
            raise StoreError("cursor", kind="invalid")
        lines = [line for line in map(audit_chain.read, self.store._of(tenant).log) if line]
        older = [line for line in reversed(lines) if not cursor or line.number <= int(cursor)]
        more = older[limit:]
        return LogPage(tuple(older[:limit]), str(more[0].number) if more else "")

    async def broken(self, tenant: TenantId) -> int | None:
        await self.store._enter("broken")
        walk = audit_chain.Walk(*self._gone.get(tenant, (0, "")))
        for stored in self.store._of(tenant).log:
            if not walk.take(stored):
                return walk.number + 1
        return None

    async def aclose(self) -> None:
        return

    @staticmethod
    def _questions(questions: Sequence[str]) -> None:
        usable = all(0 < len(one) <= 128 and one != FULL and one.isprintable() for one in questions)
        if not usable or len(questions) > 500:
            raise StoreError("questions", kind="invalid")

    @staticmethod
    def _same(found: Entry, expected: Entry) -> bool:
        names = ("id", "version", "completion", "prompt", "status", "key")
        return all(getattr(found, name) == getattr(expected, name) for name in names)

    def _fits(self, changed: Entry) -> bool:
        held, now = self.store._of(changed.tenant), self.store._clock.now()
        other = held.exact.get(ExactKey(changed.key), changed.id)
        rival = self.store._entry(changed.tenant, other) if other != changed.id else None
        if rival and not self.store._is_current(held, rival):
            rival = None
        loses = rival and rival.status.is_verified and not changed.status.is_verified
        return changed.is_fresh(now) and self.store._is_current(held, changed) and not loses

    def _keep(self, id: EntryId, value: bytes, tenant: TenantId) -> None:
        earlier = self.store._of(tenant).versions.setdefault(id, [])
        earlier.insert(0, value)
        del earlier[self._kept.versions :]

    def _bar(self, tenant: TenantId, key: ExactKey, questions: Sequence[str]) -> None:
        held = self.store._of(tenant).barred
        for one in questions:
            barred = held.setdefault(key, set())
            barred |= {WHOLE, FULL} if len(one) > 1 and len(barred - {one}) >= MOST_BARRED else {one}

    def _unbar(self, tenant: TenantId, key: ExactKey, questions: Sequence[str]) -> None:
        barred = self.store._of(tenant).barred.get(key, set())
        barred -= {one for one in questions if one != WHOLE or FULL not in barred}

    def _append(self, tenant: TenantId, act: Act, text: bytes) -> Line:
        log = self.store._of(tenant).log
        number, previous = self._gone.get(tenant, (0, ""))
        if log:
            last = audit_chain.read(log[-1])
            assert last is not None
            number, previous = last.number, last.digest
        line = audit_chain.next_line(number, previous, act)
        log.append(audit_chain.written(line))
        if len(log) > self._kept.lines:
            first = audit_chain.read(log.pop(0))
            assert first is not None
            self._gone[tenant] = first.number, first.digest
        return line
