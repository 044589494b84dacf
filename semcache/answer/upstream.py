"""The HTTP client of one upstream: with `transport` the only door to httpx, httpx-aiohttp and aiohttp.

`HttpUpstream` implements the `Generator` port. It sends what it is given (target and header pairs
as they are, apart from the hop-by-hop ones) and streams what comes back, undecoded. It keeps the
deadlines, retries once where nothing can have been answered yet, and fails fast while the upstream
is down. It does not know dialects, caching or which headers may pass: that is decided before.

The transport is used directly, without `httpx.AsyncClient`, and `httpx.Request` is given a ready
stream: the client's per-request machinery costs more than the call itself.
"""

from __future__ import annotations

import asyncio
import errno
import math
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import aiohttp
import httpx
from yarl import URL

from semcache.answer.breaker import CircuitBreaker
from semcache.answer.deadline import Deadline
from semcache.answer.faults import ConnectError, RetryableConnectError, RetryableError
from semcache.answer.limits import Limits
from semcache.answer.places import Places, Room
from semcache.answer.target import join, parse_base
from semcache.answer.transport import ExactTransport, StaleConnectionError, open_session
from semcache.answer.upload import SLICE, Slices, Upload
from semcache.errors import RequestError, SemcacheError, UpstreamError
from semcache.ports import UpstreamCall

