"""Entries become the lines of an export, page by page: memory stays flat. Knows no files and no command line."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from semcache.archive.lines import Foot, Head, UnfitError, entry_line, foot_line, head_line
from semcache.core import Entry, EntryId, ReviewStatus, TenantId
from semcache.ports import Selector

_PAGE = 200


class Listed(Protocol):
    """Some entries, and where to go on; "" at the end (`store.browse.Page`)."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries."""
        ...

    @property
    def cursor(self) -> str:
        """Where to go on."""
        ...


class Source(Protocol):
    """What an export is made from (`store.redis_store.RedisStore`). Every method may raise StoreError."""

    async def list_entries(self, selector: Selector, cursor: str = "", limit: int = 50) -> Listed:
        """List entries, newest first, rejected and invalidated ones too."""
        ...

    async def get_many(self, tenant: TenantId, ids: Sequence[EntryId]) -> list[Entry | None]:
        """Give live entries by id, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is exported: the selector's entries, only those a human vouches for, and of which encoders vectors are."""

    selector: Selector
    verified: bool = False


Told = Callable[[int, int], None]
"""Hears how many entries were written, and how many could not be, now and then."""


async def export_lines(
    source: Source, wanted: Wanted, now: float, encoders: Sequence[str], told: Told
) -> AsyncIterator[bytes]:
    """Give the lines of an export: live entries and rejected ones, as they stand when their page is read.

    Raises:
        StoreError: unreachable or late, also half-way.
    """
    digest, count, left = hashlib.sha256(), 0, 0
    line = head_line(Head(wanted.selector.tenant, now, tuple(sorted(encoders))))
    digest.update(line)
    yield line
    async for entry in _entries(source, wanted, now):
        try:
            line = entry_line(entry)
        except UnfitError:
            left += 1
            continue
        count += 1
        digest.update(line)
        if count % 1000 == 0:
            told(count, left)
        yield line
    told(count, left)
    yield foot_line(Foot(count, digest.hexdigest()))


async def _entries(source: Source, wanted: Wanted, now: float) -> AsyncIterator[Entry]:
    cursor, tenant = "", wanted.selector.tenant
    while True:
        page = await source.list_entries(wanted.selector, cursor, _PAGE)
        # A list has what was invalidated too, for a moment.
        live = await source.get_many(tenant, [entry.id for entry in page.entries])
        for listed, found in zip(page.entries, live, strict=True):
            entry = listed if listed.status is ReviewStatus.REJECTED else found
            if entry is None or not entry.is_fresh(now):
                continue
            if entry.status.is_verified or not wanted.verified:
                yield entry
        cursor = page.cursor
        if not cursor:
            return
