"""Has a server write its files anew, so that what was removed is gone from them too.

An append-only file holds what was written once until it is rewritten; so does an old snapshot. Servers that
are not ours may refuse: then whoever runs them has to do it. Knows nothing of keys.
"""

from __future__ import annotations

import asyncio
import time

from semcache.errors import StoreError
from semcache.store.link import Link, LinkRules
from semcache.store.shapes import some_bytes

_PAUSE = 0.05
_PATIENCE = 600.0


class FileWriter:
    """Has one server write files.

    Args:
        url: of the server.
        patience: seconds that writing may take.

    Raises:
        StoreError: `config`: the URL is not usable, or names a cluster.
    """

    def __init__(self, url: str, patience: float = _PATIENCE) -> None:
        self._link = Link(url, LinkRules(deadline=10.0))
        self._patience = patience

    async def rewrite(self) -> bool:
        """Have the append-only file written anew; False where the server keeps none.

        Raises:
            StoreError: unreachable, refused, failed (`error`), or not done in time (`late`).
        """
        if await self._said("aof_enabled") != "1":
            return False
        # One that began before may have read what was removed since: it is waited for, and does not count.
        await self._idle()
        await self._link.call("BGREWRITEAOF")
        await self._idle()
        if await self._said("aof_last_bgrewrite_status") != "ok":
            raise StoreError("the server could not write its append-only file anew", kind="error")
        return True

    async def snapshot(self) -> None:
        """Have a consistent snapshot of all keys written to the server's own snapshot file.

        Raises:
            StoreError: as `rewrite`.
        """
        await self._idle()
        before = await self._link.call("LASTSAVE")
        await self._link.call("BGSAVE")
        await self._idle()
        if await self._said("rdb_last_bgsave_status") != "ok":
            raise StoreError("the server could not write a snapshot", kind="error")
        if await self._link.call("LASTSAVE") < before:
            raise StoreError("the server's clock went back while it wrote a snapshot", kind="error")

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    async def _idle(self) -> None:
        """Wait until no files are being written, nor are to be.

        Raises:
            StoreError: `late`.
        """
        words = (
            "aof_rewrite_in_progress",
            "aof_rewrite_scheduled",
            "rdb_bgsave_in_progress",
        )
        until = time.monotonic() + self._patience
        while any([await self._said(word) not in ("0", "") for word in words]):
            if time.monotonic() > until:
                raise StoreError("the server takes too long to write its files", kind="late")
            await asyncio.sleep(_PAUSE)

    async def _said(self, word: str) -> str:
        told = some_bytes(await self._link.call("INFO", "persistence")).decode("ascii", "replace")
        for line in told.splitlines():
            name, colon, value = line.partition(":")
            if colon and name == word:
                return value.strip()
        return ""
