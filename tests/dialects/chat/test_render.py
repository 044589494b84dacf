"""Replays say what was stored, byte for byte, in both wire modes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Completion
from semcache.dialects.chat.assemble import JsonAssembler, StreamAssembler
from semcache.dialects.chat.render import DONE, json_parts, sse_parts
from semcache.dialects.chat.strip import UsageStripper
from semcache.dialects.pieces import pieces
from tests.fakes.upstream_server import chat_body, chat_chunks, sse_bytes

ID, CREATED = b"fresh", b"1800000000"
TOOL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"city":"雪"}'}}


def stored(body: dict[str, Any]) -> Completion:
    assembler = JsonAssembler()
    assembler.feed(json.dumps(body).encode())
    outcome = assembler.finish()
    assert isinstance(outcome, Completion), outcome
    return outcome


def from_stream(stream: bytes) -> Completion:
    assembler = StreamAssembler()
    assembler.feed(stream)
    outcome = assembler.finish()
    assert isinstance(outcome, Completion), outcome
    return outcome


def events(stream: bytes) -> list[dict[str, Any]]:
    assert stream.endswith(DONE)
    lines = stream.removesuffix(DONE).decode().split("\n\n")
    assert lines.pop() == ""
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def said(chunks: list[dict[str, Any]], key: str = "content", index: int = 0) -> str:
    return "".join(
        c["delta"].get(key) or "" for chunk in chunks for c in chunk["choices"] if c["index"] == index
    )


def test_a_json_replay_has_a_fresh_id_and_time_and_the_same_answer() -> None:
    original = chat_body("Paris 雪", service_tier="default", vendor={"a": 1})
    replay = json.loads(json_parts(stored(original), "original").whole(ID, CREATED))
    assert replay == {**original, "id": "chatcmpl-fresh", "created": 1800000000}
    assert list(replay)[:3] == ["id", "object", "created"]


def test_usage_is_zero_unless_the_original_is_wanted() -> None:
    completion = stored(chat_body())
    usage = json.loads(json_parts(completion).whole(ID, CREATED))["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (0, 0, 0)
    assert usage["semcache_saved"] == chat_body()["usage"]
    last = events(sse_parts(completion, include_usage=True).whole(ID, CREATED))[-1]
    assert last["usage"] == usage


def test_an_answer_stored_without_usage_costs_nothing_too_and_invents_no_original() -> None:
    """A stream often comes without usage; clients that read it must not stumble over its replay."""
    body = chat_body()
    del body["usage"]
    completion = stored(body)
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert json.loads(json_parts(completion).whole(ID, CREATED))["usage"] == nothing
    assert events(sse_parts(completion, include_usage=True).whole(ID, CREATED))[-1]["usage"] == nothing
    assert "usage" not in json.loads(json_parts(completion, "original").whole(ID, CREATED))
    assert events(sse_parts(completion, include_usage=True, usage="original").whole(ID, CREATED))[-1][
        "choices"
    ]


def test_a_stream_has_role_first_finish_last_and_the_same_head_everywhere() -> None:
    text = "word " * 400
    chunks = events(sse_parts(stored(chat_body(text)), include_usage=False).whole(ID, CREATED))
    assert {(c["id"], c["created"], c["object"], c["model"], c["system_fingerprint"]) for c in chunks} == {
        ("chatcmpl-fresh", 1800000000, "chat.completion.chunk", "m-2026", "fp_1")
    }
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert [c["choices"][0]["finish_reason"] for c in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert len(chunks) > 10
    assert said(chunks) == text
    assert not any("usage" in c for c in chunks)


def test_the_usage_chunk_comes_last_and_only_when_asked_for() -> None:
    chunks = events(sse_parts(stored(chat_body()), include_usage=True, usage="original").whole(ID, CREATED))
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == chat_body()["usage"]
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


def test_reasoning_comes_before_the_text_and_calls_after() -> None:
    message = {"reasoning_content": "hm " * 100, "tool_calls": [TOOL, {**TOOL, "id": "call_2"}]}
    completion = stored(chat_body("text", message=message, finish_reason="tool_calls"))
    chunks = events(sse_parts(completion, include_usage=False).whole(ID, CREATED))
    order = [next(iter(k for k in c["choices"][0]["delta"]), "end") for c in chunks]
    assert order == ["role", *["reasoning_content"] * 3, "content", "tool_calls", "tool_calls", "end"]
    assert said(chunks, "reasoning_content") == "hm " * 100
    assert [c["choices"][0]["delta"]["tool_calls"][0]["index"] for c in chunks[-3:-1]] == [0, 1]


def test_the_events_one_by_one_are_the_whole() -> None:
    parts = sse_parts(stored(chat_body("word " * 100)), include_usage=True)
    assert b"".join(parts.events(ID, CREATED)) == parts.whole(ID, CREATED)
    assert parts.size < len(parts.whole(ID, CREATED))


def test_a_lossy_stream_replays_its_own_chunks_and_only_to_streams() -> None:
    chunks = chat_chunks(["a", "b"])
    chunks[1]["choices"][0]["delta"]["notes"] = [1]
    chunks[2]["choices"][0]["delta"]["notes"] = [2]
    completion = from_stream(sse_bytes(chunks))
    assert completion.chunks is not None
    with pytest.raises(ValueError, match="stream"):
        json_parts(completion)
    replay = events(sse_parts(completion, include_usage=True, usage="original").whole(ID, CREATED))
    assert replay == [{**chunk, "id": "chatcmpl-fresh", "created": 1800000000} for chunk in chunks]
    without = events(sse_parts(completion, include_usage=False).whole(ID, CREATED))
    assert [c["choices"] for c in without] == [c["choices"] for c in chunks[:-1]]
    zero = events(sse_parts(completion, include_usage=True).whole(ID, CREATED))[-1]["usage"]
    assert zero["semcache_saved"] == chunks[-1]["usage"]


texts = st.text(st.characters(codec="utf-8"), max_size=300) | st.text(
    "ab \n\r\u0301👨‍👩‍👧🇩🇪雪ำनस्\u0600한ᆨ", max_size=400
)


@given(texts, st.integers(1, 60))
def test_pieces_join_to_the_text_and_never_cut_a_cluster(text: str, size: int) -> None:
    parts = list(pieces(text, size))
    assert "".join(parts) == text
    assert all(parts)
    ends = {match.end() for match in regex.finditer(r"\X", text)}
    position = 0
    for part in parts:
        position += len(part)
        assert position in ends


def test_pieces_prefer_spaces() -> None:
    assert list(pieces("the quick brown fox jumps over", 12)) == ["the quick ", "brown fox ", "jumps over"]


json_texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
messages = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": json_texts.map(lambda text: "x" + text)},
    optional={
        "reasoning_content": json_texts,
        "reasoning": json_texts,
        "tool_calls": st.lists(st.just(TOOL), min_size=1, max_size=3),
        "function_call": st.just({"name": "f", "arguments": "{}"}),
        "annotations": st.lists(st.integers(), min_size=1, max_size=3),
    },
)


@given(st.lists(messages, min_size=1, max_size=3), st.booleans(), st.integers(1, 50))
def test_stream_and_json_hold_the_same_answer(several: list[Any], usage: bool, piece: int) -> None:
    """Rendering to a stream and putting that together again gives the stored answer back."""
    choices = [
        {"index": i, "message": m, "logprobs": {"content": [{"token": "x"}]}, "finish_reason": "stop"}
        for i, m in enumerate(several)
    ]
    body = chat_body(choices=choices)
    completion = stored(body)
    stream = sse_parts(completion, include_usage=True, usage="original", piece=piece).whole(ID, CREATED)
    again = from_stream(stream)
    assert json.loads(again.body) == json.loads(completion.body)
    assert again.chunks is None
    assert again.usage == completion.usage


@pytest.mark.parametrize("size", [1, 10, 10_000])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_usage_chunk_is_taken_out(size: int, newline: str) -> None:
    chunks = chat_chunks(['the "usage" of', " words"])
    chunks.insert(1, {"choices": [], "prompt_filter_results": []})
    stream = b": hi\n\n" + sse_bytes(chunks, newline=newline)
    usage = sse_bytes(chunks[-1:], done=False, newline=newline)
    stripper = UsageStripper()
    out = (
        b"".join(stripper.feed(stream[i : i + size]) for i in range(0, len(stream), size)) + stripper.finish()
    )
    assert usage in stream
    assert out == stream.replace(usage, b"")


@given(st.binary(max_size=300), st.integers(1, 50))
def test_bytes_that_are_no_stream_pass_unchanged(data: bytes, size: int) -> None:
    stripper = UsageStripper()
    assert (
        b"".join(stripper.feed(data[i : i + size]) for i in range(0, len(data), size)) + stripper.finish()
        == data
    )
