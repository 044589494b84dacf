"""Chat streams told as typed events while they come, and typed events read as chat chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Completion
from semcache.dialects.chat.assemble import StreamAssembler
from semcache.dialects.dialect import Incomplete, Wanted
from semcache.dialects.responses.wire import RESPONSES
from tests.dialects.answers import texts
from tests.dialects.contract import answer_of, events_of, of_chunks, said
from tests.dialects.responses import told

Chunks = list[dict[str, Any]]
WANTED = Wanted(True, include_usage=True)


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def call(index: int, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **more}]}


def begun(index: int, name: str = "f") -> dict[str, Any]:
    return call(index, id=f"call_{index}", type="function", function={"name": name, "arguments": ""})


USAGE = {
    "object": "chat.completion.chunk",
    "model": "m",
    "choices": [],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
}


def live(chunks: Chunks) -> bytes:
    writer = RESPONSES.live_writer(WANTED, "beef", 1800000000)
    return b"".join([writer.feed(one) for one in chunks]) + writer.finish()


def assembled(data: bytes) -> Completion | Incomplete:
    assembler = RESPONSES.assembler("text/event-stream")
    assert assembler is not None
    assembler.feed(data)
    return assembler.finish()


def chat_answer(chunks: Chunks) -> Completion | Incomplete:
    assembler = StreamAssembler()
    for one in chunks:
        assembler.feed(b"data: " + json.dumps(one).encode() + b"\n\n")
    assembler.feed(b"data: [DONE]\n\n")
    return assembler.finish()


pieces_of_text = st.lists(texts.map(lambda text: chunk({"content": text})), max_size=3)
pieces_of_reasoning = st.lists(texts.map(lambda text: chunk({"reasoning_content": text})), max_size=3)
pieces_of_calls = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(("1", "2"))).map(
        lambda one: chunk(call(one[0], function={"arguments": one[1]}))
    ),
    max_size=6,
)


@st.composite
def streams(draw: st.DrawFn, *, mixed: bool) -> Chunks:
    """Draw a chat stream; `mixed`: texts, reasoning and calls come in any order."""
    calls = draw(st.integers(0, 3))
    said_calls = [
        piece
        for piece in draw(pieces_of_calls)
        if piece["choices"][0]["delta"]["tool_calls"][0]["index"] < calls
    ]
    groups = [
        draw(pieces_of_reasoning),
        draw(pieces_of_text),
        [*(chunk(begun(n)) for n in range(calls)), *said_calls],
    ]
    if mixed:
        left, body = [group for group in groups if group], []
        while left:
            group = draw(st.sampled_from(left))
            body.append(group.pop(0))
            left = [group for group in left if group]
    else:
        body = [piece for group in groups for piece in group]
    extra = draw(st.sampled_from(({}, {"system_fingerprint": "fp"}, {"service_tier": "flex"})))
    end = chunk({}, "tool_calls" if calls else "stop", **draw(st.sampled_from(({}, {"stop_reason": "x"}))))
    return [chunk({"role": "assistant", "content": ""}), *body, {**end, **extra}, USAGE]


@settings(max_examples=100)
@given(st.booleans().flatmap(lambda mixed: streams(mixed=mixed)))
def test_a_stream_says_what_the_chat_stream_says(chunks: Chunks) -> None:
    whole, again = chat_answer(chunks), assembled(live(chunks))
    if isinstance(whole, Incomplete):
        assert isinstance(again, Incomplete)
        return
    assert isinstance(again, Completion)
    assert again.chunks is None
    assert said(json.loads(again.body)) == said(json.loads(whole.body))
    assert again.usage == whole.usage


@settings(max_examples=80)
@given(streams(mixed=False))
def test_in_good_order_it_is_the_whole_answer_to_the_letter(chunks: Chunks) -> None:
    whole = chat_answer(chunks)
    last = events_of(live(chunks))[-1]["response"]
    if isinstance(whole, Completion):
        assert RESPONSES.bare(last) == RESPONSES.bare(RESPONSES.write_answer(json.loads(whole.body)))


@settings(max_examples=60)
@given(streams(mixed=True))
def test_events_are_numbered_and_every_item_begins_and_ends_once(chunks: Chunks) -> None:
    events = events_of(live(chunks))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    output = events[-1]["response"]["output"]
    assert [event["output_index"] for event in events if event["type"].endswith("item.added")] == list(
        range(len(output))
    )
    ended = {event["output_index"]: event["item"] for event in events if event["type"].endswith("item.done")}
    assert [ended[number] for number in range(len(output))] == output
    assert {event["response"]["id"] for event in events if "response" in event} == {"resp_beef"}


def test_pieces_go_out_as_they_come() -> None:
    writer = RESPONSES.live_writer(WANTED, "beef", 1800000000)
    assert writer.feed({"object": "chat.completion.chunk", "model": "", "choices": []}) == b""
    assert b"response.created" in writer.feed(chunk({"role": "assistant", "content": ""}))
    kinds = [event["type"] for event in events_of(writer.feed(chunk({"content": "Par"})))]
    assert kinds == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
    ]
    assert [event["delta"] for event in events_of(writer.feed(chunk({"content": "is"})))] == ["is"]


def test_reasoning_ends_where_the_text_begins() -> None:
    kinds = [
        event["type"]
        for event in events_of(live([chunk({"reasoning": "hm"}), chunk({"content": "x"}, "stop")]))
    ]
    assert kinds.index("response.reasoning_text.done") < kinds.index("response.output_text.delta")


def test_calls_without_an_index_or_with_a_late_name_are_told_apart() -> None:
    chunks = [
        chunk(
            {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
        ),
        chunk({"tool_calls": [{"id": "b", "function": {"arguments": "["}}]}),
        chunk({"tool_calls": [{"function": {"name": "g", "arguments": "]"}}]}),
        chunk({}, "tool_calls"),
    ]
    output = events_of(live(chunks))[-1]["response"]["output"]
    assert [(item["call_id"], item["name"], item["arguments"]) for item in output] == [
        ("a", "f", "{}"),
        ("b", "g", "[]"),
    ]


def test_custom_tools_and_annotations_are_told() -> None:
    note = {
        "type": "url_citation",
        "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "u"},
    }
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "h", "input": "fr"}}
    chunks = [
        chunk({"content": "x"}),
        chunk({"annotations": [note]}),
        chunk({"tool_calls": [custom]}),
        chunk({"tool_calls": [{"index": 0, "custom": {"input": "ee"}}]}),
        chunk({}, "tool_calls"),
    ]
    completion = assembled(live(chunks))
    assert isinstance(completion, Completion)
    assert completion.chunks is None
    message = json.loads(completion.body)["choices"][0]["message"]
    assert message["annotations"] == [note]
    assert message["tool_calls"][0]["custom"] == {"name": "h", "input": "free"}


@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_an_answer_that_was_cut_ends_as_incomplete(finish: str, reason: str) -> None:
    last = events_of(live([chunk({"content": "x"}), chunk({}, finish), USAGE]))[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": reason}
    assert last["response"]["output"][0]["status"] == "incomplete"
    assert last["response"]["usage"]["total_tokens"] == 10


def test_a_refusal_is_told_as_one() -> None:
    events = events_of(live([chunk({"refusal": "No"}), chunk({"refusal": "."}), chunk({}, "stop")]))
    assert [event["delta"] for event in events if event["type"] == "response.refusal.delta"] == ["No", "."]
    assert events[-1]["response"]["output"][0]["content"] == [{"type": "refusal", "refusal": "No."}]


HOSTILE: list[dict[str, Any]] = [
    {"error": {"message": "m", "type": "t"}},
    {"error": "m"},
    {"choices": 5},
    {"choices": [5]},
    {"choices": [{"index": 1, "delta": {"content": "x"}}]},
    {"choices": [{"delta": 5}]},
    {"choices": [{"delta": {"tool_calls": [5]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": 5}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "type": "x", "x": {}}]}}]},
    {"choices": [{"delta": {"audio": {"id": "a"}}}]},
    {"choices": [{"delta": {}, "logprobs": 5}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}}]},
]


@pytest.mark.parametrize("odd", HOSTILE, ids=str)
def test_what_cannot_be_told_ends_in_an_error_and_nothing_after(odd: dict[str, Any]) -> None:
    writer = RESPONSES.live_writer(WANTED, "beef", 1800000000)
    sent = writer.feed(chunk({"content": "Par"})) + writer.feed(odd) + writer.feed(chunk({"content": "x"}))
    sent += writer.finish()
    last = events_of(sent)[-1]
    assert last["type"] == "error"
    assert last["error"]["message"] == last["message"]
    assert isinstance(last["code"], str)
    assert [event["sequence_number"] for event in events_of(sent)][-1] == len(events_of(sent)) - 1
    assert (writer.feed(chunk({"content": "x"})), writer.finish()) == (b"", b"")


def read(events: list[dict[str, Any]]) -> Chunks:
    reader = RESPONSES.live_reader()
    chunks = reader.feed(told.sse(events)) + reader.finish()
    assert reader.is_done
    return chunks


def test_events_are_read_as_the_whole_answer_is() -> None:
    summaries = [{"type": "summary_text", "text": text} for text in ("First.", "Then.")]
    answer = told.response(told.thought(summary=summaries), told.said(), told.called(1), told.called(2))
    document = RESPONSES.read_answer(answer)
    assert document["choices"][0]["message"]["reasoning_content"] == "First.\n\nThen."
    for events in (told.streamed(answer), told.streamed(answer, 1)):
        again = of_chunks(read(events))
        assert answer_of(again) == said(document)
        assert json.loads(again.body)["service_tier"] == "default"  # type: ignore[union-attr]  # it is a completion


def test_what_only_the_end_says_is_read_from_there() -> None:
    answer = told.response(told.said(annotations=[], logprobs=[{"token": "x", "logprob": -1}]), told.called())
    last = told.streamed(answer)[-1]
    half = [event for event in told.streamed(answer)[:9] if event["type"] != "response.output_item.done"]
    for events in ([last], [*half, last]):
        assert answer_of(of_chunks(read(events))) == said(RESPONSES.read_answer(answer))


def test_chunks_of_chat_come_one_by_one() -> None:
    reader = RESPONSES.live_reader()
    events = told.streamed(told.response(told.said("Paris")), 2)
    texts_read = []
    for event in events:
        for one in reader.feed(told.sse([event])):
            assert one["object"] == "chat.completion.chunk"
            texts_read += [choice["delta"].get("content") for choice in one["choices"]]
    assert [text for text in texts_read if text] == ["Pa", "ri", "s"]
    assert texts_read[0] is None


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"type": "error", "message": "m", "code": "c", "param": None}, "m"),
        ({"type": "error", "error": {"message": "m", "type": "t"}}, "m"),
        ({"type": "x", "error": "m"}, "m"),
        ({"type": "response.failed", "response": {"error": {"code": "c", "message": "m"}}}, "m"),
        ({"type": "response.failed", "response": {}}, "The upstream could not answer."),
        ({"type": "response.completed", "response": {"output": 5}}, "The upstream's stream cannot be read."),
        ({"type": "response.output_text.delta", "delta": 5}, "The upstream's stream cannot be read."),
        ({"type": ["x"]}, ""),
    ],
)
def test_errors_are_read_in_openai_words(event: dict[str, Any], message: str) -> None:
    chunks = RESPONSES.live_reader().feed(
        told.sse([event]) if isinstance(event["type"], str) else b"data: [1]\n\n"
    )
    assert chunks[-1]["error"]["message"].startswith(message)
    assert chunks[-1]["error"]["type"]
