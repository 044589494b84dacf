"""A movable deadline for the running task; a quarter of the cost of `asyncio.timeout`.

It matters because every upstream call has one. Same way of working: on expiry the task is cancelled,
and the one who set the deadline turns that cancellation into what it means.
"""

from __future__ import annotations

import asyncio


class Deadline:
    """Begins to run when made; always `stop` it. Belongs to the task that made it.

    Args:
        seconds: From now.
    """

    __slots__ = ("_cancelling", "_handle", "_loop", "_task", "expired")

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline needs a running task")
        self._task = task
        self._cancelling = task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(seconds, self._expire)
        self.expired = False

    def move(self, seconds: float) -> None:
        """Let it expire `seconds` from now instead; does nothing once expired or stopped."""
        if not self._handle.cancelled() and not self.expired:
            self._handle.cancel()
            self._handle = self._loop.call_later(seconds, self._expire)

    def stop(self) -> None:
        """Let it never expire."""
        self._handle.cancel()

    def took_effect(self) -> bool:
        """Say, once, on catching a cancellation: was it this deadline's and nobody else's?"""
        return self.expired and self._task.uncancel() <= self._cancelling

    def _expire(self) -> None:
        self.expired = True
        self._task.cancel()
