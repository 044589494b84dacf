"""The HTTP client of one upstream: the only door to httpx, httpx-aiohttp and aiohttp.

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
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from functools import lru_cache, partial
from typing import Any
from weakref import WeakSet

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from httpx_aiohttp import AiohttpTransport
from multidict import CIMultiDict
from yarl import URL

from semcache.answer.breaker import CircuitBreaker
from semcache.answer.deadline import Deadline
from semcache.answer.faults import ConnectError, RetryableConnectError, RetryableError
from semcache.answer.limits import Limits
from semcache.answer.target import join, parse_base
from semcache.answer.upload import SLICE, Slices, Upload
from semcache.errors import RequestError, SemcacheError, UpstreamError
from semcache.ports import UpstreamCall

_NOT_FORWARDED = frozenset(
    (b"host", b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect")
)
"""Ours to set on our own connection, whatever the caller left in (RFC 9110 section 7.6.1)."""
_NOT_FORWARDED_WITH_BYTES = _NOT_FORWARDED | {b"content-length"}
_BODILESS = frozenset(("GET", "HEAD", "OPTIONS"))
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_STALE_WITHIN = 2.0
"""Seconds. A kept-alive connection found closed fails within a round trip; later it was an answer lost."""
_RETRY_PAUSE = 0.05


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
        self._transport: _ExactTransport | None = None
        self._active = 0
        self._closed = False
        self._target = lru_cache(maxsize=256)(partial(_target, base))

    @property
    def name(self) -> str:
        """Name from the configuration."""
        return self._name

    @property
    def active(self) -> int:
        """Calls whose reply has not been read to its end."""
        return self._active

    async def open(self, call: UpstreamCall) -> HttpReply:
        """Send a call and wait for the reply's head.

        Raises:
            UpstreamError: 502 `upstream_unreachable` (name, connect, TLS), `upstream_disconnected`
                (closed without an answer), `upstream_invalid` (not HTTP, head too large); 503
                `upstream_unavailable` (breaker open), `upstream_busy` (no free connection in
                time); 504 `upstream_timeout`.
            RequestError: 400, the path or a header cannot be sent.
        """
        if self._closed or not self._breaker.admit(time.monotonic()):
            message = f"upstream '{self._name}' is not reachable at present"
            raise UpstreamError(message, status=503, code="upstream_unavailable")
        self._active += 1
        try:
            response = await self._judged(call)
        except BaseException:
            self._active -= 1
            raise
        return HttpReply(response, self._finished)

    async def aclose(self) -> None:
        """Close all connections; calls in flight break. Idempotent."""
        self._closed = True
        if self._transport is not None:
            await self._transport.aclose()

    def _finished(self) -> None:
        self._active -= 1

    async def _judged(self, call: UpstreamCall) -> httpx.Response:
        """Let the breaker know how the call went; a caller that leaves says nothing about it."""
        outcome = self._breaker.abandoned
        try:
            response = await self._retrying(call)
            outcome = self._breaker.succeeded
        except ConnectError:
            outcome = partial(self._breaker.failed, time.monotonic())
            raise
        except UpstreamError as error:
            if error.code != "upstream_busy":
                outcome = self._breaker.succeeded
            raise
        finally:
            outcome()
        return response

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

    def _ready(self) -> _ExactTransport:
        """Make the transport on the first call: a session belongs to the running loop."""
        if self._transport is None:
            session = _session(self._limits, self._socket_path, self._ssl)
            self._transport = _ExactTransport(session, self._name)
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
                named = UpstreamError(f"{who}: all connections are in use", status=503, code="upstream_busy")
            case aiohttp.ConnectionTimeoutError():
                named = ConnectError(f"{who} took no connection in time", status=504, code="upstream_timeout")
            case aiohttp.ClientConnectorDNSError():
                named = RetryableConnectError(f"{who}: its host name does not resolve")
            case aiohttp.ClientSSLError():
                named = ConnectError(f"{who}: the TLS connection failed")
            case aiohttp.ClientConnectorError():
                named = RetryableConnectError(f"{who} could not be reached")
            case _StaleConnectionError():
                named = RetryableError(f"{who} closed the connection", code="upstream_disconnected")
            case TimeoutError():
                named = UpstreamError(f"{who} did not answer in time", status=504, code="upstream_timeout")
            case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError():
                named = UpstreamError(f"{who} sent no valid reply", code="upstream_invalid")
            case _:
                named = UpstreamError(f"{who} hung up without an answer", code="upstream_disconnected")
        return named


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


class _StaleConnectionError(aiohttp.ClientError):
    """A kept-alive connection turned out to be closed by the other side."""


class _ExactTransport(AiohttpTransport):  # type: ignore[misc]  # the package has no types
    """The httpx-aiohttp transport, sending target and headers as they are.

    The original goes through two URL parsers that re-encode (`%7E`, `+`), folds repeated headers
    and blurs its errors (a dropped connection becomes a connect timeout, so no retry could be
    decided).
    """

    def __init__(self, session: aiohttp.ClientSession, name: str) -> None:
        # The original's __init__ builds a TLS context (15 ms) that a ready session does not use.
        self.client = session
        self._name = name

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send; give the reply once its head is there. Raises aiohttp's own errors and TimeoutError."""
        source = request.stream
        data: Any = b"".join(source) if isinstance(source, httpx.ByteStream) else source
        response = await self.client.request(
            request.method,
            request.extensions["target"],
            headers=CIMultiDict(
                [(name.decode("latin-1"), _text(value)) for name, value in request.headers.raw]
            ),
            data=data or None,
            allow_redirects=False,
        )
        stream = _RawStream(response, self._name)
        return httpx.Response(response.status, headers=response.raw_headers, stream=stream, request=request)


