"""When an index is written down, and how a start begins from what was written.

A snapshot only saves the reading of a whole store: whatever is wrong with it, the index is filled from the store as if
there were none. It is written now and then when enough has changed, at an orderly end, and at once, after everything
old is deleted, when somebody's answers were erased: what a person wanted gone must not lie in a file as a vector.
Knows the index, the shelf and how far the follower has come; nothing of entries.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

import structlog

from semcache.core import EncoderId
from semcache.errors import VectorIndexError
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.snapshot_format import MOST_ROWS, Block, Header
from semcache.lookup.snapshot_shelf import Draft, Opened, Shelf
from semcache.ports import Change, EpochBumped, StreamCursor

T = TypeVar("T")

_log = structlog.get_logger()
_BATCH = 64
"""Blocks handed over at once, at most; their vectors are at most `_ROWS`."""
_ROWS = 2048
_SLICE = 256
"""Vectors that the index takes in between two breaths for the event loop: about 1 ms."""
_TICK = 0.5
_REST = 2.0
"""Seconds of rest for each second of writing, so that a third of a core goes there."""
_LEAST_SHARE = 0.05
_OLDEST = 6.0
"""Times `every`: what has changed at all is written after that."""
_ADVICE = "it is left and the index is filled from the store; nothing is lost, and nothing need be done"


class Position(Protocol):
    """How far a follower has come."""

    @property
    def settled(self) -> StreamCursor | None:
        """Up to where the index holds what the change stream said; None while it is catching up."""
        ...


@dataclass(slots=True)
class KeepingCounts:
    """For the gauges; all but the last three only grow."""

    written: int = 0
    failed: int = 0
    """Snapshots that could not be written, or not be deleted."""
    refused: int = 0
    """Snapshots that were not used at a start: changed, of another store, version or encoder, or unreadable."""
    loaded: int = 0
    """Vectors taken from a snapshot at the start."""
    bytes: int = 0
    """Size of the last that was written or read."""
    load_seconds: float = 0.0
    write_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class KeepingTuning:
    """Times in seconds: how often at most it is written, and how long an orderly end may take for it."""

    every: float = 600.0
    first: float = 30.0
    end_within: float = 10.0


class Keeper:
    """Keeps the snapshots of one index in `folder`.

    Args:
        folder: made when it is first written to.
        index: what is written, and filled.
        generations: the encoders in service now.
        tuning: times.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        folder: Path,
        index: FaissIndex,
        generations: Callable[[], frozenset[EncoderId]],
        *,
        tuning: KeepingTuning | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shelf = Shelf(folder)
        self._index = index
        self._generations = generations
        self._tuning = tuning or KeepingTuning()
        self._monotonic = monotonic
        self._thread = ThreadPoolExecutor(1, "semcache-snapshot")
        self._opened: Opened | None = None
        self._follower: Position | None = None
        self._next = monotonic() + self._tuning.first
        self._oldest = monotonic() + _OLDEST * self._tuning.every
        self._written_at = 0
        self._erased = asyncio.Event()
        self._urgent = self._is_fresh = False
        self._told = ""
        self.counts = KeepingCounts()

    # -- at the start ----------------------------------------------------------------------------

    async def open(self) -> StreamCursor:
        """Open the snapshot and give the place in the change stream that it stands for; a blank one without."""
        self._close_opened()
        try:
            await self._off(self._open_here)
        except (VectorIndexError, OSError) as error:
            await self._refuse(error)
        if self._opened is None:
            return StreamCursor()
        header = self._opened.header
        return StreamCursor(header.identity, header.number)

    def _open_here(self) -> None:
        # Kept by whoever opens it, so that it is closed even if nobody waits any more.
        self._opened = self._shelf.open()

    async def load(self, identity: str) -> bool:
        """Fill the index; True when it then holds all that the store held at the place that `open` gave.

        Args:
            identity: of the store that is followed now.
        """
        opened, self._opened = self._opened, None
        if opened is None:
            return False
        began = self._monotonic()
        try:
            whole = self._fits(opened.header, identity)
            await self._fill(opened)
        except (VectorIndexError, OSError, MemoryError) as error:
            # Blocks before the fault were as they should be, but who knows what else that disk does.
            await self._index.clear()
            await self._refuse(error)
            return False
        finally:
            opened.close()
        self.counts.bytes = opened.size
        self.counts.load_seconds = self._monotonic() - began
        self._written_at, self._is_fresh = self._index.changes, True
        # What was not taken from it must not stay in it.
        self._urgent = self._urgent or not whole
        return whole

    def _fits(self, header: Header, identity: str) -> bool:
        if header.identity != identity:
            raise VectorIndexError("index snapshot: it is of another store", kind="store")
        known, now = {name for name, _ in header.generations}, self._generations()
        if known and not known & now:
            raise VectorIndexError("index snapshot: none of its encoders is in service", kind="generation")
        # One that came since may have vectors in the store that nobody here wrote down.
        return now <= known

    async def _fill(self, opened: Opened) -> None:
        blocks, now = opened.blocks(), self._generations()
        while batch := await self._off(lambda: _some(blocks)):
            for block in batch:
                for start in range(0, len(block.ids) if block.encoder in now else 0, _SLICE):
                    self.counts.loaded += self._index.take(block.part(start, start + _SLICE))
                    await asyncio.sleep(0)

    async def _refuse(self, error: VectorIndexError | OSError | MemoryError) -> None:
        kind = error.kind if isinstance(error, VectorIndexError) else "unreadable"
        self.counts.refused += 1
        _log.warning("an index snapshot is not used", kind=kind, problem=str(error), advice=_ADVICE)
        try:
            await self._off(self._shelf.set_aside)
        except OSError as problem:
            self._fail("an index snapshot that is not used cannot be moved aside", problem)

    # -- while running ---------------------------------------------------------------------------

    def on_change(self, change: Change) -> None:
        """Hear of a change in the store; what was erased goes from the disk within moments."""
        if isinstance(change, EpochBumped) and change.key in ("", "erasure"):
            self._erased.set()

    async def run(self, follower: Position) -> None:
        """Write when it is time, until cancelled.

        Args:
            follower: says up to where the index is right.
        """
        self.follow(follower)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK):
                    await self._erased.wait()
            if self._erased.is_set():
                await self._purge()
            elif self._is_due():
                await self.write(hurried=False, until=float("inf"))

    def follow(self, follower: Position) -> None:
        """Be told up to where the index is right."""
        self._follower = follower

    async def aclose(self) -> None:
        """Write what has changed, within a bound, and let another process write here. Idempotent."""
        self._close_opened()
        if self._erased.is_set():
            await self._purge()
        if self._changed() or self._urgent:
            await self.write(hurried=True, until=self._monotonic() + self._tuning.end_within)
        self._thread.shutdown(wait=True)
        self._shelf.close()

    def _changed(self) -> int:
        return self._index.changes - self._written_at

    def _is_due(self) -> bool:
        now, changed = self._monotonic(), self._changed()
        if self._is_fresh and self._follower is not None and self._follower.settled is not None:
            # What went while this process was not there may have been erased.
            self._is_fresh, self._urgent = False, self._urgent or changed > 0
        if self._urgent:
            return True
        if not changed or now < self._next:
            return False
        return now >= self._oldest or changed >= _LEAST_SHARE * self._index.sizes()[0]

    async def _purge(self) -> None:
        self._erased.clear()
        try:
            if await self._off(self._shelf.purge):
                self._urgent = True
        except OSError as error:
            self._fail("index snapshots that must go cannot be deleted: delete them by hand", error)
            self._erased.set()
            await asyncio.sleep(_TICK)

    async def write(self, *, hurried: bool, until: float) -> None:
        """Write the index down, if it is settled and nobody else writes there.

        Args:
            hurried: without rests in between.
            until: monotonic seconds when it is given up.
        """
        place = self._follower.settled if self._follower is not None else None
        if place is None or not place.identity:
            return
        place, changes, began = replace(place), self._index.changes, self._monotonic()
        now = self._generations()
        dimensions = self._index.encoders()
        header = Header(
            place.identity, place.number, tuple((name, dimensions.get(name, 0)) for name in sorted(now))
        )
        try:
            size = await self._written(header, hurried=hurried, until=until)
        except (OSError, MemoryError) as error:
            self._fail("an index snapshot cannot be written; the index in memory is not harmed", error)
            self._next = self._monotonic() + self._tuning.every
            return
        self._next = self._monotonic() + self._tuning.every
        if size:
            self.counts.written += 1
            self.counts.bytes, self.counts.write_seconds = size, self._monotonic() - began
            self._written_at, self._urgent, self._told = changes, False, ""
            self._oldest = self._monotonic() + _OLDEST * self._tuning.every

    async def _written(self, header: Header, *, hurried: bool, until: float) -> int:
        drafts: list[Draft | None] = []
        try:
            await self._off(lambda: drafts.append(self._shelf.draft(header)))
            draft = drafts[0]
            if draft is None:
                self._urgent = False
                return 0
            pieces = self._index.pieces(MOST_ROWS)
            while batch := _some(pieces):
                began = self._monotonic()
                await self._off(partial(_put, draft, batch))
                if self._monotonic() > until or self._erased.is_set():
                    return 0
                await asyncio.sleep(0 if hurried else _REST * (self._monotonic() - began))
            return await self._off(draft.publish)
        finally:
            if drafts and drafts[0] is not None:
                await self._off(drafts[0].drop)

    def _fail(self, what: str, error: OSError | MemoryError) -> None:
        self.counts.failed += 1
        # Once a kind: a full disk stays full for hours.
        kind = f"{what}{getattr(error, 'errno', '')}"
        if self._told != kind:
            self._told = kind
            _log.error(what, problem=str(error))

    async def _off(self, work: Callable[[], T]) -> T:
        """Do blocking work on the keeper's thread; a cancelled caller waits for its end, so that nothing runs on."""
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            running.exception()  # asyncio complains of errors that nobody looks at
            raise

    def _close_opened(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def _put(draft: Draft, blocks: Sequence[Block]) -> None:
    for block in blocks:
        draft.writer.write(block)


def _some(blocks: Iterator[Block]) -> list[Block]:
    """Take some blocks: about as many vectors as one large block has, or a few small ones."""
    found, rows = list[Block](), 0
    for block in islice(blocks, _BATCH):
        found.append(block)
        rows += len(block.ids)
        if rows >= _ROWS:
            break
    return found
