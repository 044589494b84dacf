"""A vector index as plain as can be: a dict and numpy, under the same contract as the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence, Set

import numpy as np

from semcache.core import Embedding, EncoderId, EntryId, Namespace, Neighbour, TenantId
from semcache.errors import VectorIndexError
from semcache.ports import SAMPLE


class FakeVectorIndex:
    """Set `fault` to make every search and add fail with it."""

    def __init__(self, max_vectors: int = 1_000_000) -> None:
        self.held_by_id: dict[EntryId, tuple[Namespace, Embedding]] = {}
        self.fault: VectorIndexError | None = None
        self._max_vectors = max_vectors
        self._dimensions: dict[EncoderId, int] = {}

    def count(self, namespace: Namespace) -> int:
        return sum(1 for held, _ in self.held_by_id.values() if held == namespace)

    async def search(self, namespace: Namespace, embedding: Embedding, k: int) -> list[Neighbour]:
        query = self._checked(embedding)
        found = [
            Neighbour(entry_id, float(np.clip(held.vector @ query, -1.0, 1.0)))
            for entry_id, (space, held) in self.held_by_id.items()
            if space == namespace and held.encoder == embedding.encoder
        ]
        return sorted(found, key=lambda near: -near.cosine)[: max(0, k)]

    async def add(self, namespace: Namespace, entry_id: EntryId, embedding: Embedding) -> None:
        vector = self._checked(embedding)
        if entry_id not in self.held_by_id and len(self.held_by_id) >= self._max_vectors:
            raise VectorIndexError("full", kind="full")
        self._dimensions[embedding.encoder] = vector.size
        self.held_by_id[entry_id] = (namespace, Embedding(vector, embedding.encoder))

    async def remove(self, entry_ids: Sequence[EntryId]) -> int:
        return sum(self.held_by_id.pop(entry_id, None) is not None for entry_id in entry_ids)

    async def clear(self) -> None:
        self.held_by_id.clear()
        self._dimensions.clear()

    def sizes(self) -> tuple[int, int]:
        return len(self.held_by_id), len({namespace for namespace, _ in self.held_by_id.values()})

    def entry_ids(self, namespace: Namespace | None = None) -> list[EntryId]:
        return [i for i, (held, _) in self.held_by_id.items() if namespace is None or held == namespace]

    async def samples(self, entry_ids: Sequence[EntryId]) -> np.ndarray:
        found = np.full((len(entry_ids), SAMPLE), np.nan, np.float32)
        for number, entry_id in enumerate(entry_ids):
            if entry_id in self.held_by_id:
                vector = self.held_by_id[entry_id][1].vector[:SAMPLE]
                found[number] = np.pad(vector, (0, SAMPLE - vector.size))
        return found

    async def held(self, tenant: TenantId | None = None) -> AsyncIterator[tuple[TenantId, list[EntryId]]]:
        for entry_id, (space, _) in list(self.held_by_id.items()):
            if tenant in (None, space.tenant):
                yield space.tenant, [entry_id]

    async def drop(self, namespace: Namespace) -> None:
        await self.remove(self.entry_ids(namespace))

    async def retire(self, generations: Set[EncoderId]) -> None:
        await self.remove([i for i, (_, one) in self.held_by_id.items() if one.encoder not in generations])

    def _checked(self, embedding: Embedding) -> np.ndarray:
        if self.fault is not None:
            raise self.fault
        vector = embedding.vector
        if not isinstance(vector, np.ndarray) or vector.dtype != np.float32:
            raise VectorIndexError("dtype", kind="dtype")
        expected = self._dimensions.get(embedding.encoder, vector.size)
        if vector.ndim != 1 or vector.size != expected or vector.size == 0:
            raise VectorIndexError("dimension", kind="dimension")
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        if not np.isfinite(norm):
            raise VectorIndexError("not finite", kind="not_finite")
        if abs(norm - 1) > 1e-3:
            raise VectorIndexError("norm", kind="norm")
        return (vector / norm).astype(np.float32)
