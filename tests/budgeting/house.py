"""A proxy's chat endpoint with budgets, and everything around it in reach."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from semcache.budgeting.gate import Gate
from semcache.budgeting.open_holds import OpenHolds
from semcache.budgeting.settling import Settling
from semcache.core import RequestRecord
from semcache.cost.symptoms import Retries
from semcache.dialects.chat.wire import CHAT
from semcache.policy.loader import load_directory
from semcache.proxy.admission import Admission
from semcache.proxy.chat import ChatEndpoint
from semcache.proxy.recent import RecentRequests
from semcache.proxy.replay import Replay
from semcache.records import SideRecord
from tests.fakes.budgets import FakeBudgets
from tests.fakes.prices import FakePrices
from tests.test_pipeline import ACME, POLICY, FakeClock, Scene

KEYS = {"shop": "sk-shop", "lab": "sk-lab"}
HASHES = {name: "sha256:" + hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
CALL = 12 * 10 + 5 * 1000
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


def costs(*budgets: str, more: str = "", labels: str = "") -> pytest.MarkDecorator:
    lines = "".join(f"    - {{{budget}}}\n" for budget in budgets)
    text = f"  assumed_output: 10\n{more}  budgets:\n{lines}"
    return pytest.mark.parametrize("house", [(text, labels)], indirect=True, ids=[""])
