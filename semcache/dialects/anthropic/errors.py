"""Errors in Anthropic's wire shape, both ways: `{"type": "error", "error": {type, message}}`. Pure."""

from __future__ import annotations

from typing import Any

import orjson

from semcache.dialects.dialect import ErrorWords
from semcache.dialects.errors import error_of_text, type_of

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
_KNOWN = frozenset((*_TYPES.values(), "api_error", "timeout_error"))
_READ = {
    "authentication_error": ("authentication_error", "invalid_api_key"),
    "billing_error": ("insufficient_quota", "billing_error"),
    "permission_error": ("permission_error", None),
    "not_found_error": ("not_found_error", None),
    "request_too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit_error": ("rate_limit_error", "rate_limited"),
    "overloaded_error": ("server_error", "overloaded"),
    "timeout_error": ("server_error", "timeout"),
    "api_error": ("server_error", None),
    "invalid_request_error": ("invalid_request_error", None),
}
"""Anthropic's type: OpenAI's type and code."""


def native_type(status: int, type: str) -> str:
    """Give Anthropic's error type for a status, and for OpenAI's type where the status says nothing."""
    if status == 200:
        # Inside a stream: the head is gone.
        return type if type in _KNOWN else "invalid_request_error" if "invalid" in type else "api_error"
    return _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")


def error_body(error: ErrorWords) -> bytes:
    """Give the JSON body of an error reply."""
    told = {"type": native_type(error.status, error.type), "message": error.message}
    return orjson.dumps({"type": "error", "error": told})


def error_event(error: ErrorWords) -> bytes:
    """Give the event that ends a broken stream."""
    return b"event: error\ndata: " + error_body(error) + b"\n\n"


def chat_error(told: Any, status: int = 500) -> dict[str, Any]:
    """Give the `error` object of an error event in OpenAI's words."""
    read = _read(told, status)
    if read is None:
        return {
            "message": "The upstream's stream failed.",
            "type": "server_error",
            "param": None,
            "code": None,
        }
    return {"message": read.message, "type": read.type, "param": None, "code": read.code}


def read_error(status: int, body: bytes) -> ErrorWords:
    """Read an upstream's error reply; one that has another shape becomes a message of its text, or of its status."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    found = _read(document.get("error"), status) if isinstance(document, dict) else None
    return found or error_of_text(status, body)


def _read(told: Any, status: int) -> ErrorWords | None:
    if isinstance(told, str) and told:
        return ErrorWords(told, status, type_of(status))
    if not isinstance(told, dict) or not isinstance(told.get("message"), str) or not told["message"]:
        return None
    name = told.get("type")
    kind, code = _READ.get(name, (None, None)) if isinstance(name, str) else (None, None)
    return ErrorWords(told["message"], status, kind or type_of(status), code)
