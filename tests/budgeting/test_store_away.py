"""Requests under budgets while nobody can count: calls wait for no store, and limits hold."""

from __future__ import annotations

from tests.budgeting.house import CALL, ONE, TWO, House, costs


@costs("name: team, window: hour, hard_usd: 1")
async def test_without_the_store_calls_are_refused_and_hits_served(house: House) -> None:
    await house.ask(ONE)
    house.budgets.away = True
    assert (await house.ask(ONE)).headers["semcache-outcome"] == "exact"
    refused = await house.ask(TWO)
    assert (refused.status, refused.error["code"], refused.error["type"]) == (
        503,
        "budget_unavailable",
        "server_error",
    )
    assert house.scene.calls == 1
    house.budgets.away = False
    assert (await house.ask(TWO)).status == 200


@costs("name: team, window: hour, hard_usd: 1, on_hard: refuse")
async def test_a_budget_that_refuses_all_is_closed_without_the_store(house: House) -> None:
    await house.ask(ONE)
    house.budgets.away = True
    assert (await house.ask(ONE)).status == 503
    assert house.heard.words["team:store"] == 1


@costs("name: team, window: hour, requests: 5")
async def test_hits_that_cannot_be_counted_are_served_and_noted(house: House) -> None:
    await house.ask(ONE)
    house.budgets.away = True
    served = await house.ask(ONE)
    assert (served.status, served.headers["semcache-outcome"]) == (200, "exact")
    assert house.heard.records[-1].faults == ("budgets:down",)


@costs("name: team, window: hour, soft_usd: 1")
async def test_a_warning_alone_stops_nobody_with_or_without_the_store(house: House) -> None:
    house.budgets.away = True
    assert (await house.ask(ONE)).status == 200
    assert house.heard.words["lost"] == 1
    house.budgets.away = False
    assert (await house.ask(TWO)).status == 200
    assert await house.spent() == (CALL, 0, 0)


@costs("name: team, window: hour, hard_usd: 1, models: other")
async def test_requests_under_no_budget_never_meet_the_store(house: House) -> None:
    house.budgets.away = True
    assert (await house.ask(ONE)).status == 200
    assert (await house.ask(ONE)).status == 200
    assert house.budgets.calls == []
    assert house.heard.words == {}
