"""Looking at what a tenant holds: lists for people, counts, and the list of tenants.

Unlike the way of a request, this shows rejected, expired and invalidated entries too, as long
as the server has them. It knows nothing about serving and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import Entry, EntryId, TenantId
from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.store.keys import epoch_field, selector_keys
from semcache.store.link import Argument
from semcache.store.server import Server, named, raw
from semcache.store.shapes import a_list, a_number, bytes_or_nil, some_bytes, triples

MAX_PAGE = 500
_MAX_CURSOR = 1 << 52


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries, newest first; `cursor` asks for those after them, `""` when there are none."""

    entries: tuple[Entry, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Counts:
    """What a tenant holds: entries not yet expired, and bytes as its quota counts them."""

    entries: int
    bytes: int


class TenantReader:
    """Reads what a tenant holds from a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def tenants(self) -> list[TenantId]:
        """List the tenants that hold entries, or lately did, by name.

        Raises:
            StoreError: unreachable or late.
        """
        names = await self._server.link.call("ZRANGE", self._server.keys.shared("tenants"), 0, -1)
        return sorted(TenantId(some_bytes(name).decode("utf-8", "replace")) for name in a_list(names))

    async def list_entries(self, selector: Selector, cursor: str, limit: int) -> Page:
        """List a page of what matches all given fields, newest first.

        Args:
            selector: Tenant, and what an entry must have.
            cursor: From the page before; `""` begins.
            limit: At most so many (1 to 500); fewer come when they are large or far apart, so
                only an empty cursor means the end.

        Raises:
            StoreError: unreachable or late; `invalid` when the cursor is none of ours.
        """
        if selector.ids:
            found = [await self.show(selector.tenant, name) for name in selector.ids]
            return Page(tuple(entry for entry in found if entry and _matches(entry, selector)), "")
        fields = selector_keys(selector)
        arguments: list[Argument] = [_bound(cursor), max(1, min(limit, MAX_PAGE)), len(fields)]
        arguments += map(epoch_field, fields)
        reply = a_list(await self._server.read(self._server.scripts.list, selector.tenant, arguments), 1)
        entries = []
        for name, value, barred in triples(reply[1:]):
            try:
                entries.append(await self._server.decoded(value, selector.tenant, named(name), None, barred))
            except StoreError as error:
                if error.kind != "corrupt":
                    raise
        return Page(tuple(entries), some_bytes(reply[0]).decode("ascii", "replace"))

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        """Give an entry by id, whether or not it may be served.

        Raises:
            StoreError: unreachable, late or corrupt.
        """
        reply = await self._server.read(self._server.scripts.show, tenant, (raw(id),))
        value, barred = a_list(reply, 2, 2)
        if bytes_or_nil(value) is None:
            return None
        return await self._server.decoded(value, tenant, id, None, barred)

    async def counts(self, tenant: TenantId) -> Counts:
        """Count what a tenant holds.

        Raises:
            StoreError: unreachable or late.
        """
        reply = await self._server.read(self._server.scripts.counts, tenant, ())
        entries, held = a_list(reply, 2, 2)
        return Counts(a_number(entries), a_number(held))

    async def members(self, tenant: TenantId, epoch_key: str) -> list[bytes]:
        """Give the ids that live under one epoch key (expired ones may still be among them).

        Raises:
            StoreError: unreachable or late.
        """
        key = self._server.keys.base(tenant) + b"s:" + epoch_field(epoch_key)
        return [some_bytes(name) for name in a_list(await self._server.link.call("ZRANGE", key, 0, -1))]


def _matches(entry: Entry, selector: Selector) -> bool:
    return (
        selector.namespace in ("", entry.namespace)
        and selector.model in ("", entry.model)
        and selector.subject in ("", entry.subject)
        and (not selector.tag or selector.tag in entry.tags)
    )


def _bound(cursor: str) -> str:
    if not cursor:
        return ""
    if not (cursor.isascii() and cursor.isdigit()) or int(cursor[:20]) > _MAX_CURSOR:
        raise StoreError("cursor is not one of ours", kind="invalid")
    return cursor
