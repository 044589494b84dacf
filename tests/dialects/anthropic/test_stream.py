"""Streams put together and laid out: nothing lost, nothing invented, and nothing kept that is not whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Completion
from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.anthropic.assemble import EventAssembler
from semcache.dialects.dialect import Incomplete
from tests.dialects.anthropic import answered as by
from tests.dialects.anthropic.answered import STOP, closed, delta, ended, event, opened, said, start
from tests.dialects.anthropic.test_answer import TEXT, THINKING, USE, message

sizes = st.integers(1, 60) | st.just(1 << 20)


@settings(max_examples=100, deadline=None)
@given(by.answers, sizes, st.booleans())
def test_an_answer_survives_its_stream(answer: dict[str, Any], size: int, crlf: bool) -> None:
    completion = by.stored(answer)
    stream = by.replayed(completion, stream=True)
    again = by.assembled(stream.replace(b"\n", b"\r\n") if crlf else stream, size)
    assert isinstance(again, Completion), again
    assert again.chunks is None
    assert by.whole(again) == MESSAGES.bare(answer)
    assert (again.usage, json.loads(again.body)) == (completion.usage, json.loads(completion.body))


def test_the_order_of_events_is_the_protocols() -> None:
    blocks = [THINKING, TEXT, USE, {"type": "text", "text": ""}, {"type": "redacted_thinking", "data": "x"}]
    found = by.events(by.replayed(by.stored(message(*blocks)), stream=True))
    assert [name for name, _ in found] == [
        "message_start",
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop") * 2,
        *("content_block_start", "content_block_stop") * 2,
        "message_delta",
        "message_stop",
    ]
    indexes = [told["index"] for _, told in found if "index" in told]
    assert indexes == sorted(indexes)
    first = found[0][1]["message"]
    assert first["id"] == "msg_" + by.ID.decode()
    assert (first["content"], first["stop_reason"]) == ([], None)
    assert first["usage"] == {"input_tokens": 5, "output_tokens": 0}
    assert found[-2][1]["usage"] == {"input_tokens": 5, "output_tokens": 3}


def test_long_texts_come_in_pieces_of_whole_characters() -> None:
    family = "👨‍👩‍👧"
    found = by.events(by.replayed(by.stored(message({"type": "text", "text": family * 600})), stream=True))
    pieces = [told["delta"]["text"] for name, told in found if name == "content_block_delta"]
    assert len(pieces) > 3
    assert all(piece.replace(family, "") == "" for piece in pieces)


def test_a_replay_costs_nothing_at_its_start_and_at_its_end() -> None:
    for content in ((TEXT,), (THINKING, TEXT)):
        found = by.events(by.replayed(by.stored(message(*content)), stream=True, zero=True))
        for usage in (found[0][1]["message"]["usage"], found[-2][1]["usage"]):
            assert usage["semcache_saved"] == {"input_tokens": 5, "output_tokens": 3}
            assert {usage[name] for name in usage if name.endswith("_tokens")} == {0}


def test_counts_of_the_end_hold_and_those_of_the_start_fill_in() -> None:
    outcome = by.assembled(start() + said("hi") + ended(None) + ended(cache_read_input_tokens=None) + STOP)
    assert isinstance(outcome, Completion)
    assert outcome.usage is not None
    assert (outcome.usage.prompt_tokens, outcome.usage.cached_tokens) == (12, 7)
    assert outcome.usage.completion_tokens == 9
    later = by.assembled(start() + said("hi") + ended(input_tokens=6, cache_read_input_tokens=0) + STOP)
    assert isinstance(later, Completion)
    assert later.usage is not None
    assert (later.usage.prompt_tokens, later.usage.cached_tokens) == (6, 0)


def test_a_stream_as_the_api_sends_it() -> None:
    """Pings anywhere, a first empty part of JSON, a signature at the end of thinking, citations, `[DONE]` of a gateway."""
    ping = event("ping")
    stream = (
        start()
        + ping
        + opened(0, type="thinking", thinking="", signature="")
        + delta(0, "thinking_delta", thinking="h", estimated_tokens=50)
        + ping
        + delta(0, "thinking_delta", thinking="m")
        + delta(0, "signature_delta", signature="c2ln")
        + closed(0)
        + opened(1, type="text", text="", citations=[])
        + delta(1, "text_delta", text="hi")
        + delta(1, "citations_delta", citation={"type": "char_location"})
        + closed(1)
        + opened(2, type="tool_use", id="t", name="f", input={})
        + delta(2, "input_json_delta", partial_json="")
        + delta(2, "input_json_delta", partial_json='{"a": "\\ud83d')
        + delta(2, "input_json_delta", partial_json='\\ude00"}')
        + closed(2)
        + opened(3, type="tool_use", id="u", name="g", input={})
        + closed(3)
        + opened(4, type="compaction", content=None)
        + delta(4, "compaction_delta", content="c", encrypted_content="e")
        + closed(4)
        + ended("tool_use")
        + event("message_stop", **{"amazon-bedrock-invocationMetrics": {"inputTokenCount": 5}})
        + b"data: [DONE]\n\n"
    )
    outcome = by.assembled(stream)
    assert isinstance(outcome, Completion)
    assert outcome.chunks is None
    assert by.whole(outcome)["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "hi", "citations": [{"type": "char_location"}]},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": "😀"}},
        {"type": "tool_use", "id": "u", "name": "g", "input": {}},
        {"type": "compaction", "content": "c", "encrypted_content": "e"},
    ]


def test_a_character_cut_between_two_events_is_mended() -> None:
    halves = rb"""event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00"}}

