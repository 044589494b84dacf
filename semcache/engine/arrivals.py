"""Events from the runner's thread, handed over to a coroutine of one event loop."""

from __future__ import annotations

import asyncio
import contextlib

from semcache.engine.generation import Event


class Arrivals:
    """A one-way mailbox: `push` from any thread, `next` from the loop it was made on.

    Holds at most what one generation can say (`max_tokens` events), so it needs no limit.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event] = asyncio.Queue()

    def push(self, event: Event) -> None:
        """Add an event; from any thread."""
        # A closed loop means that nobody is left to read; the runner must not stumble over it.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    async def next(self, patience: float) -> Event | None:
        """Give the next event, or None after `patience` seconds without one."""
        try:
            async with asyncio.timeout(patience):
                return await self._events.get()
        except TimeoutError:
            return None
