"""Callers judge the answers they got: over our own ASGI app, with the policies' authentication."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from semcache.core import Entry, EntryId, ExactKey, TenantId
from semcache.decide.risk.grid import bucket_of
from semcache.errors import StoreError
from semcache.evidence_port import Cell, ServedHit, Source
from semcache.pipeline import Pipeline
from semcache.policy.loader import load_directory
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Change, EntryPut
from semcache.proxy.admission import Admission
from semcache.proxy.feedback import Feedback, FeedbackRules, read_verdict
from semcache.proxy.own import OwnParts, Readiness, own_app
from semcache.review_port import Act, Pair, Verdicts, Waiting
from semcache.review_rules import PUBLIC, WHOLE
from tests.fakes.evidence import FakeAuditBudget, FakeEvidence, FakeServedHits
from tests.fakes.review_queue import FakeReviewQueue
from tests.store.servers import entry

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


KEY, ASKED = ExactKey("ab" * 32), "cd" * 12


@dataclass
class Bars:
    """What of `Verdicts` a complaint needs."""

    away: bool = False
    pairs: set[tuple[TenantId, Pair]] = field(default_factory=set)
    acts: list[tuple[TenantId, Act]] = field(default_factory=list)
    entries: set[tuple[TenantId, EntryId]] = field(default_factory=lambda: {(ACME, EntryId("e1"))})

    async def bar(self, tenant: TenantId, id: EntryId, pair: Pair, act: Act) -> bool:
        if self.away:
            raise StoreError("away", kind="down")
        assert act.entry == id
        fresh = (tenant, pair) not in self.pairs
        if fresh:
            self.pairs.add((tenant, pair))
            self.acts.append((tenant, act))
        return fresh

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        if (tenant, id) not in self.entries:
            return None
        barred = frozenset(pair.asked for owner, pair in self.pairs if owner == tenant and pair.key == KEY)
        return entry(id, key=KEY, barred=barred)


@dataclass
class Scene:
    snapshot: PolicySnapshot
    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    hits: FakeServedHits = field(default_factory=FakeServedHits)
    budget: FakeAuditBudget = field(default_factory=FakeAuditBudget)
    bars: Bars = field(default_factory=Bars)
    queue: FakeReviewQueue = field(default_factory=FakeReviewQueue)
    told: Counter[tuple[str, str]] = field(default_factory=Counter)
    late: list[ServedHit] = field(default_factory=list)
    heard: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        ids = itertools.count(1)
        self.feedback = Feedback(
            evidence=self.evidence,
            hits=self.hits,
            budget=self.budget,
            clock=Now(),
            flush=self._flush,
            labelled=lambda source, verdict: self.told.update([(source, verdict)]),
            verdicts=cast("Verdicts", self.bars),
            queue=self.queue,
            rules=FeedbackRules(most=5, window=60.0, bars=2),
            heard=self.heard.append,
        )
        parts = OwnParts(
            readiness=lambda: Readiness(True, (), {}),
            metrics=_no_metrics,
            metrics_type="text/plain",
            pipeline=cast("Pipeline", None),  # only explain asks it
            admission=Admission(lambda: self.snapshot),
            new_request_id=lambda: f"req_{next(ids)}",
            feedback=self.feedback,
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
            "key": KEY,
            "asked": ASKED,
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
        "barred": True,
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


def pairs(scene: Scene) -> set[tuple[TenantId, Pair]]:
    return scene.bars.pairs


async def test_a_complaint_bars_the_pair_and_puts_the_entry_before_a_reviewer(scene: Scene) -> None:
    await scene.served("req_a")
    await scene.queue.sight(ACME, [])
    said = await scene.say({"request": "req_a", "verdict": "wrong", "note": "a secret"})
    assert said.json()["barred"] is True
    assert "reason" not in said.json()
    assert pairs(scene) == {(ACME, Pair(KEY, ASKED))}
    assert scene.heard == [EntryPut(ACME, EntryId("e1"))], "this process does not wait for the change stream"
    [(tenant, act)] = scene.bars.acts
    assert (tenant, act.who, act.what, act.at) == (ACME, "caller:app", "bar", Now.at)
    assert (act.before, act.after, act.note) == ({}, {"asked": ASKED, "request": "req_a"}, "")
    waiting = await scene.queue.waits(ACME, EntryId("e1"))
    assert waiting == Waiting(EntryId("e1"), 10.0, "chat", {"complaint": 1}, 1, Now.at)
    [question] = await scene.queue.questions(ACME, EntryId("e1"))
    assert (question.asked, question.outcome, question.similarity, question.score) == (
        ASKED,
        "semantic",
        0.96,
        0.93,
    )


async def test_an_equal_question_bars_the_answer_altogether(scene: Scene) -> None:
    await scene.served("req_a", exact=True, asked=WHOLE, bin=None, score=None)
    assert (await scene.say({"request": "req_a", "verdict": "wrong"})).json()["barred"] is True
    assert pairs(scene) == {(ACME, Pair(KEY, WHOLE))}
    [question] = await scene.queue.questions(ACME, EntryId("e1"))
    assert (question.asked, question.outcome) == (WHOLE, "exact")


async def test_praise_bars_nothing(scene: Scene) -> None:
    await scene.served("req_a")
    said = (await scene.say({"request": "req_a", "verdict": "right"})).json()
    assert (said["counted"], said["barred"], "reason" in said) == (True, False, False)
    assert pairs(scene) == set()
    assert await scene.queue.size(ACME) == 0


async def test_a_reviewer_s_word_stands_over_a_complaint_that_comes_again(scene: Scene) -> None:
    await scene.served("req_a")
    await scene.say({"request": "req_a", "verdict": "wrong"})
    again = await scene.say({"request": "req_a", "verdict": "wrong"})
    assert (again.json()["counted"], again.json()["barred"]) == (False, True)
    await scene.queue.dismiss(ACME, [EntryId("e1")])
    pairs(scene).clear()  # a reviewer lifts it
    again = await scene.say({"request": "req_a", "verdict": "wrong"})
    assert (again.json()["barred"], again.json()["reason"]) == (False, "reviewed")
    assert await scene.queue.size(ACME) == 0
    other = await scene.say({"request": "req_a", "verdict": "wrong"}, bearer="sck-web")
    assert (other.json()["counted"], other.json()["barred"]) == (True, False)
    assert pairs(scene) == set()
    assert await scene.queue.size(ACME) == 1  # but another voice is heard
    await scene.served("req_b")
    assert (await scene.say({"request": "req_b", "verdict": "wrong"}, bearer="sck-web")).json()["barred"]
    assert pairs(scene) == {(ACME, Pair(KEY, ASKED))}


async def test_what_is_gone_is_given_to_nobody(scene: Scene) -> None:
    await scene.served("req_a")
    await scene.say({"request": "req_a", "verdict": "wrong"})
    scene.bars.entries.clear()
    assert (await scene.say({"request": "req_a", "verdict": "wrong"})).json()["barred"] is True


async def test_a_caller_bars_only_so_many_pairs_a_day(scene: Scene) -> None:
    for n in range(3):
        await scene.served(f"req_{n}", asked=f"{n}" * 24)
    said = [(await scene.say({"request": f"req_{n}", "verdict": "wrong"})).json() for n in range(3)]
    assert [reply["barred"] for reply in said] == [True, True, False]
    assert (said[2]["counted"], said[2]["reason"]) == (True, "limit")
    assert len(pairs(scene)) == 2
    waiting = await scene.queue.waits(ACME, EntryId("e1"))
    assert waiting is not None
    assert waiting.reasons == {"complaint": 3}
    other = await scene.say({"request": "req_2", "verdict": "wrong"}, bearer="sck-web")
    assert other.json()["barred"] is True


async def test_answers_of_all_tenants_are_barred_where_they_stand_and_within_the_tenant_s_bound(
    scene: Scene,
) -> None:
    everybody = TenantId(PUBLIC)
    for n in range(3):
        await scene.served(f"req_{n}", asked=f"{n}" * 24, public=True)
    said = [
        (await scene.say({"request": f"req_{n}", "verdict": "wrong"}, bearer=bearer)).json()["barred"]
        for n, bearer in enumerate(("sck-app", "sck-web", "sck-web"))
    ]
    assert said == [True, True, False]
    assert pairs(scene) == {(everybody, Pair(KEY, "0" * 24)), (everybody, Pair(KEY, "1" * 24))}
    assert [act.after["tenant"] for _, act in scene.bars.acts] == [ACME, ACME]
    assert scene.heard == [EntryPut(everybody, EntryId("e1"))] * 2
    assert (await scene.queue.size(everybody), await scene.queue.size(ACME)) == (1, 0)


async def test_a_hit_of_which_no_pair_is_known_is_only_counted(scene: Scene) -> None:
    await scene.served("req_a", key=ExactKey(""), asked="")
    said = (await scene.say({"request": "req_a", "verdict": "wrong"})).json()
    assert (said["counted"], said["barred"], said["reason"]) == (True, False, "unknown_question")
    assert await scene.queue.size(ACME) == 0


@pytest.mark.parametrize("broken", ["bars", "queue", "hits", "evidence"])
async def test_what_fails_half_way_is_done_when_it_is_said_again(scene: Scene, broken: str) -> None:
    await scene.served("req_a")
    part: Any = getattr(scene, broken)
    settle = scene.hits.settle

    async def away(tenant: TenantId, request: str) -> None:
        raise StoreError("away", kind="down")

    if broken == "hits":
        scene.hits.settle = away  # type: ignore[method-assign] # only this call fails
    else:
        part.away = True
    failed = await scene.say({"request": "req_a", "verdict": "wrong"})
    assert (failed.status_code, failed.headers["retry-after"]) == (503, "5")
    assert "barred" not in failed.text
    if broken == "hits":
        scene.hits.settle = settle  # type: ignore[method-assign] # and back
    else:
        part.away = False
    assert await scene.evidence.flags(ACME) == {}
    said = (await scene.say({"request": "req_a", "verdict": "wrong"})).json()
    assert (said["counted"], said["barred"]) == (True, True)
    assert pairs(scene) == {(ACME, Pair(KEY, ASKED))}
    assert await scene.queue.size(ACME) == 1


async def test_without_reviewers_a_complaint_is_counted(scene: Scene) -> None:
    await scene.served("req_a")
    alone = replace(scene.feedback, verdicts=None)
    caller = scene.snapshot.authenticate("Bearer sck-app", None, False)
    said = await alone.take(caller, read_verdict(b'{"request": "req_a", "verdict": "wrong"}'))
    assert (said["counted"], said["barred"]) == (True, False)


async def _no_metrics() -> bytes:
    return b""
