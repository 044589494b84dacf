"""Every other path under a configured upstream: forwarded byte for byte, streaming both ways.

No parsing, no buffering, no cache. Only the path's form, the headers and the credentials are
touched; an account gets copies of what passes. Knows nothing of chat.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import lru_cache

from semcache.calling import auth_of
from semcache.core import Caller
from semcache.dialects.gemini.target import read_query
from semcache.dialects.table import shape_of
from semcache.errors import RequestError
from semcache.journey import Backend
from semcache.ports import UpstreamCall, UpstreamReply
from semcache.proxy.account import Account
from semcache.proxy.body import ClientGone
from semcache.proxy.disconnect import until_disconnect
from semcache.proxy.headers import RequestHeaders, reply_headers
from semcache.proxy.types import Receive, Scope, Send

_MODELS = "/v1/models"


def checked_path(scope: Scope) -> str:
    """Give the raw path of a request, refused unless it has one normal form.

    Auth, routing and the upstream must never read one path in two ways.

    Raises:
        RequestError: 400 for dot segments (plain or encoded), double slashes, backslashes,
            semicolons and control characters.
    """
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = _normal(raw.partition(b"?")[0])
    if path is None:
        raise RequestError("The request path is not in normal form.", code="invalid_path")
    return path


@lru_cache(maxsize=256)
def _normal(raw: bytes) -> str | None:
    """Give a path if it has one normal form; clients ask the same few again and again."""
    path = raw.decode("latin-1")
    low = path.lower()
    segments = low.replace("%2e", ".").split("/")
    bad = (
        not path.startswith("/")
        or "//" in path
        or "\\" in path
        or ";" in path
        or "%2f" in low
        or "%5c" in low
        or "%00" in low
        or any(segment in (".", "..") for segment in segments)
        or any(ord(char) <= 0x20 or ord(char) >= 0x7F for char in path)
    )
    return None if bad else path


def refuse_inner(backend: Backend, method: str, path: str) -> None:
    """Refuse what is not for clients: the local engine's own pages, and its words about prefixes.

    There a caller could name another tenant, which only the proxy may.

    Raises:
        RequestError: 404.
    """
    if backend.prefixes is None:
        return
    lists = path == _MODELS or path.startswith(_MODELS + "/")
    if method not in ("GET", "HEAD") or not lists:
        message = (
            f"The local engine only chats and lists its models: it has no {method} {path}. An upstream that has it"
            " can be configured (--upstream URL), or named in the header 'Semcache-Upstream' where one is."
        )
        raise RequestError(message, status=404, code="unknown_url")


async def forward(
    scope: Scope,
    receive: Receive,
    send: Send,
    headers: RequestHeaders,
    backend: Backend,
    caller: Caller,
    request_id: str,
    account: Account,
) -> int:
    """Forward one request and stream the reply back; gives the status that was sent. `account` watches both.

    Raises:
        UpstreamError: before anything was sent. (After that the connection is simply cut, which
            is how the upstream's own client would have seen it.)
        ClientGone: the client hung up.
    """
    accept = next((value for name, value in scope["headers"] if name == b"accept-encoding"), b"identity")
    length = [(b"content-length", headers.content_length)] if headers.content_length is not None else []
    encoding = [(b"content-encoding", headers.content_encoding)] if headers.content_encoding else []
    call = UpstreamCall(
        method=scope["method"],
        path=checked_path(scope),
        headers=(
            *headers.forward,
            *length,
            *encoding,
            (b"accept-encoding", account.accepted(accept)),
            *auth_of(backend, caller, native=True),
        ),
        body=_upload(receive, account) if _has_body(scope, headers) else b"",
        query=_query(scope, backend),
        tenant=caller.tenant,
    )
    reply = await backend.generator.open(call)
    try:
        account.answered(reply.status, reply.headers)
        return await _stream_back(reply, receive, send, request_id, account)
    finally:
        await reply.aclose()


def _query(scope: Scope, backend: Backend) -> bytes:
    """Give the query; keys that Gemini's clients put there go on in a header at most, which no log shows.

    Whoever answers: what let a caller in here may be a key of this proxy, and is no other upstream's business.
    """
    query: bytes = scope["query_string"]
    told_there = "gemini" in (backend.protocol, shape_of(scope["path"]).family)
    return read_query(query).raw if told_there else query


def _has_body(scope: Scope, headers: RequestHeaders) -> bool:
    chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
    return chunked or headers.content_length not in (None, b"0")


async def _upload(receive: Receive, account: Account) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if body := message.get("body"):
            yield body
            account.sending(body)
        if not message.get("more_body"):
            account.sent()
            return


async def _stream_back(
    reply: UpstreamReply, receive: Receive, send: Send, request_id: str, account: Account
) -> int:
    head = reply_headers(reply.headers, counted=True)
    if not any(name == b"x-request-id" for name, _ in head):
        head.append((b"x-request-id", request_id.encode()))
    head.append((b"cache-status", b"semcache; fwd=bypass; detail=path"))
    await send({"type": "http.response.start", "status": reply.status, "headers": head})
    async with until_disconnect(receive):
        async for chunk in reply.body():
            account.passing(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return reply.status
