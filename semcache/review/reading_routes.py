"""Routes of the admin API that change nothing. What is allowed is asked of the service."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from semcache.core import EntryId, TenantId
from semcache.review import exporting as told
from semcache.review.access import Reviewer, Role
from semcache.review.bodies import FoundQuery, QuestionBody
from semcache.review.looking import etag_of
from semcache.review.route_parts import (
    TENANT,
    Cursor,
    Limit,
    Share,
    Word,
    matched,
    needs,
    reply,
    role,
    router,
)
from semcache.review.service import ReviewService

_DAY = 86_400.0
Viewer = Annotated[Reviewer, Depends(needs(Role.VIEWER))]
_VIEWER = role(Role.VIEWER)


def reading_routes(service: ReviewService) -> APIRouter:
    """Give the routes."""
    routes = router()
    _of_entries(routes, service)
    _of_tenants(routes, service)
    _of_log(routes, service)
    return routes


def _of_entries(routes: APIRouter, service: ReviewService) -> None:
    @routes.get(TENANT + "/queue", openapi_extra=_VIEWER)
    async def queue(
        who: Viewer, tenant: str, cursor: Cursor = "", limit: Limit = 50, domain: Word = "", reason: Word = ""
    ) -> Response:
        """Give what waits for a human, heaviest first."""
        page = await service.queue(who, TenantId(tenant), cursor, limit, domain=domain, reason=reason)
        return reply({"waiting": [told.row_json(row) for row in page.rows], "cursor": page.cursor})

    @routes.get(TENANT + "/entries", openapi_extra=_VIEWER)
    async def search(who: Viewer, tenant: str, query: Annotated[FoundQuery, Query()]) -> Response:
        """Find entries, newest first. A page may be empty and still have a cursor: much was looked through."""
        page = await service.find(who, TenantId(tenant), query.told(), query.cursor, query.limit)
        return reply({"entries": [told.entry_json(one) for one in page.entries], "cursor": page.cursor})

    @routes.get(TENANT + "/entries/{id}", openapi_extra=_VIEWER)
    async def entry(
        who: Viewer, tenant: str, id: str, if_none_match: Annotated[str, Header()] = ""
    ) -> Response:
        """Give an entry as it stands there."""
        found = await service.entry(who, TenantId(tenant), EntryId(id))
        etag = etag_of(found)
        if matched(if_none_match, etag):
            return Response(status_code=304, headers={"etag": etag})
        return reply(told.entry_json(found), etag=etag)

    @routes.get(TENANT + "/entries/{id}/view", openapi_extra=_VIEWER)
    async def view(who: Viewer, tenant: str, id: str, asked: Word = "") -> Response:
        """Give an entry with all that is known of it; `asked` names the question to explain."""
        found = await service.view(who, TenantId(tenant), EntryId(id), asked)
        return reply(told.view_json(found), etag=found.etag)

    @routes.post(TENANT + "/entries/{id}/why", openapi_extra=_VIEWER)
    async def why(who: Viewer, tenant: str, id: str, body: QuestionBody) -> Response:
        """Explain an entry against a question that nobody asked yet."""
        return reply(told.why_json(await service.why(who, TenantId(tenant), EntryId(id), body.question)))


def _of_tenants(routes: APIRouter, service: ReviewService) -> None:
    @routes.get("/v1/me", openapi_extra=_VIEWER)
    async def me(who: Viewer) -> Response:
        """Say who you are here."""
        return reply({"name": who.name, "role": who.role.value, "tenants": sorted(who.tenants)})

    @routes.get("/v1/tenants", openapi_extra=_VIEWER)
    async def tenants(who: Viewer) -> Response:
        """Name the tenants that you see."""
        return reply({"tenants": await service.tenants(who)})

    @routes.get(TENANT + "/policies", openapi_extra=_VIEWER)
    async def policies(who: Viewer, tenant: str) -> Response:
        """Give the policies of the domains, read-only."""
        found = service.policies(who, TenantId(tenant))
        return reply({"domains": {policy.domain: told.policy_json(policy) for policy in found}})

    @routes.get(TENANT + "/numbers", openapi_extra=_VIEWER)
    async def numbers(
        who: Viewer, tenant: str, days: Annotated[float, Query(gt=0, le=90, allow_inf_nan=False)] = 7
    ) -> Response:
        """Give live numbers of the last days."""
        since = service.clock.now() - days * _DAY
        return reply(told.numbers_json(await service.numbers(who, TenantId(tenant), since)))

    @routes.get(TENANT + "/what-if", openapi_extra=_VIEWER)
    async def what_if(
        who: Viewer,
        tenant: str,
        domain: Annotated[str, Query(min_length=1, max_length=256)],
        threshold: Share,
        min_score: Share | None = None,
    ) -> Response:
        """Say what another threshold would have done with the decisions that are kept."""
        found = await service.what_if(who, TenantId(tenant), domain, threshold, min_score)
        return reply({**asdict(found), "wrong_per_hit": found.share})

    @routes.get(TENANT + "/judges", openapi_extra=_VIEWER)
    async def judges(who: Viewer, tenant: str) -> Response:
        """Say how judging models compare with humans."""
        found = await service.judges(who, TenantId(tenant))
        return reply({"judges": [asdict(view) for view in found]})


def _of_log(routes: APIRouter, service: ReviewService) -> None:
    @routes.get(TENANT + "/log", openapi_extra=_VIEWER)
    async def log(who: Viewer, tenant: str, cursor: Cursor = "", limit: Limit = 50) -> Response:
        """Give the audit log, newest first."""
        page = await service.log(who, TenantId(tenant), cursor, limit)
        return reply({"lines": [told.line_json(line) for line in page.lines], "cursor": page.cursor})

    @routes.get(TENANT + "/log/check", openapi_extra=_VIEWER)
    async def check(who: Viewer, tenant: str) -> Response:
        """Work the chain of the log out anew."""
        broken = await service.broken(who, TenantId(tenant))
        return reply({"whole": broken is None, "first_broken": broken})
