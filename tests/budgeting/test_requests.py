"""Requests under budgets, through the real pipeline and the real chat endpoint: set aside, and refused."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from semcache.budgeting.gate import Call
from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost_port import Claim
from semcache.errors import RequestError
from semcache.ports import UpstreamCall
from tests.budgeting.house import CALL, ONE, TWO, House, costs
from tests.fakes.generator import FakeReply
from tests.fakes.upstream_server import chat_body
from tests.test_pipeline import ACME

"""What a call of the scripted upstream comes to, in micro-USD."""


@costs("name: team, window: hour, hard_usd: 1")
async def test_a_call_is_set_aside_and_settled_to_what_it_cost(house: House) -> None:
    held: list[int] = []

    def reply(call: UpstreamCall) -> FakeReply:
        held.append(next(iter(house.budgets.windows.values())).held)
        return FakeReply(parts=[json.dumps(chat_body("x")).encode()])

    house.scene.upstream.script = reply
    assert (await house.ask(ONE, max_tokens=100)).status == 200
    assert 100 * 1000 < held[0] < 102 * 1000
    assert await house.spent() == (CALL, 0, 0)
    assert house.heard.words == {"counted": 1}
    assert len(house.holds) == 0
    assert house.heard.records[0].hold == "hold-1"


@costs("name: team, window: hour, hard_usd: 0.015")
async def test_over_the_limit_hits_are_served_and_calls_refused(house: House) -> None:
    house.clock.at = 1_000_000.0 - 1_000_000.0 % 3600 + 900
    assert (await house.ask(ONE)).status == 200
    assert (await house.ask(TWO, max_tokens=15)).status == 429
    refused = await house.ask(TWO)
    assert (refused.status, house.scene.calls) == (429, 1)
    assert refused.error == {
        "message": "The budget 'team' has no money left for this request until 1970-01-12T14:00:00Z.",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }
    said = {name: value for name, value in refused.headers.items() if "budget" in name or "retry" in name}
    assert said == {
        "x-should-retry": "false",
        "retry-after": "2700",
        "semcache-budget": "team",
        "semcache-budget-reset": "1970-01-12T14:00:00Z",
    }
    served = await house.ask(ONE)
    assert (served.status, served.headers["semcache-outcome"]) == (200, "exact")
    assert await house.spent() == (CALL, 0, 0)
    assert house.reasons == ["empty-namespace", "insufficient_quota", "insufficient_quota", "hit"]
    assert house.heard.words == {"counted": 1, "team:money": 2}
    house.clock.at += 2700
    assert (await house.ask(TWO)).status == 200


@costs("name: team, window: hour, hard_usd: 0.01513, on_hard: refuse")
async def test_where_the_budget_says_so_hits_are_refused_too(house: House) -> None:
    assert (await house.ask(ONE)).status == 200
    assert (await house.ask(ONE)).headers["semcache-outcome"] == "exact"
    await house.ask("another one altogether", max_tokens=5)
    assert await house.spent() == (2 * CALL, 0, 0)
    assert (await house.ask(ONE)).headers["semcache-outcome"] == "exact"
    # To the last micro-dollar: now it is used up.
    rules = house.scene.snapshot.costs(ACME).budgets
    await house.budgets.settle(ACME, "rest", [Claim(rules[0], 15_130 - 2 * CALL, 0)], house.clock.now())
    refused = await house.ask(ONE)
    assert (refused.status, refused.error["code"]) == (429, "insufficient_quota")
    assert await house.spent() == (15_130, 0, 0)
    assert house.heard.words["team:money"] == 1


@costs("name: team, window: day, requests: 3")
async def test_hits_count_as_requests(house: House) -> None:
    for _ in range(3):
        assert (await house.ask(ONE)).status == 200
    assert house.scene.calls == 1
    assert await house.spent() == (CALL, 0, 3)
    refused = await house.ask(ONE)
    assert (refused.status, refused.error["message"].split(" until")[0]) == (
        429,
        "The budget 'team' has no requests left",
    )
    assert (await house.ask(TWO)).status == 429
    assert (await house.spent())[2] == 3


@costs("name: team, window: hour, hard_usd: 5")
async def test_two_of_four_at_once_are_admitted(house: House) -> None:
    rules = house.scene.snapshot.costs(ACME).budgets
    await house.budgets.settle(ACME, "before", [Claim(rules[0], 4_752_700, 0)], house.clock.now())
    house.scene.upstream.script = lambda call: FakeReply(parts=[0.05, json.dumps(chat_body("x")).encode()])
    # About 0.0884 each: 88 tokens of output, and the question.
    questions = [f"{ONE} {n}" for n in range(4)]
    got = await asyncio.gather(*(house.ask(question, max_tokens=87, temperature=1) for question in questions))
    assert sorted(each.status for each in got) == [200, 200, 429, 429]
    assert house.scene.calls == 2
    assert await house.spent() == (4_752_700 + 2 * CALL, 0, 0)


@costs("name: team, window: hour, hard_usd: 1")
async def test_who_shares_a_call_pays_nothing(house: House) -> None:
    house.scene.upstream.script = lambda call: FakeReply(parts=[0.05, json.dumps(chat_body("x")).encode()])
    got = await asyncio.gather(*(house.ask(ONE) for _ in range(5)))
    assert {each.status for each in got} == {200}
    assert house.scene.calls == 1
    assert await house.spent() == (CALL, 0, 0)
    assert sum(record.collapsed for record in house.heard.records) == 4


@costs("name: team, window: hour, hard_usd: 1, labels: {project: shop}", labels="{project: shop}")
async def test_labels_of_the_key_hold_whatever_the_client_says(house: House) -> None:
    await house.ask(ONE, headers={"semcache-labels": "project=other, task=x"})
    assert await house.spent() == (CALL, 0, 0)
    await house.ask(TWO, key="lab", headers={"semcache-labels": "project=other"})
    assert await house.spent() == (CALL, 0, 0)
    await house.ask("and a third one of another kind", key="lab", headers={"semcache-labels": "project=shop"})
    assert await house.spent() == (2 * CALL, 0, 0)


@costs("name: team, hard_usd: 1, keys: lab", "name: both, hard_usd: 1", "name: dear, hard_usd: 1, models: x*")
async def test_every_budget_of_a_request_counts_it(house: House) -> None:
    await house.ask(ONE, key="shop")
    await house.ask(TWO, key="lab")
    assert [(await house.spent(name))[0] for name in ("team", "both", "dear")] == [CALL, 2 * CALL, 0]


@costs("name: team, hard_usd: 1", "name: soft, soft_usd: 1")
async def test_a_model_without_a_price_is_refused_under_a_hard_limit(house: House) -> None:
    refused = await house.ask(ONE, model="unheard-of")
    assert (refused.status, refused.error["code"], refused.error["param"]) == (403, "price_unknown", "model")
    assert refused.headers["x-should-retry"] == "false"
    assert (house.scene.calls, house.heard.words) == (0, {"team:price": 1})


@costs("name: team, hard_usd: 1, unknown_price: allow", "name: soft, soft_usd: 1")
async def test_where_allowed_it_goes_uncounted(house: House) -> None:
    assert (await house.ask(ONE, model="unheard-of")).status == 200
    assert await house.spent() == (0, 0, 0)
    assert house.heard.words == {"unpriced": 1}


@costs(
    "name: team, window: hour, hard_usd: 1, counts: charged", more="  hit_charge: fixed\n  hit_usd: 0.003\n"
)
async def test_hits_are_charged_where_the_policy_says_so(house: House) -> None:
    await house.ask(ONE)
    await house.ask(ONE)
    assert await house.spent() == (CALL + 3000, 0, 0)


@costs(
    "name: team, hard_usd: 1, counts: charged",
    "name: cost, hard_usd: 1, requests: 2",
    more="  hit_charge: full\n",
)
async def test_a_full_charge_is_what_the_call_cost(house: House) -> None:
    await house.ask(ONE)
    await house.ask(ONE)
    assert await house.spent("team") == (2 * CALL, 0, 0)
    assert await house.spent("cost") == (CALL, 0, 2)


@costs(
    "name: team, window: hour, hard_usd: 0.006, counts: charged, on_hard: refuse", more="  hit_charge: full\n"
)
async def test_a_charged_hit_over_the_limit_is_refused_where_all_is(house: House) -> None:
    await house.ask(ONE, max_tokens=5)
    assert (await house.ask(ONE, max_tokens=5)).status == 429
    assert await house.spent() == (CALL, 0, 0)


@costs(
    "name: team, window: hour, hard_usd: 0.016, requests: 9, counts: charged",
    more="  hit_charge: fixed\n  hit_usd: 0.02\n",
)
async def test_a_charged_hit_over_the_limit_is_served_where_hits_are(house: House) -> None:
    await house.ask(ONE)
    for served in range(1, 3):
        assert (await house.ask(ONE)).headers["semcache-outcome"] == "exact"
        assert await house.spent() == (CALL + 20_000 * served, 0, 1 + served)
    assert (await house.ask(TWO)).status == 429


@costs("name: team, window: hour, hard_usd: 0, requests: 9")
async def test_the_engine_here_costs_nothing_unless_it_has_a_price(house: House) -> None:
    policy = house.scene.snapshot.costs(ACME)
    call = Call(ACME, (), "here", "", "local", is_local=True, body={})
    hold = await house.gate.on_call(policy, call)
    assert await house.spent() == (0, 0, 1)
    record = RequestRecord(
        "r", house.clock.now(), "acme", "", "chat", "here", False, Outcome.MISS, "", 200, 1.0, 0.0,
        usage=Usage(12, 5), hold=hold, is_local=True,
    )  # fmt: skip
    house.settling.emit(record)
    await house.settling.flush()
    assert await house.spent() == (0, 0, 1)
    assert house.heard.words == {"counted": 1}
    with pytest.raises(RequestError):
        await house.gate.on_call(policy, replace(call, model="m"))
