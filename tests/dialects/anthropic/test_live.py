"""Streams translated while they come: what is put together from them is what the whole answer would have been."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Completion
from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.chat.assemble import StreamAssembler
from semcache.dialects.dialect import Incomplete
from tests.dialects.answers import arguments, texts
from tests.dialects.anthropic import answered as by
from tests.dialects.anthropic.answered import STOP, closed, delta, ended, event, opened, said, start

USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


def chunk(delta: dict[str, Any], finish: str | None = None, **choice: Any) -> dict[str, Any]:
    one = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **choice}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [one]}


def used(usage: dict[str, Any]) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage}


def call(index: int, part: str, **begin: Any) -> dict[str, Any]:
    function = {"arguments": part} | ({"name": begin["name"]} if "name" in begin else {})
    named = {"id": begin["id"], "type": "function"} if "id" in begin else {}
    return {"tool_calls": [{"index": index, **named, "function": function}]}


def written(chunks: list[dict[str, Any]]) -> bytes:
    writer = MESSAGES.live_writer(by.wanted(stream=True), by.ID.decode(), int(by.CREATED))
    return b"".join([*map(writer.feed, chunks), writer.finish()])


def of_chat(chunks: list[dict[str, Any]]) -> Completion | Incomplete:
    assembler = StreamAssembler()
    for one in chunks:
        assembler.feed(b"data: " + json.dumps(one).encode() + b"\n\n")
    assembler.feed(b"data: [DONE]\n\n")
    return assembler.finish()


def values(document: Any) -> Any:
    """Give an answer with the arguments of its calls by their value."""
    match document:
        case {"arguments": str() as told}:
            return {**document, "arguments": json.loads(told or "{}")}
        case dict():
            return {name: values(item) for name, item in document.items()}
        case list():
            return [values(item) for item in document]
        case _:
            return document


# --------------------------------------------------------------------------------- chat to events


@st.composite
def deltas(draw: st.DrawFn, *, ordered: bool) -> list[dict[str, Any]]:
    """Draw the deltas of an answer: reasoning, text and calls, one after the other or in any order."""
    key = draw(st.sampled_from(("reasoning", "reasoning_content")))
    out: list[dict[str, Any]] = [{key: text} for text in draw(st.lists(texts, max_size=3))]
    out += ({"content": text} for text in draw(st.lists(texts, min_size=1, max_size=3)))
    for number, one in enumerate(draw(st.lists(arguments, max_size=3))):
        told = json.dumps(one)
        cut = draw(st.integers(0, len(told)))
        out.append(call(number, told[:cut], id=f"c{number}", name="f"))
        out += (call(number, part) for part in (told[cut : cut + 3], told[cut + 3 :]))
    return out if ordered else draw(st.permutations(out).map(_begun))


def _begun(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give parts of each call in their order, whatever stands between them: ids and names first, as servers send them."""
    parts: dict[int, list[dict[str, Any]]] = {}
    for one in found:
        for part in one.get("tool_calls", ()):
            parts.setdefault(part["index"], []).append(one)
    for several in parts.values():
        several.sort(key=lambda one: "id" not in one["tool_calls"][0])
    return [parts[one["tool_calls"][0]["index"]].pop(0) if "tool_calls" in one else one for one in found]


def stream_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    finish = "tool_calls" if any("tool_calls" in one for one in found) else "stop"
    head = chunk({"role": "assistant", "content": ""})
    return [head, *map(chunk, found), chunk({}, finish), used(USAGE)]


@settings(max_examples=100, deadline=None)
@given(deltas(ordered=True), st.integers(1, 60))
def test_a_live_stream_is_what_the_whole_answer_would_be(found: list[dict[str, Any]], size: int) -> None:
    chunks = stream_of(found)
    whole = of_chat(chunks)
    assert isinstance(whole, Completion)
    live = by.assembled(written(chunks), size)
    assert isinstance(live, Completion), live
    assert by.whole(live) == MESSAGES.bare(MESSAGES.write_answer(json.loads(whole.body)))
    assert live.usage == whole.usage


