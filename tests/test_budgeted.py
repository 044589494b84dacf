"""Requests under budgets, through the real pipeline and the real chat endpoint: set aside, refused, settled."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from semcache.budgeting.gate import LIFE, Call, Gate
from semcache.budgeting.open_holds import OpenHolds
from semcache.budgeting.settling import Settling
from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost.symptoms import Retries
from semcache.cost_port import Claim
from semcache.dialects.chat.wire import CHAT
from semcache.errors import RequestError, StoreError, UpstreamError
from semcache.policy.loader import load_directory
from semcache.ports import UpstreamCall
from semcache.proxy.admission import Admission
from semcache.proxy.chat import ChatEndpoint
from semcache.proxy.recent import RecentRequests
from semcache.proxy.replay import Replay
from semcache.records import SideKind, SideRecord
from tests.fakes.budgets import FakeBudgets
from tests.fakes.generator import FakeReply
from tests.fakes.prices import FakePrices
from tests.fakes.upstream_server import chat_body, chat_chunks, sse_bytes
from tests.test_pipeline import ACME, POLICY, FakeClock, Scene

KEYS = {"shop": "sk-shop", "lab": "sk-lab"}
HASHES = {name: "sha256:" + hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
CALL = 12 * 10 + 5 * 1000
"""What a call of the scripted upstream comes to, in micro-USD."""
ONE, TWO = "how do I get my money back please", "where is the town hall of the old town"


@dataclass
class Heard:
    """Takes records, and counts what budgets tell."""

    records: list[RequestRecord] = field(default_factory=list)
    sides: list[SideRecord] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)

    def emit(self, record: RequestRecord) -> None:
        self.records.append(record)

    def note(self, side: SideRecord) -> None:
        self.sides.append(side)

    def refused(self, tenant: str, budget: str, limit: str) -> None:
        self.words[f"{budget}:{limit}"] += 1

    def failed(self, kind: str) -> None:
        self.words[f"failed:{kind}"] += 1

    def settled(self, tenant: str, result: str) -> None:
        self.words[result] += 1


@dataclass
class Got:
    """A reply as the client has it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


class House:
    """A proxy's chat endpoint with budgets, and everything around it in reach."""

    def __init__(self, folder: Path, costs: str, labels: str = "") -> None:
        shop = f", labels: {labels}" if labels else ""
        keys = f"[{{name: shop, hash: '{HASHES['shop']}'{shop}}}, {{name: lab, hash: '{HASHES['lab']}'}}]"
        text = POLICY.replace("keys: []", f"keys: {keys}") + f"costs:\n{costs}"
        (folder / "acme.yaml").write_text(text)
        self.scene = Scene(load_directory(folder))
        self.clock: FakeClock = self.scene.clock
        self.budgets, self.heard, self.prices = FakeBudgets(), Heard(), FakePrices()
        self.holds = OpenHolds()
        names = itertools.count(1)
        self.gate = Gate(
            budgets=self.budgets,
            prices=self.prices,
            holds=self.holds,
            clock=self.clock,
            spawn=self.scene.spawn,
            new_hold=lambda: f"hold-{next(names)}",
            told=self.heard,
        )
        self.settling = Settling(
            sink=self.heard,
            sides=self.heard,
            policies=lambda: self.scene.snapshot,
            budgets=self.budgets,
            prices=self.prices,
            holds=self.holds,
            clock=self.clock,
            spawn=self.scene.spawn,
            new_hold=lambda: f"hold-{next(names)}",
            told=self.heard,
            pauses=(0.01, 0.01),
        )
        self.scene.pipeline = replace(self.scene.pipeline, budgets=self.gate)
        ids = itertools.count(1)
        self.chat = ChatEndpoint(
            pipeline=self.scene.pipeline,
            admission=Admission(lambda: self.scene.snapshot),
            replay=Replay(lambda: "id", self.clock.now, 1 << 20),
            recent=RecentRequests(1 << 20),
            records=self.settling,
            price=lambda model, usage, backend: None,
            retries=Retries(),
            clock=self.clock,
            new_request_id=lambda: f"request-{next(ids)}",
            new_completion_id=lambda: "id",
            body_limit=1 << 20,
            body_deadline=5.0,
        )

    async def ask(
        self,
        question: str,
        key: str = "shop",
        headers: dict[str, str] | None = None,
        cut: int = 0,
        **fields: Any,
    ) -> Got:
        """Ask; `cut` hangs up after so many parts of the reply."""
        body = json.dumps(
            {"model": "m", "messages": [{"role": "user", "content": question}], **fields}
        ).encode()
        pairs = {"authorization": f"Bearer {KEYS[key]}", **(headers or {})}
        scope = {
            "type": "http", "method": "POST", "path": "/v1/chat/completions",
            "headers": [(name.encode(), value.encode()) for name, value in pairs.items()], "client": ("10.0.0.9", 1),
        }  # fmt: skip
        incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        incoming.put_nowait({"type": "http.request", "body": body})
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)
            if cut and len(sent) == cut:
                incoming.put_nowait({"type": "http.disconnect"})
                await asyncio.sleep(0.05)

        await self.chat(CHAT, scope, incoming.get, send)  # type: ignore[arg-type] # plain dicts
        await self.settling.flush()
        head = sent[0]
        pairs = {name.decode(): value.decode() for name, value in head["headers"]}
        return Got(head["status"], pairs, b"".join(message.get("body", b"") for message in sent))

    async def spent(self, budget: str = "team") -> tuple[int, int, int]:
        rules = [rule for rule in self.scene.snapshot.costs(ACME).budgets if rule.name == budget]
        (found,) = await self.budgets.states(ACME, rules, self.clock.now())
        return found.spent, found.held, found.requests

    @property
    def reasons(self) -> list[str]:
        return [record.reason for record in self.heard.records]


@pytest.fixture
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """A house under the costs that `costs` says."""
    made = House(tmp_path, *request.param)
    yield made
    for task in made.scene.tasks:
        task.cancel()
    await asyncio.gather(*made.scene.tasks, return_exceptions=True)


def costs(*budgets: str, more: str = "", labels: str = "") -> pytest.MarkDecorator:
    lines = "".join(f"    - {{{budget}}}\n" for budget in budgets)
    text = f"  assumed_output: 10\n{more}  budgets:\n{lines}"
    return pytest.mark.parametrize("house", [(text, labels)], indirect=True, ids=[""])


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


@costs("name: team, window: hour, hard_usd: 1, models: other")
async def test_requests_under_no_budget_never_meet_the_store(house: House) -> None:
    house.budgets.away = True
    assert (await house.ask(ONE)).status == 200
    assert (await house.ask(ONE)).status == 200
    assert house.budgets.calls == []
    assert house.heard.words == {}


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
