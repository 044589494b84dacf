"""Refusals as problem documents (RFC 9457). Holds no prompt, no answer, no stack and nothing a caller sent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from semcache.errors import RequestError, SemcacheError, StoreError
from semcache.review.problems import ConflictError, SelectionChangedError

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:semcache:problem:"
_MOST_MISTAKES = 20
_NAMES: Mapping[int, str] = {
    400: "bad-request",
    401: "unauthenticated",
    404: "not-found",
    405: "method-not-allowed",
    415: "unsupported-media-type",
}


def problem(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Give a problem document; members of `more` that are None are left out."""
    body = {
        "type": TYPE + code,
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **{name: value for name, value in more.items() if value is not None},
    }
    return Response(orjson.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def refused(error: SemcacheError) -> Response:
    """Give the document of a named error."""
    match error:
        case ConflictError():
            return problem(412, error.code, error.message, {"etag": error.etag}, etag=error.etag)
        case SelectionChangedError():
            return problem(409, error.code, error.message, digest=error.digest)
        case RequestError():
            return problem(error.status, error.code or "bad-request", error.message, dict(error.headers))
        case StoreError(kind="invalid"):
            return problem(422, "bad-value", "A cursor or name is none of ours.")
        case StoreError(kind="quota"):
            return problem(413, "quota", "The tenant's quota leaves no room for this.")
        case StoreError():
            return problem(
                503, "store-unavailable", "The store cannot be reached at the moment.", {"retry-after": "2"}
            )
        case _:
            return defect()


def defect() -> Response:
    """Give the document for what should not have happened."""
    return problem(500, "internal-error", "This request could not be handled.")


def too_often(wait: float) -> Response:
    """Give the document for an address that failed too often; `wait` in seconds."""
    seconds = str(max(1, math.ceil(wait)))
    return problem(
        429, "too-many-tries", f"Too many failed tries; wait {seconds} s.", {"retry-after": seconds}
    )


def unknown_caller() -> Response:
    """Give the one document for missing, wrong and malformed tokens."""
    head = {"www-authenticate": 'Bearer realm="semcache admin"'}
    return problem(401, "unauthenticated", "This needs a valid admin token (Authorization: Bearer).", head)


def http_refused(error: HTTPException) -> Response:
    """Give the document for what the framework refuses."""
    code = _NAMES.get(error.status_code, "refused")
    detail = HTTPStatus(error.status_code).description or HTTPStatus(error.status_code).phrase
    return problem(error.status_code, code, detail, error.headers)


def invalid(error: RequestValidationError) -> Response:
    """Give the document for a request of the wrong shape: where, and what is expected there, never what was sent."""
    found: Sequence[Any] = error.errors()
    mistakes = [
        {"at": _place(item.get("loc", ())), "problem": _expectation(item)} for item in found[:_MOST_MISTAKES]
    ]
    return problem(422, "invalid", "The request does not have the shape that is expected.", errors=mistakes)


def _place(place: Sequence[Any]) -> str:
    return "/".join(str(part)[:64] for part in place)


def _expectation(item: Mapping[str, Any]) -> str:
    # Some of pydantic's messages repeat the tag that was sent.
    kind = str(item.get("type", "invalid"))
    return kind if kind.startswith(("union_tag", "json")) else str(item.get("msg", kind))[:200]
