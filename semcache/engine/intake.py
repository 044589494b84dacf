"""Reading a request body under limits of size, form and time. Knows no field of it."""

from __future__ import annotations

import asyncio

from fastapi import Request
from starlette.requests import ClientDisconnect

from semcache.errors import RequestError

BODY_SECONDS = 30.0
"""How long a client may take to send its body."""


async def read_body(request: Request, limit: int) -> bytes:
    """Read the whole body, never more than `limit` bytes of it.

    JSON's content type is required: a web page cannot send it to a loopback port unasked.

    Raises:
        RequestError: 400 (content type, broken off), 408 (slow), 413 (too large), 415 (compressed).
    """
    _check_head(request, limit)
    whole = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                whole += piece
                if len(whole) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise RequestError(
            "the body did not arrive in time", status=408, code="timeout", headers=(("connection", "close"),)
        ) from None
    except ClientDisconnect:
        raise RequestError("the client went away", code="client_closed") from None
    return bytes(whole)


def _check_head(request: Request, limit: int) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError("the content type must be application/json", code="invalid_content_type")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RequestError("compressed bodies are not taken", status=415, code="unsupported_encoding")
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> RequestError:
    return RequestError(
        f"the body is larger than {limit} bytes",
        status=413,
        code="request_too_large",
        headers=(("connection", "close"),),
    )
