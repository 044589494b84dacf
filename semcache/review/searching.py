"""Looking through what a tenant holds, a bounded stretch at a time. Knows the store's lists; changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from semcache.core import Entry, EntryId, ReviewStatus, TenantId
from semcache.ports import Selector
from semcache.review.answers import text_of
from semcache.review.problems import UnfitError
from semcache.review.views import Filter, FoundPage
from semcache.store.browse import Counts, Page

_BATCH = 100
_LONGEST_TEXT = 500


class Shelves(Protocol):
    """Lists of stored entries (`store.redis_store.RedisStore`). Every method may raise StoreError."""

    async def tenants(self) -> list[TenantId]:
        """List the tenants that hold entries."""
        ...

    async def list_entries(self, selector: Selector, cursor: str = "", limit: int = 50) -> Page:
        """List entries, newest first, those that are not served too."""
        ...

    async def get_many(self, tenant: TenantId, ids: Sequence[EntryId]) -> list[Entry | None]:
        """Give live entries by id, in order."""
        ...

    async def counts(self, tenant: TenantId) -> Counts:
        """Count what a tenant holds."""
        ...

    async def delete(self, selector: Selector) -> int:
        """Invalidate what the selector names."""
        ...


def checked(filter: Filter) -> Filter:
    """Give a filter that can match something.

    Raises:
        UnfitError: no such status, or a text that is too long.
    """
    if filter.status and filter.status not in list(ReviewStatus):
        raise UnfitError("bad-filter", f"'status' is one of: {', '.join(ReviewStatus)}.", "status")
    if len(filter.text) > _LONGEST_TEXT:
        raise UnfitError("bad-filter", f"'text' has at most {_LONGEST_TEXT} characters.", "text")
    return filter


def matches(entry: Entry, filter: Filter) -> bool:
    """Tell whether an entry matches what lists of the store cannot select by."""
    if filter.domain not in ("", entry.domain) or filter.status not in ("", entry.status.value):
        return False
    if filter.before is not None and not entry.created_at < filter.before:
        return False
    wanted = filter.text.casefold()
    return not wanted or wanted in entry.prompt.casefold() or wanted in (_answer(entry) or "")


def _answer(entry: Entry) -> str | None:
    text = text_of(entry.completion)
    return None if text is None else text.casefold()


async def find(
    shelves: Shelves, tenant: TenantId, filter: Filter, cursor: str, limit: int, most: int
) -> FoundPage:
    """Give entries that match, newest first, after looking through at most about `most`.

    Raises:
        StoreError: unreachable or late; `invalid`: the cursor is none.
    """
    selector = Selector(tenant, tag=filter.tag, namespace=filter.namespace, model=filter.model)
    found: list[Entry] = []
    looked = 0
    while True:
        batch = max(limit - len(found), min(_BATCH, most))
        page = await shelves.list_entries(selector, cursor, batch)
        cut = _cut(page, filter, limit - len(found))
        if cut is not None:
            # The list's cursor stands at its end; a shorter list has it where this page ends.
            page = await shelves.list_entries(selector, cursor, cut)
        found += [entry for entry in page.entries if matches(entry, filter)]
        looked, cursor = looked + batch, page.cursor
        if not cursor or len(found) >= limit or looked >= most:
            return FoundPage(tuple(found), cursor)


def _cut(page: Page, filter: Filter, room: int) -> int | None:
    """Give how many of a page fill the room, None when there is room for what follows as well."""
    for number, entry in enumerate(page.entries, 1):
        room -= matches(entry, filter)
        if room == 0:
            return number if number < len(page.entries) else None
    return None


async def every(shelves: Shelves, tenant: TenantId, filter: Filter) -> AsyncIterator[Entry]:
    """Give all entries that match, newest first.

    Raises:
        StoreError: unreachable or late.
    """
    selector = Selector(tenant, tag=filter.tag, namespace=filter.namespace, model=filter.model)
    cursor = ""
    while True:
        page = await shelves.list_entries(selector, cursor, _BATCH)
        for entry in page.entries:
            if matches(entry, filter):
                yield entry
        cursor = page.cursor
        if not cursor:
            return
