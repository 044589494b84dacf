"""What the routes of the admin API have in common: who asks, ETags, pages and lines. Knows no resource."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from semcache.core import TenantId
from semcache.review.access import Reviewer, Role, allow
from semcache.review.bodies import Problem
from semcache.review.exporting import dumped
from semcache.review.problems import UnfitError
from semcache.review.refusals import MEDIA_TYPE

TENANT = "/v1/tenants/{tenant}"
Cursor = Annotated[str, Query(max_length=512, description="From the page before.")]
Limit = Annotated[int, Query(ge=1, le=200)]
Word = Annotated[str, Query(max_length=256)]
Share = Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)]
LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/x-ndjson": {}}, "description": "One JSON object a line."}
}


def router() -> APIRouter:
    """Give a router whose refusals are problem documents."""
    shape = {"model": Problem, "description": "A refusal.", "content": {MEDIA_TYPE: {}}}
    return APIRouter(responses={"4XX": shape, "5XX": shape})


def role(least: Role) -> dict[str, str]:
    """Give the mark of a route that needs this role at least, for its description."""
    return {"x-role": least.value}


def needs(least: Role) -> Callable[[Request], Reviewer]:
    """Give what finds out who asks; those without tenant or role are refused before their body is looked at."""

    def allowed(request: Request) -> Reviewer:
        who = getattr(request.state, "reviewer", None)
        if not isinstance(who, Reviewer):
            raise HTTPException(401)
        tenant = request.path_params.get("tenant")
        if tenant is not None:
            allow(who, TenantId(tenant), least)
        return who

    return allowed


def reply(value: Any, status: int = 200, etag: str = "") -> Response:
    """Give JSON."""
    head = {"etag": etag} if etag else {}
    return Response(dumped(value), status, head, "application/json")


def lines(source: AsyncIterator[bytes]) -> StreamingResponse:
    """Give lines of JSON as they come; whoever hangs up ends the source after the line that it is at."""
    return StreamingResponse(_closing(source), media_type="application/x-ndjson")


def table(source: AsyncIterator[bytes], name: str) -> StreamingResponse:
    """Give rows of CSV as they come, to be kept under a name (of ASCII letters, digits and dashes)."""
    head = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(_closing(source), media_type="text/csv; charset=utf-8", headers=head)


async def _closing(source: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for line in source:
            yield line
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()


def matched(header: str, etag: str) -> bool:
    """Tell whether an If-None-Match names this ETag (RFC 9110 section 13.1.2: weak comparison)."""
    names = [name.strip().removeprefix("W/") for name in header.split(",")]
    return "*" in names or etag in names


def expected(header: str | None) -> str:
    """Give the one ETag of an If-Match.

    Raises:
        UnfitError: 428 without one; 412 for a weak one, several, or `*`: a verdict is about what somebody looked at.
    """
    if header is None or not header.strip():
        error = UnfitError("precondition-required", "Repeat the ETag that you read in If-Match.")
        error.status = 428
        raise error
    name = header.strip()
    if name == "*" or name.startswith("W/") or "," in name:
        error = UnfitError("stale-etag", "If-Match must name the one ETag that you read.")
        error.status = 412
        raise error
    return name
