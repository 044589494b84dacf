"""The connections of one upstream: a pool, a transport that sends what it is given, replies as they come.

Everything automatic of the libraries below is turned off. Knows no retries, breakers or deadlines but those of the
sockets; raises aiohttp's own errors, apart from replies whose body breaks off.
"""

from __future__ import annotations

import errno
import ssl
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from weakref import WeakSet

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from httpx_aiohttp import AiohttpTransport
from multidict import CIMultiDict

from semcache.answer.limits import Limits
from semcache.errors import UpstreamError

_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_FIRST, _LAST = 200, 599
"""Statuses of a reply."""
_STALE_WITHIN = 2.0
"""Seconds. A kept-alive connection found closed fails within a round trip; later it was an answer lost."""


class StaleConnectionError(aiohttp.ClientError):
    """A kept-alive connection turned out to be closed by the other side."""


class ExactTransport(AiohttpTransport):  # type: ignore[misc]  # the package has no types
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
        if not _FIRST <= response.status <= _LAST:
            # Another protocol (nobody asked for one), or a number that is no status.
            response.close()
            raise aiohttp.ClientPayloadError
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
                raise StaleConnectionError from error
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
    # Found closed before a byte was written, the reason stands behind an error without a number.
    unwritten = isinstance(error.__cause__, aiohttp.ClientConnectionResetError)
    return unwritten or error.errno in (errno.ECONNRESET, errno.EPIPE)


def _text(value: bytes) -> str:
    """Decode a header value; aiohttp encodes to UTF-8, so anything else can only go as Latin-1 text."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def open_session(
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
