"""Redis Cluster: the same calls, each sent to the node that holds the key's slot.

Every call of the store names its slot by its first key, and no script touches two slots, so this
is only an address book: the map of slots is read when it is first needed and again when a node
says that a slot has moved. Each node has its own bounded `Link` and its own breaker: one dead node
costs the tenants that live there, and nobody else.

This module knows nothing of entries.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio.connection import AbstractConnection
from redis.crc import key_slot

from semcache.errors import StoreError
from semcache.store.link import Argument, Link, LinkRules, Reply
from semcache.store.scripts import Script
from semcache.store.shapes import a_list, a_number, some_bytes

SCHEMES = {"redis+cluster": "redis", "rediss+cluster": "rediss"}


@dataclass(frozen=True, slots=True)
class _Map:
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    urls: tuple[str, ...] = ()

    def url_of(self, slot: int) -> str | None:
        at = bisect_right(self.starts, slot) - 1
        return self.urls[at] if at >= 0 and slot <= self.ends[at] else None


class ClusterLink:
    """Links to the nodes of a cluster, found from one of them."""

    def __init__(self, url: str, rules: LinkRules) -> None:
        """Prepare; nothing is connected before the first call.

        Args:
            url: redis+cluster:// or rediss+cluster:// and any node; credentials hold for all nodes.
            rules: Bounds of each node's link.

        Raises:
            StoreError: `config`: the URL is not usable.
        """
        parts = urlsplit(url)
        self._url = urlunsplit(parts._replace(scheme=SCHEMES[parts.scheme]))
        self._rules = rules
        self._links: dict[str, Link] = {self._url: Link(self._url, rules)}
        self._map = _Map()
        self._doubtful = False
        self._asking = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """True while the breaker of any node refuses calls."""
        return any(link.is_open for link in self._links.values())

    async def call(self, *command: Argument) -> Reply:
        """Send one command whose second word is its key.

        Raises:
            StoreError: any fault, named.
        """
        key = command[1]
        slot = key_slot(key if isinstance(key, bytes) else str(key).encode())
        return await self._routed(slot, lambda link: link.call(*command))

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Argument]) -> Reply:
        """Run a script where its first key lives.

        Raises:
            StoreError: any fault, named.
        """
        return await self._routed(key_slot(keys[0]), lambda link: link.run(script, keys, arguments))

    async def connection(self, key: bytes) -> AbstractConnection:
        """Make a connection, not yet connected, to the node of a key; the caller closes it.

        Raises:
            StoreError: the map of slots cannot be read.
        """
        return await (await self._link_of(key_slot(key))).connection(key)

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        for link in self._links.values():
            await link.aclose()

    async def _routed(self, slot: int, send: Callable[[Link], Awaitable[Reply]]) -> Reply:
        link = await self._link_of(slot)
        try:
            return await send(link)
        except StoreError as error:
            # After a failover the old node is dead, frozen or read-only, and the slot elsewhere.
            self._doubtful = True
            if error.kind not in ("moved", "down", "readonly"):
                raise
            again = await self._link_of(slot)
            if again is link:
                raise
            return await send(again)

    async def _link_of(self, slot: int) -> Link:
        if self._doubtful or not self._map.urls:
            await self._read_map()
        url = self._map.url_of(slot)
        if url is None:
            raise StoreError("entry store: no node holds the slot", kind="moved")
        return self._links[url]

    async def _read_map(self) -> None:
        before = self._map
        async with self._asking:
            if self._map is not before:
                return  # another call has just read it
            faults = []
            for link in tuple(self._links.values()):
                try:
                    reply = await link.call("CLUSTER", "SLOTS")
                except StoreError as error:
                    faults.append(error)
                else:
                    await self._adopt(reply)
                    self._doubtful = False
                    return
            raise faults[0]

    async def _adopt(self, reply: Reply) -> None:
        rows = []
        for row in a_list(reply):
            start, end, node = a_list(row, 3)[:3]
            host, port = a_list(node, 2)[:2]
            rows.append((a_number(start), a_number(end), self._node_url(host, a_number(port))))
        rows.sort()
        for url in {url for _, _, url in rows} - self._links.keys():
            self._links[url] = Link(url, self._rules)
        self._map = _Map(*(tuple(column) for column in zip(*rows, strict=True))) if rows else _Map()
        for url in self._links.keys() - set(self._map.urls) - {self._url}:
            await self._links.pop(url).aclose()

    def _node_url(self, host: Reply, port: int) -> str:
        parts = urlsplit(self._url)
        # An unset host means: the one that was asked.
        name = some_bytes(host).decode("ascii", "replace") if host else parts.hostname or ""
        name = f"[{name}]" if ":" in name else name
        login, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{login}{at}{name}:{port}"))


def open_link(url: str, rules: LinkRules) -> Link | ClusterLink:
    """Give the link that a URL asks for.

    Args:
        url: redis://, rediss:// or unix:// for one server; redis+cluster:// or
            rediss+cluster:// for a cluster.
        rules: Bounds.

    Raises:
        StoreError: `config`: the URL is not usable.
    """
    return ClusterLink(url, rules) if urlsplit(url).scheme in SCHEMES else Link(url, rules)
