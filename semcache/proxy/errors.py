"""Errors in the OpenAI wire shape: `{"error": {message, type, param, code}}`.

Knows the shape and nothing about why a request failed.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from semcache.errors import RequestError, SemcacheError, UpstreamError

Head = list[tuple[bytes, bytes]]


def error_object(error: SemcacheError) -> dict[str, object]:
    """Give the object that stands under `error`, in replies and in broken streams alike."""
    param = error.param if isinstance(error, RequestError) else None
    known = isinstance(error, RequestError | UpstreamError)
    return {
        "message": str(error) if known else "The proxy could not handle this request.",
        "type": error.type,
        "param": param,
        "code": error.code or None,
    }


def error_reply(error: SemcacheError, request_id: str) -> tuple[int, Head, bytes]:
    """Give status, headers and body of an error reply."""
    body = orjson.dumps({"error": error_object(error)})
    head = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"private, no-store"),
        (b"x-request-id", request_id.encode()),
    ]
    if isinstance(error, RequestError):
        head += _encoded(error.headers)
    return error.status, head, body


def error_event(error: SemcacheError) -> bytes:
    """Give the server-sent event that ends a broken stream, so that no client takes it for whole."""
    return b"data: " + orjson.dumps({"error": error_object(error)}) + b"\n\n"


def _encoded(pairs: Iterable[tuple[str, str]]) -> Head:
    return [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in pairs]