@settings(max_examples=100, deadline=None)
@given(deltas(ordered=False))
def test_in_whatever_order_it_comes_nothing_is_lost(found: list[dict[str, Any]]) -> None:
    chunks = stream_of(found)
    whole, stream = of_chat(chunks), written(chunks)
    live = by.assembled(stream)
    if isinstance(whole, Incomplete):
        # The parts of the arguments do not fit in this order.
        assert isinstance(live, Incomplete)
        return
    assert isinstance(live, Completion), live
    told, wanted = values(json.loads(live.body)), values(json.loads(whole.body))
    for document in (told, wanted):
        document["choices"][0]["message"].pop("reasoning", None)
    reasoning = json.loads(whole.body)["choices"][0]["message"].get("reasoning")
    if reasoning:
        wanted["choices"][0]["message"]["reasoning_content"] = reasoning
    assert told == wanted
    one_block_at_a_time(stream)


def one_block_at_a_time(stream: bytes) -> None:
    current, index = None, -1
    for name, told in by.events(stream):
        if name == "content_block_start":
            assert current is None
            current = index = told["index"]
        elif name == "content_block_delta":
            assert told["index"] == current
        elif name == "content_block_stop":
            assert told["index"] == current == index
            current = None
    assert current is None


def content(chunks: list[dict[str, Any]]) -> Any:
    stream = written(chunks)
    one_block_at_a_time(stream)
    return by.whole(by.assembled(stream))["content"]


def test_text_leaves_as_it_comes() -> None:
    writer = MESSAGES.live_writer(by.wanted(stream=True), "ab", 0)
    first = by.events(writer.feed(chunk({"role": "assistant", "content": ""})))
    assert [name for name, _ in first] == ["message_start"]
    assert (first[0][1]["message"]["id"], first[0][1]["message"]["model"]) == ("msg_ab", "m")
    assert [name for name, _ in by.events(writer.feed(chunk({"content": "a"})))] == [
        "content_block_start",
        "content_block_delta",
    ]
    assert [name for name, _ in by.events(writer.feed(chunk({"content": "b"})))] == ["content_block_delta"]
    assert writer.feed(chunk({"content": ""})) == writer.feed(chunk({}, "stop")) == b""
    assert writer.feed(used(USAGE)) == b""
    end = by.events(writer.finish())
    assert [name for name, _ in end] == ["content_block_stop", "message_delta", "message_stop"]
    assert end[1][1]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert end[1][1]["usage"] == {"input_tokens": 12, "output_tokens": 3}


def test_calls_leave_as_they_come_and_the_next_begins_once_the_last_is_whole() -> None:
    writer = MESSAGES.live_writer(by.wanted(stream=True), "ab", 0)
    begun = writer.feed(chunk(call(0, "", id="a", name="f")))
    assert by.events(begun)[-1][1]["content_block"] == {
        "type": "tool_use",
        "id": "a",
        "name": "f",
        "input": {},
    }
    assert b"input_json_delta" in writer.feed(chunk(call(0, '{"x":')))
    assert writer.feed(chunk(call(1, "", id="b", name="g"))) == b""
    more = by.events(writer.feed(chunk(call(0, "1}"))))
    names = ["content_block_delta", "content_block_stop", "content_block_start"]
    assert [name for name, _ in more] == names
    assert more[-1][1]["content_block"]["name"] == "g"


def test_calls_that_are_not_numbered_or_numbered_alike() -> None:
    both = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": '{"x":1}'}},
    ]
    wanted = [
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "tool_use", "id": "b", "name": "g", "input": {"x": 1}},
    ]
    for index in ({}, {"index": 0}):
        chunks = [chunk({"tool_calls": [{**one, **index}]}) for one in both]
        assert content([*chunks, chunk({}, "tool_calls")]) == wanted
    tail = {"tool_calls": [{"function": {"arguments": "}"}}]}
    head = {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}
    assert content([chunk(head), chunk(tail), chunk({}, "tool_calls")]) == wanted[:1]


