"""A change of encoder without a gap: vectors under the next one are made beside, then entries are given them.

    build   beside a running service: every stored question is embedded by the next encoder, its vector put beside the entry
    start   replicas are started with the next encoder, one after the other; whoever started last says what entries are to have
    renew   one of them gives entries their new vectors, those made before first, and puts the old ones beside
    drop    the old ones go, once nobody wants to go back

Until an entry has its new vector it is found by equal requests only: nothing is ever compared across encoders. Without a
build, renewing embeds by itself. An entry of a conversation keeps what it was found by only as long as its encoder is in service: the
text that was embedded is no longer there. Knows no Redis and no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from semcache.core import Embedding, EncoderId, Entry, EntryId, TenantId, Vector
from semcache.errors import EncoderError, StoreError
from semcache.ports import Encoder

_log = structlog.get_logger("semcache.renewing")
_BATCH = 64
_PATIENCE = (0.1, 0.4, 1.6, 6.4)
"""Seconds before a text whose encoder was busy or still loading is embedded again."""
_LEASE = 60.0


class Entries(Protocol):
    """Stored entries as they are gone through."""

    async def tenants(self) -> list[TenantId]:
        """List the tenants that hold entries."""
        ...

    def scan(self, tenant: TenantId | None = None) -> AsyncIterator[Entry]:
        """Yield all live entries."""
        ...


class Reader(Encoder, Protocol):
    """An encoder that can say who in it would read a text."""

    @property
    def roles(self) -> str:
        """The generations in service by what they read, as one word."""
        ...

    def reader(self, text: str) -> EncoderId | None:
        """Give the generation that is asked first to read a text."""
        ...


class Shelf(Protocol):
    """Vectors beside entries; see `store.vector_shelf`."""

    async def keep(self, tenant: TenantId, generation: EncoderId, vectors: Mapping[EntryId, Vector]) -> int:
        """Put vectors beside entries that are still there; gives beside how many."""
        ...

    async def kept(
        self, tenant: TenantId, generation: EncoderId, ids: Sequence[EntryId]
    ) -> list[Vector | None]:
        """Give the vectors that lie beside entries."""
        ...

    async def swap(self, entry: Entry, embedding: Embedding) -> bool:
        """Give an entry, as it was read, another vector; False when it was changed meanwhile."""
        ...

    async def target(self) -> tuple[str, str]:
        """Give the roles of the configuration started last, and those that all entries were renewed for."""
        ...

    async def aim(self, roles: str) -> None:
        """Say by which roles entries are to be found from now on."""
        ...

    async def settle(self, roles: str) -> None:
        """Say that all entries were renewed for these roles."""
        ...

    async def lease(self, holder: str, seconds: float) -> bool:
        """Take, renew, or give up the right to swap."""
        ...


@dataclass(slots=True)
class Progress:
    """What was met and done so far, in entries.

    `current` have a vector of an encoder in service already, `unmatched` have none at all; `ready` got one that lay beside,
    `made` one that was made now; `bound` belong to conversations, `refused` cannot be read by the encoder, `changed` were
    changed by somebody meanwhile.
    """

    seen: int = 0
    current: int = 0
    unmatched: int = 0
    ready: int = 0
    made: int = 0
    bound: int = 0
    refused: int = 0
    changed: int = 0


@dataclass(slots=True)
class Renewal:
    """Goes through the store once; `progress` says how far it is.

    Args:
        entries: the store.
        shelf: where vectors lie beside it.
        encoder: the one that entries are to be found by.
        rest: seconds of rest for each second of work.
    """

    entries: Entries
    shelf: Shelf
    encoder: Reader
    rest: float = 0.0
    progress: Progress = field(default_factory=Progress)

    async def build(self) -> None:
        """Make the vectors that are missing, and put them beside their entries.

        Raises:
            StoreError: the store could not be read or written.
            EncoderError: the encoder is not there.
        """
        await self._through(self._build, lambda: False)

    async def renew(self, lost: Callable[[], bool]) -> None:
        """Give entries their new vectors, until `lost`.

        Raises:
            StoreError: the store could not be read or written.
            EncoderError: the encoder is not there.
        """
        await self._through(self._renew, lost)

    async def _through(self, work: _Work, lost: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        for tenant in await self.entries.tenants():
            batch: list[Entry] = []
            async for entry in self.entries.scan(tenant):
                if self._is_old(entry):
                    batch.append(entry)
                if len(batch) >= _BATCH:
                    began = loop.time()
                    await work(tenant, batch)
                    batch = []
                    await asyncio.sleep(self.rest * (loop.time() - began))
                if lost():
                    return
            await work(tenant, batch)

    def _is_old(self, entry: Entry) -> bool:
        """True where a vector of another encoder can be replaced."""
        told = self.progress
        told.seen += 1
        if entry.embedding is None:
            told.unmatched += 1
        elif entry.embedding.encoder == self.encoder.reader(entry.prompt):
            told.current += 1
        elif entry.context:
            told.bound += 1
        else:
            return True
        return False

    async def _build(self, tenant: TenantId, batch: Sequence[Entry]) -> None:
        there = await self._beside(tenant, batch)
        self.progress.ready += len(there)
        made: dict[EncoderId, dict[EntryId, Vector]] = {}
        for entry in batch:
            embedding = None if entry.id in there else await self._embedded(entry)
            if embedding is not None:
                made.setdefault(embedding.encoder, {})[entry.id] = embedding.vector
        for generation, vectors in made.items():
            self.progress.made += await self.shelf.keep(tenant, generation, vectors)

    async def _renew(self, tenant: TenantId, batch: Sequence[Entry]) -> None:
        there = await self._beside(tenant, batch)
        for entry in batch:
            embedding = there.get(entry.id) or await self._embedded(entry)
            if embedding is None:
                continue
            if not await self.shelf.swap(entry, embedding):
                self.progress.changed += 1
            elif entry.id in there:
                self.progress.ready += 1
            else:
                self.progress.made += 1

    async def _beside(self, tenant: TenantId, batch: Sequence[Entry]) -> dict[EntryId, Embedding]:
        ids = [entry.id for entry in batch]
        readers = {entry.id: self.encoder.reader(entry.prompt) for entry in batch}
        found: dict[EntryId, Embedding] = {}
        for generation in sorted(self.encoder.generations()):
            vectors = await self.shelf.kept(tenant, generation, ids)
            for name, vector in zip(ids, vectors, strict=True):
                if vector is not None and readers[name] == generation:
                    found[name] = Embedding(vector, generation)
        return found

    async def _embedded(self, entry: Entry) -> Embedding | None:
        """Embed a question as it was embedded when it was stored: as it was asked."""
        for pause in (*_PATIENCE, None):
            try:
                found = await self.encoder.encode(entry.prompt)
                if entry.embedding is None or found.encoder != entry.embedding.encoder:
                    return found
                # Whoever was to read it cannot, and the one that could before still does.
                self.progress.current += 1
                return None
            except EncoderError as error:
                if error.is_refusal:
                    self.progress.refused += 1
                    return None
                if pause is None or error.kind == "closed":
                    raise
                await asyncio.sleep(pause)
        return None


class _Work(Protocol):
    async def __call__(self, tenant: TenantId, batch: Sequence[Entry]) -> None: ...


@dataclass(slots=True)
class Renewing:
    """Renews beside the requests of a worker whenever there is something to renew.

    Args:
        entries, shelf, encoder: as for `Renewal`.
        holder: this worker's own name, for the lease.
        foreign: gives how many vectors of other encoders the last comparison of the index met.
        every: seconds between two looks.
        rest: seconds of rest for each second of work: nine leave requests nine tenths of a core.
    """

    entries: Entries
    shelf: Shelf
    encoder: Reader
    holder: str
    foreign: Callable[[], int]
    every: float = 5.0
    rest: float = 9.0
    progress: Progress = field(default_factory=Progress)

    async def run(self) -> None:
        """Look until cancelled; what fails is tried again."""
        told = False
        done = -1
        while True:
            try:
                if not told:
                    await self.shelf.aim(self.encoder.roles)
                    told = True
                found = self.foreign()
                if found != done and await self._is_due(found) and await self._renewed():
                    # What is left over cannot be renewed: bound, or refused.
                    done = found
            except (StoreError, EncoderError) as error:
                _log.warning("vectors could not be renewed", kind=error.kind)
            await asyncio.sleep(self.every)

    async def _is_due(self, found: int) -> bool:
        """True where this configuration is the one started last and not all entries are renewed for it; then the lease is ours."""
        aimed, settled = await self.shelf.target()
        due = aimed == self.encoder.roles and (found > 0 or settled != aimed)
        return due and await self.shelf.lease(self.holder, _LEASE)

    async def _renewed(self) -> bool:
        """Go through the store, as long as this configuration is the one started last; True at the end."""
        lost = asyncio.Event()
        watching = asyncio.get_running_loop().create_task(self._watch(lost))
        renewal = Renewal(self.entries, self.shelf, self.encoder, self.rest)
        self.progress = renewal.progress
        try:
            await renewal.renew(lost.is_set)
        finally:
            watching.cancel()
            told = renewal.progress
            if told.made or told.ready or told.bound:
                _log.info(
                    "vectors renewed",
                    made=told.made,
                    ready=told.ready,
                    bound=told.bound,
                    whole=not lost.is_set(),
                )
        if not lost.is_set():
            await self.shelf.settle(self.encoder.roles)
        await self.shelf.lease(self.holder, 0)
        return not lost.is_set()

    async def _watch(self, lost: asyncio.Event) -> None:
        mine = self.encoder.roles
        while not lost.is_set():
            try:
                if (await self.shelf.target())[0] != mine or not await self.shelf.lease(self.holder, _LEASE):
                    lost.set()
            except StoreError:
                lost.set()
            await asyncio.sleep(min(self.every, _LEASE / 4))
