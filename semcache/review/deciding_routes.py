"""Routes of the admin API that change something, or let much out. What is allowed is asked of the service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header
from starlette.responses import Response

from semcache.core import EntryId, TenantId
from semcache.review import exporting as told
from semcache.review.access import Reviewer, Role
from semcache.review.bodies import BulkBody, DismissBody, ExportBody, TargetBody, VerdictBody
from semcache.review.bulk import Bulk
from semcache.review.route_parts import LINES, TENANT, expected, lines, needs, reply, role, router
from semcache.review.service import ReviewService
from semcache.review.views import BulkStep

Decider = Annotated[Reviewer, Depends(needs(Role.REVIEWER))]
Operator = Annotated[Reviewer, Depends(needs(Role.OPERATOR))]
_REVIEWER, _OPERATOR = role(Role.REVIEWER), role(Role.OPERATOR)


def deciding_routes(service: ReviewService) -> APIRouter:
    """Give the routes."""
    routes, bulk = router(), Bulk(service)
    _of_one(routes, service)
    _of_many(routes, bulk)
    _of_all(routes, service, bulk)
    return routes


def _of_one(routes: APIRouter, service: ReviewService) -> None:
    @routes.post(TENANT + "/entries/{id}/verdicts", openapi_extra=_REVIEWER)
    async def settle(
        who: Decider,
        tenant: str,
        id: str,
        body: VerdictBody,
        if_match: Annotated[str | None, Header(description="The ETag that was read; always needed.")] = None,
    ) -> Response:
        """Decide about an entry. `purge` and `publish` are an operator's."""
        etag = expected(if_match)
        found = await service.settle(who, TenantId(tenant), EntryId(id), etag, body.told(), body.note)
        return reply(told.settled_json(found), etag=found.etag)

    @routes.post(TENANT + "/queue/dismiss", openapi_extra=_REVIEWER, status_code=204)
    async def dismiss(who: Decider, tenant: str, body: DismissBody) -> Response:
        """Take entries out of the queue without a verdict; their next sighting brings them back."""
        await service.dismiss(who, TenantId(tenant), [EntryId(name) for name in body.ids])
        return Response(status_code=204)


def _of_many(routes: APIRouter, bulk: Bulk) -> None:
    @routes.post(TENANT + "/bulk", openapi_extra=_REVIEWER, responses=LINES)
    async def settle_many(who: Decider, tenant: str, body: BulkBody) -> Response:
        """Decide about all entries that a filter finds.

        A dry run (the default) says how many, and gives `digest` and `before`, which the real run repeats. That
        one answers line by line as it goes; hanging up ends it after the entry that it is at.
        """
        wanted, verdict = body.filter.told(), body.verdict.told()
        if body.dry_run:
            return reply(asdict(await bulk.select(who, TenantId(tenant), wanted, verdict)))
        steps = await bulk.run(who, TenantId(tenant), wanted, verdict, body.digest, body.verdict.note)
        return lines(_step_lines(steps))


async def _step_lines(steps: AsyncGenerator[BulkStep, None]) -> AsyncIterator[bytes]:
    counts: dict[str, int] = {}
    async with aclosing(steps) as going:
        async for step in going:
            counts[step.result] = counts.get(step.result, 0) + 1
            yield told.dumped(asdict(step)) + b"\n"
    yield told.dumped({"finished": True, "counts": counts}) + b"\n"


def _of_all(routes: APIRouter, service: ReviewService, bulk: Bulk) -> None:
    @routes.post(TENANT + "/invalidations", openapi_extra=_OPERATOR)
    async def invalidate(who: Operator, tenant: str, body: TargetBody) -> Response:
        """Invalidate entries everywhere; a dry run (the default) says how many."""
        target = body.told()
        if body.dry_run:
            found = await bulk.count(who, TenantId(tenant), target)
        else:
            found = await bulk.invalidate(who, TenantId(tenant), target, body.note)
        line: Any = told.line_json(found.line) if found.line else None
        return reply(
            {"dry_run": body.dry_run, "count": found.count, "is_whole": found.is_whole, "line": line}
        )

    @routes.post(TENANT + "/exports", openapi_extra=_OPERATOR, responses=LINES)
    async def export(who: Operator, tenant: str, body: ExportBody) -> Response:
        """Give entries with what was settled about them, an archive of them, or the audit log; that is written down first.

        An archive is what `semcache entries import` takes; it is narrowed by `tag`, `model` and `namespace` only.
        """
        name = TenantId(tenant)
        if body.what == "log":
            return lines(await told.log_lines(service, who, name))
        wanted = body.filter.told()
        if body.what == "archive":
            return lines(await told.archive_lines(service, who, name, wanted))
        return lines(await told.entry_lines(service, who, name, wanted, vectors=body.vectors))
