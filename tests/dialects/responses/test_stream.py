"""Streams of typed events: put together, checked against their end, and told again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Completion, Usage
from semcache.dialects.dialect import Incomplete, Wanted
from semcache.dialects.responses.wire import RESPONSES
from tests.dialects.contract import events_of, parts
from tests.dialects.responses.told import TEXT, called, response, said, sse, streamed, thought

Events = list[dict[str, Any]]
NOTE = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "t", "url": "u"}
TOKEN = {"token": "It", "logprob": -0.5, "bytes": [73, 116], "top_logprobs": []}
WHOLE = response(
    thought(encrypted_content="gAAA"),
    said(annotations=[NOTE]),
    {
        "id": "rs_2",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "so it is"}],
    },
    called(1),
    called(2),
    {"id": "ctc", "type": "custom_tool_call", "call_id": "call_3", "name": "h", "input": "free text"},
)


def collected(data: bytes, size: int = 1 << 20) -> Completion | Incomplete:
    assembler = RESPONSES.assembler("text/event-stream")
    assert assembler is not None
    for part in parts(data, size):
        assembler.feed(part)
    return assembler.finish()


def stored(events: Events) -> Completion:
    outcome = collected(sse(events))
    assert isinstance(outcome, Completion), outcome
    return outcome


def told_again(completion: Completion, usage: str = "original") -> Events:
    wanted = Wanted(True, True, "zero" if usage == "zero" else "original")
    return events_of(RESPONSES.layout(completion, wanted).whole(b"beef", b"1800000000"))


@settings(max_examples=40)
@given(st.integers(1, 200), st.integers(1, 40))
def test_a_stream_is_kept_as_the_response_at_its_end(size: int, step: int) -> None:
    completion = collected(sse(streamed(WHOLE, step)), size)
    assert isinstance(completion, Completion)
    assert completion.chunks is None
    assert json.loads(completion.native or b"") == RESPONSES.bare(WHOLE)
    assert completion.usage == Usage(20, 9, 8, 2, 0, 4)
    assert completion.has_tool_calls


def test_it_is_told_again_in_the_same_events_under_fresh_names() -> None:
    before, after = streamed(WHOLE, 1000), told_again(stored(streamed(WHOLE)))
    assert [event["sequence_number"] for event in after] == list(range(len(after)))
    assert [event["type"] for event in after] == [event["type"] for event in before]
    names = {0: "rs_beef00", 1: "msg_beef01", 2: "rs_beef02", 3: "fc_beef03", 4: "fc_beef04", 5: "ctc_beef05"}
    for event in after:
        if "item_id" in event:
            assert event["item_id"] == names[event["output_index"]]
        if "item" in event:
            assert event["item"]["id"] == names[event["output_index"]]
        if "response" in event:
            assert event["response"]["id"] == "resp_beef"
            assert event["response"]["created_at"] == 1800000000
    assert RESPONSES.bare(after[-1]["response"]) == RESPONSES.bare(WHOLE)


def test_both_wire_modes_come_from_one_entry() -> None:
    completion = stored(streamed(WHOLE))
    whole = json.loads(RESPONSES.layout(completion, Wanted(False, True, "original")).whole(b"beef", b"1"))
    assert whole == told_again(completion)[-1]["response"] | {"created_at": 1, "completed_at": 1}


def test_long_text_is_cut_between_what_readers_see_as_characters() -> None:
    text = "👨‍👩‍👧" * 200 + "e\u0301" * 300
    deltas = [
        event["delta"] for event in told_again(stored(streamed(response(said(text))))) if "delta" in event
    ]
    assert len(deltas) > 3
    assert "".join(deltas) == text
    assert not any(piece.startswith(("\u0301", "\u200d")) for piece in deltas)


def test_a_replayed_stream_costs_nothing() -> None:
    usage = told_again(stored(streamed(WHOLE)), "zero")[-1]["response"]["usage"]
    assert (usage["input_tokens"], usage["semcache_saved"]["input_tokens"]) == (0, 20)


def event_at(kind: str) -> Callable[[Events], dict[str, Any]]:
    return lambda events: next(event for event in events if event["type"] == kind)


def _vendor(kind: str, *path: Any) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        place = event_at(kind)(events)
        for key in path:
            place = place[key]
        place["x_vendor"] = "mark"

    return change


def _other_text(events: Events) -> None:
    event_at("response.output_text.delta")(events)["delta"] = "mark"


def _extra_event(events: Events) -> None:
    events.insert(
        3, {"type": "response.x_vendor.thing", "item_id": "msg_up", "output_index": 1, "word": "mark"}
    )


def _shared_begin(events: Events) -> None:
    event_at("response.created")(events)["response"] = {
        **events[0]["response"],
        "temperature": 0.9,
        "mark": 1,
    }


def _odd_index(events: Events) -> None:
    event_at("response.output_text.delta")(events)["output_index"] = ["mark"]


def _token(events: Events) -> None:
    event_at("response.output_text.delta")(events)["logprobs"] = [{"token": "mark"}]


LOSSY = {
    "event": _extra_event,
    "text": _other_text,
    "begin": _shared_begin,
    "index": _odd_index,
    "token": _token,
    "delta": _vendor("response.output_text.delta"),
    "item": _vendor("response.output_item.added", "item"),
    "item-done": _vendor("response.output_item.done", "item"),
    "part": _vendor("response.content_part.added", "part"),
    "part-done": _vendor("response.content_part.done", "part"),
    "summary": _vendor("response.reasoning_summary_part.added", "part"),
    "end": _vendor("response.completed"),
}


@pytest.mark.parametrize("change", LOSSY.values(), ids=LOSSY)
def test_what_the_end_does_not_say_keeps_the_events(change: Callable[[Events], None]) -> None:
    events = json.loads(json.dumps(streamed(WHOLE)))
    change(events)
    completion = stored(events)
    assert completion.chunks is not None
    assert (
        RESPONSES.can_replay(completion, stream=True),
        RESPONSES.can_replay(completion, stream=False),
    ) == (
        True,
        False,
    )
    with pytest.raises(ValueError, match="stream"):
        RESPONSES.layout(completion, Wanted(False, True))
    after = told_again(completion)
    assert "mark" in json.dumps(after)
    assert [event["type"] for event in after] == [event["type"] for event in events]
    assert [event["sequence_number"] for event in after] == list(range(len(after)))
    # An event whose place nobody can find keeps the name that it came with.
    for word in ("_up" if change is not _odd_index else "resp_up", "alice", "secret", "obfuscation"):
        assert word not in json.dumps(after)
    assert {event["response"]["id"] for event in after if "response" in event} == {"resp_beef"}
    zero = told_again(completion, "zero")[-1]["response"]["usage"]
    assert (zero["total_tokens"], zero["semcache_saved"]["total_tokens"]) == (0, 29)


def test_log_probabilities_may_be_told_in_less_words_on_the_way() -> None:
    whole = response(said("It", logprobs=[TOKEN]))
    events = streamed(whole)
    event_at("response.output_text.delta")(events)["logprobs"] = [{"token": "It", "logprob": -0.5}]
    completion = stored(events)
    assert completion.chunks is None
    assert json.loads(completion.body)["choices"][0]["logprobs"]["content"] == [TOKEN]


def test_an_end_without_output_is_filled_from_the_items() -> None:
    for output in ([], None):
        events = json.loads(json.dumps(streamed(response(said(), called()))))
        events[-1]["response"]["output"] = output
        completion = stored(events)
        message = json.loads(completion.body)["choices"][0]["message"]
        assert message["content"] == TEXT
        assert message["tool_calls"][0]["id"] == "call_1"
        assert completion.chunks is not None


def _cut(kind: str) -> bytes:
    events = streamed(WHOLE)
    return sse(events[: [event["type"] for event in events].index(kind)])


FINE = sse(streamed(WHOLE))


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"", "unended"),
        (_cut("response.output_text.done"), "unended"),
        (_cut("response.completed"), "unended"),
        (FINE[:-1], "unended"),
        (_cut("response.completed") + b"data: [DONE]\n\n", "unended"),
        (FINE + sse([{"type": "response.output_text.delta", "delta": "x"}]), "after_done"),
        (b"data: {nonsense\n\n" + FINE, "invalid_json"),
        (b'data: {"a": NaN, "b": "\\ud83d"}\n\n' + FINE, "invalid_json"),
        (b"data: [1]\n\n" + FINE, "shape"),
        (b'data: {"no": "type"}\n\n' + FINE, "shape"),
        (sse([{"type": "response.created", "response": 5}]) + FINE, "shape"),
        (sse([{"type": "response.created", "response": {"output": "x"}}]) + FINE, "shape"),
        (sse([{"type": "response.completed"}]), "shape"),
        (_cut("response.completed") + sse([{"type": "response.incomplete", "response": WHOLE}]), "finish_reason"),
        (_cut("response.completed") + sse([{"type": "error", "code": "c", "message": "m", "param": None}]), "error"),
        (_cut("response.completed") + b'event: error\ndata: {"message": "m"}\n\n', "error"),
        (b'data: {"error": {"message": "m"}}\n\n', "error"),
        (sse(streamed(response(status="failed", error={"code": "server_error", "message": "m"}))), "error"),
        (sse(streamed(response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}))), "finish_reason"),
        (sse(streamed(response({**said(), "content": [{"type": "refusal", "refusal": "no"}]}))), "refusal"),
    ],
)  # fmt: skip
def test_what_did_not_come_to_a_good_end_is_not_kept(stream: bytes, reason: str) -> None:
    outcome = collected(stream)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == reason
    for size in (1, 7):
        again = collected(stream, size)
        assert isinstance(again, Incomplete)
        assert again.reason == reason


def test_an_end_mark_comments_and_signs_of_life_are_no_matter() -> None:
    events = streamed(WHOLE)
    assert collected(sse([*events[:5], {"type": "keepalive"}, *events[5:]])) == collected(FINE)
    assert collected(b": hello\n\n" + FINE + b": bye\n\ndata: [DONE]\n\n") == collected(FINE)
    assert collected(FINE.replace(b"\n", b"\r\n")) == collected(FINE)


def test_the_end_is_known_before_the_body_ends() -> None:
    assembler = RESPONSES.assembler("text/event-stream")
    assert assembler is not None
    assembler.feed(FINE[:-2])
    assert not assembler.is_done
    assembler.feed(FINE[-2:])
    assert assembler.is_done


def test_characters_cut_in_two_between_deltas_are_whole_at_the_end() -> None:
    stream = sse(streamed(response(said("😀!")), 1))
    assert b'"delta": "\\ud83d\\ude00"' in stream
    halves = [{"delta": "\ud83d"}, {"delta": "\ude00"}]
    events = streamed(response(said("😀!")), 1)
    at = next(n for n, event in enumerate(events) if event.get("delta"))
    events[at : at + 1] = [{**events[at], **half} for half in halves]
    completion = collected(sse(events))
    assert isinstance(completion, Completion)
    assert completion.chunks is None
    events[at]["x_vendor"] = 1
    assert collected(sse(events)) == Incomplete("surrogate")
    reader = RESPONSES.live_reader()
    chunks = reader.feed(sse(events)) + reader.finish()
    texts = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    assert "".join(texts) == "😀!"


def test_too_much_is_not_collected() -> None:
    from semcache.dialects.responses.stream import StreamAssembler

    assembler = StreamAssembler(RESPONSES, max_bytes=len(FINE) - 1)
    assembler.feed(FINE)
    assert assembler.finish() == Incomplete("too_large")
