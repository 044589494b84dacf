"""How many answers of one author lie near each other: nobody may surround somebody else's question with their own.

Whoever fills the neighbourhood of a vector is what a search there finds. So of one author's unreviewed answers only so
many are found by meaning within a small distance of each other; further ones are found by their exact key alone. Looked at
when an answer is stored, behind the reply. Workers do not wait for each other: of answers stored by several
at the very same moment each worker counts its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from semcache.core import Embedding, Entry, Namespace, Neighbour, Scope, TenantId
from semcache.journey import Step
from semcache.judging import similarity_of
from semcache.ports import Encoder, EntryStore, VectorIndex

NEAR = 0.9
"""On the reference scale."""
_LOOKED_AT = 4
"""So many times the allowed number of neighbours is looked at, as others' answers lie among them."""

Place = tuple[TenantId, str, str]


@dataclass(frozen=True, slots=True)
class Underway:
    """Answers that are being stored, by tenant, namespace and author, in order of their coming."""

    vectors: dict[Place, list[Embedding]] = field(default_factory=dict)

    @contextmanager
    def storing(self, entry: Entry) -> Iterator[list[Embedding]]:
        """Count an answer among those that are being stored; gives those of its author that came before it."""
        if entry.embedding is None:
            yield []
            return
        place = (entry.tenant, entry.namespace, entry.author)
        mine = self.vectors.setdefault(place, [])
        before = list(mine)
        mine.append(entry.embedding)
        try:
            yield before
        finally:
            # By identity: vectors do not compare.
            mine[:] = [one for one in mine if one is not entry.embedding]
            if not mine:
                self.vectors.pop(place, None)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Counts an author's answers around a new one."""

    encoder: Encoder
    index: VectorIndex
    store: EntryStore

    async def is_full(self, step: Step, entry: Entry, before: list[Embedding]) -> bool:
        """True when the author holds as many near answers as the tenant's policy lets one hold.

        Args:
            step: the request.
            entry: what is to be stored.
            before: vectors of the same author that are being stored at this moment.

        Raises:
            VectorIndexError: the search failed.
            StoreError: the store failed.
        """
        most, embedding = step.snapshot.quota(entry.tenant).max_near, entry.embedding
        if most is None or embedding is None or step.policy.scope is Scope.USER:
            return False
        coming = sum(
            self._is_near(step, embedding, float(one.vector @ embedding.vector))
            for one in before
            if one.encoder == embedding.encoder
        )
        place = Namespace(entry.tenant, entry.namespace)
        found = await self.index.search(place, embedding, _LOOKED_AT * most)
        near = [one for one in found if self._is_near(step, embedding, one.cosine)]
        if coming + len(near) < most:
            return False
        return coming + await self._held(entry, near) >= most

    def _is_near(self, step: Step, embedding: Embedding, cosine: float) -> bool:
        similarity = similarity_of(self.encoder, step.policy, embedding.encoder, cosine)
        return similarity is not None and similarity >= NEAR

    async def _held(self, entry: Entry, near: list[Neighbour]) -> int:
        """Count the author's own among neighbours; what it will replace and what a human vouches for aside."""
        entries = await self.store.get_many(entry.tenant, [one.entry_id for one in near])
        mine = (one for one in entries if one is not None and one.author == entry.author)
        return sum(one.key != entry.key and not one.status.is_verified for one in mine)
