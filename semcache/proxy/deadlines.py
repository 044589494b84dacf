"""A connection that sends no whole request head in time is closed.

uvicorn has no such deadline of its own: a client that trickles headers would hold a connection
for ever. The body has its deadline in `body`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class HeadDeadlineProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a timer from the first byte (or the connection) to the end of the head."""

    head_deadline = 15.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Start the timer: a silent connection counts as a slow one."""
        self._head_timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_deadline, transport.close)

    def data_received(self, data: bytes) -> None:
        """Restart the timer when a new head begins on a kept-alive connection."""
        if self._head_timer is None and self.cycle is not None and self.cycle.response_complete:
            self._head_timer = self.loop.call_later(self.head_deadline, self.transport.close)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is whole: stop the timer."""
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer with the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        timer: Any = getattr(self, "_head_timer", None)
        if timer is not None:
            timer.cancel()
        self._head_timer = None
