"""What a worker has seen and not yet written down: tallies, hits as such, and who got which hit.

Counting costs a request a dictionary look-up; every few seconds all of it goes to the shared evidence in
few calls. While that is away counts wait, bounded, and served hits are let go. Knows no audits.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.errors import StoreError
from semcache.evidence_port import EvidenceStore, ServedHit, ServedHits

Place = tuple[TenantId, str]
_MOST_PLACES = 10_000
_MOST_HITS = 500
"""Served hits a tenant and flush that stay open to judgement; the newest."""


@dataclass(slots=True)
class _Page:
    """What one domain has to write."""

    words: Counter[str] = field(default_factory=Counter)
    seen: Counter[tuple[int, int]] = field(default_factory=Counter)


class Books:
    """A worker's counters on their way to the evidence.

    Args:
        evidence: where they go.
        hits: where served hits go.
    """

    def __init__(self, evidence: EvidenceStore, hits: ServedHits) -> None:
        self._evidence = evidence
        self._hits = hits
        self._pages: dict[Place, _Page] = {}
        self._served: dict[TenantId, deque[ServedHit]] = {}
        self._writing = asyncio.Lock()

    def count(self, tenant: TenantId, domain: str, word: str, by: int = 1) -> None:
        """Add to a tally."""
        page = self._page((tenant, domain))
        if page is not None and by:
            page.words[word] += by

    def see(self, tenant: TenantId, domain: str, bucket: int, bin: int) -> None:
        """Count a hit or would-be hit of this score."""
        page = self._page((tenant, domain))
        if page is not None:
            page.seen[bucket, bin] += 1

    def serve(self, tenant: TenantId, hit: ServedHit) -> None:
        """Keep who got a hit."""
        kept = self._served.get(tenant)
        if kept is None:
            if len(self._served) >= _MOST_PLACES:
                return
            kept = self._served[tenant] = deque(maxlen=_MOST_HITS)
        kept.append(hit)

    def places(self) -> tuple[Place, ...]:
        """Name the domains that have something to write."""
        return tuple(self._pages)

    async def flush(self, at: float) -> bool:
        """Write everything; False when the evidence was away, and the counts wait.

        Where somebody else is writing, that is waited for: what they took away is written too by then.

        Args:
            at: Unix seconds.
        """
        async with self._writing:
            return await self._flush(at)

    async def _flush(self, at: float) -> bool:
        well = True
        for tenant, kept in self._taken():
            try:
                await self._hits.note(tenant, kept)
            except StoreError:
                well = False
        for place in tuple(self._pages):
            well = await self._write(place, at) and well
        return well

    async def _write(self, place: Place, at: float) -> bool:
        """Write a page; what was not written goes back on top of what came meanwhile."""
        page = self._pages.pop(place)
        try:
            await self._evidence.tally(*place, at, page.words)
            page.words.clear()
            await self._evidence.see(*place, at, page.seen)
        except StoreError:
            newer = self._page(place)
            if newer is not None:
                newer.words.update(page.words)
                newer.seen.update(page.seen)
            return False
        return True

    def _taken(self) -> Iterator[tuple[TenantId, list[ServedHit]]]:
        while self._served:
            tenant, kept = self._served.popitem()
            yield tenant, list(kept)

    def _page(self, place: Place) -> _Page | None:
        page = self._pages.get(place)
        if page is None and len(self._pages) < _MOST_PLACES:
            page = self._pages[place] = _Page()
        return page
