"""Budgets before forwarded calls: read where one may hold, forwarded byte for byte, settled by their record."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from semcache.budgeting.gate import Gate
from semcache.budgeting.open_holds import OpenHolds
from semcache.budgeting.settling import Settling
from semcache.core import TenantId
from semcache.dialects.table import BY_FAMILY
from semcache.errors import UpstreamError
from semcache.journey import Backend
from semcache.policy.loader import load_directory
from semcache.proxy.admission import Admission
from semcache.proxy.edge import Edge, LoadGate
from semcache.proxy.model_lists import ModelLists
from semcache.proxy.plain_budget import PlainBudget
from tests.budgeting.house import Heard
from tests.fakes.budgets import FakeBudgets
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.prices import FakePrices
from tests.policy.samples import MINIMAL
from tests.test_pipeline import FakeClock

ACME = TenantId("acme")
DONE = json.dumps({"model": "m-1", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}).encode()
CALL = 9 * 10 + 2 * 1000
LIMIT = 10_000


class Wire:
    """An edge with budgets before one upstream."""

    def __init__(
        self,
        folder: Path,
        budgets: str,
        reply: FakeReply | UpstreamError | None = None,
        held: int = 1 << 20,
    ) -> None:
        text = (
            f"{MINIMAL}access: {{anonymous: loopback}}\ncosts: {{assumed_output: 10, budgets: [{budgets}]}}\n"
        )
        (folder / "acme.yaml").write_text(text)
        self.snapshot = load_directory(folder)
        self.upstream = FakeGenerator(lambda call: reply or FakeReply(parts=[DONE]), name="up")
        self.heard, self.counts, holds = Heard(), FakeBudgets(), OpenHolds()
        self.clock, self.received = FakeClock(), 0
        names = itertools.count(1)
        prices = FakePrices({"m": (10, 1000), "m-1": (10, 1000)})
        self.gate = Gate(
            self.counts, prices, holds, self.clock, self.spawn, lambda: f"h{next(names)}", self.heard
        )
        self.settling = Settling(
            self.heard, None, lambda: self.snapshot, self.counts, prices, holds, self.clock, self.spawn,
            lambda: f"s{next(names)}", self.heard,
        )  # fmt: skip
        self.load = LoadGate(10, held)
        self.edge = Edge(
            chat=nobody,
            own=nobody,
            admission=Admission(lambda: self.snapshot),
            backend_of=lambda tenant, name: Backend(self.upstream, "up"),
            records=self.settling,
            clock=self.clock,
            new_request_id=lambda: "r1",
            gate=self.load,
            models=ModelLists({}, 0, BY_FAMILY),
            budget=PlainBudget(self.gate, lambda: self.snapshot, LIMIT, 5.0),
        )

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        return asyncio.get_running_loop().create_task(work)

    async def send(
        self, path: str, *parts: bytes, method: str = "POST", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Send one request in parts; gives status and body of the reply."""
        pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [*pairs, *([(b"transfer-encoding", b"chunked")] if parts else [])], "client": ("127.0.0.1", 1),
        }  # fmt: skip
        waiting = [
            {"type": "http.request", "body": part, "more_body": n < len(parts) - 1}
            for n, part in enumerate(parts)
        ] or [{"type": "http.request", "body": b""}]
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if waiting:
                self.received += 1
                return waiting.pop(0)
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        await self.edge(scope, receive, send)
        await self.settling.flush()
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

    async def spent(self) -> tuple[int, int, int]:
        (found,) = await self.counts.states(ACME, self.snapshot.costs(ACME).budgets, self.clock.now())
        return found.spent, found.held, found.requests


async def nobody(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("not for us")


BODY = b'{"model": "m",  "prompt": "x", "max_tokens": 50}'


async def test_a_forwarded_call_is_set_aside_and_settled_byte_for_byte(tmp_path: Path) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 1, requests: 5}")
    assert await wire.send("/vendor/v1/completions", BODY[:9], BODY[9:]) == (200, DONE)
    assert wire.upstream.bodies == [BODY]
    assert await wire.spent() == (CALL, 0, 1)
    assert wire.heard.records[0].hold == "h1"


