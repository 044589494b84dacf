"""Answers that are odd in one place: never a crash, never another answer in the replay."""

from __future__ import annotations

import json
from typing import Any

import orjson
from hypothesis import given, settings

from semcache.core import Completion
from semcache.dialects.dialect import Incomplete, Wanted
from semcache.dialects.responses.wire import RESPONSES
from tests.dialects.contract import events_of
from tests.dialects.responses import told
from tests.dialects.responses.asked import changed
from tests.dialects.responses.test_live import USAGE, begun, call, chunk

NOTE = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "t", "url": "u"}
TOKEN = {"token": "It", "logprob": -0.5, "bytes": [73, 116], "top_logprobs": []}
WHOLE = told.response(
    told.thought(),
    told.said("It", annotations=[NOTE], logprobs=[TOKEN]),
    {"id": "x", "type": "x_vendor", "content": [{"type": "output_text", "text": "y"}]},
    told.called(),
)
EVENTS = told.streamed(WHOLE)


def collected(data: bytes, content_type: str) -> Completion | Incomplete:
    assembler = RESPONSES.assembler(content_type)
    assert assembler is not None
    assembler.feed(data)
    return assembler.finish()


def streamed_again(completion: Completion) -> Completion | Incomplete:
    stream = RESPONSES.layout(completion, Wanted(True, True, "original")).whole(b"beef", b"1800000000")
    return collected(stream, "text/event-stream")


def parsed(completion: Completion) -> tuple[Any, ...]:
    """Give what is kept, whatever the order of its fields."""
    forms = (completion.body, completion.native or b"{}", completion.chunks or b"[]")
    return (*map(orjson.loads, forms), completion.usage)


@settings(max_examples=150)
@given(changed(WHOLE))
def test_a_document_that_is_kept_comes_back_as_it_was(answer: dict[str, Any]) -> None:
    completion = collected(orjson.dumps(answer), "application/json")
    if isinstance(completion, Incomplete):
        return
    whole = RESPONSES.layout(completion, Wanted(False, True, "original")).whole(b"beef", b"1800000000")
    assert RESPONSES.bare(orjson.loads(whole)) == RESPONSES.bare(answer)
    again = streamed_again(completion)
    assert isinstance(again, Completion)
    assert again.chunks is None
    assert parsed(again) == parsed(completion)


@settings(max_examples=150)
@given(changed({"events": EVENTS}))
def test_a_stream_that_is_kept_comes_back_with_all_its_events(odd: dict[str, Any]) -> None:
    events = odd.get("events")
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        return
    data = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    completion = collected(data, "text/event-stream")
    reader = RESPONSES.live_reader()
    orjson.dumps(reader.feed(data) + reader.finish())
    if isinstance(completion, Incomplete):
        return
    again = streamed_again(completion)
    assert isinstance(again, Completion)
    assert parsed(again) == parsed(completion)
    if completion.chunks is not None:
        stream = RESPONSES.layout(completion, Wanted(True, True, "original")).whole(b"beef", b"1800000000")
        assert [event["type"] for event in events_of(stream)] == [event["type"] for event in events]


CHUNKS = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "hm"}),
    chunk({"content": "It"}, logprobs={"content": [TOKEN], "refusal": None}),
    chunk({"annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}]}),
    chunk(begun(0)),
    chunk(call(0, function={"arguments": "{}"})),
    chunk({}, "tool_calls"),
    USAGE,
]


@settings(max_examples=150)
@given(changed({"chunks": CHUNKS}))
def test_no_chat_stream_breaks_its_writer(odd: dict[str, Any]) -> None:
    chunks = odd.get("chunks")
    if not isinstance(chunks, list) or not all(isinstance(one, dict) for one in chunks):
        return
    writer = RESPONSES.live_writer(Wanted(True, True), "beef", 1800000000)
    sent = b"".join([writer.feed(json.loads(json.dumps(one))) for one in chunks]) + writer.finish()
    events = events_of(sent)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["type"] in ("error", "response.completed", "response.incomplete")
