"""The `VectorIndex` on a Milvus, for more vectors than a machine should hold: shared by all workers and replicas.

One collection an encoder, partitioned by namespace. In every row: the entry's id, `space` (a digest of tenant and
namespace), `owner` (the tenant), the vector, and `sample`, a piece of it that comparing reads. What goes into a filter
is hex digits only, and ids go as lists of such words, so that no name can say anything in Milvus' language.

Searches take bounded staleness: what another process stored a moment ago may be missed, and what it removed may be
found and is then not served, since every result is read from the store again. What is asked before writing, and what
comparing asks, is asked with strong consistency. Counts are kept here and refreshed; a namespace of which nothing is
known counts as 1, since 0 would mean that nobody looks.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semcache.core import Embedding, EncoderId, EntryId, Namespace, Neighbour, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup.gate import checked
from semcache.lookup.milvus_link import MilvusLink
from semcache.lookup.milvus_schema import create, has, rows_in
from semcache.ports import SAMPLE

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST = 16_384
"""The longest list that Milvus gives."""
_PAGE = 1000
_KNOWN = 100_000
"""Namespaces whose counts are remembered."""
_FRESH = 30.0
"""Seconds after which a count is asked for again, in the background."""


class MilvusIndex:
    """An index in a Milvus; close it. Nothing is connected before the first call.

    Args:
        link: how it is reached; closed with this.
        name: the beginning of the collections' names.
        encoders: those in service, whose collections are compared with the store.
        max_vectors: bound over all.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        link: MilvusLink,
        name: str,
        encoders: Callable[[], AbstractSet[EncoderId]],
        *,
        max_vectors: int = 1_000_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._name = name
        self._encoders = encoders
        self._max_vectors = max_vectors
        self._monotonic = monotonic
        self._dimensions: dict[EncoderId, int] = {}
        self._opening: dict[EncoderId, asyncio.Lock] = {}
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._total, self._total_at = 0, float("-inf")
        self._alone = False
        """True while all that is in there was put in by this process, so that unknown namespaces are empty."""
        self._asking: dict[str, asyncio.Task[None]] = {}

    # -- the port ------------------------------------------------------------------------------

    def count(self, namespace: Namespace) -> int:
        """Give the vectors of a namespace as known; 1 where nothing is known. See the module."""
        space = _space(namespace)
        known = self._counts.get(space)
        if known is None and self._alone:
            return 0
        if not self._alone and (known is None or self._monotonic() - known[1] > _FRESH):
            self._ask(space)
            return max(1, known[0] if known else 0)
        return known[0] if known else 1

    async def search(self, namespace: Namespace, embedding: Embedding, k: int) -> list[Neighbour]:
        """Find the k nearest by cosine, best first; same namespace and same encoder only.

        Raises:
            VectorIndexError: the vector did not pass the gate, or a fault of the link (see `MilvusLink.call`).
        """
        query = checked(embedding.vector, self._dimensions.get(embedding.encoder))
        if k <= 0 or not await self._open(embedding.encoder, query.size, make=False):
            return []
        where, space = self._collection(embedding.encoder), _space(namespace)

        def work(client: Any, timeout: float) -> Any:
            return client.search(
                where,
                data=[query.tolist()],
                limit=min(k, _MOST),
                filter=f'space == "{space}"',
                output_fields=["id"],
                consistency_level="Bounded",
                timeout=timeout,
            )

        found = await self._link.call(work)
        return [
            Neighbour(_id_of(hit["id"]), max(-1.0, min(1.0, float(hit["distance"]))))
            for hit in (found[0] if found else ())
        ]

    async def add(self, namespace: Namespace, entry_id: EntryId, embedding: Embedding) -> None:
        """Add or replace the vector of an entry. Idempotent: what is there already is not written again.

        Raises:
            VectorIndexError: the vector did not pass the gate, `full`, or a fault of the link.
        """
        encoder = embedding.encoder
        vector = checked(embedding.vector, self._dimensions.get(encoder))
        await self._open(encoder, vector.size, make=True)
        space, pk, sample = _space(namespace), _pk(entry_id), _sample(vector)
        held = (await self._rows(encoder, [pk])).get(pk)
        if held == (space, sample):
            return
        # From another encoder's collection, or none: an entry has one vector.
        if held is None and not await self._remove_elsewhere(pk, encoder):
            await self._room()
        row = {"id": pk, "space": space, "owner": _owner(namespace.tenant), "sample": sample}
        where = self._collection(encoder)

        def work(client: Any, timeout: float) -> None:
            client.upsert(where, [{**row, "vector": vector.tolist()}], timeout=timeout)

        await self._link.call(work)
        if held is not None:
            self._tell(held[0], -1)
        self._tell(space, 1)

    async def remove(self, entry_ids: Sequence[EntryId]) -> int:
        """Remove vectors; unknown ids are no error. Gives how many were there.

        Raises:
            VectorIndexError: a fault of the link.
        """
        removed = 0
        for encoder in await self._opened():
            for start in range(0, len(entry_ids), _PAGE):
                removed += await self._remove_pks(encoder, list(map(_pk, entry_ids[start : start + _PAGE])))
        return removed

    async def clear(self) -> None:
        """Delete every collection of this name, for all processes.

        Raises:
            VectorIndexError: a fault of the link.
        """
        ours = re.compile(re.escape(self._name) + r"_[0-9a-f]{16}")

        def work(client: Any, timeout: float) -> None:
            for name in client.list_collections(timeout=timeout):
                if ours.fullmatch(name):
                    client.drop_collection(name, timeout=timeout)

        await self._link.call(work, patient=True)
        self._dimensions.clear()
        self._counts.clear()
        self._total, self._total_at, self._alone = 0, self._monotonic(), True

    def sizes(self) -> tuple[int, int]:
        """Give (vectors, namespaces) for the gauges: the first as last asked, the second as far as known here."""
        return self._total, sum(1 for count, _ in self._counts.values() if count > 0)

    # -- for the follower ------------------------------------------------------------------------

    async def samples(self, entry_ids: Sequence[EntryId]) -> NDArray[np.float32]:
        """Give the first numbers of vectors, NaN where none is held; see `FollowedIndex`."""
        found = np.full((len(entry_ids), SAMPLE), np.nan, np.float32)
        pks = list(map(_pk, entry_ids))
        for encoder in await self._opened():
            rows = await self._rows(encoder, pks)
            for number, pk in enumerate(pks):
                if pk in rows:
                    numbers = np.frombuffer(bytes.fromhex(rows[pk][1]), "<f2")
                    found[number] = 0.0
                    found[number, : numbers.size] = numbers
        return found

    async def held(self, tenant: TenantId | None = None) -> AsyncIterator[tuple[TenantId, list[EntryId]]]:
        """Yield what is held (of one tenant) of the encoders in service, page by page."""
        told = f'owner == "{_owner(tenant)}"' if tenant is not None else ""
        for encoder in await self._opened():
            where = self._collection(encoder)
            pages = await self._link.call(partial(_pages, where, told), patient=True)
            while page := await self._link.call(partial(_next, pages), patient=True):
                by_owner: dict[str, list[EntryId]] = {}
                for row in page:
                    by_owner.setdefault(row["owner"], []).append(_id_of(row["id"]))
                for owner, ids in by_owner.items():
                    yield _tenant_of(owner), ids

    async def drop(self, namespace: Namespace) -> None:
        """Remove all of a namespace, of every encoder in service."""
        space = _space(namespace)
        for encoder in await self._opened():
            where = self._collection(encoder)

            def work(client: Any, timeout: float, where: str = where) -> None:
                client.delete(where, filter=f'space == "{space}"', timeout=timeout)

            await self._link.call(work, patient=True)
        self._tell(space, -self._counts.get(space, (0, 0.0))[0])

    async def retire(self, generations: AbstractSet[EncoderId]) -> None:
        """Do nothing: another encoder's vectors lie in a collection of their own, which others may still use."""

    def doubt(self) -> None:
        """Note that another process has written: what is not known here may be there."""
        self._alone = False

    async def aclose(self) -> None:
        """Close the link. Idempotent."""
        for task in list(self._asking.values()):
            task.cancel()
        await self._link.aclose()

    # -- inside ----------------------------------------------------------------------------------

    def _collection(self, encoder: EncoderId) -> str:
        return f"{self._name}_{_digest(encoder)[:16]}"

    async def _opened(self) -> list[EncoderId]:
        """Give the encoders that have a collection, of those in service and those met here."""
        for encoder in self._encoders() - self._dimensions.keys():
            await self._open(encoder, 0, make=False)
        return list(self._dimensions)

    async def _open(self, encoder: EncoderId, dimension: int, *, make: bool) -> bool:
        """See to it that the collection is known here; False when there is none and none was to be made."""
        if encoder in self._dimensions:
            return True
        async with self._opening.setdefault(encoder, asyncio.Lock()):
            if encoder in self._dimensions:
                return True
            where = self._collection(encoder)
            found = await self._link.call(lambda client, timeout: has(client, where, timeout), patient=True)
            if found is None and not make:
                return False
            if found is None:
                await self._link.call(
                    lambda client, timeout: create(client, where, dimension, timeout), patient=True
                )
            elif dimension and found[0] != dimension:
                raise VectorIndexError("another dimension than its encoder's", kind="dimension")
            rows = found[1] if found else 0
            # What was there before the first call came from elsewhere.
            self._alone = rows == 0 and (self._alone or not self._dimensions)
            self._total += rows
            self._total_at = self._monotonic()
            self._dimensions[encoder] = found[0] if found else dimension
        return True

    async def _rows(self, encoder: EncoderId, pks: list[str]) -> dict[str, tuple[str, str]]:
        """Give space and sample of each that is there."""
        where = self._collection(encoder)

        def work(client: Any, timeout: float) -> Any:
            return client.query(
                where,
                ids=pks,
                output_fields=["id", "space", "sample"],
                consistency_level="Strong",
                timeout=timeout,
            )

        found = await self._link.call(work) if pks else []
        return {row["id"]: (row["space"], row["sample"]) for row in found}

    async def _remove_elsewhere(self, pk: str, encoder: EncoderId) -> int:
        others = [other for other in self._dimensions if other != encoder]
        return sum([await self._remove_pks(other, [pk]) for other in others])

    async def _remove_pks(self, encoder: EncoderId, pks: list[str]) -> int:
        there = await self._rows(encoder, pks)
        if not there:
            return 0
        where = self._collection(encoder)
        await self._link.call(lambda client, timeout: client.delete(where, ids=list(there), timeout=timeout))
        for space, _ in there.values():
            self._tell(space, -1)
        return len(there)

    async def _room(self) -> None:
        if self._monotonic() - self._total_at > _FRESH:
            await self._recount()
        if self._total >= self._max_vectors:
            raise VectorIndexError(f"{self._max_vectors} vectors are held, no more allowed", kind="full")

    async def _recount(self) -> None:
        names = list(map(self._collection, self._dimensions))
        sizes = [await self._link.call(partial(_size, name)) for name in names]
        self._total, self._total_at = sum(size[1] for size in sizes if size), self._monotonic()

    def _tell(self, space: str, more: int) -> None:
        count, at = self._counts.get(space, (0, self._monotonic() if self._alone else float("-inf")))
        self._counts[space] = (max(0, count + more), at)
        self._counts.move_to_end(space)
        if count + more <= 0 and self._alone:
            del self._counts[space]
        while len(self._counts) > _KNOWN:
            self._counts.popitem(last=False)
            self._alone = False
        self._total = max(0, self._total + more)

    def _ask(self, space: str) -> None:
        if space not in self._asking and len(self._asking) < 16:
            task = asyncio.get_running_loop().create_task(self._asked(space))
            self._asking[space] = task
            task.add_done_callback(lambda _: self._asking.pop(space, None))

    async def _asked(self, space: str) -> None:
        try:
            count = 0
            for encoder in await self._opened():
                where = self._collection(encoder)

                def work(client: Any, timeout: float, where: str = where) -> int:
                    told = client.query(
                        where, filter=f'space == "{space}"', output_fields=["count(*)"], timeout=timeout
                    )
                    return int(told[0]["count(*)"])

                count += await self._link.call(work)
            self._counts[space] = (count, self._monotonic())
            self._counts.move_to_end(space)
        except VectorIndexError:
            return  # it is asked again with the next request


