"""The `VectorIndex` of production: FAISS inside each partition, everything in this process.

A partition is (tenant, namespace digest, encoder): partition first, search second, so another
namespace's entry can never hide or be one of ours. Small partitions are searched where the
caller stands (below the price of a thread hop), big ones on one owned thread. All maps are
written by the event loop's thread alone. Knows nothing of stores, lifetimes or scales.

Positions never leave this room: an entry is known by its own id, and slots are looked up at the
last moment.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import faiss
import numpy as np
from numpy.typing import NDArray

from semcache.core import Embedding, EncoderId, EntryId, Namespace, Neighbour, TenantId, Vector
from semcache.errors import VectorIndexError
from semcache.lookup.arena import FLAT_ROWS
from semcache.lookup.gate import checked
from semcache.lookup.mirror import Mirror, NewIndex
from semcache.lookup.partition import Found, Partition
from semcache.lookup.scan import WIDTH
from semcache.lookup.signs import Codes
from semcache.lookup.snapshot_format import Block
from semcache.lookup.waiting import Take, Waiting, Wanted
from semcache.lookup.worker import Errand, ScanThread
from semcache.ports import SAMPLE

INLINE_ROWS = 32_768
"""Up to here a search (60 to 300 us) holds the loop for less than a busy loop makes a thread wait
for the interpreter lock (up to 5 ms each time the thread wants it back)."""

GPU_ROWS = 50_000
"""From here a GPU copy is worth its memory: the CPU needs 0.3 ms, a GPU about a tenth."""

_SLICE = 64
_PAGE = 4096
_SLOT_BITS = 32
_SLOT_MASK = (1 << _SLOT_BITS) - 1


@dataclass(frozen=True, slots=True)
class IndexTuning:
    """Where the tiers of a partition begin, in vectors, and how many candidates are rescored."""

    flat_rows: int = FLAT_ROWS
    inline_rows: int = INLINE_ROWS
    gpu_rows: int = GPU_ROWS
    width: int = WIDTH


class FaissIndex:
    """Exact below `tuning.flat_rows` a partition, sign bits and rescoring above.

    Args:
        max_vectors: bound over all partitions; 1.8 kB each in all with 384 dimensions, 2.6 kB alone in a namespace.
        new_gpu_index: `mirror.gpu_factory()` to let a GPU propose candidates, else None.
        dimensions: what each encoder gives, where known; else its first vector decides.
        tuning: tier borders.
    """

    def __init__(
        self,
        *,
        max_vectors: int = 1_000_000,
        new_gpu_index: NewIndex | None = None,
        dimensions: Mapping[EncoderId, int] | None = None,
        tuning: IndexTuning | None = None,
    ) -> None:
        # One query is too little work to share: with two threads on two busy cores the same search
        # takes 0.03 ms or 12, as the barrier falls. The setting is the process's; FAISS lives here alone.
        faiss.omp_set_num_threads(1)
        self._max_vectors = max_vectors
        self._new_gpu_index = new_gpu_index
        self._tuning = tuning or IndexTuning()
        self._worker = ScanThread()
        self._waiting = Waiting(self._scan)
        self._numbers = itertools.count()
        self._given = dict(dimensions or {})
        self._dimensions = dict(self._given)
        self._spaces: dict[Namespace, tuple[Partition, ...]] = {}
        self._partitions: dict[int, Partition] = {}
        # Entry -> partition number and slot in one int: 8 bytes less a field than a tuple's 56.
        self._places: dict[EntryId, int] = {}
        self.gpu_faults = 0
        self.changes = 0
        """Vectors that came or went, in all."""

    # -- the port ------------------------------------------------------------------------------

    def count(self, namespace: Namespace) -> int:
        """Give the number of live vectors of the namespace over all encoders."""
        return sum(map(len, self._spaces.get(namespace, ())))

    async def search(self, namespace: Namespace, embedding: Embedding, k: int) -> list[Neighbour]:
        """Find the k nearest by cosine, best first; same namespace and same encoder only.

        Raises:
            VectorIndexError: the vector did not pass the gate (see `gate.checked`), `memory`,
                `closed`, or `error` (FAISS failed).
        """
        query = checked(embedding.vector, self._dimensions.get(embedding.encoder))
        partition = self._partition(namespace, embedding.encoder)
        if partition is None or k <= 0:
            return []
        try:
            if len(partition) <= self._tuning.inline_rows:
                return partition.search(query, k, self._tuning.width)
            return await self._waiting.ask(partition, query, k)
        except MemoryError as error:
            raise VectorIndexError("no memory for a search", kind="memory") from error
        except RuntimeError as error:
            raise VectorIndexError("FAISS failed") from error

    async def add(self, namespace: Namespace, entry_id: EntryId, embedding: Embedding) -> None:
        """Add or replace the vector of an entry. Idempotent.

        Raises:
            VectorIndexError: the vector did not pass the gate (see `gate.checked`), `full`, or
                `memory`.
        """
        encoder = embedding.encoder
        vector = checked(embedding.vector, self._dimensions.get(encoder))
        old = self._places.get(entry_id)
        if old is None:
            if len(self._places) >= self._max_vectors:
                raise VectorIndexError(f"{self._max_vectors} vectors are held, no more allowed", kind="full")
        elif self._holds_same(old, namespace, encoder, vector):
            return
        # Out first, then in: nothing awaits between, and if memory runs out in between, an entry
        # without its vector is only a missed hit.
        await self.remove((entry_id,))
        partition = self._partition(namespace, encoder) or self._open(namespace, encoder, vector.size)
        try:
            slot = partition.append(entry_id, vector)
        except MemoryError as error:
            self._drop_if_empty(partition)
            raise VectorIndexError("no memory for a vector", kind="memory") from error
        self._places[entry_id] = partition.number << _SLOT_BITS | slot
        self.changes += 1

    async def remove(self, entry_ids: Sequence[EntryId]) -> int:
        """Remove vectors; unknown ids are no error. Gives how many were there."""
        removed = 0
        for entry_id in entry_ids:
            place = self._places.pop(entry_id, None)
            if place is not None:
                self._release(place)
                removed += 1
        self.changes += removed
        return removed

    async def clear(self) -> None:
        """Forget everything, learned dimensions included."""
        self._spaces.clear()
        self._partitions.clear()
        self._places.clear()
        self._dimensions = dict(self._given)

    def sizes(self) -> tuple[int, int]:
        """Give (vectors, namespaces) for the gauges."""
        return len(self._places), len(self._spaces)

    # -- for the follower and the composition root -----------------------------------------------

    def entry_ids(self, namespace: Namespace | None = None) -> list[EntryId]:
        """Give the entries of one namespace, or all of them."""
        if namespace is None:
            return list(self._places)
        return list(itertools.chain.from_iterable(part.ids() for part in self._spaces.get(namespace, ())))

    async def samples(self, entry_ids: Sequence[EntryId]) -> NDArray[np.float32]:
        """Give the first numbers of vectors, NaN where none is held; see `FollowedIndex`."""
        found = np.zeros((len(entry_ids), SAMPLE), np.float32)
        for number, entry_id in enumerate(entry_ids):
            place = self._places.get(entry_id)
            if place is None:
                found[number] = np.nan
            else:
                row = self._partitions[place >> _SLOT_BITS].arena.row(place & _SLOT_MASK)
                found[number, : row.size] = row[:SAMPLE]
        return found

    async def held(self, tenant: TenantId | None = None) -> AsyncIterator[tuple[TenantId, list[EntryId]]]:
        """Yield what is held (of one tenant), partition by partition."""
        for partition in list(self._partitions.values()):
            if tenant is None or partition.namespace.tenant == tenant:
                ids = partition.ids()
                for start in range(0, len(ids), _PAGE):
                    yield partition.namespace.tenant, ids[start : start + _PAGE]

    def take(self, block: Block) -> int:
        """Take in many vectors that passed the gate before; gives how many.

        Those of entries that are held already are left out (they may be newer), and those beyond the bound.
        """
        dimension = block.rows.shape[1]
        if self._dimensions.get(block.encoder, dimension) != dimension:
            return 0
        room = self._max_vectors - len(self._places)
        # A dict, since a file may name one entry twice.
        fresh = {entry_id: row for row, entry_id in enumerate(block.ids) if entry_id not in self._places}
        picked = dict(itertools.islice(fresh.items(), max(0, room)))
        if not picked:
            return 0
        partition = self._partition(block.namespace, block.encoder)
        partition = partition or self._open(block.namespace, block.encoder, dimension)
        rows = block.rows if len(picked) == len(block.ids) else block.rows[list(picked.values())]
        place = partition.number << _SLOT_BITS | partition.extend(tuple(picked), rows)
        self._places.update(zip(picked, itertools.count(place), strict=False))
        self.changes += len(picked)
        return len(picked)

    def pieces(self, most: int) -> Iterator[Block]:
        """Yield all that is held, up to `most` vectors at a time, copied; the index may change in between.

        What is there all the while comes at least once, what comes or goes meanwhile may come or not: from the last
        slot to the first, since only last rows move, and only downwards.
        """
        for partition in list(self._partitions.values()):
            stop = partition.slots()
            while stop > 0 and self._is_open(partition):
                stop = min(stop, partition.slots())
                start = max(0, stop - most)
                ids, rows = partition.copy(start, stop)
                stop = start
                if ids:
                    yield Block(partition.namespace, partition.encoder, ids, rows)

    def encoders(self) -> dict[EncoderId, int]:
        """Give the dimension of each encoder that has vectors here, or had."""
        return dict(self._dimensions)

    async def drop(self, namespace: Namespace) -> None:
        """Remove all of a namespace, breathing now and then."""
        await self._remove_all(self.entry_ids(namespace))

    async def retire(self, generations: AbstractSet[EncoderId]) -> None:
        """Remove the vectors of all other encoders, breathing now and then."""
        for partition in list(self._partitions.values()):
            if partition.encoder not in generations:
                await self._remove_all(partition.ids())

    async def _remove_all(self, ids: Sequence[EntryId]) -> None:
        for start in range(0, len(ids), _SLICE):
            await self.remove(ids[start : start + _SLICE])
            await asyncio.sleep(0)

    @property
    def nbytes(self) -> int:
        """Bytes reserved for rows and codes; sums over all partitions, for a gauge read seldom."""
        return sum(partition.arena.nbytes for partition in self._partitions.values())

    async def aclose(self) -> None:
        """Stop the scan thread; big searches raise `closed` from then on. Idempotent."""
        await self._worker.aclose()
        await self._waiting.aclose()

    # -- inside ----------------------------------------------------------------------------------

    def _partition(self, namespace: Namespace, encoder: EncoderId) -> Partition | None:
        for partition in self._spaces.get(namespace, ()):
            if partition.encoder == encoder:
                return partition
        return None

    def _open(self, namespace: Namespace, encoder: EncoderId, dimension: int) -> Partition:
        self._dimensions[encoder] = dimension
        number = next(self._numbers)
        partition = Partition(number, namespace, encoder, dimension, self._tuning.flat_rows)
        self._partitions[number] = partition
        self._spaces[namespace] = (*self._spaces.get(namespace, ()), partition)
        return partition

    def _release(self, place: int) -> None:
        partition = self._partitions[place >> _SLOT_BITS]
        slot = place & _SLOT_MASK
        moved = partition.release(slot)
        if moved is not None:
            self._places[moved] = place
        self._drop_if_empty(partition)

    def _drop_if_empty(self, partition: Partition) -> None:
        if len(partition):
            return
        del self._partitions[partition.number]
        rest = tuple(other for other in self._spaces[partition.namespace] if other is not partition)
        if rest:
            self._spaces[partition.namespace] = rest
        else:
            del self._spaces[partition.namespace]

    def _holds_same(self, place: int, namespace: Namespace, encoder: EncoderId, vector: Vector) -> bool:
        partition = self._partitions[place >> _SLOT_BITS]
        return (
            partition.encoder == encoder
            and partition.namespace == namespace
            and np.array_equal(partition.arena.row(place & _SLOT_MASK), vector)
        )

    async def _scan(self, partition: Partition, take: Take) -> list[list[Neighbour]]:
        taken: list[Wanted] = []

        def once() -> list[Wanted]:
            taken.extend(take())
            return taken

        self._mirror(partition)
        try:
            return await self._on_worker(partition, once)
        except RuntimeError:
            if partition.mirror is None:
                raise
            # Out of GPU memory, or the device is gone: no crash loop, the CPU does it from now on.
            self.gpu_faults += 1
            self._new_gpu_index = None
            for other in self._partitions.values():
                other.mirror = None
            return await self._on_worker(partition, lambda: taken)

    async def _on_worker(self, partition: Partition, take: Take) -> list[list[Neighbour]]:
        asked: list[tuple[Vector, int]] = []

        def begin() -> Callable[[], list[Found]]:
            asked.extend((one.query, one.k) for one in take())
            if not asked or not self._is_open(partition):
                return list
            errand = partition.errand(asked, self._tuning.width, self._worker.helper)
            partition.frozen = True
            return errand

        def end(found: list[Found]) -> list[list[Neighbour]]:
            if not self._is_open(partition) or not found:
                return [[] for _ in asked]
            return [partition.conclude(k, one) for (_, k), one in zip(asked, found, strict=True)]

        return await self._worker.run(Errand(begin, end, lambda: self._thaw(partition)))

    def _thaw(self, partition: Partition) -> None:
        if not self._is_open(partition):
            return
        for entry_id, slot in partition.thaw():
            self._places[entry_id] = partition.number << _SLOT_BITS | slot

    def _is_open(self, partition: Partition) -> bool:
        """Tell whether anything points there still; it may have been emptied or cleared during a scan."""
        return self._partitions.get(partition.number) is partition

    def _mirror(self, partition: Partition) -> None:
        arena = partition.arena
        if self._new_gpu_index and partition.mirror is None and len(partition) >= self._tuning.gpu_rows:
            partition.mirror = Mirror(self._new_gpu_index, arena.dimension, arena.size)

    # -- for tests -------------------------------------------------------------------------------

    def check_integrity(self) -> None:
        """Compare every map with every other.

        Raises:
            AssertionError: two of them disagree.
        """
        live = 0
        for number, partition in self._partitions.items():
            if partition.number != number or partition not in self._spaces[partition.namespace]:
                raise AssertionError(f"partition {number} is not where it should be")
            if partition.slots() != partition.arena.size or not len(partition):
                raise AssertionError(f"partition {number} is empty or out of step with its rows")
            signs = partition.arena.signs()
            rows = np.concatenate([part.rows for part in partition.arena.parts()])
            if signs is not None and not _alike(signs.codes, signs.code(rows)):
                raise AssertionError(f"partition {number} has codes of other rows")
            live += len(partition)
        for entry_id, place in self._places.items():
            if self._partitions[place >> _SLOT_BITS].id_at(place & _SLOT_MASK) != entry_id:
                raise AssertionError("an entry's place holds another")
        if live != len(self._places) or sum(map(len, self._spaces.values())) != len(self._partitions):
            raise AssertionError("counts disagree")


def _alike(codes: Codes, others: Codes) -> bool:
    """Tell whether codes are of the same rows: a product of many rows rounds otherwise than that of one."""
    return (
        codes.shape == others.shape and int(np.bitwise_count(codes ^ others).sum()) <= 1 + codes.size // 1000
    )