def test_a_call_that_goes_on_behind_its_end_is_an_error() -> None:
    chunks = [chunk(call(0, "{}", id="a", name="f")), chunk(call(1, "{}", id="b", name="g"))]
    blank, more = chunk(call(0, " ")), chunk(call(0, "}"))
    assert isinstance(by.assembled(written([*chunks, blank, chunk({}, "tool_calls")])), Completion)
    names = [
        name for name, _ in by.events(written([*chunks, more, more, chunk({"content": "x"}, "tool_calls")]))
    ]
    assert names[-1] == "error"
    assert names.count("error") == 1


def test_a_call_without_an_id_gets_one() -> None:
    chunks = [chunk(call(0, "{}", name="f")), chunk({}, "tool_calls")]
    assert content(chunks)[0]["id"] == "toolu_0"
    whole = of_chat(chunks)
    assert isinstance(whole, Completion)
    assert MESSAGES.write_answer(json.loads(whole.body))["content"][0]["id"] == "toolu_0"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        (None, None),
        ("odd", "end_turn"),
    ],
)
def test_why_it_stopped(finish: str | None, reason: str | None) -> None:
    end = by.events(written([chunk({"content": "x"}), chunk({}, finish)]))[-2][1]
    assert end["delta"]["stop_reason"] == reason


def test_a_stop_sequence_a_refusal_and_a_forced_call() -> None:
    def end(*chunks: dict[str, Any]) -> Any:
        return by.events(written(list(chunks)))[-2][1]["delta"]

    stopped = end(chunk({"content": "x"}), chunk({}, "stop", stop_reason="END"))
    assert stopped == {"stop_reason": "stop_sequence", "stop_sequence": "END"}
    refused = [chunk({"refusal": "no"}), chunk({}, "stop")]
    assert end(*refused)["stop_reason"] == "refusal"
    assert b'"text":"no"' in written(refused)
    forced = end(chunk(call(0, "{}", id="a", name="f")), chunk({}, "stop"))
    assert forced["stop_reason"] == "tool_use"


def test_other_choices_and_odd_chunks_disturb_nothing() -> None:
    odd: list[dict[str, Any]] = [
        {"choices": None},
        {"choices": ["x"]},
        {"choices": [{"index": 1, "delta": {"content": "no"}}]},
        {"choices": [{"index": 0, "delta": None}]},
        chunk({"content": 5, "tool_calls": ["x"], "reasoning": 5}),
    ]
    assert content([*odd, chunk({"content": "yes"}), chunk({}, "stop")])[-1] == {
        "type": "text",
        "text": "yes",
    }


def test_a_half_of_a_character_passes_as_it_came() -> None:
    stream = written([chunk({"content": "\ud83d"}), chunk({"content": "\ude00"}), chunk({}, "stop")])
    assert by.whole(by.assembled(stream))["content"] == [{"type": "text", "text": "😀"}]


def test_a_stream_of_nothing_is_still_a_message() -> None:
    assert [name for name, _ in by.events(written([]))] == ["message_start", "message_delta", "message_stop"]


def test_an_error_ends_it() -> None:
    stream = written(
        [chunk({"content": "x"}), {"error": {"message": "no", "type": "overloaded_error"}}, used(USAGE)]
    )
    name, told = by.events(stream)[-1]
    assert (name, told["error"]) == ("error", {"type": "overloaded_error", "message": "no"})
    outcome = by.assembled(stream)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == "error"
    assert by.events(written([{"error": "no"}]))[-1][1]["error"] == {"type": "api_error", "message": "no"}


# --------------------------------------------------------------------------------- events to chat


