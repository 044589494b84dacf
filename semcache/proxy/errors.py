"""Error replies: our named errors in the words of the client's dialect, with status and headers.

Knows nothing about why a request failed, and no dialect's shape.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, ErrorWords
from semcache.errors import RequestError, SemcacheError, UpstreamError
from semcache.proxy.types import Send

Head = list[tuple[bytes, bytes]]


def words_of(error: SemcacheError) -> ErrorWords:
    """Give what may be told of an error; what is not meant for clients says nothing."""
    param = error.param if isinstance(error, RequestError) else None
    known = isinstance(error, RequestError | UpstreamError)
    message = str(error) if known else "The proxy could not handle this request."
    return ErrorWords(message, error.status, error.type, error.code or None, param)


def shutting_down() -> RequestError:
    """Give the error of those who came too late, or whose answer took too long, when the proxy ends."""
    again = (("retry-after", "1"),)
    return RequestError(
        "The proxy is shutting down.", status=503, type="server_error", code="overloaded", headers=again
    )


def error_reply(error: SemcacheError, request_id: str, dialect: Dialect = CHAT) -> tuple[int, Head, bytes]:
    """Give status, headers and body of an error reply."""
    body = dialect.write_error(words_of(error))
    head = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"private, no-store"),
        *request_ids(request_id, dialect),
    ]
    if isinstance(error, RequestError | UpstreamError):
        head += _encoded(error.headers)
    return error.status, head, body


def request_ids(request_id: str, dialect: Dialect) -> Head:
    """Name a request under the headers that the dialect's clients look at."""
    named = [(b"x-request-id", request_id.encode())]
    return [*named, (b"request-id", request_id.encode())] if dialect.family == "anthropic" else named


def identified(send: Send, dialect: Dialect) -> Send:
    """Give a send callable that names replies under the header of the dialect's clients too, where they have no such name."""
    if dialect.family != "anthropic":
        return send

    async def named(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            head: Head = message["headers"]
            found = dict(head)
            if b"request-id" not in found and b"x-request-id" in found:
                message["headers"] = [*head, (b"request-id", found[b"x-request-id"])]
        await send(message)

    return named


def _encoded(pairs: Iterable[tuple[str, str]]) -> Head:
    return [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in pairs]
