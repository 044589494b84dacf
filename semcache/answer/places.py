"""Places for calls under way: a fixed number, and a bounded queue before them that is served in order.

Belongs to one event loop. Knows nothing of what is done in a place.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque

from semcache.errors import UpstreamError


class Places:
    """Takes so many calls at once; a few more wait a while, the others are told to come again.

    Args:
        name: the upstream's, for the message.
        most: calls at once; None: any number.
        queue: calls that may wait.
        patience: seconds that they wait.
    """

    __slots__ = ("_free", "_limited", "_name", "_patience", "_queue", "_waiting")

    def __init__(self, name: str, most: int | None, queue: int, patience: float) -> None:
        self._name = name
        self._free = most or 0
        self._limited = most is not None
        self._queue = queue
        self._patience = patience
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """True while one more would have to wait."""
        return self._limited and (not self._free or bool(self._waiting))

    async def take(self) -> None:
        """Take a place; `give` it back, whatever happens.

        Raises:
            UpstreamError: 503 `overloaded`, too many wait, or it waited long enough.
        """
        if not self._limited:
            return
        if not self.is_full:
            self._free -= 1
            return
        if len(self._waiting) >= self._queue or not self._patience:
            raise self._overloaded()
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        timer = loop.call_later(self._patience, self._expire, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # The place came at the moment its caller left.
                self.give()
            raise
        finally:
            timer.cancel()
            if turn in self._waiting:
                self._waiting.remove(turn)

    def give(self) -> None:
        """Give a place back: to the one that waits longest, if any does."""
        if not self._limited:
            return
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _expire(self, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            turn.set_exception(self._overloaded())

    def _overloaded(self) -> UpstreamError:
        return UpstreamError(
            f"upstream '{self._name}' has as many calls as it may have at once",
            status=503,
            code="overloaded",
            type="server_error",
            untouched=True,
            headers=(("retry-after", str(max(1, math.ceil(self._patience)))),),
        )
