"""Keeps the index equal to the store: follows its changes, rebuilds when lost, compares now and then.

One task group a connection: a reader that hands every change to the listener at once, an applier
behind it, and upkeep. Whatever goes wrong with the store is counted and tried again later; while
it lasts the index goes on answering, since every result is read from the store again.

An `EpochBumped` drops its namespace's vectors at once. Of a tag, model or tenant the index knows
nothing and keeps no map of them (100-150 bytes an entry): the store announces the entries it
removed by id, and the tenant is read again, unhurried, for those it could not name.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from semcache.core import EncoderId, EntryId, Namespace, TenantId
from semcache.errors import StoreError, VectorIndexError
from semcache.lookup.pending import Batch, Pending, Puts
from semcache.lookup.placing import FollowedIndex, Placer
from semcache.ports import Change, Encoder, EntriesDeleted, EntryStore, EpochBumped, StoreReset, StreamCursor

_NAMESPACE_KEY = "ns:"


@dataclass(frozen=True, slots=True)
class FollowerTuning:
    """Times in seconds. `stall`: silence after which the stream counts as lost."""

    stall: float = 5.0
    first_retry: float = 0.1
    last_retry: float = 5.0
    compare_every: float = 300.0
    tick: float = 1.0
    max_pending: int = 10_000
    batch: int = 64


@dataclass(frozen=True, slots=True)
class FollowerState:
    """Where the follower stands; counters grow only, `lag` is the age of the oldest waiting change."""

    is_synced: bool
    last_contact: float
    pending: int
    lag: float
    changes: int
    faults: int
    resets: int
    overflows: int
    scanned: int
    comparisons: int
    ghosts: int
    refused: int
    foreign: int


class Kept(Protocol):
    """What a start may begin from, instead of reading the whole store."""

    async def open(self) -> StreamCursor:
        """Give the place in the change stream that it stands for; a blank one when there is nothing."""
        ...

    async def load(self, identity: str) -> bool:
        """Fill the index; True when it then holds all that the store of that identity held at that place."""
        ...


class Follower:
    """Follows a store for one index.

    Args:
        store: the owner of the truth.
        index: what is kept equal to it.
        encoder: whose generations are in service; None keeps the index empty.
        on_change: called for every change before anything is awaited. Must not raise.
        kept: what the first start begins from.
        leads: whether this process is to keep the index equal to the store now; for an index that others share.
        tuning: times and bounds.
        monotonic: seconds that never go back.
        jitter: uniform in [0, 1).
    """

    def __init__(
        self,
        store: EntryStore,
        index: FollowedIndex,
        encoder: Encoder | None,
        *,
        on_change: Callable[[Change], None] | None = None,
        kept: Kept | None = None,
        leads: Callable[[], bool] = lambda: True,
        tuning: FollowerTuning | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._index = index
        self._encoder = encoder
        self._on_change = on_change
        self._kept = kept
        self._leads = leads
        self._led = leads()
        self._tuning = tuning or FollowerTuning()
        self._monotonic = monotonic
        self._jitter = jitter
        self._placer = Placer(store, index, self._generations)
        self._pending = Pending(self._tuning.max_pending)
        self._lost = asyncio.Event()
        self._heard = asyncio.Event()
        self._filled = asyncio.Event()
        self._cursor = StreamCursor()
        self._left: StreamCursor | None = None
        self._busy = 0
        self._bumped: set[TenantId] = set()
        self._indexed: frozenset[EncoderId] = frozenset()
        self._failures = 0
        self._faults = self._changes = self._resets = self._overflows = 0
        self.is_synced = False
        """True while connected and everything that was stored before has been taken in."""
        self.last_contact = float("-inf")
        """Monotonic seconds up to which everything that the store did has been heard; see `_read`."""

    @property
    def state(self) -> FollowerState:
        """Everything worth a gauge, as of now."""
        oldest, counts = self._pending.oldest, self._placer.counts
        return FollowerState(
            is_synced=self.is_synced,
            last_contact=self.last_contact,
            pending=len(self._pending),
            lag=0.0 if oldest is None else self._monotonic() - oldest,
            changes=self._changes,
            faults=self._faults,
            resets=self._resets,
            overflows=self._overflows,
            scanned=counts.scanned,
            comparisons=counts.comparisons,
            ghosts=counts.ghosts,
            refused=counts.refused,
            foreign=counts.foreign,
        )

    @property
    def settled(self) -> StreamCursor | None:
        """Where in the stream everything was applied; None while something is on its way.

        After the end: where it then stood, if nothing was on its way.
        """
        return self._left if self._left is not None else self._now()

    def _now(self) -> StreamCursor | None:
        busy = self._busy or self._bumped or len(self._pending) or self._lost.is_set()
        return replace(self._cursor) if self.is_synced and not busy else None

    async def forget(self, entry_ids: Sequence[EntryId]) -> int:
        """Remove ghosts that a search met; gives how many were there."""
        removed = await self._placer.remove(entry_ids)
        self._placer.counts.ghosts += removed
        return removed

    async def run(self) -> None:
        """Follow until cancelled; the store's failures are counted, never raised."""
        while True:
            self._lost.clear()
            self._heard.clear()
            self._left = None
            self._cursor = StreamCursor()
            try:
                if self._kept is not None and not self._filled.is_set():
                    self._cursor = await self._kept.open()
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._apply_all())
                    group.create_task(self._keep_up())
                    await self._read()
            except* StoreError:
                self._failed()
            finally:
                self._left = self._now()
                self.is_synced = False
                self._busy = 0
                self._pending.clear()
            await asyncio.sleep(self._delay())

    async def _read(self) -> None:
        """Hear what the store says.

        A reply says what was done when it was given, however long it was under way, and a long backlog comes in many:
        heard is everything up to the moment when we began to wait for the reply that left nothing over.
        """
        stream = self._store.changes(self._cursor)
        try:
            asked = self._monotonic()
            while True:
                async with asyncio.timeout(self._tuning.stall):
                    change = await anext(stream)
                self._take(change)
                if change is None or isinstance(change, StoreReset):
                    self.last_contact, asked = asked, self._monotonic()
        except StopAsyncIteration as error:
            raise StoreError("the change stream ended", kind="lost") from error
        except TimeoutError as error:
            raise StoreError("the change stream fell silent", kind="late") from error
        finally:
            await _close(stream)

    def _take(self, change: Change | None) -> None:
        now = self._monotonic()
        if change is None:
            self._heard.set()
            return
        self._changes += 1
        if self._on_change is not None:
            self._on_change(change)
        if isinstance(change, StoreReset):
            self._resets += 1
            self._lose_track()
        elif not self._pending.put(change, now):
            # Too far behind: what is stored now is read as a whole instead.
            self._overflows += 1
            self._lose_track()
        self._heard.set()

    def _lose_track(self) -> None:
        self.is_synced = False
        self._pending.clear()
        self._bumped.clear()
        self._lost.set()

    async def _apply_all(self) -> None:
        await self._filled.wait()
        while True:
            batch = await self._pending.take(self._tuning.batch)
            generation = self._pending.generation
            self._busy += 1
            while not await self._try(self._apply(batch)):
                await asyncio.sleep(self._delay())
                if self._pending.generation != generation:
                    break
            self._busy -= 1

    async def _apply(self, batch: Batch) -> None:
        if not self._leads():
            return  # whoever leads does it, or compares when it comes to lead
        match batch:
            case Puts(tenant, entry_ids):
                await self._placer.reread(tenant, entry_ids)
            case EntriesDeleted(_, entry_ids):
                await self._placer.remove(entry_ids)
            case EpochBumped(tenant, key, _) if key.startswith(_NAMESPACE_KEY):
                digest = key.removeprefix(_NAMESPACE_KEY)
                await self._placer.drop(Namespace(tenant, digest))
            case EpochBumped(tenant):
                self._bumped.add(tenant)

    async def _keep_up(self) -> None:
        next_comparison = self._next_comparison(0.0)
        if not self._filled.is_set():
            await self._fill()
        while True:
            began, led, self._led = self._monotonic(), self._led, self._leads()
            if self._led and not led:
                self._lost.set()
            if self.is_synced and self._indexed != self._generations():
                self._lost.set()
            if self._lost.is_set():
                await self._rebuild()
                next_comparison = self._next_comparison(began)
            elif not self._led:
                self._bumped.clear()
            elif self._bumped:
                tenant = self._bumped.pop()
                self._busy += 1
                again = self._placer.compare(lost=self._lost.is_set, hurried=False, tenant=tenant)
                if not await self._try(again):
                    self._bumped.add(tenant)
                self._busy -= 1
            elif began >= next_comparison:
                await self._try(self._placer.compare(lost=self._lost.is_set, hurried=False))
                next_comparison = self._next_comparison(began)
            await self._doze()

    async def _fill(self) -> None:
        """Begin from what was kept; whatever it lacks is taken from the stream, or by comparing."""
        await self._heard.wait()
        whole = self._kept is not None and await self._kept.load(self._cursor.identity)
        self._filled.set()
        if not whole:
            self._lost.set()
        elif not self._lost.is_set():
            self._indexed = self._generations()
            self.is_synced = True

    async def _rebuild(self) -> None:
        """Take in the whole store; the reset or overflow that asked for it may come again meanwhile."""
        self._lost.clear()
        self.is_synced = False
        generations = self._generations()
        whole = not self._led

        async def compare() -> None:
            nonlocal whole
            whole = await self._placer.compare(lost=self._lost.is_set, hurried=True)

        if self._led and not await self._try(compare()):
            await asyncio.sleep(self._delay())
        if whole:
            self._indexed = generations
            self.is_synced = True
        else:
            self._lost.set()

    async def _doze(self) -> None:
        try:
            async with asyncio.timeout(self._tuning.tick * (0.5 + self._jitter())):
                await self._lost.wait()
        except TimeoutError:
            return

    def _next_comparison(self, began: float) -> float:
        # A comparison that takes long is made seldom: a twentieth of the time at most.
        now = self._monotonic()
        pause = max(self._tuning.compare_every, 20 * (now - began) if began else 0.0)
        return now + pause * (0.75 + self._jitter() / 2)

    async def _try(self, work: Awaitable[object]) -> bool:
        try:
            await work
        except (StoreError, VectorIndexError):
            self._failed()
            return False
        self._failures = 0
        return True

    def _failed(self) -> None:
        self._faults += 1
        self._failures += 1

    def _delay(self) -> float:
        """Seconds to wait before the next try: doubling, between half and all of it, at random."""
        most = min(self._tuning.last_retry, self._tuning.first_retry * 2.0 ** min(self._failures, 16))
        return most * (0.5 + self._jitter() / 2)

    def _generations(self) -> frozenset[EncoderId]:
        return self._encoder.generations() if self._encoder is not None else frozenset()


async def _close(stream: AsyncIterator[Change | None]) -> None:
    """Let go of the stream's connection now and not when it is collected."""
    aclose = getattr(stream, "aclose", None)
    if aclose is not None:
        await aclose()