_NOT_FORWARDED = frozenset(
    (b"host", b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect")
)
"""Ours to set on our own connection, whatever the caller left in (RFC 9110 section 7.6.1)."""
_NOT_FORWARDED_WITH_BYTES = _NOT_FORWARDED | {b"content-length"}
_BODILESS = frozenset(("GET", "HEAD", "OPTIONS"))
_RETRY_PAUSE = 0.05
_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""What fails here says nothing about the upstream."""


class HttpUpstream:
    """One upstream API behind a base URL ending in `/v1`, or behind a unix socket.

    Args:
        name: Name from the configuration: the only thing about the upstream that clients see.
        base_url: `http://...`, `https://...` or `unix:/path/to.sock` (see `target.parse_base`).
        limits: Deadlines and sizes.
        ssl_context: For private certificate authorities; default trust otherwise.

    Raises:
        PolicyError: the base URL is not usable.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        limits: Limits | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        base, self._socket_path = parse_base(base_url)
        self._name = name
        self._limits = limits = limits or Limits()
        self._ssl = ssl_context
        self._origin = httpx.URL(base)
        self._breaker = CircuitBreaker(limits.breaker_threshold, limits.breaker_pause)
        room = Room(limits.concurrent, limits.waiting, limits.patience)
        self._places = Places(room, self._overloaded)
        self._transport: ExactTransport | None = None
        self._active = 0
        self._closed = False
        self._target = lru_cache(maxsize=256)(partial(_target, base))

    @property
    def name(self) -> str:
        """Name from the configuration."""
        return self._name

    @property
    def active(self) -> int:
        """Calls whose reply has not been read to its end, those that wait for a place included."""
        return self._active + self._places.waiting

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        return self._places.waiting

    @property
    def is_full(self) -> bool:
        """True while one more call would have to wait for a place."""
        return self._places.is_full

    @property
    def refuses(self) -> bool:
        """True while calls would fail at once: the breaker is open, or the one probe is under way."""
        return self._closed or not self._breaker.would_admit(time.monotonic())

    async def open(self, call: UpstreamCall) -> HttpReply:
        """Send a call and wait for the reply's head.

        Raises:
            UpstreamError: 502 `upstream_unreachable` (name, connect, TLS), `upstream_disconnected`
                (closed without an answer), `upstream_invalid` (not HTTP, head too large); 503
                `upstream_unavailable` (breaker open), `upstream_busy` (no free connection in
                time), `overloaded` (no place in time, or too many wait); 504 `upstream_timeout`.
            RequestError: 400, the path or a header cannot be sent.
        """
        if self.refuses:
            raise self._unavailable()
        await self._places.take(call.tenant)
        self._active += 1
        try:
            # Asked again: while this call waited, others may have found the upstream gone.
            if self._closed or not self._breaker.admit(time.monotonic()):
                raise self._unavailable()
            response = await self._judged(call)
        except BaseException:
            self._finished()
            raise
        return HttpReply(response, self._finished)

    async def aclose(self) -> None:
        """Close all connections; calls in flight break. Idempotent."""
        self._closed = True
        if self._transport is not None:
            await self._transport.aclose()

    def _finished(self) -> None:
        self._active -= 1
        self._places.give()

    def _unavailable(self) -> UpstreamError:
        return UpstreamError(
            f"upstream '{self._name}' is not reachable at present",
            status=503,
            code="upstream_unavailable",
            untouched=True,
            headers=(("retry-after", str(max(1, math.ceil(self._limits.breaker_pause)))),),
        )

    def _overloaded(self, room: Room) -> UpstreamError:
        return UpstreamError(
            f"upstream '{self._name}' has as many calls as it may have at once",
            status=503,
            code="overloaded",
            type="server_error",
            untouched=True,
            headers=room.retry_after,
        )

    async def _judged(self, call: UpstreamCall) -> httpx.Response:
        """Let the breaker know how the call went; a caller that leaves says nothing about it."""
        outcome = self._breaker.abandoned
        try:
            response = await self._retrying(call)
            failed = response.status_code in self._limits.breaker_statuses
            outcome = self._failed if failed else self._breaker.succeeded
        except UpstreamError as error:
            if isinstance(error, ConnectError) or error.code in self._limits.breaker_codes:
                outcome = self._failed
            elif error.code not in ("upstream_busy", "overloaded"):
                outcome = self._breaker.succeeded
            raise
        finally:
            outcome()
        return response

    def _failed(self) -> None:
        self._breaker.failed(time.monotonic())

    async def _retrying(self, call: UpstreamCall) -> httpx.Response:
        try:
            return await self._send(call)
        except RetryableError as error:
            # An iterator that was begun is gone; connect errors come before it is touched.
            if not isinstance(call.body, bytes) and not isinstance(error, ConnectError):
                raise
        await asyncio.sleep(_RETRY_PAUSE)
        return await self._send(call)

    async def _send(self, call: UpstreamCall) -> httpx.Response:
        """Try once; every foreign exception becomes a named one here."""
        upload: Upload | None = None
        deadline = Deadline(self._limits.head)
        try:
            request, upload = self._request(call, deadline)
            return await self._ready().handle_async_request(request)
        except asyncio.CancelledError as error:
            if deadline.took_effect():
                raise self._named(TimeoutError()) from error
            raise
        except ValueError as error:
            # Header values with line breaks or NUL; the message would quote them.
            raise RequestError("a header of the request cannot be sent", code="invalid_header") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if upload is not None and isinstance(upload.error, SemcacheError):
                raise upload.error from error
            raise self._named(error) from error
        finally:
            deadline.stop()

    def _ready(self) -> ExactTransport:
        """Make the transport on the first call: a session belongs to the running loop."""
        if self._transport is None:
            session = open_session(self._limits, self._socket_path, self._ssl)
            self._transport = ExactTransport(session, self._name)
        return self._transport

    def _request(self, call: UpstreamCall, deadline: Deadline) -> tuple[httpx.Request, Upload | None]:
        body = call.body
        dropped = _NOT_FORWARDED_WITH_BYTES if isinstance(body, bytes) else _NOT_FORWARDED
        # In lower case, as HTTP/2 would: aiohttp loses a repeated field whose cases differ.
        pairs = [(low, value) for name, value in call.headers if (low := name.lower()) not in dropped]
        upload: Upload | None = None
        stream: Any
        if isinstance(body, bytes):
            if body or call.method not in _BODILESS:
                pairs.append((b"content-length", b"%d" % len(body)))
            stream = httpx.ByteStream(body) if len(body) <= SLICE else Slices(body)
        else:
            stream = upload = Upload(body, deadline, self._limits.idle, self._limits.head)
        options: Any = {"stream": stream, "extensions": {"target": self._target(call.path, call.query)}}
        return httpx.Request(call.method, self._origin, headers=httpx.Headers(pairs), **options), upload

    def _named(self, error: Exception) -> UpstreamError:
        """Give the named error of a failed attempt; its text never holds an address."""
        who = f"upstream '{self._name}'"
        named: UpstreamError
        match error:
            case aiohttp.ConnectionTimeoutError() if self._active > self._limits.connections:
                named = _busy(f"{who}: all connections are in use", "upstream_busy")
            case aiohttp.ConnectionTimeoutError():
                named = ConnectError(f"{who} took no connection in time", status=504, code="upstream_timeout")
            case aiohttp.ClientConnectorError() if error.errno in _OURS:
                named = _busy(
                    f"{who} cannot be connected to: the proxy has no file descriptor left", "overloaded"
                )
            case aiohttp.ClientConnectorDNSError():
                named = RetryableConnectError(f"{who}: its host name does not resolve")
            case aiohttp.ClientSSLError():
                named = ConnectError(f"{who}: the TLS connection failed")
            case aiohttp.ClientConnectorError():
                named = RetryableConnectError(f"{who} could not be reached")
            case StaleConnectionError():
                named = RetryableError(f"{who} closed the connection", code="upstream_disconnected")
            case TimeoutError():
                named = UpstreamError(f"{who} did not answer in time", status=504, code="upstream_timeout")
            case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError():
                named = UpstreamError(f"{who} sent no valid reply", code="upstream_invalid")
            case _:
                named = UpstreamError(f"{who} hung up without an answer", code="upstream_disconnected")
        return named


def _busy(message: str, code: str) -> UpstreamError:
    return UpstreamError(message, status=503, code=code, untouched=True, headers=(("retry-after", "1"),))


class HttpReply:
    """An `UpstreamReply`: the head has come, the body streams. Close it on every way out."""

    __slots__ = ("_done", "_response")

    def __init__(self, response: httpx.Response, done: Callable[[], None]) -> None:
        self._response = response
        self._done: Callable[[], None] | None = done

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._response.status_code

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Raw header pairs in the order and case received."""
        return self._response.headers.raw

    def body(self) -> AsyncIterator[bytes]:
        """Stream the raw body once, in the parts the network brings.

        Raises:
            UpstreamError: 502 `upstream_cut`, 504 `upstream_timeout` (nothing for `idle` seconds).
        """
        stream: AsyncIterable[bytes] = self._response.stream  # type: ignore[assignment]  # always ours
        return stream.__aiter__()

    async def aclose(self) -> None:
        """Give the connection back, or abort it when the body is not read to its end. Idempotent."""
        if self._done is not None:
            done, self._done = self._done, None
            done()
            await self._response.stream.aclose()  # type: ignore[union-attr]  # always ours


def _target(base: str, path: str, query: bytes) -> URL:
    return URL(join(base, path, query), encoded=True)
