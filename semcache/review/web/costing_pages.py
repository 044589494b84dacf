"""The page of costs, and its file for spreadsheets. Changes nothing."""

from __future__ import annotations

from starlette.responses import Response

from semcache.cost.report import By
from semcache.errors import RequestError
from semcache.review.route_parts import table
from semcache.review.web.costs_view import DAYS, GROUPINGS, alarm_rows, budget_rows, costs_view, finding_rows
from semcache.review.web.frame import sealed
from semcache.review.web.visit import Visit

_USUAL_DAYS = 30
_FINDING_DAYS = 7


async def costs(visit: Visit) -> Response:
    """Show what was paid and saved, budgets, alarms and prefix findings."""
    days, by = _days(visit), _by(visit)
    who, tenant = visit.who, visit.tenant
    found = await visit.costing.costs(who, tenant, days, (by,))
    return visit.page(
        "costs.html",
        view=costs_view(found, by, visit.ui),
        budgets=budget_rows(await visit.costing.budgets(who, tenant), visit.ui),
        alarms=alarm_rows(await visit.costing.alarms(who, tenant), visit.ui),
        findings=finding_rows(await visit.costing.findings(who, tenant, _FINDING_DAYS), visit.ui),
        days=days,
        spans=DAYS,
        groupings=[one.value for one in GROUPINGS],
        csv=f"{visit.ui.here_url}/csv?days={days}",
    )


async def costs_csv(visit: Visit) -> Response:
    """Give the days as a file in FOCUS columns."""
    days = _days(visit)
    rows = await visit.costing.csv(visit.who, visit.tenant, days)
    return sealed(table(rows, f"costs-{days}-days"))


def _days(visit: Visit) -> int:
    text = visit.query.get("days", "")
    if not text:
        return _USUAL_DAYS
    if text not in {str(days) for days in DAYS}:
        raise RequestError("days: none of those that can be chosen.", status=422, code="bad-days")
    return int(text)


def _by(visit: Visit) -> By:
    text = visit.query.get("by", "")
    found = next((one for one in GROUPINGS if one.value == text), None)
    if text and found is None:
        raise RequestError("by: none of those that can be chosen.", status=422, code="bad-grouping")
    return found or By.MODEL
