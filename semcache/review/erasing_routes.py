"""Routes of the admin API that erase end users; an operator's. What is removed and how is the archive's matter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends
from starlette.responses import Response

from semcache.archive.erasing import Plan
from semcache.archive.errors import ArchiveError
from semcache.core import TenantId
from semcache.errors import StoreError
from semcache.review.access import Reviewer, Role
from semcache.review.bodies import ErasureBody
from semcache.review.exporting import dumped
from semcache.review.problems import NotThereError, SelectionChangedError, UnfitError
from semcache.review.route_parts import LINES, TENANT, lines, needs, reply, role, router
from semcache.review.service import ReviewService

Operator = Annotated[Reviewer, Depends(needs(Role.OPERATOR))]
_OPERATOR = role(Role.OPERATOR)


class Erasing(Protocol):
    """What erases end users (`archive.erasing.Eraser`)."""

    async def plan(self, tenant: TenantId, name: str) -> Plan:
        """Say what would be removed, and change nothing."""
        ...

    async def erase(self, tenant: TenantId, name: str, by: str, note: str = "") -> dict[str, Any]:
        """Erase somebody, and give the receipt as written."""
        ...

    def receipt(self, id: str) -> dict[str, Any]:
        """Give a receipt by its id."""
        ...


def erasing_routes(service: ReviewService, eraser: Erasing) -> APIRouter:
    """Give the routes."""
    routes, running = router(), set[asyncio.Future[dict[str, Any]]]()

    @routes.post(TENANT + "/erasures", openapi_extra=_OPERATOR, responses=LINES)
    async def erase(who: Operator, tenant: str, body: ErasureBody) -> Response:
        """Erase everything that is kept of an end user.

        A dry run (the default) says what would go, and gives a `digest`, which the real run repeats. That one answers
        with a line when it begins, and with the receipt, or what failed, in a line at its end; hanging up does not
        stop it. Doing it again finds nothing.
        """
        service.allow(who, TenantId(tenant), Role.OPERATOR)
        try:
            plan = await eraser.plan(TenantId(tenant), body.subject)
            if body.dry_run:
                told = {"dry_run": True, "subject": plan.whom.subject, "removed": plan.found}
                return reply(told | {"digest": plan.digest})
            if body.digest != plan.digest:
                raise SelectionChangedError(plan.digest)
        except ArchiveError as error:
            raise UnfitError("bad-erasure", f"{error}", "subject") from None
        work = asyncio.ensure_future(eraser.erase(TenantId(tenant), body.subject, who.name, body.note))
        running.add(work)
        work.add_done_callback(running.discard)
        return lines(_told(work))

    @routes.get(TENANT + "/erasures/{id}", openapi_extra=_OPERATOR)
    async def receipt(who: Operator, tenant: str, id: str) -> Response:
        """Give the receipt of an erasure that was done on this machine."""
        service.allow(who, TenantId(tenant), Role.OPERATOR)
        try:
            told = await asyncio.to_thread(eraser.receipt, id)
        except ArchiveError:
            raise NotThereError from None
        if told.get("tenant") != tenant:
            raise NotThereError
        return reply(told)

    return routes


async def _told(work: asyncio.Future[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Tell of an erasure line by line; it goes on whoever listens."""
    yield dumped({"begun": True}) + b"\n"
    try:
        yield dumped(await asyncio.shield(work)) + b"\n"
    except (ArchiveError, StoreError, OSError) as error:
        kind = error.kind if isinstance(error, StoreError) else "files"
        yield dumped({"failed": kind, "detail": "Not all of it is done; erase again."}) + b"\n"