"""
    whole = start() + opened(0, type="text", text="") + halves + closed(0) + ended() + STOP
    assert by.whole(by.assembled(whole))["content"] == [{"type": "text", "text": "😀"}]
    half = start() + opened(0, type="text", text="") + halves[:120] + closed(0) + ended() + STOP
    assert isinstance(by.assembled(half), Incomplete)


LOSSY = {
    "an unknown delta": start() + said("hi") + delta(0, "mood_delta", mood="glad"),
    "an unknown event": start() + event("mood", mood="glad") + said("hi"),
    "a field beside a delta": start()
    + said("hi")
    + event("content_block_delta", index=0, delta={"type": "text_delta", "text": "!"}, mood="glad"),
    "a field in a delta": start() + said("hi") + delta(0, "text_delta", text="!", mood="glad"),
    "a field in the end": start()
    + said("hi")
    + event("message_delta", delta={"stop_reason": None, "mood": "glad"}, usage={"output_tokens": 1}),
    "a text for a block of thinking": start()
    + said("hi")
    + opened(1, type="thinking", thinking="")
    + delta(1, "text_delta", text="glad"),
    "two signatures": start()
    + said("hi")
    + opened(1, type="thinking", thinking="", signature="")
    + delta(1, "signature_delta", signature="one")
    + delta(1, "signature_delta", signature="glad"),
    "an index left out": start() + said("hi") + said("glad", 5),
    "content at the start": start(content=[{"type": "text", "text": "glad"}]) + said("hi", 1),
}


@pytest.mark.parametrize("begun", LOSSY.values(), ids=LOSSY.keys())
@pytest.mark.parametrize("zero", [False, True])
def test_what_cannot_be_put_together_is_kept_as_events(begun: bytes, zero: bool) -> None:
    outcome = by.assembled(begun + event("ping") + ended() + STOP)
    assert isinstance(outcome, Completion)
    assert outcome.chunks is not None
    assert not MESSAGES.can_replay(outcome, stream=False)
    assert MESSAGES.can_replay(outcome, stream=True)
    with pytest.raises(ValueError, match="stream"):
        MESSAGES.layout(outcome, by.wanted(stream=False))
    found = [told for _, told in by.events(by.replayed(outcome, stream=True, zero=zero))]
    before = [told for _, told in by.events(begun + ended() + STOP)]
    assert found[0]["message"].pop("id") == "msg_" + by.ID.decode()
    assert before[0]["message"].pop("id") == "msg_1"
    used = [told.get("message", told).pop("usage", None) for told in found]
    assert all((usage["output_tokens"] == 0) == zero for usage in used if usage)
    for told in before:
        told.get("message", told).pop("usage", None)
    assert found == before


FLAWED = {
    "unended": start() + said("hi") + ended(),
    "error": start() + said("hi") + event("error", error={"type": "overloaded_error", "message": "no"}),
    "after_done": start() + said("hi") + ended() + STOP + said("more", 1),
    "invalid_json": start() + b"event: content_block_delta\ndata: {oops\n\n" + said("hi") + ended() + STOP,
    "arguments": start()
    + opened(0, type="tool_use", id="t", name="f", input={})
    + delta(0, "input_json_delta", partial_json='{"a":')
    + closed(0)
    + ended("tool_use")
    + STOP,
    "finish_reason": start() + said("hi") + ended("max_tokens") + STOP,
    "empty": start() + ended() + STOP,
    "shape": start() + opened(0, type="tool_use", id="t", name="f", input="x") + ended() + STOP,
}


@pytest.mark.parametrize(("reason", "stream"), FLAWED.items(), ids=FLAWED.keys())
def test_what_is_not_whole_and_good_is_not_kept(reason: str, stream: bytes) -> None:
    outcome = by.assembled(stream)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == reason
    assert outcome.usage is not None
    assert outcome.usage.prompt_tokens == 12


SHAPELESS = [
    said("hi") + ended() + STOP,
    start() + start() + said("hi") + ended() + STOP,
    start() + delta(0, "text_delta", text="hi") + ended() + STOP,
    start() + said("hi") + said("hi") + ended() + STOP,
    start() + opened(0, type="text", text="") + event("content_block_stop") + ended() + STOP,
    start() + event("content_block_start", index=0) + ended() + STOP,
    start(content="x") + said("hi") + ended() + STOP,
    start() + said("hi") + event("message_delta") + STOP,
    event("message_start") + said("hi") + ended() + STOP,
    start() + b"data: []\n\n" + said("hi") + ended() + STOP,
    start() + b'data: {"x":1}\n\n' + said("hi") + ended() + STOP,
]


@pytest.mark.parametrize("stream", SHAPELESS)
def test_events_out_of_order_are_no_answer(stream: bytes) -> None:
    outcome = by.assembled(stream)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == "shape"


def test_a_stream_cut_at_any_byte_is_never_kept() -> None:
    stream = start() + said("hi 雪") + ended() + STOP
    for cut in range(len(stream)):
        assert isinstance(by.assembled(stream[:cut]), Incomplete)
    assert isinstance(by.assembled(stream), Completion)


def test_events_without_names_and_with_comments_are_read() -> None:
    stream = b": hello\n\n" + b"\n".join(
        line
        for line in (start() + said("hi") + ended() + STOP).split(b"\n")
        if not line.startswith(b"event:")
    )
    assert by.whole(by.assembled(stream))["content"] == [{"type": "text", "text": "hi"}]


def test_too_much_is_not_collected() -> None:
    assembler = EventAssembler(MESSAGES, max_bytes=2000)
    assembler.feed(start() + said("x" * 3000) + ended() + STOP)
    outcome = assembler.finish()
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == "too_large"
    assert not assembler.is_done


def test_media_types() -> None:
    assert MESSAGES.assembler("text/html") is None
    assert MESSAGES.assembler("application/x-ndjson") is None
    assert MESSAGES.assembler("application/json") is not None


def test_chunks_of_a_chat_entry_are_none_of_ours() -> None:
    chat = [{"object": "chat.completion.chunk", "choices": [], "x": 1}]
    completion = Completion(by.stored(message(TEXT)).body, None, json.dumps(chat).encode())
    assert not MESSAGES.can_replay(completion, stream=True)
    assert not MESSAGES.can_replay(completion, stream=False)
    with pytest.raises(ValueError, match="chat"):
        MESSAGES.layout(completion, by.wanted(stream=True))
