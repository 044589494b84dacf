"""Noticing that a client has hung up while its answer is still being made."""

from __future__ import annotations

import asyncio
from typing import Any

from semcache.proxy.body import ClientGone
from semcache.proxy.types import Receive


class until_disconnect:  # noqa: N801 - reads as a statement, like asyncio.timeout
    """Run a block until the client hangs up; then the block is cancelled and `ClientGone` raised.

    A request whose body was read whole has nothing more to receive but its disconnect.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        block = asyncio.current_task()
        if block is None:
            raise RuntimeError("must run inside a task")
        self._watch = asyncio.ensure_future(self._wait(block))

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._watch is not None:
            self._watch.cancel()
            # A cancelled task holds the frames that it was in, which hold this: without this line only the collector frees them.
            self._watch = None
        if self._gone and kind is asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            raise ClientGone

    async def _wait(self, block: asyncio.Task[Any]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        block.cancel()
