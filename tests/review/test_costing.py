"""Costs over the admin API: the same sums as the book's, only of the token's tenants, and refusals in words."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest

from semcache.cost.report import total
from semcache.cost_port import AlarmKind, Cause
from semcache.review.access import Role
from semcache.review.problems import NotThereError
from tests.cost.books import book
from tests.review.costs import alarm, finding, spend
from tests.review.scene import ACME, NOW, OTHER, VIEWER, Scene

V1 = f"/v1/tenants/{ACME}"
ROUTES = ("costs", "costs.csv", "budgets", "alarms", "prefixes")


@pytest.fixture
async def filled(at: Scene) -> Scene:
    today = at.costs.today
    await at.costs.book.add("t.1", {**book(ACME, today - 1), **book(OTHER, today - 1)})
    return at


async def test_the_sums_are_those_of_the_book(filled: Scene) -> None:
    async with filled.client(Role.VIEWER) as client:
        told = (await client.get(f"{V1}/costs?by=project,outcome")).json()
        whole = total(book(ACME))
        assert told["total"]["paid"] == whole.paid
        assert told["total"]["saved"]["total"] == whole.saved
        assert (told["by"], len(told["groups"])) == (["project", "outcome"], 7)
        assert sum(group["requests"] for group in told["groups"]) == whole.sums.requests == 165
        blank = next(group for group in told["groups"] if group["unpriced"])
        assert (blank["paid"], blank["requests"]) == (None, 5)
        assert (await client.get(f"{V1}/costs?days=1")).json()["total"]["requests"] == 55
        assert (await client.get(f"{V1}/costs?by=")).json()["groups"] == []


async def test_the_file_is_in_focus_columns_with_one_header(filled: Scene) -> None:
    async with filled.client(Role.VIEWER) as client:
        page = await client.get(f"{V1}/costs.csv?days=90")
    assert page.headers["content-type"] == "text/csv; charset=utf-8"
    assert page.headers["content-disposition"] == 'attachment; filename="costs-90-days.csv"'
    rows = list(csv.DictReader(io.StringIO(page.text, newline="")))
    assert len(rows) == len(book())
    assert {row["BillingAccountId"] for row in rows} == {ACME}
    assert sum(Decimal(row["BilledCost"]) for row in rows if row["BilledCost"]) * 10**6 == total(book()).spent


async def test_an_empty_book_is_a_header_and_no_groups(at: Scene) -> None:
    async with at.client(Role.VIEWER) as client:
        assert (await client.get(f"{V1}/costs.csv")).text.count("\r\n") == 1
        told = (await client.get(f"{V1}/costs")).json()
        assert (told["groups"], told["total"]["hit_ratio"], told["total"]["paid"]) == ([], None, 0)


async def test_budgets_are_those_of_the_policy(at: Scene) -> None:
    whole, web = at.costing._policies().by_tenant[ACME].costs.budgets
    await spend(at.costs.shelves, ACME, whole, NOW, 61_000_000, 2_000_000)
    await spend(at.costs.shelves, ACME, web, NOW, 0, requests=40)
    async with at.client(Role.VIEWER) as client:
        told = (await client.get(f"{V1}/budgets")).json()
    first, second = told["budgets"]
    assert (told["unit"], first["name"], first["hard"], first["soft"]) == (
        "micro_usd",
        "all",
        100_000_000,
        60_000_000,
    )
    assert (first["spent"], first["held"], first["left"]) == (61_000_000, 2_000_000, 37_000_000)
    assert first["begins"] <= NOW < first["ends"]
    assert (second["labels"], second["requests"], second["most_requests"], second["left"]) == (
        {"project": "web"}, 40, 1000, None,
    )  # fmt: skip


async def test_alarms_and_findings(at: Scene) -> None:
    await at.costs.alarms.put(
        [alarm(ACME, AlarmKind.BUDGET, "all", NOW), alarm(OTHER, AlarmKind.RETRIES, "x", NOW)]
    )
    day = at.costs.today
    await at.costs.lint.put("w", [finding(ACME, day - 1), finding(ACME, day - 20), finding(OTHER, day)])
    async with at.client(Role.VIEWER) as client:
        (told,) = (await client.get(f"{V1}/alarms")).json()["alarms"]
        assert (told["kind"], told["subject"], told["is_raised"], told["since"]) == (
            "budget",
            "all",
            True,
            NOW - 60,
        )
        (found,) = (await client.get(f"{V1}/prefixes")).json()["findings"]
        assert (found["cause"], found["tokens_lost"], found["money_lost"]) == (
            Cause.TIME.value,
            3_204_000,
            801_000,
        )
        assert found["day"] == "2026-09-20"
        assert len((await client.get(f"{V1}/prefixes?days=30")).json()["findings"]) == 2


@pytest.mark.parametrize("route", ROUTES)
async def test_another_tenants_costs_are_not_there(filled: Scene, route: str) -> None:
    async with filled.client(Role.OPERATOR) as client:
        for foreign in (OTHER, "nobody", "~public"):
            page = await client.get(f"/v1/tenants/{foreign}/{route}")
            assert page.status_code == 404
            assert page.json()["type"] == "urn:semcache:problem:not-found"


async def test_nothing_is_read_before_it_is_allowed(filled: Scene) -> None:
    filled.costs.book.away = filled.costs.alarms.away = filled.costs.budgets.away = True
    costing = filled.costing
    for ask in (
        costing.costs(VIEWER, OTHER, 30, ()), costing.csv(VIEWER, OTHER, 30), costing.budgets(VIEWER, OTHER),
        costing.alarms(VIEWER, OTHER), costing.findings(VIEWER, OTHER, 7),
    ):  # fmt: skip
        with pytest.raises(NotThereError):
            await ask


@pytest.mark.parametrize(
    "query", ["costs?days=0", "costs?days=91", "costs?days=x", "costs?by=colour", "costs?by=" + "x" * 300, "costs.csv?days=-1", "prefixes?days=1e9"]
)  # fmt: skip
async def test_questions_that_are_none(filled: Scene, query: str) -> None:
    async with filled.client(Role.VIEWER) as client:
        page = await client.get(f"{V1}/{query}")
    assert page.status_code == 422
    assert page.headers["content-type"] == "application/problem+json"
    assert "colour" not in page.text


@pytest.mark.parametrize("route", ["costs", "costs.csv", "budgets", "alarms"])
async def test_the_store_away_is_503(filled: Scene, route: str) -> None:
    filled.costs.book.away = filled.costs.alarms.away = filled.costs.budgets.away = True
    async with filled.client(Role.VIEWER) as client:
        page = await client.get(f"{V1}/{route}")
    assert (page.status_code, page.json()["type"]) == (503, "urn:semcache:problem:store-unavailable")
