"""The request itself with the stored text as its prediction: when, what is sent, what is written down."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from semcache.core import Caller, Directives, Mode, Usage
from semcache.errors import UpstreamError
from semcache.review_rules import DraftWay
from semcache.revising.replies import drafted
from tests.fakes.generator import FakeReply
from tests.revising.scene import (
    POLICY,
    STORED,
    Scene,
    answer,
    draft_of,
    refuses,
    says,
    text_of_body,
)

PREDICTION = {"type": "content", "content": STORED}


async def test_the_engine_verifies_the_stored_text() -> None:
    scene = Scene(
        lambda *_: says("own", accepted_prediction_tokens=90, rejected_prediction_tokens=4, output=100)
    )
    step = scene.step(backend=scene.engine(), temperature=0)
    assert text_of_body((await scene.run(step))[1]) == "own"
    assert scene.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": step.asked.request.prompt}],
            "temperature": 0,
            "prediction": PREDICTION,
            "prefix_cache": {"tenant": "t"},
        }
    ]
    record = step.trace.draft
    assert record is not None
    assert (record.way, record.result, record.entry) == ("lossless", "verified", "e1")
    assert (record.accepted, record.rejected, record.output, record.original) == (90, 4, 100, 300)
    assert record.saved is None  # the engine has no price
    assert record.seconds == 4.0
    assert step.trace.is_drafted
    assert scene.told.records == [record]
    assert scene.words == {"draft-lossless-tried": 1}
    assert scene.kept[0].usage == Usage(400, 100)


async def test_a_stream_passes_untouched() -> None:
    scene = Scene(lambda *_: says("own", stream=True, accepted_prediction_tokens=7))
    step = scene.step(backend=scene.engine(), stream=True)
    _, body = await scene.run(step)
    assert body == scene.upstream.replies[0].parts[0]
    assert step.trace.draft is not None
    assert step.trace.draft.accepted == 7
    assert scene.bodies[0]["stream_options"] if step.backend.stream_usage else True


async def test_rejected_tokens_are_on_the_bill() -> None:
    scene = Scene(
        lambda *_: says("own", output=120, accepted_prediction_tokens=60, rejected_prediction_tokens=20)
    )
    step = scene.step(backend=scene.predicting())
    await scene.run(step)
    record = step.trace.draft
    assert record is not None
    assert (record.way, record.result, record.saved) == ("prediction", "predicted", -200)
    assert scene.words == {"draft-prediction-tried": 1, "draft-prediction-lost": 200}


async def test_a_prediction_that_mostly_missed_counts_as_failed() -> None:
    scene = Scene(
        lambda *_: says("own", output=120, accepted_prediction_tokens=2, rejected_prediction_tokens=20)
    )
    await scene.run(scene.step(backend=scene.predicting()))
    assert scene.words["draft-prediction-failed"] == 1


@pytest.mark.parametrize("status", [400, 422])
async def test_what_refuses_predictions_is_asked_plainly_and_left_alone_for_an_hour(status: int) -> None:
    scene = Scene(lambda body, _: refuses(status) if "prediction" in body else says("plain"))
    policy = scene.with_drafts(way=DraftWay.PREDICTION)
    step = scene.step(backend=scene.predicting(), policy=policy)
    assert text_of_body((await scene.run(step))[1]) == "plain"
    assert scene.upstream.replies[0].closed
    assert step.trace.draft is not None
    assert step.trace.draft.result == "failed-refused"
    assert not step.trace.is_drafted
    assert drafted(scene.head.headers) is None
    again = scene.step(backend=scene.predicting(), policy=policy)
    await scene.run(again)
    assert ["prediction" in body for body in scene.bodies] == [True, False, False]
    assert again.trace.draft is not None
    assert again.trace.draft.result == "declined-unsupported"
    other = scene.step(backend=scene.predicting(), policy=policy, model="another")
    await scene.run(other)
    assert "prediction" in scene.bodies[3]
    scene.clock.at += 3601
    await scene.run(scene.step(backend=scene.predicting(), policy=policy))
    assert "prediction" in scene.bodies[-2]


async def test_a_request_that_is_refused_anyway_says_nothing_about_predictions() -> None:
    scene = Scene(lambda *_: refuses())
    for _ in range(2):
        status, body = await scene.run(scene.step(backend=scene.predicting()))
        assert status == 400
        assert json.loads(body)["error"]["message"] == "no"
    assert ["prediction" in body for body in scene.bodies] == [True, False, True, False]


async def test_an_upstreams_error_is_the_clients_and_no_draft() -> None:
    scene = Scene(lambda *_: FakeReply(429, parts=[b"slow down"]))
    step = scene.step(backend=scene.predicting())
    assert await scene.run(step) == (429, b"slow down")
    assert not step.trace.is_drafted
    assert len(scene.upstream.calls) == 1
    broken = Scene(lambda *_: UpstreamError("gone"))
    with pytest.raises(UpstreamError):
        await broken.run(broken.step(backend=broken.engine()))
    assert not broken.words


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2},
        {"logprobs": True},
        {"top_logprobs": 2},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"max_completion_tokens": 50},
        {"audio": {"voice": "a"}},
        {"modalities": ["text", "audio"]},
        {"presence_penalty": 0.5},
        {"frequency_penalty": 1},
        {"prediction": {"type": "content", "content": "mine"}},
    ],
    ids=lambda fields: next(iter(fields)),
)
async def test_requests_that_predictions_do_not_go_with_go_plain(fields: dict[str, Any]) -> None:
    scene = Scene()
    policy = scene.with_drafts(way=DraftWay.PREDICTION)
    step = scene.step(backend=scene.predicting(), policy=policy, **fields)
    await scene.run(step)
    assert scene.bodies == [dict(step.asked.request.body)]
    assert step.trace.draft is not None
    assert step.trace.draft.result == "declined-unsupported"
    assert not scene.words


async def test_a_callers_key_and_headers_go_along_but_for_the_name_of_the_plain_call() -> None:
    scene = Scene()
    headers = ((b"content-type", b"application/json"), (b"Idempotency-Key", b"k1"), (b"x-own", b"1"))
    caller = Caller(POLICY.tenant, authorization="Bearer callers")
    await scene.run(scene.step(backend=scene.predicting(), headers=headers, caller=caller))
    sent = dict(scene.upstream.calls[0].headers)
    assert sent[b"authorization"] == b"Bearer callers"
    assert sent[b"x-own"] == b"1"
    assert b"Idempotency-Key" not in sent


@pytest.mark.parametrize(
    "stored",
    [
        answer(STORED, choices=[{"message": {"content": STORED}, "finish_reason": "length"}]),
        answer(STORED, choices=[{"message": {"content": STORED}, "finish_reason": "stop"}] * 2),
        answer(STORED, choices=[{"message": {"content": [{"type": "text"}]}, "finish_reason": "stop"}]),
        answer(STORED, choices=[{"message": {"content": " "}, "finish_reason": "stop"}]),
        answer(STORED, choices=[{"message": None, "finish_reason": "stop"}]),
        answer(STORED, choices=["nonsense"]),
        answer(
            STORED, choices=[{"message": {"content": STORED, "tool_calls": [{}]}, "finish_reason": "stop"}]
        ),
        answer(
            STORED,
            choices=[{"message": {"content": STORED}, "logprobs": {"content": []}, "finish_reason": "stop"}],
        ),
        replace(answer(STORED), chunks=b"[]"),
        replace(answer(STORED), has_tool_calls=True),
        replace(answer(STORED), body=b"no json"),
        answer("a" * 40_000),
    ],
    ids=[
        "cut",
        "two",
        "parts",
        "blank",
        "none",
        "shape",
        "calls",
        "logprobs",
        "chunks",
        "tools",
        "json",
        "long",
    ],
)
async def test_only_a_plain_whole_text_is_drafted_from(stored: Any) -> None:
    scene = Scene()
    step = scene.step(backend=scene.engine())
    await scene.run(step, draft_of(stored))
    assert "prediction" not in scene.bodies[0]
    assert step.trace.draft is not None
    assert step.trace.draft.result == "declined-unusable"


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        ({"policy": replace(POLICY, mode=Mode.SHADOW)}, "declined-shadow"),
        ({"policy": replace(POLICY, mode=Mode.EXACT)}, "declined-mode"),
        ({"policy": replace(POLICY, drafts=replace(POLICY.drafts, way=DraftWay.OFF))}, "declined-off"),
        ({"directives": Directives(mode="exact")}, "declined-mode"),
        ({"directives": Directives(no_read=True)}, "declined-mode"),
        ({"seed": 1}, "declined-unsupported"),
    ],
)
async def test_policy_and_client_can_forbid_it(changes: dict[str, Any], result: str) -> None:
    scene = Scene()
    step = scene.step(backend=scene.engine(), **changes)
    await scene.run(step)
    assert "prediction" not in scene.bodies[0]
    assert step.trace.draft is not None
    assert step.trace.draft.result == result
    assert scene.told.records == [step.trace.draft]


@pytest.mark.parametrize("reason", ["language", "unread", "payload"])
async def test_answers_that_say_nothing_of_the_question_are_not_drafted_from(reason: str) -> None:
    scene = Scene()
    step = scene.step(backend=scene.engine())
    await scene.run(step, draft_of(reasons=("numbers", reason)))
    assert "prediction" not in scene.bodies[0]
    assert step.trace.draft is not None
    assert step.trace.draft.result == f"declined-{reason}"


async def test_all_who_share_the_call_read_in_its_head_that_it_was_drafted() -> None:
    scene = Scene()
    step = scene.step(backend=scene.engine())
    await scene.run(step)
    word = drafted(scene.head.headers)
    assert word is not None
    assert (word.way, word.result, word.entry) == ("lossless", "verified", "e1")
    assert drafted([(b"semcache-draft", b"lossless verified e1"), (b"x", b"y")]) is None


async def test_an_answer_without_counts_is_written_down_without_them() -> None:
    body = json.dumps({**json.loads(says("own").parts[0]), "usage": None}).encode()  # type: ignore[arg-type]  # bytes
    scene = Scene(lambda *_: FakeReply(parts=[body]))
    step = scene.step(backend=scene.predicting())
    await scene.run(step, draft_of(seconds=0.0))
    record = step.trace.draft
    assert record is not None
    assert (record.output, record.saved, record.seconds, record.result) == (0, None, None, "predicted")


async def test_a_cut_answer_completes_no_record() -> None:
    scene = Scene(lambda *_: FakeReply(parts=[b'{"choices":', UpstreamError("cut")]))
    with pytest.raises(UpstreamError):
        await scene.run(scene.step(backend=scene.engine()))
    assert not scene.words
    assert not scene.told.records
    assert not scene.kept


async def test_giving_up_closes_the_reply() -> None:
    scene = Scene(lambda *_: FakeReply(parts=[b"{", 60.0]))
    task = asyncio.create_task(scene.run(scene.step(backend=scene.engine())))
    await asyncio.sleep(0.05)
    assert scene.upstream.replies[0].read
    task.cancel()
    await asyncio.gather(task, *scene.tasks, return_exceptions=True)
    assert scene.upstream.replies[0].closed
