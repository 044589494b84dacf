"""Routes of the admin API about costs. They change nothing; what is allowed is asked of `Costing`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response, StreamingResponse

from semcache.core import TenantId
from semcache.cost.report import By, day_text, parse_by
from semcache.cost.report_json import report_json
from semcache.review.access import Reviewer, Role
from semcache.review.costing import MOST_DAYS, Costing, alarm_json, budget_json, finding_json
from semcache.review.problems import UnfitError
from semcache.review.route_parts import TENANT, needs, reply, role, router, table

Viewer = Annotated[Reviewer, Depends(needs(Role.VIEWER))]
LastDays = Annotated[int, Query(ge=1, le=MOST_DAYS, description="Days looked back, today among them.")]
_VIEWER = role(Role.VIEWER)
_MOST_FINDINGS = 200
_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {}}, "description": "Columns of FOCUS, one row for each key of a day."}
}


def costing_routes(costing: Costing) -> APIRouter:
    """Give the routes."""
    routes = router()

    @routes.get(TENANT + "/costs", openapi_extra=_VIEWER)
    async def costs(
        who: Viewer,
        tenant: str,
        days: LastDays = 30,
        by: Annotated[str, Query(max_length=200, description="Names, with commas.")] = "model",
    ) -> Response:
        """Give what was paid, what reuse saved, and what it would have cost without."""
        chosen = grouping(by)
        found = await costing.costs(who, TenantId(tenant), days, chosen)
        return reply(report_json(found.book, chosen, found.first, found.last))

    @routes.get(
        TENANT + "/costs.csv", openapi_extra=_VIEWER, responses=_CSV, response_class=StreamingResponse
    )
    async def costs_csv(who: Viewer, tenant: str, days: LastDays = 30) -> Response:
        """Give the same for spreadsheets and FinOps tools."""
        return table(await costing.csv(who, TenantId(tenant), days), f"costs-{days}-days")

    @routes.get(TENANT + "/budgets", openapi_extra=_VIEWER)
    async def budgets(who: Viewer, tenant: str) -> Response:
        """Give the present window of each budget."""
        found = await costing.budgets(who, TenantId(tenant))
        return reply({"unit": "micro_usd", "budgets": [budget_json(state) for state in found]})

    @routes.get(TENANT + "/alarms", openapi_extra=_VIEWER)
    async def alarms(who: Viewer, tenant: str) -> Response:
        """Give alarms, raised ones first, then the newest."""
        found = await costing.alarms(who, TenantId(tenant))
        return reply({"alarms": [alarm_json(alarm) for alarm in found]})

    @routes.get(TENANT + "/prefixes", openapi_extra=_VIEWER)
    async def prefixes(who: Viewer, tenant: str, days: LastDays = 7) -> Response:
        """Give what kept the beginnings of prompts from being reused, most tokens lost first."""
        found = await costing.findings(who, TenantId(tenant), days)
        told = [{**finding_json(one), "day": day_text(one.day)} for one in found[:_MOST_FINDINGS]]
        return reply({"unit": "micro_usd", "findings": told})

    return routes


def grouping(words: str) -> tuple[By, ...]:
    """Read what to group by.

    Raises:
        UnfitError: 422, a name that is none.
    """
    try:
        return parse_by([words])
    except ValueError:
        known = ", ".join(By)
        raise UnfitError("bad-grouping", f"Costs are grouped by: {known}.", "by") from None
