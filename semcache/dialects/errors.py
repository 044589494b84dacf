"""Errors in OpenAI's wire shape, both ways: `{"error": {message, type, param, code}}`. Pure."""

from __future__ import annotations

from typing import Any

import orjson

from semcache.dialects.dialect import ErrorWords

_LONGEST = 2000
"""Characters of a reply that is quoted for want of a message."""
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}


def openai_error(error: ErrorWords) -> dict[str, object]:
    """Give the object that stands under `error`, in replies and in broken streams alike."""
    return {"message": error.message, "type": error.type, "param": error.param, "code": error.code}


def read_openai_error(status: int, body: bytes) -> ErrorWords:
    """Read an error reply; one of another shape becomes a message of its text."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    told = document.get("error") if isinstance(document, dict) else None
    if isinstance(told, dict) and isinstance(told.get("message"), str):
        return ErrorWords(
            told["message"],
            status,
            _text(told.get("type")) or type_of(status),
            _text(told.get("code")),
            _text(told.get("param")),
        )
    if isinstance(told, str) and told:
        return ErrorWords(told, status, type_of(status))
    return error_of_text(status, body)


def error_of_text(status: int, body: bytes) -> ErrorWords:
    """Give the words for a reply that has no shape of an error."""
    text = body[:_LONGEST].decode("utf-8", "replace").strip()
    message = text if text and not text.startswith("<") else f"The upstream answered with status {status}."
    return ErrorWords(message, status, type_of(status))


def type_of(status: int) -> str:
    """Give OpenAI's error type for a status."""
    return _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