def _pages(where: str, told: str, client: Any, timeout: float) -> Iterator[list[dict[str, Any]]]:
    del timeout  # each page has its own
    return rows_in(client, where, told, _PAGE)


def _next(pages: Iterator[list[dict[str, Any]]], client: Any, timeout: float) -> list[dict[str, Any]] | None:
    del client, timeout
    return next(pages, None)


def _size(where: str, client: Any, timeout: float) -> tuple[int, int] | None:
    return has(client, where, timeout)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _space(namespace: Namespace) -> str:
    # The tenant's digest has one length, so that no other tenant and namespace run together to the same.
    return _digest(_digest(namespace.tenant) + namespace.digest)


def _owner(tenant: TenantId) -> str:
    return tenant.encode("utf-8", "surrogatepass").hex()


def _tenant_of(owner: str) -> TenantId:
    return TenantId(bytes.fromhex(owner).decode("utf-8", "surrogatepass"))


def _pk(entry_id: EntryId) -> str:
    return (
        f"i{entry_id}"
        if _PLAIN.fullmatch(entry_id)
        else f"x{entry_id.encode('utf-8', 'surrogatepass').hex()}"
    )


def _id_of(pk: str) -> EntryId:
    return EntryId(pk[1:] if pk[0] == "i" else bytes.fromhex(pk[1:]).decode("utf-8", "surrogatepass"))


def _sample(vector: NDArray[np.float32]) -> str:
    return vector[:SAMPLE].astype("<f2").tobytes().hex()
