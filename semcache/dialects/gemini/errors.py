"""Errors of Gemini, both ways: `{"error": {code, message, status}}`. Pure."""

from __future__ import annotations

from typing import Any

import orjson

from semcache.dialects.dialect import ErrorWords
from semcache.dialects.errors import error_of_text, type_of

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


def write_error(message: str, status: int) -> bytes:
    """Give the JSON of an error; `status` is HTTP's."""
    word = _STATUSES.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    return orjson.dumps({"error": {"code": status, "message": message, "status": word}})


def write_live_error(error: Any) -> bytes:
    """Give the JSON of an error that came in a chat stream."""
    message = error.get("message") if isinstance(error, dict) else error
    return write_error(str(message), 502)


def read_error(status: int, body: bytes) -> ErrorWords:
    """Read an error reply; a stream's stands in an array, and one of another shape becomes a message of its text."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    told = document.get("error") if isinstance(document, dict) else None
    message = told.get("message") if isinstance(told, dict) else told
    if isinstance(message, str) and message:
        return ErrorWords(message, status, type_of(status))
    return error_of_text(status, body)
