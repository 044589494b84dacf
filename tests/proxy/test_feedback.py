"""Callers judge the answers they got: over our own ASGI app, with the policies' authentication."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from semcache.core import EntryId, TenantId
from semcache.decide.risk.grid import bucket_of
from semcache.evidence_port import Cell, ServedHit, Source
from semcache.pipeline import Pipeline
from semcache.policy.loader import load_directory
from semcache.policy.snapshot import PolicySnapshot
from semcache.proxy.admission import Admission
from semcache.proxy.feedback import Feedback, FeedbackRules
from semcache.proxy.own import OwnParts, Readiness, own_app
from tests.fakes.evidence import FakeAuditBudget, FakeEvidence, FakeServedHits

ACME, OTHER = TenantId("acme"), TenantId("other")
POLICY = """
schema_version: 1
tenant: {tenant}
access: {{keys: [{keys}], anonymous: never, unknown_keys: {unknown}}}
default_domain: chat
domains: {{chat: {{mode: exact}}}}
classifier: {{enabled: false}}
"""


def key(name: str) -> str:
    digest = hashlib.sha256(f"sck-{name}".encode()).hexdigest()
    return f'{{name: {name}, hash: "sha256:{digest}"}}'


class Now:
    at = time.time()

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Scene:
    snapshot: PolicySnapshot
    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    hits: FakeServedHits = field(default_factory=FakeServedHits)
    budget: FakeAuditBudget = field(default_factory=FakeAuditBudget)
    told: Counter[tuple[str, str]] = field(default_factory=Counter)
    late: list[ServedHit] = field(default_factory=list)

    def __post_init__(self) -> None:
        ids = itertools.count(1)
        feedback = Feedback(
            evidence=self.evidence,
            hits=self.hits,
            budget=self.budget,
            clock=Now(),
            flush=self._flush,
            labelled=lambda source, verdict: self.told.update([(source, verdict)]),
            rules=FeedbackRules(most=5, window=60.0),
        )
        parts = OwnParts(
            readiness=lambda: Readiness(True, (), {}),
            metrics=lambda: b"",
            metrics_type="text/plain",
            pipeline=cast("Pipeline", None),  # only explain asks it
            admission=Admission(lambda: self.snapshot),
            new_request_id=lambda: f"req_{next(ids)}",
            feedback=feedback,
        )
        transport = httpx.ASGITransport(app=own_app(parts), client=("10.0.0.9", 1234))
        self.client = httpx.AsyncClient(transport=transport, base_url="http://proxy")

    async def _flush(self) -> None:
        await self.hits.note(ACME, self.late)

    async def served(self, request: str, tenant: TenantId = ACME, **changes: Any) -> None:
        fields: dict[str, Any] = {
            "request": request,
            "entry": EntryId("e1"),
            "domain": "chat",
            "principal": "",
            "exact": False,
            "bin": 12,
            "at": Now.at,
            "score": 0.93,
            "similarity": 0.96,
        }
        await self.hits.note(tenant, [ServedHit(**{**fields, **changes})])

    async def say(self, body: Any, *, bearer: str | None = "sck-app", **options: Any) -> httpx.Response:
        headers = {} if bearer is None else {"authorization": f"Bearer {bearer}"}
        headers |= options.pop("headers", {})
        sent = {"content": body} if isinstance(body, bytes) else {"json": body}
        return await self.client.post("/semcache/feedback", headers=headers, **sent, **options)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    text = POLICY.format(tenant="acme", keys=f"{key('app')}, {key('web')}", unknown="reject")
    (tmp_path / "acme.yaml").write_text(text)
    text = POLICY.format(tenant="other", keys=key("theirs"), unknown="passthrough")
    (tmp_path / "other.yaml").write_text(text)
    made = Scene(load_directory(tmp_path))
    yield made
    await made.client.aclose()


async def test_a_complaint_counts_once_a_caller_and_request(scene: Scene) -> None:
    await scene.served("req_a")
    first = await scene.say({"request": "req_a", "verdict": "wrong", "note": "the year is 2021"})
    assert first.status_code == 200
    assert first.json() == {
        "object": "semcache.feedback",
        "counted": True,
        "verdict": "wrong",
        "entry": "e1",
        "request": "req_a",
    }
    for verdict in ("wrong", "right"):
        again = await scene.say({"request": "req_a", "verdict": verdict})
        assert (again.status_code, again.json()["counted"]) == (200, False)
    other_key = await scene.say({"request": "req_a", "verdict": "right"}, bearer="sck-web")
    assert other_key.json()["counted"]
    bucket = bucket_of(Now.at)
    assert await scene.evidence.counts(ACME, "chat") == (Cell(Source.FEEDBACK, bucket, 12, 2.0, 1.0),)
    assert await scene.evidence.flags(ACME) == {"e1": 1}
    assert scene.told == {("feedback", "wrong"): 1, ("feedback", "right"): 1}
    assert (await scene.evidence.recent(ACME, 5))[1].note == "the year is 2021"


async def test_by_entry_the_newest_hit_is_meant(scene: Scene) -> None:
    await scene.served("req_a")
    await scene.served("req_b", at=Now.at + 1)
    said = await scene.say({"entry": "e1", "verdict": "right"})
    assert said.json()["request"] == "req_b"
    again = await scene.say({"request": "req_b", "verdict": "right"})
    assert not again.json()["counted"]


async def test_a_hit_of_a_moment_ago_is_found(scene: Scene) -> None:
    scene.late = [ServedHit("req_a", EntryId("e"), "chat", "", exact=True, bin=None, at=Now.at)]
    said = await scene.say({"request": "req_a", "verdict": "wrong"})
    assert said.json()["counted"]
    assert await scene.evidence.counts(ACME, "chat") == ()  # an exact hit has no score
    assert await scene.evidence.flags(ACME) == {"e": 1}


@pytest.mark.parametrize(
    "body", [{"request": "req_never"}, {"entry": "e1"}, {"request": "req_other"}, {"request": "req_own"}]
)
async def test_only_what_was_served_to_the_caller_s_tenant(scene: Scene, body: dict[str, str]) -> None:
    await scene.served("req_other", OTHER)
    await scene.served("req_own", ACME, principal="somebody's own key", entry=EntryId("e2"))
    said = await scene.say({**body, "verdict": "wrong"})
    assert said.status_code == 404
    assert said.json()["error"]["code"] == "unknown_hit"
    assert await scene.evidence.recent(ACME, 9) == []
    assert await scene.evidence.recent(OTHER, 9) == []


async def test_keys_that_are_passed_through_judge_their_own_answers(scene: Scene) -> None:
    caller = scene.snapshot.authenticate("Bearer sk-mine", None, False)
    await scene.served("req_a", OTHER, principal=caller.principal)
    refused = await scene.say({"request": "req_a", "verdict": "wrong"}, bearer="sk-yours")
    assert refused.status_code == 404
    said = await scene.say({"entry": "e1", "verdict": "wrong"}, bearer="sk-mine")
    assert said.json()["counted"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{", None),
        (b"[]", None),
        (b"", None),
        ({"verdict": "wrong"}, "request"),
        ({"request": "a", "entry": "b", "verdict": "wrong"}, "request"),
        ({"request": "a"}, "verdict"),
        ({"request": "a", "verdict": "bad"}, "verdict"),
        ({"request": "a", "verdict": True}, "verdict"),
        ({"request": 5, "verdict": "wrong"}, "request"),
        ({"request": "x" * 129, "verdict": "wrong"}, "request"),
        ({"request": "a\n", "verdict": "wrong"}, "request"),
        ({"request": "a", "verdict": "wrong", "note": "x" * 201}, "note"),
        ({"request": "a", "verdict": "wrong", "weight": 100}, "weight"),
    ],
)
async def test_bad_bodies_are_refused_in_the_protocol_s_shape(
    scene: Scene, body: Any, param: str | None
) -> None:
    said = await scene.say(body)
    assert said.status_code == 400
    error = said.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)


async def test_who_may_speak(scene: Scene) -> None:
    await scene.served("req_a")
    assert (await scene.say({"request": "req_a", "verdict": "wrong"}, bearer=None)).status_code == 401
    large = await scene.say(b"x" * 9000)
    assert large.status_code == 413
    packed = await scene.say(b"x", headers={"content-encoding": "gzip"})
    assert packed.status_code == 415
    assert (await scene.client.get("/semcache/feedback")).status_code == 405


async def test_too_much_is_refused(scene: Scene) -> None:
    for n in range(5):
        await scene.served(f"req_{n}")
        assert (await scene.say({"request": f"req_{n}", "verdict": "wrong"})).status_code == 200
    said = await scene.say({"request": "req_0", "verdict": "wrong"})
    assert (said.status_code, said.headers["retry-after"]) == (429, "60")
    assert (await scene.say({"request": "req_0", "verdict": "wrong"}, bearer="sck-web")).status_code == 200


async def test_without_the_evidence_it_says_so(scene: Scene) -> None:
    scene.budget.away = True
    said = await scene.say({"request": "req_a", "verdict": "wrong"})
    assert (said.status_code, said.headers["retry-after"]) == (503, "5")
    assert said.json()["error"]["code"] == "evidence_unavailable"