async def test_what_is_read_before_it_is_forwarded_counts_among_all_that_is_held(tmp_path: Path) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 1}", held=len(BODY) - 1)
    status, body = await wire.send("/vendor/v1/completions", BODY)
    assert (status, json.loads(body)["error"]["code"]) == (503, "overloaded")
    assert wire.upstream.calls == []
    assert wire.load.held.used == 0
    # What is not read here passes, however long it is.
    wire, kind = Wire(tmp_path, "", held=len(BODY) - 1), {"content-type": "application/octet-stream"}
    assert (await wire.send("/vendor/v1/audio/transcriptions", *[b"x" * 100] * 5, headers=kind))[0] == 200
    assert wire.load.held.used == 0


async def test_over_the_limit_it_is_refused(tmp_path: Path) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 0.052}")
    assert (await wire.send("/vendor/v1/completions", BODY))[0] == 200
    status, body = await wire.send("/vendor/v1/completions", BODY)
    assert (status, json.loads(body)["error"]["code"]) == (429, "insufficient_quota")
    assert len(wire.upstream.calls) == 1
    assert wire.heard.records[-1].reason == "insufficient_quota"
    assert await wire.spent() == (CALL, 0, 0)


async def test_embeddings_are_held_by_their_input_alone(tmp_path: Path) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 0.003}")
    assert (await wire.send("/vendor/v1/embeddings", b'{"model": "m", "input": "x"}'))[0] == 200
    assert (await wire.send("/vendor/v1/responses", b'{"model": "m", "input": "x"}'))[0] == 429


@pytest.mark.parametrize(
    ("budget", "method", "path"),
    [
        ("{name: a, hard_usd: 0}", "GET", "/v1/models"),
        ("{name: a, hard_usd: 0}", "DELETE", "/v1/files/x"),
        ("{name: a, hard_usd: 0}", "POST", "/v1/files"),
        ("{name: a, hard_usd: 0}", "POST", "/v1/messages/count_tokens"),
        ("{name: a, hard_usd: 0, labels: {project: p}}", "POST", "/vendor/v1/completions"),
    ],
)
async def test_what_no_budget_is_about_streams_untouched(
    tmp_path: Path, budget: str, method: str, path: str
) -> None:
    wire = Wire(tmp_path, budget)
    seen: list[int] = []

    async def opened(call: Any, inner: Any = wire.upstream.open) -> Any:
        seen.append(wire.received)
        return await inner(call)

    wire.upstream.open = opened  # type: ignore[method-assign] # to see when the body was read
    parts = [b"x" * LIMIT] * 3 if method == "POST" else []
    assert (await wire.send(path, *parts, method=method))[0] == 200
    assert seen == [0]
    assert wire.counts.calls == []


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/v1/audio/transcriptions", b"--x", {"content-type": "multipart/form-data; boundary=x"}),
        ("/vendor/v1/completions", b"\x1f\x8b", {"content-encoding": "gzip"}),
        ("/vendor/v1/completions", b"[1, 2", {}),
        ("/vendor/v1/completions", b'{"model": 7}', {}),
        ("/vendor/v1beta/models/gemini:generateContent", b'{"contents": []}', {}),
        ("/v1/batches", b'{"input_file_id": "f"}', {}),
    ],
)
async def test_what_cannot_be_priced_is_refused_under_a_hard_limit(
    tmp_path: Path, path: str, body: bytes, headers: dict[str, str]
) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 1}")
    assert (await wire.send(path, body, headers=headers))[0] == 403
    assert wire.upstream.calls == []
    allowed = Wire(tmp_path, "{name: a, hard_usd: 1, unknown_price: allow}")
    assert (await allowed.send(path, body, headers=headers))[0] == 200
    assert allowed.upstream.bodies == [body]


async def test_a_body_that_has_to_be_read_is_bounded(tmp_path: Path) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 1}")
    assert (await wire.send("/vendor/v1/completions", b"x" * LIMIT, b"x"))[0] == 413
    assert wire.upstream.calls == []


async def test_a_failed_call_gives_back(tmp_path: Path) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 1, requests: 5}", UpstreamError("down"))
    assert (await wire.send("/vendor/v1/completions", BODY))[0] == 502
    assert await wire.spent() == (0, 0, 1)


async def test_bad_labels_are_told(tmp_path: Path) -> None:
    wire = Wire(tmp_path, "{name: a, hard_usd: 1}")
    assert (await wire.send("/vendor/v1/completions", BODY, headers={"semcache-labels": "=,"}))[0] == 400
