"""One client's connection: bounds on what it sends before anything answers, and on how long it takes nothing.

uvicorn has neither: a client that trickles headers, sends a head without end, or stops reading its answer would hold a
connection (and what is buffered for it) for ever. The body's own limits are in `body`. Knows nothing of chat.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import struct
import termios
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from semcache.dialects.table import shape_of
from semcache.errors import RequestError
from semcache.proxy.errors import words_of
from semcache.proxy.framing import flaw_of
from semcache.proxy.parser import PlainParser

_CHUNKING = 32
"""Bytes around each byte of a chunked body: sizes, extensions, trailers."""
_REASONS = {400: b"Bad Request", 431: b"Request Header Fields Too Large"}


class ClientProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a bounded head, in size and time, and a client that has to read."""

    head_deadline = 15.0
    """Seconds from the first byte (or the connection) to the end of the head."""
    head_bytes = 64 << 10
    """Bytes of a head; also of what stands around a chunked body."""
    write_deadline = 30.0
    """Seconds within which a client must take something of what is ready for it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Start the timers: a silent connection counts as a slow one."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._has_begun = self._is_headed = False
        self._raw = self._plain = 0
        self._flaw: RequestError | None = None
        self._untaken = 0
        self.parser = self._plain_parser = PlainParser(self)
        super().connection_made(transport)
        self._await_head()
        self._write_timer = self.loop.call_later(self.write_deadline / 2, self._look_at_reading)

    # -- what comes ---------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Count, and restart the timer when a new head begins on a kept-alive connection."""
        if self.cycle is not None and self.cycle.response_complete:
            self._await_head()
        self._raw += len(data)
        super().data_received(data)
        if self._raw - self._plain > self.head_bytes + _CHUNKING * self._plain:
            self._flaw = self._flaw or _too_large()
            if not self.transport.is_closing():
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin to count."""
        if self._plain_parser.resumes:
            return
        self._has_begun, self._is_headed = True, False
        self._raw = self._plain = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take the target."""
        if not self._plain_parser.resumes:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; one behind the body is no header (RFC 9110 section 6.5.1)."""
        if not self._is_headed:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole: stop the timer, refuse what nobody should read.

        Raises:
            RequestError: which the parser turns into its own error.
        """
        self._stop_head_timer()
        if self._plain_parser.resumes:
            return
        self._is_headed = True
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        flaw = flaw_of(self.parser.get_http_version(), self.url, self.headers)
        if size > self.head_bytes:
            self._flaw = _too_large()
        elif flaw is not None:
            self._flaw = RequestError(flaw, code="invalid_http")
        if self._flaw is not None:
            raise self._flaw
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count what is no frame."""
        self._plain += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """What comes next is a head."""
        if self._plain_parser.skips_body:
            return
        super().on_message_complete()
        self._has_begun = False
        self._raw = self._plain = 0

    def on_response_complete(self) -> None:
        """Go on; half a head that came along with the request before it has its time from now."""
        super().on_response_complete()
        if self._has_begun and not self._is_headed:
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse in the shape of the path's protocol; whoever waits for an earlier answer must not take this for it."""
        del msg
        error = self._flaw or RequestError("The request is not valid HTTP.", code="invalid_http")
        cycle = self.cycle
        busy = cycle is not None and not cycle.response_complete
        of_its_body = busy and cycle.more_body and not cycle.response_started
        if not busy or of_its_body:
            self.transport.write(self._refusal(error))
        self.transport.close()

    def _refusal(self, error: RequestError) -> bytes:
        told = self.scope or {}
        path = getattr(self, "url", b"").partition(b"?")[0].decode("latin-1")
        body = shape_of(path, dict(told.get("headers") or ())).write_error(words_of(error))
        lines = [b"HTTP/1.1 %d %b" % (error.status, _REASONS[error.status])]
        lines += [b"%b: %b" % pair for pair in self.server_state.default_headers]
        lines += [b"content-type: application/json", b"content-length: %d" % len(body), b"connection: close"]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    # -- what goes ----------------------------------------------------------------------

    def _look_at_reading(self) -> None:
        """Cut a client that took nothing since the last look, though nothing else is waited for."""
        left = self.transport.get_write_buffer_size()
        waits = left and (
            self.flow.write_paused
            or self.transport.is_closing()
            or self.cycle is None
            or self.cycle.response_complete
        )
        untaken = left + self._on_its_way() if waits else 0
        if untaken and untaken == self._untaken:
            self._reset()
            return
        self._untaken = untaken
        self._write_timer = self.loop.call_later(self.write_deadline / 2, self._look_at_reading)

    def _on_its_way(self) -> int:
        """Bytes that the kernel holds: a slow client makes room there long before it does in our buffer."""
        with contextlib.suppress(OSError, AttributeError, ValueError):
            taken = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, b"\0" * 4)
            return int(struct.unpack("i", taken)[0])
        return 0

    def _reset(self) -> None:
        """Cut the connection; what the kernel holds for it goes as well, and a part of an answer is told from the whole."""
        with contextlib.suppress(OSError, AttributeError, ValueError):
            file = self.transport.get_extra_info("socket").fileno()
            with socket.socket(fileno=os.dup(file)) as twin:
                twin.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers with the connection."""
        self._stop_head_timer()
        self._write_timer.cancel()
        super().connection_lost(exc)
        # The parser holds this protocol's methods; so nothing of a connection waits for the garbage collector.
        self._plain_parser.close()

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_deadline, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def client_protocol(*, head_seconds: float, head_bytes: int, write_seconds: float) -> type[ClientProtocol]:
    """Give the protocol with these bounds."""
    bounds: dict[str, Any] = {
        "head_deadline": head_seconds,
        "head_bytes": head_bytes,
        "write_deadline": write_seconds,
    }
    return type("Protocol", (ClientProtocol,), bounds)


def _too_large() -> RequestError:
    return RequestError("The request's head is too large.", status=431, code="head_too_large")
