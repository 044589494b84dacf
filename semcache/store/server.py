"""Scripts and values of one tenant, sent over a link: what the parts of the store share.

This module knows how a script is addressed (keys, tenant, change stream) and how a value that
came back is read and, when damaged, dropped. It decides nothing about entries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from semcache.core import Entry, EntryId, ExactKey, TenantId
from semcache.errors import StoreError
from semcache.store import codec
from semcache.store.cluster import ClusterLink
from semcache.store.keys import Keys, digest
from semcache.store.link import Argument, Link, Reply
from semcache.store.scripts import Script, Scripts
from semcache.store.shapes import a_list, a_number, some_bytes

_THREAD_ABOVE = 64 << 10
"""Values above this are unpacked in a thread: it takes about a millisecond."""
_LONGEST_WAIT = 5.0
_PAUSE = 0.01
FULL = "+"
"""Stands among barred questions where there were more than are kept (`store.lua_verdict`); no question's name."""
USER = "\x01"
"""Begins what is a user among what stands beside an entry (`lua_read`); no question's name holds it."""


class Server:
    """One deployment's scripts behind a link."""

    def __init__(self, link: Link | ClusterLink, keys: Keys, stream_length: int) -> None:
        self.link = link
        self.keys = keys
        self.scripts = Scripts()
        self.corrupt = 0
        self._length = stream_length
        self._shared = tuple(keys.shared(name) for name in ("changes", "seq", "tenants"))
        self._cluster = isinstance(link, ClusterLink)

    async def read(self, script: Script, tenant: TenantId, arguments: Sequence[Argument]) -> Reply:
        """Run a reading script for a tenant.

        Raises:
            StoreError: any fault, named.
        """
        base = self.keys.base(tenant)
        return await self.link.run(script, (base + b"ep",), (base, *arguments))

    async def write(
        self,
        script: Script,
        tenant: TenantId,
        arguments: Sequence[Argument],
        *,
        lead: int,
        dies: bool = False,
    ) -> list[Reply]:
        """Run a writing script for a tenant; what it announces is seen by every follower.

        Args:
            script: What to run.
            tenant: Whose keys it may touch.
            arguments: Beside base, tenant and stream length, which every writing script takes.
            lead: How many items of the reply come before the list of what was announced.
            dies: Whether the second of them says when the longest-lived of what was stored expires.

        Raises:
            StoreError: any fault, named.
        """
        base = self.keys.base(tenant)
        keys = (base + b"ep",) if self._cluster else (base + b"ep", *self._shared)
        reply = a_list(await self.link.run(script, keys, (base, raw(tenant), self._length, *arguments)))
        if self._cluster and len(reply) > lead:
            last = a_number(reply[1]) if dies else 0
            keys = (self.keys.shared("ep"), *self._shared)
            await self.link.run(
                self.scripts.announce, keys, (b"", raw(tenant), self._length, last, *reply[lead:])
            )
        return reply

    async def written(self, tenant: TenantId) -> None:
        """Wait until the server has written what it did for a tenant to its append-only file, if it keeps one.

        It puts that off for up to two seconds while its disk is busy, and loses it when it is killed then.

        Raises:
            StoreError: any fault, named; `late` when it takes longer than that.
        """
        until = asyncio.get_running_loop().time() + _LONGEST_WAIT
        # Counted are also writes that came in since; but it is empty each time that the server has done its round.
        while a_number(await self.read(self.scripts.unwritten, tenant, ())):
            if asyncio.get_running_loop().time() > until:
                raise StoreError(
                    "entry store: the server's disk is too slow to keep what it was told", kind="late"
                )
            await asyncio.sleep(_PAUSE)

    async def decoded(
        self, value: bytes, tenant: TenantId, id: EntryId, key: ExactKey | None, beside: Reply = None
    ) -> Entry:
        """Read a value that was asked for under these names; drop it when it is damaged.

        Args:
            value: what stands there.
            tenant: whose.
            id: under which id it was found.
            key: under which exact key, when it was found by that.
            beside: what stands beside it, as the scripts give it: a list, or nil.

        Raises:
            StoreError: `corrupt`.
        """
        aside = _aside(a_list(beside)) if beside else codec.NOTHING
        try:
            if len(value) > _THREAD_ABOVE:
                return await asyncio.to_thread(codec.decode, value, tenant, id=id, key=key, aside=aside)
            return codec.decode(value, tenant, id=id, key=key, aside=aside)
        except StoreError:
            self.corrupt += 1
            await self._discard(value, tenant, id, key)
            raise

    async def _discard(self, value: bytes, tenant: TenantId, id: EntryId, key: ExactKey | None) -> None:
        exact = digest(key) if key is not None else b""
        try:
            # Only if these very bytes still stand there: a sound entry must not go in their place.
            await self.write(self.scripts.discard, tenant, (raw(id), codec.checksum_of(value), exact), lead=0)
        except StoreError:
            return  # the corruption is what the caller hears of; the next reader tries again


def _aside(names: Sequence[Reply]) -> codec.Aside:
    """Tell the questions that an entry must not answer from the users who got it from the model."""
    texts = [some_bytes(name).decode("utf-8", "replace") for name in names]
    users = frozenset(text.removeprefix(USER) for text in texts if text.startswith(USER))
    return codec.Aside(frozenset(text for text in texts if text[:1] != USER) - {FULL}, users)


def named(name: bytes) -> EntryId:
    """Read an id as it came over the wire."""
    return EntryId(name.decode("utf-8", "replace"))


def raw(text: str) -> bytes:
    """Encode a name as it goes over the wire; lone surrogates stay distinct instead of failing."""
    return text.encode("utf-8", "surrogatepass")