class _RawStream(httpx.AsyncByteStream):
    """A reply's body as it comes, with named errors."""

    __slots__ = ("_name", "_response")

    def __init__(self, response: aiohttp.ClientResponse, name: str) -> None:
        self._response = response
        self._name = name

    async def __aiter__(self) -> AsyncIterator[bytes]:
        content = self._response.content
        who = f"upstream '{self._name}'"
        try:
            while part := await content.readany():
                yield part
        except (aiohttp.ServerTimeoutError, TimeoutError) as error:
            raise UpstreamError(f"{who} stopped sending", status=504, code="upstream_timeout") from error
        except (
            aiohttp.ClientError,
            aiohttp.http_exceptions.HttpProcessingError,
            OSError,
            RuntimeError,
        ) as error:
            # RuntimeError is what the reader raises on a connection that is already gone.
            raise UpstreamError(f"{who} broke off its reply", code="upstream_cut") from error

    async def aclose(self) -> None:
        response = self._response
        if response.content.is_eof():
            response.release()
            return
        connection = response.connection
        transport = connection.transport if connection is not None else None
        response.close()
        if transport is not None:
            # Without this a peer that takes nothing would keep the socket open until it does.
            transport.abort()


class _CheckedResponse(aiohttp.ClientResponse):
    """Tells a stale kept-alive connection from an answer lost, and sets the idle deadline."""

    def __init__(self, *args: Any, used: WeakSet[ResponseHandler], idle: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._used = used
        self._idle = idle

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        """Wait for the head."""
        protocol = connection.protocol
        if protocol is None:
            raise aiohttp.ServerDisconnectedError
        reused = protocol in self._used
        self._used.add(protocol)
        begun = time.monotonic()
        try:
            await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if reused and time.monotonic() - begun < _STALE_WITHIN and _nothing_came(error):
                raise _StaleConnectionError from error
            raise
        if not self.content.is_eof():
            protocol.read_timeout = self._idle
            protocol.start_timeout()
        return self


def _nothing_came(error: aiohttp.ServerDisconnectedError | aiohttp.ClientOSError) -> bool:
    """True when the connection closed before a byte of a reply."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        # With part of a head received, aiohttp puts that message object here instead of a text.
        return isinstance(error.message, str)
    return error.errno in (errno.ECONNRESET, errno.EPIPE)


def _text(value: bytes) -> str:
    """Decode a header value; aiohttp encodes to UTF-8, so anything else can only go as Latin-1 text."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _target(base: str, path: str, query: bytes) -> URL:
    return URL(join(base, path, query), encoded=True)


def _session(
    limits: Limits, socket_path: str | None, ssl_context: ssl.SSLContext | None
) -> aiohttp.ClientSession:
    """Build the connection pool with everything automatic turned off."""
    pool: Any = {"limit": limits.connections, "keepalive_timeout": limits.keep_alive}
    connector: aiohttp.BaseConnector
    if socket_path is not None:
        connector = aiohttp.UnixConnector(socket_path, **pool)
    else:
        connector = aiohttp.TCPConnector(ssl=ssl_context or True, ttl_dns_cache=30, **pool)
    checked: Any = partial(_CheckedResponse, used=WeakSet(), idle=limits.idle)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=_AUTOMATIC,
        response_class=checked,
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(
            total=None, connect=limits.queue, sock_connect=limits.connect, sock_read=limits.head
        ),
    )