def read(stream: bytes, size: int = 1 << 20) -> tuple[list[dict[str, Any]], bool]:
    reader = MESSAGES.live_reader()
    chunks: list[dict[str, Any]] = []
    for at in range(0, len(stream), size):
        chunks += reader.feed(stream[at : at + size])
    return chunks + reader.finish(), reader.is_done


@settings(max_examples=100, deadline=None)
@given(by.answers, st.integers(1, 60))
def test_a_stream_read_live_is_what_the_whole_answer_reads_as(answer: dict[str, Any], size: int) -> None:
    completion = by.stored(answer)
    chunks, done = read(by.replayed(completion, stream=True), size)
    assert done
    outcome = of_chat(chunks)
    assert isinstance(outcome, Completion), outcome
    assert outcome.chunks is None
    assert values(json.loads(outcome.body)) == values(MESSAGES.read_answer(answer))
    assert outcome.usage == completion.usage


def test_what_a_chat_client_sees() -> None:
    stream = (
        start()
        + event("ping")
        + opened(0, type="thinking", thinking="", signature="")
        + delta(0, "thinking_delta", thinking="hm")
        + delta(0, "signature_delta", signature="s")
        + closed(0)
        + said("hi", 1)
        + opened(2, type="server_tool_use", id="s", name="web_search", input={})
        + delta(2, "input_json_delta", partial_json='{"q":1}')
        + closed(2)
        + opened(3, type="tool_use", id="t", name="f", input={})
        + delta(3, "input_json_delta", partial_json='{"a":')
        + delta(3, "input_json_delta", partial_json="1}")
        + closed(3)
        + opened(4, type="tool_use", id="u", name="g", input={"b": 2})
        + closed(4)
        + ended("tool_use")
        + STOP
    )
    chunks, done = read(stream)
    assert done
    assert all(one["object"] == "chat.completion.chunk" and one["model"] == "claude" for one in chunks)
    told = [one["choices"][0]["delta"] for one in chunks[:-1]]
    assert told == [
        {"role": "assistant"},
        {"reasoning_content": "hm"},
        {"content": "hi"},
        call(0, "", id="t", name="f"),
        call(0, '{"a":'),
        call(0, "1}"),
        call(1, "", id="u", name="g"),
        call(1, '{"b":2}'),
        {},
    ]
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["prompt_tokens"] == 12


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (event("error", error={"type": "overloaded_error", "message": "no"}), "no"),
        (b'event: error\ndata: {"error":{"message":"no"}}\n\n', "no"),
        (b"event: error\ndata: oops\n\n", "The upstream's stream failed."),
        (b"data: oops\n\n", "The upstream's stream failed."),
        (b"x" * (5 << 20), "The upstream's stream failed."),
    ],
    ids=range(5),
)
def test_an_error_is_told_once_and_nothing_follows(stream: bytes, message: str) -> None:
    chunks, done = read(start() + said("x") + stream + said("y", 1) + ended() + STOP)
    assert not done
    assert chunks[-1]["error"]["message"] == message
    assert sum("error" in one for one in chunks) == 1
    assert not any("y" in json.dumps(one) for one in chunks if "error" not in one)


def test_a_stream_cut_anywhere_is_not_done() -> None:
    stream = start() + said("hi") + ended() + STOP
    for cut in range(0, len(stream), 3):
        assert not read(stream[:cut])[1]


def test_odd_events_disturb_nothing() -> None:
    odd = (
        event("content_block_delta", index=[], delta={"type": "input_json_delta", "partial_json": "x"})
        + event("content_block_start", index={}, content_block={"type": "tool_use"})
        + event("content_block_stop", index=[])
        + event("message_delta", delta=None)
        + event("mood")
        + b"data: [DONE]\n\n: comment\n\n"
    )
    chunks, done = read(start() + odd + said("hi") + ended() + STOP)
    assert done
    outcome = of_chat(chunks)
    assert isinstance(outcome, Completion)
    assert json.loads(outcome.body)["choices"][0]["message"]["content"] == "hi"
