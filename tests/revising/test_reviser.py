"""Who is asked to revise, under whose key, and what is spared when it is refused."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from semcache.core import Caller, Completion, Usage
from semcache.errors import UpstreamError
from semcache.journey import Step
from semcache.revising.memory import Refusals
from semcache.revising.reviser import Reviser, Wanted, ask_reviser, reviser_of
from semcache.revising.whole import LONGEST, Failed
from tests.fakes.generator import FakeReply
from tests.revising.scene import POLICY, Scene, refuses, says

SCHEMA = {"type": "json_schema", "json_schema": {"name": "edit", "schema": {}}}
WANTED = Wanted(({"role": "user", "content": "revise"},), SCHEMA, 120)
KEY = Caller(POLICY.tenant, authorization="Bearer callers")
HEADERS = (
    (b"content-type", b"application/json; charset=utf-8"),
    (b"idempotency-key", b"k"),
    (b"openai-project", b"p"),
)


def of(scene: Scene, step: Step) -> Reviser:
    found = reviser_of(step, {"up": scene.backend, "other": scene.revising._backends["other"]})
    assert found is not None
    return found


async def asked(scene: Scene, step: Step, refusals: Refusals, deadline: float = 5.0) -> Completion | Failed:
    return await ask_reviser(step, of(scene, step), WANTED, refusals, scene.clock, deadline)


async def test_the_callers_own_backend_gets_the_callers_key() -> None:
    scene = Scene()
    step = scene.step(caller=KEY, headers=HEADERS, stream=True, temperature=1.0, stop=["\n"])
    found = await asked(scene, step, Refusals())
    assert isinstance(found, Completion)
    assert found.usage == Usage(400, 25)
    (call,) = scene.upstream.calls
    assert scene.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "revise"}],
            "max_tokens": 120,
            "temperature": 0,
            "response_format": SCHEMA,
        }
    ]
    assert sorted(call.headers) == [
        (b"accept-encoding", b"identity"),
        (b"authorization", b"Bearer callers"),
        (b"content-type", b"application/json"),
        (b"openai-project", b"p"),
    ]


async def test_another_upstream_never_gets_it() -> None:
    scene = Scene()
    step = scene.step(caller=KEY, headers=HEADERS, policy=scene.with_drafts(reviser="other/small"))
    await asked(scene, step, Refusals())
    (call,) = scene.other.calls
    assert sorted(call.headers) == [
        (b"accept-encoding", b"identity"),
        (b"authorization", b"Bearer of-the-other"),
        (b"content-type", b"application/json"),
    ]
    assert json.loads(scene.other.bodies[0])["model"] == "small"
    assert not scene.upstream.calls


async def test_the_engine_is_told_whose_prompt_it_is() -> None:
    scene = Scene()
    await asked(scene, scene.step(backend=scene.engine()), Refusals())
    assert scene.bodies[0]["prefix_cache"] == {"tenant": "t"}


@pytest.mark.parametrize(
    ("reviser", "named"),
    [
        ("", ("up", "m", True)),
        ("up", ("up", "m", True)),
        ("up/x", ("up", "x", True)),
        ("other", ("other", "m", False)),
    ],
)
def test_the_policy_names_who_revises(reviser: str, named: tuple[str, str, bool]) -> None:
    scene = Scene()
    found = of(scene, scene.step(policy=scene.with_drafts(reviser=reviser)))
    assert (found.name, found.model, found.is_own) == named


def test_an_upstream_that_is_not_there_revises_nothing() -> None:
    scene = Scene()
    assert reviser_of(scene.step(policy=scene.with_drafts(reviser="gone/m")), {"up": scene.backend}) is None


@pytest.mark.parametrize(
    ("param", "left"),
    [
        ("response_format", {"max_tokens", "temperature"}),
        ("response_format.json_schema", {"max_tokens", "temperature"}),
        (None, {"max_tokens", "temperature"}),
        ("temperature", {"max_tokens", "response_format"}),
        ("max_tokens", {"max_completion_tokens", "temperature", "response_format"}),
    ],
)
async def test_what_is_refused_is_spared_once_and_remembered(param: str | None, left: set[str]) -> None:
    word = (param or "response_format").partition(".")[0]
    scene = Scene(lambda body, _: refuses(400, param) if word in body else says("yes"))
    refusals = Refusals()
    assert isinstance(await asked(scene, scene.step(), refusals), Completion)
    assert isinstance(await asked(scene, scene.step(), refusals), Completion)
    sent = [body.keys() - {"model", "messages"} for body in scene.bodies]
    assert sent[1:] == [left, left]
    assert word in sent[0]
    assert all(reply.closed for reply in scene.upstream.replies)
    await asked(scene, scene.step(model="another"), refusals)
    assert word in scene.bodies[3]
    scene.clock.at += refusals.rest
    await asked(scene, scene.step(), refusals)
    assert word in scene.bodies[5]


async def test_what_refuses_everything_is_not_asked_again() -> None:
    scene, refusals = Scene(lambda *_: refuses()), Refusals()
    for _ in range(4):
        assert await asked(scene, scene.step(), refusals) == Failed("refused")
    assert len(scene.bodies) == 2
    scene.clock.at += 60
    await asked(scene, scene.step(), refusals)
    assert len(scene.bodies) == 3


async def test_a_refusal_of_the_text_itself_is_about_this_request_alone() -> None:
    scene, refusals = Scene(lambda *_: refuses(400, "messages")), Refusals()
    for _ in range(2):
        assert await asked(scene, scene.step(), refusals) == Failed("refused", "messages")
    assert [body.keys() for body in scene.bodies] == [scene.bodies[0].keys()] * 2
    assert "response_format" in scene.bodies[1]


async def test_two_refusals_are_learnt_one_request_after_the_other() -> None:
    def picky(body: dict[str, Any], _: object) -> FakeReply:
        for word in ("temperature", "max_tokens"):
            if word in body:
                return refuses(400, word)
        return says("yes")

    scene, refusals = Scene(picky), Refusals()
    assert isinstance(await asked(scene, scene.step(), refusals), Failed)
    assert isinstance(await asked(scene, scene.step(), refusals), Completion)
    assert len(scene.bodies) == 3


async def test_a_model_that_is_asked_by_the_newer_name_is_asked_so_here() -> None:
    scene = Scene()
    await asked(scene, scene.step(max_completion_tokens=900), Refusals())
    assert scene.bodies[0]["max_completion_tokens"] == 120
    assert "max_tokens" not in scene.bodies[0]


@pytest.mark.parametrize(
    ("reply", "failed"),
    [
        (FakeReply(500, parts=[b"oops"]), Failed("upstream")),
        (FakeReply(302), Failed("upstream")),
        (UpstreamError("unreachable"), Failed("upstream")),
        (FakeReply(parts=[b"{", UpstreamError("cut")]), Failed("upstream")),
        (FakeReply(parts=[b"<html>"]), Failed("incomplete")),
        (FakeReply(parts=[b"x" * (LONGEST + 1)]), Failed("incomplete")),
        (FakeReply(parts=[b"x" * LONGEST, b"x" * LONGEST, 60.0]), Failed("incomplete")),
        (FakeReply(parts=[b"{", 60.0]), Failed("late")),
        (FakeReply(headers=((b"content-encoding", b"gzip"),), parts=[b"no gzip"]), Failed("upstream")),
        (
            FakeReply(headers=((b"content-encoding", b"gzip"),), parts=[gzip.compress(b"\0" * (8 << 20))]),
            Failed("upstream"),
        ),
    ],
    ids=["500", "redirect", "unreachable", "cut", "html", "long", "endless", "stalls", "coding", "bomb"],
)
async def test_every_fault_is_a_word(reply: FakeReply | UpstreamError, failed: Failed) -> None:
    scene = Scene(lambda *_: reply)
    assert await asked(scene, scene.step(), Refusals(), 0.2) == failed
    assert all(reply.closed for reply in scene.upstream.replies)


async def test_a_cut_answer_is_paid_for_all_the_same() -> None:
    body = json.loads(says("abc").parts[0])  # type: ignore[arg-type]  # bytes
    body["choices"][0]["finish_reason"] = "length"
    scene = Scene(lambda *_: FakeReply(parts=[json.dumps(body).encode()]))
    found = await asked(scene, scene.step(), Refusals())
    assert found == Failed("incomplete", usage=Usage(400, 25))
