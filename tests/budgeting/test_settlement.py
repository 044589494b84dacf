"""What was set aside for a call is settled once, whatever becomes of the client, the call or the policy."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semcache.budgeting.gate import LIFE
from semcache.budgeting.open_holds import OpenHolds
from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost_port import Claim
from semcache.errors import StoreError, UpstreamError
from semcache.policy.loader import load_directory
from semcache.ports import UpstreamCall
from semcache.records import SideKind, SideRecord
from tests.budgeting.house import CALL, ONE, House, costs
from tests.fakes.generator import FakeReply
from tests.fakes.upstream_server import chat_body, chat_chunks, sse_bytes
from tests.test_pipeline import ACME


@costs("name: team, window: hour, hard_usd: 1, requests: 9")
@pytest.mark.parametrize(
    ("reply", "status", "spent"),
    [
        (FakeReply(500, parts=[b"{}"]), 500, 0),
        (FakeReply(429, parts=[b"{}"]), 429, 0),
        (UpstreamError("down"), 502, 0),
        (FakeReply(parts=[UpstreamError("cut")]), 502, 0),
    ],
    ids=["error", "busy", "down", "cut"],
)
async def test_a_failed_call_gives_back_what_was_set_aside(
    house: House, reply: FakeReply | UpstreamError, status: int, spent: int
) -> None:
    house.scene.upstream.script = lambda call: reply
    assert (await house.ask(ONE)).status == status
    assert await house.spent() == (spent, 0, 1)


@costs("name: team, window: hour, hard_usd: 0.1")
async def test_a_client_that_always_hangs_up_early_uses_the_budget_up(house: House) -> None:
    events = [sse_bytes([chunk], done=False) for chunk in chat_chunks(["word "] * 40, usage=False)]
    house.scene.upstream.script = lambda call: FakeReply(
        headers=((b"content-type", b"text/event-stream"),),
        parts=[part for event in events for part in (event, 0.001)],
    )
    statuses = []
    for n in range(50):
        got = await house.ask(f"{ONE} {n}", cut=3, stream=True, max_tokens=40, temperature=1)
        statuses.append(got.status)
    assert {200, 429} == set(statuses)
    assert statuses == sorted(statuses)
    cut = house.heard.records[0]
    assert cut.estimated
    assert cut.usage is not None
    assert 1 <= cut.usage.completion_tokens < 10
    spent, held, _ = await house.spent()
    assert held == 0
    assert 50_000 < spent <= 100_000
    assert house.heard.words["estimated"] == statuses.count(200)


@costs("name: team, window: hour, hard_usd: 1")
async def test_a_late_answer_of_the_store_leaves_nothing_set_aside(house: House) -> None:
    reserve = house.budgets.reserve

    async def late(*arguments: Any) -> Any:
        await reserve(*arguments)
        raise StoreError("late", kind="late")

    house.budgets.reserve = late  # type: ignore[method-assign] # the server did it, and the answer was lost
    assert (await house.ask(ONE)).status == 503
    await asyncio.gather(*house.scene.tasks)
    assert await house.spent() == (0, 0, 0)


@costs("name: team, window: hour, hard_usd: 1")
async def test_settling_is_tried_again_and_counts_once(house: House) -> None:
    settle, tries = house.budgets.settle, []

    async def shaky(*arguments: Any) -> Any:
        tries.append(arguments[1])
        done = await settle(*arguments)
        if len(tries) < 3:
            raise StoreError("the answer was lost", kind="late")
        return done

    house.budgets.settle = shaky  # type: ignore[method-assign] # as above
    await house.ask(ONE)
    assert tries == ["hold-1"] * 3
    assert await house.spent() == (CALL, 0, 0)
    assert house.heard.words == {"counted": 1, "failed:late": 2}


@costs("name: team, window: hour, hard_usd: 1", "name: charged, hard_usd: 1, counts: charged")
async def test_work_beside_requests_counts_without_being_set_aside(house: House) -> None:
    side = SideRecord(SideKind.AUDIT, house.clock.now(), "acme", "chat", "m", "up", Usage(3, 2), "request-1")
    house.settling.note(side)
    house.settling.note(replace(side, model="unheard-of"))
    house.settling.note(replace(side, tenant="nobody"))
    await house.settling.flush()
    assert await house.spent() == (2030, 0, 0)
    assert (await house.spent("charged"))[0] == 0
    assert len(house.heard.sides) == 3
    assert house.heard.words == {"counted": 1, "unpriced": 1}


@costs("name: team, window: hour, hard_usd: 1")
async def test_a_settlement_whose_hold_is_forgotten_goes_by_the_policy(house: House) -> None:
    house.holds = OpenHolds(most=1)
    record = RequestRecord(
        "r", house.clock.now(), "acme", "chat", "chat", "m", False, Outcome.MISS, "", 200, 1.0, 0.0,
        usage=Usage(12, 5), hold="unknown",
    )  # fmt: skip
    house.settling.emit(record)
    house.settling.emit(record)
    house.settling.emit(replace(record, tenant="gone", hold="x"))
    await house.settling.flush()
    assert await house.spent() == (CALL, 0, 0)


@costs("name: team, window: hour, hard_usd: 1")
async def test_a_whole_answer_that_nobody_counted_is_booked_as_it_was_set_aside(house: House) -> None:
    house.holds.put("h", house.scene.snapshot.costs(ACME).budgets, 7777)
    record = RequestRecord(
        "r",
        house.clock.now(),
        "acme",
        "",
        "other",
        "m",
        False,
        Outcome.BYPASS,
        "path",
        200,
        1.0,
        0.0,
        hold="h",
    )
    house.settling.emit(record)
    await house.settling.flush()
    assert await house.spent() == (7777, 0, 0)
    assert house.heard.words == {"estimated": 1}


@costs("name: team, window: hour, hard_usd: 1")
async def test_a_hold_that_is_never_settled_falls_back(house: House) -> None:
    step_tasks = len(house.scene.tasks)
    await house.budgets.reserve(
        ACME, "crashed", [Claim(house.scene.snapshot.costs(ACME).budgets[0], 10**6)], house.clock.now(), LIFE
    )
    assert (await house.ask(ONE)).status == 429
    house.clock.at += LIFE
    assert (await house.ask(ONE)).status == 200
    assert len(house.scene.tasks) > step_tasks


@costs("name: team, window: hour, hard_usd: 1")
async def test_what_is_not_settled_when_the_proxy_stops_is_settled_then(house: House) -> None:
    house.settling.pauses = (60.0,)
    house.budgets.away = True
    record = RequestRecord(
        "r", house.clock.now(), "acme", "", "chat", "m", False, Outcome.MISS, "", 200, 1.0, 0.0,
        usage=Usage(12, 5), hold="h",
    )  # fmt: skip
    house.settling.emit(record)
    await asyncio.sleep(0.05)
    for task in house.scene.tasks:
        task.cancel()
    await asyncio.gather(*house.scene.tasks, return_exceptions=True)
    house.budgets.away = False
    assert house.settling.waiting == 1
    await house.settling.flush()
    assert await house.spent() == (CALL, 0, 0)
    assert house.settling.waiting == 0


@costs("name: team, window: hour, hard_usd: 1")
async def test_what_was_set_aside_is_settled_under_the_policy_of_then(house: House, tmp_path: Path) -> None:
    before = house.scene.snapshot

    def reply(call: UpstreamCall) -> FakeReply:
        house.scene.snapshot = load_directory(_without_budgets(tmp_path))
        return FakeReply(parts=[json.dumps(chat_body("x")).encode()])

    house.scene.upstream.script = reply
    assert (await house.ask(ONE)).status == 200
    house.scene.snapshot = before
    assert await house.spent() == (CALL, 0, 0)


def _without_budgets(folder: Path) -> Path:
    changed = folder / "changed"
    changed.mkdir()
    text = (folder / "acme.yaml").read_text()
    (changed / "acme.yaml").write_text(text[: text.index("costs:")])
    return changed


@costs("name: team, window: hour, hard_usd: 1")
async def test_a_client_that_leaves_while_it_is_set_aside_leaves_nothing_behind(house: House) -> None:
    reserve, is_set_aside = house.budgets.reserve, asyncio.Event()

    async def slow(*arguments: Any) -> Any:
        await reserve(*arguments)
        is_set_aside.set()
        await asyncio.sleep(60)

    house.budgets.reserve = slow  # type: ignore[method-assign] # the server did it, and takes long to say so
    asking = asyncio.create_task(house.ask(ONE))
    await is_set_aside.wait()
    assert (await house.spent())[1] > 0
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await asyncio.gather(*house.scene.tasks)
    assert await house.spent() == (0, 0, 0)


@costs("name: team, window: hour, hard_usd: 1")
async def test_who_asks_twice_and_hangs_up_once_pays_all_the_same(house: House) -> None:
    events = [sse_bytes([chunk], done=False) for chunk in chat_chunks(["word "] * 40)] + [b"data: [DONE]\n\n"]
    house.scene.upstream.script = lambda call: FakeReply(
        headers=((b"content-type", b"text/event-stream"),),
        parts=[0.1, *(part for event in events for part in (event, 0.005))],
    )
    leaving = asyncio.create_task(house.ask(ONE, cut=3, stream=True, max_tokens=40))
    await asyncio.sleep(0.02)
    staying = [asyncio.create_task(house.ask(ONE, stream=True, max_tokens=40)) for _ in range(2)]
    await asyncio.gather(leaving, *staying)
    used = Counter((record.collapsed, record.usage) for record in house.heard.records)
    whole = next(usage for _, usage in used if usage is not None and usage.prompt_tokens)
    assert used == {(False, Usage(0, 0)): 1, (False, whole): 1, (True, None): 1}
    assert house.scene.calls == 1
    assert (await house.spent())[0] == CALL
