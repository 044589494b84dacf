"""An answer revised: served as an upstream's would be, or the plain call after whatever went wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from semcache.core import Caller, Usage
from semcache.errors import UpstreamError
from semcache.review_rules import DraftWay
from semcache.revising.replies import drafted
from semcache.revising.revising import RevisingLimits
from tests.fakes.generator import FakeReply
from tests.revising.edits import change, keep
from tests.revising.scene import POLICY, STORED, Scene, answer, draft_of, refuses, says, text_of_body

IN_NORWAY = STORED.replace("30 days", "14 days in Norway")
EDIT = change(("30 days", "14 days in Norway"))
Reply = FakeReply | UpstreamError


def is_revision(body: dict[str, Any]) -> bool:
    return "30 days" in json.dumps(body["messages"])


def revising(reply: Callable[[], Reply]) -> Scene:
    """An upstream that revises so, and answers plain calls otherwise."""
    return Scene(
        lambda body, _: (
            reply() if is_revision(body) else says("plain", output=300, stream=bool(body.get("stream")))
        )
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_an_edit_is_applied_and_the_client_sees_one_normal_answer(stream: bool) -> None:
    scene = revising(lambda: says(EDIT, prompt=400, output=25))
    step = scene.step(stream=stream)
    status, body = await scene.run(step)
    assert status == 200
    assert text_of_body(body) == IN_NORWAY
    assert scene.head.content_type == ("text/event-stream" if stream else "application/json")
    assert len(scene.bodies) == 1
    assert (b"chatcmpl-1" in body, b"chatcmpl-upstream" in body) == (True, False)
    record = step.trace.draft
    assert record is not None
    assert (record.way, record.result, record.entry) == ("revise", "edited", "e1")
    assert (record.input, record.output, record.original) == (400, 25, 300)
    assert record.plain is not None
    assert record.expected is not None
    assert record.expected < record.plain
    assert record.saved == record.plain - (400 + 250)
    assert record.seconds == 4.0
    assert step.trace.is_drafted
    assert scene.kept[0].usage == Usage(400, 25)
    assert scene.words.keys() == {"draft-revise-tried", "draft-revise-saved", "draft-revise-saved-tokens"}
    assert scene.words["draft-revise-saved"] == record.saved
    assert scene.told.records == [record]
    word = drafted(scene.head.headers)
    assert word is not None
    assert (word.way, word.result, word.entry) == ("revise", "edited", "e1")


async def test_what_stays_as_it_is_is_kept() -> None:
    scene = revising(lambda: says(keep(), output=5))
    step = scene.step("How long can I return an item?")
    body = (await scene.run(step))[1]
    assert text_of_body(body) == STORED, step.trace.draft
    assert step.trace.draft is not None
    assert step.trace.draft.result == "kept"


FAULTS: dict[str, tuple[Callable[[], Reply], str]] = {
    "garbage": (lambda: says("Sure! Here is the answer you wanted."), "failed-unread"),
    "no-json": (lambda: says('{"keep": '), "failed-unread"),
    "not-there": (lambda: says(change(("90 days", "30 days"))), "failed-unread"),
    "empty": (lambda: says(" "), "failed-incomplete"),
    "html": (lambda: FakeReply(parts=[b"<html>"]), "failed-incomplete"),
    "error": (lambda: FakeReply(500, parts=[b"{}"]), "failed-upstream"),
    "rate": (lambda: FakeReply(429), "failed-upstream"),
    "unreachable": (lambda: UpstreamError("gone"), "failed-upstream"),
    "cut": (lambda: FakeReply(parts=[b"{", UpstreamError("cut")]), "failed-upstream"),
    "refused": (lambda: refuses(400, "messages"), "failed-refused"),
    "late": (lambda: FakeReply(parts=[60.0, b"{}"]), "failed-late"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("stream", [False, True])
async def test_whatever_goes_wrong_the_plain_answer_is_the_answer(fault: str, stream: bool) -> None:
    reply, result = FAULTS[fault]
    scene = revising(reply)
    scene.revising._revisions = type(scene.revising._revisions)(
        scene.verifier, scene.revising._refusals, scene.clock, RevisingLimits(0.1, 0.1)
    )
    step = scene.step(stream=stream)
    status, body = await scene.run(step)
    assert (status, text_of_body(body)) == (200, "plain")
    record = step.trace.draft
    assert record is not None
    assert record.result == result
    assert not step.trace.is_drafted
    assert drafted(scene.head.headers) is None
    assert record.saved is None or record.saved <= 0
    assert scene.words["draft-revise-failed"] == 1
    assert all(reply.closed for reply in scene.upstream.replies)
    assert not is_revision(scene.bodies[-1])
    assert scene.kept[0].usage is None or scene.kept[0].usage.completion_tokens == 300


async def test_a_failed_revision_is_lost_money() -> None:
    scene = revising(lambda: says("garbage", prompt=100, output=10))
    step = scene.step()
    await scene.run(step)
    assert step.trace.draft is not None
    assert step.trace.draft.saved == -200
    assert scene.words["draft-revise-lost"] == 200


async def test_it_is_given_no_longer_than_the_old_answer_took() -> None:
    scene = revising(lambda: FakeReply(parts=[60.0, b"{}"]))
    scene.revising._revisions = type(scene.revising._revisions)(
        scene.verifier, scene.revising._refusals, scene.clock, RevisingLimits(20.0, 0.05)
    )
    loop = asyncio.get_running_loop()
    begun = loop.time()
    assert text_of_body((await scene.run(scene.step(), draft_of(seconds=0.2)))[1]) == "plain"
    assert 0.15 < loop.time() - begun < 2
    record = scene.told.records[0]
    assert record.expected is not None
    assert record.saved == -record.expected


async def test_what_is_not_worth_it_is_not_tried() -> None:
    scene = revising(lambda: says(EDIT))
    step = scene.step()
    short = answer("Yes, 30 days.", usage={"prompt_tokens": 40, "completion_tokens": 5})
    short = type(short)(short.body, Usage(40, 5))
    await scene.run(step, draft_of(short))
    record = step.trace.draft
    assert record is not None
    assert record.result == "declined-not-worth"
    assert record.expected is not None
    assert record.plain is not None
    assert record.expected >= record.plain
    assert len(scene.bodies) == 1


async def test_what_no_revision_could_be_seen_to_mind_is_not_tried() -> None:
    scene = revising(lambda: says(keep()))
    step = scene.step("How long may I not return an item?")
    await scene.run(step)
    assert step.trace.draft is not None
    assert step.trace.draft.result == "declined-opposite"
    assert len(scene.bodies) == 1


async def test_an_edit_that_leaves_the_difference_is_not_served() -> None:
    scene = revising(lambda: says(change(("a week", "ten days"))))
    step = scene.step()
    assert text_of_body((await scene.run(step))[1]) == "plain"
    assert step.trace.draft is not None
    assert step.trace.draft.result == "failed-gate"


async def test_an_answer_that_is_not_of_the_form_asked_for_is_not_served() -> None:
    scene = revising(lambda: says(EDIT))
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
    step = scene.step(response_format=form)
    await scene.run(step)
    assert step.trace.draft is not None
    assert step.trace.draft.result == "failed-form"
    engine = scene.step(response_format=form, backend=scene.engine())
    await scene.run(engine)
    assert engine.trace.is_drafted


async def test_an_upstream_without_schemas_is_asked_without_and_that_is_remembered() -> None:
    scene = Scene(
        lambda body, _: refuses(400, "response_format") if "response_format" in body else says(EDIT)
    )
    for _ in range(2):
        step = scene.step()
        assert text_of_body((await scene.run(step))[1]) == IN_NORWAY
    assert ["response_format" in body for body in scene.bodies] == [True, False, False]


async def test_without_prices_tokens_are_weighed() -> None:
    scene = revising(lambda: says(EDIT))
    step = scene.step(model="unpriced")
    assert text_of_body((await scene.run(step))[1]) == IN_NORWAY
    assert step.trace.draft is not None
    assert (step.trace.draft.expected, step.trace.draft.saved) == (None, None)


async def test_a_closed_band_sends_requests_the_plain_way() -> None:
    scene = revising(lambda: says(EDIT))
    words = {"draft-revise-tried": 10, "draft-revise-failed": 9}
    await scene.evidence.tally(POLICY.tenant, "chat", scene.clock.now(), words)
    step = scene.step()
    assert text_of_body((await scene.run(step))[1]) == "plain"
    assert step.trace.draft is not None
    assert step.trace.draft.result == "declined-closed"
    engine = scene.step(backend=scene.engine())
    await scene.run(engine)
    assert engine.trace.is_drafted


async def test_another_upstream_revises_under_its_own_key() -> None:
    scene = revising(lambda: says("never asked"))
    scene.elsewhere = lambda *_: says(EDIT)
    policy = scene.with_drafts(reviser="other/small")
    step = scene.step(policy=policy, caller=Caller(POLICY.tenant, authorization="Bearer callers"))
    assert text_of_body((await scene.run(step))[1]) == IN_NORWAY
    assert dict(scene.other.calls[0].headers)[b"authorization"] == b"Bearer of-the-other"
    assert not scene.upstream.calls
    gone = scene.step(policy=scene.with_drafts(reviser="gone/m"))
    assert text_of_body((await scene.run(gone))[1]) == "plain"
    assert gone.trace.draft is not None
    assert gone.trace.draft.result == "declined-no-reviser"


async def test_the_engine_revises_where_the_policy_says_so() -> None:
    scene = revising(lambda: says(EDIT))
    step = scene.step(backend=scene.engine(), policy=scene.with_drafts(way=DraftWay.REVISE))
    assert text_of_body((await scene.run(step))[1]) == IN_NORWAY
    assert step.trace.draft is not None
    assert step.trace.draft.saved is None


async def test_giving_up_while_it_is_revised_asks_nobody_else() -> None:
    scene = revising(lambda: FakeReply(parts=[60.0, b"{}"]))
    task = asyncio.create_task(scene.run(scene.step()))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, *scene.tasks, return_exceptions=True)
    assert len(scene.bodies) == 1
    assert scene.upstream.replies[0].closed


async def test_a_plain_call_that_fails_after_a_failed_revision_fails_as_it_would_have() -> None:
    scene = Scene(lambda body, _: says("garbage") if is_revision(body) else UpstreamError("gone"))
    with pytest.raises(UpstreamError):
        await scene.run(scene.step())
    scene = Scene(lambda body, _: says("garbage") if is_revision(body) else FakeReply(503, parts=[b"busy"]))
    assert await scene.run(scene.step()) == (503, b"busy")


async def test_the_usage_on_a_stream_is_for_those_who_asked_and_for_the_proxy_that_strips_it() -> None:
    scene = revising(lambda: says(EDIT))
    _, without = await scene.run(scene.step(stream=True))
    assert b'"usage":{' not in without
    _, with_it = await scene.run(scene.step(stream=True, stream_options={"include_usage": True}))
    assert b'"prompt_tokens":400' in with_it
    assert [kept.usage for kept in scene.kept] == [Usage(400, 25)] * 2
