"""An entry store whose every step the test decides: when a scan goes on, when a call fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np

from semcache.core import (
    Completion,
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    Epochs,
    ExactKey,
    Namespace,
    ReviewStatus,
    TenantId,
)
from semcache.errors import StoreError
from semcache.ports import Change, Glimpses, Selector, StoreReset, StreamCursor
from tests.fakes.entry_store import sampled

ACME = TenantId("acme")
E5 = EncoderId("e5")
D = 24


def unit(seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).standard_normal(D)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def entry(
    name: str,
    seed: int = 0,
    *,
    tenant: TenantId = ACME,
    namespace: str = "aa",
    encoder: EncoderId = E5,
    vector: np.ndarray | None = None,
    bare: bool = False,
    status: ReviewStatus = ReviewStatus.UNREVIEWED,
    tags: tuple[str, ...] = (),
    expires_at: float = 4e9,
) -> Entry:
    embedding = None if bare else Embedding(unit(seed) if vector is None else vector, encoder)
    return Entry(
        EntryId(name),
        tenant,
        namespace,
        ExactKey(f"key-{name}"),
        "chat",
        "small",
        "what?",
        Completion(b"{}", None),
        created_at=1.0,
        expires_at=expires_at,
        embedding=embedding,
        tags=tags,
        status=status,
    )


def space(entry: Entry) -> Namespace:
    return Namespace(entry.tenant, entry.namespace)


class ScriptedStore:
    """`say` puts a change (or a fault) on the stream; entries are whatever `held` holds."""

    def __init__(self, *held: Entry) -> None:
        self.held: dict[EntryId, Entry] = {one.id: one for one in held}
        self.read_fault: StoreError | None = None
        self.scan_fault: StoreError | None = None
        self.hold_scan_after: int | None = None
        self.scan_goes_on = asyncio.Event()
        self.scan_held = asyncio.Event()
        self.reads: list[tuple[TenantId, tuple[EntryId, ...]]] = []
        self.scans = self.scanned = self.opened = self.closed = 0
        self.identity, self.number = "one", 7
        self.cursors: list[StreamCursor] = []
        self._stream: asyncio.Queue[Change | StoreError | None] = asyncio.Queue()

    def say(self, *changes: Change | StoreError | None) -> None:
        for change in changes:
            self._stream.put_nowait(change)

    async def changes(self, cursor: StreamCursor | None = None) -> AsyncIterator[Change | None]:
        self.opened += 1
        self.cursors.append(StreamCursor() if cursor is None else replace(cursor))
        try:
            while True:
                said = await self._stream.get()
                if isinstance(said, StoreError):
                    raise said
                if isinstance(said, StoreReset) and cursor is not None:
                    cursor.identity, cursor.number = self.identity, self.number
                yield said
                if said is not None:
                    self.number += 1
                if cursor is not None:
                    cursor.number = self.number
        finally:
            self.closed += 1

    async def glimpses(self, tenant: TenantId | None = None) -> AsyncIterator[Glimpses]:
        if tenant is None:
            self.scans += 1
        for number, one in enumerate(list(self.held.values())):
            if tenant is not None and one.tenant != tenant:
                continue
            if number == self.hold_scan_after:
                self.hold_scan_after = None
                self.scan_held.set()
                await self.scan_goes_on.wait()
            self.scanned += 1
            if one.status is not ReviewStatus.REJECTED:
                yield Glimpses(one.tenant, (one.id,), (sampled(one),))
        if self.scan_fault is not None:
            raise self.scan_fault

    async def scan(self, tenant: TenantId | None = None) -> AsyncIterator[Entry]:
        raise NotImplementedError
        yield

    async def get_many(self, tenant: TenantId, ids: Sequence[EntryId]) -> list[Entry | None]:
        self.reads.append((tenant, tuple(ids)))
        await asyncio.sleep(0)
        if self.read_fault is not None:
            raise self.read_fault
        found = [self.held.get(entry_id) for entry_id in ids]
        return [one if one is not None and one.tenant == tenant else None for one in found]

    async def get_exact(self, tenant: TenantId, key: ExactKey) -> Entry | None:
        raise NotImplementedError

    async def epochs(self, tenant: TenantId, keys: Sequence[str]) -> Epochs:
        raise NotImplementedError

    async def put(self, entry: Entry) -> bool:
        raise NotImplementedError

    async def confirm(self, entry: Entry, user: str) -> bool:
        raise NotImplementedError

    async def delete(self, selector: Selector) -> int:
        raise NotImplementedError

    async def ping(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError
