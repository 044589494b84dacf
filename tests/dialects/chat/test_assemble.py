"""What may be remembered: only whole, good answers, put together without losing anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Completion, Usage
from semcache.dialects.chat.assemble import JsonAssembler, StreamAssembler
from semcache.dialects.dialect import Incomplete
from tests.fakes.upstream_server import chat_body, chat_chunks, sse_bytes


def whole(body: Any) -> Completion | Incomplete:
    assembler = JsonAssembler()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    for start in range(0, len(data), 50):
        assembler.feed(data[start : start + 50])
    return assembler.finish()


def streamed(stream: bytes, size: int | None = None) -> Completion | Incomplete:
    assembler = StreamAssembler()
    for start in range(0, len(stream), size or max(1, len(stream))):
        assembler.feed(stream[start : start + (size or len(stream))])
    return assembler.finish()


def kept(outcome: Completion | Incomplete) -> dict[str, Any]:
    assert isinstance(outcome, Completion), outcome
    return json.loads(outcome.body)


def delta(delta: Any = None, finish: str | None = None, index: int = 0, **top: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": delta if delta is not None else {}, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [choice], **top}


def from_deltas(*deltas: Any, finish: str = "stop") -> Completion | Incomplete:
    return streamed(sse_bytes([*(delta(d) for d in deltas), delta({}, finish)]))


def test_a_whole_answer_is_kept_without_id_and_created() -> None:
    outcome = whole(chat_body("Paris."))
    document = kept(outcome)
    assert "id" not in document
    assert "created" not in document
    assert next(iter(document)) == "object"
    assert document["choices"][0]["message"]["content"] == "Paris."
    assert document["system_fingerprint"] == "fp_1"
    assert isinstance(outcome, Completion)
    assert outcome.usage == Usage(12, 5, 4)
    assert outcome.chunks is None


@pytest.mark.parametrize("size", [1, 3, 50, 100_000])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_stream_makes_the_same_answer_however_it_is_cut(size: int, newline: str) -> None:
    texts = ["Pa", "ris 雪", "🐍👨‍👩‍👧", "."]
    stream = sse_bytes(chat_chunks(texts), newline=newline)
    document = kept(streamed(stream, size))
    assert document["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "".join(texts)},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert document["usage"]["total_tokens"] == 17
    assert document["system_fingerprint"] == "fp_1"


def test_comments_multi_line_data_and_events_of_other_names_do_not_disturb() -> None:
    first, *rest = chat_chunks(["a"])
    spread = json.dumps(first, indent=1).replace("\n", "\ndata: ")
    stream = (
        f": ping\n\ndata: {spread}\n\nevent: heartbeat\ndata: {{}}\n\nevent: odd\ndata: not json\n\n".encode()
    )
    assert kept(streamed(stream + sse_bytes(rest)))["choices"][0]["message"]["content"] == "a"


def test_chunks_without_choices_or_with_empty_deltas_are_tolerated() -> None:
    odd = [
        {"choices": []},
        {"object": "chat.completion.chunk", "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        {"choices": None},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 0, "delta": {"content": None}}]},
        {"choices": [{"index": 0}]},
    ]
    chunks = chat_chunks(["a", "b"], usage=False)
    mixed = [chunks[0], *odd, chunks[1], *odd, *chunks[2:]]
    outcome = streamed(sse_bytes(mixed))
    assert kept(outcome)["choices"][0]["message"]["content"] == "ab"
    assert isinstance(outcome, Completion)
    assert outcome.usage == Usage(1, 2)
    assert outcome.chunks is None


def test_reasoning_and_unknown_texts_are_joined() -> None:
    document = kept(
        from_deltas(
            {"role": "assistant", "reasoning_content": "let me "},
            {"reasoning_content": "think", "reasoning": "x"},
            {"content": "yes", "vendor_note": "a"},
            {"vendor_note": "b"},
        )
    )
    message = document["choices"][0]["message"]
    assert message["reasoning_content"] == "let me think"
    assert message["reasoning"] == "x"
    assert message["vendor_note"] == "ab"


def test_tool_calls_are_joined_by_index() -> None:
    outcome = from_deltas(
        {"role": "assistant", "content": None},
        {
            "tool_calls": [
                {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"x"'}}]},
        {
            "tool_calls": [
                {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]},
        finish="tool_calls",
    )
    message = kept(outcome)["choices"][0]["message"]
    assert message["content"] is None
    assert message["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    assert isinstance(outcome, Completion)
    assert outcome.has_tool_calls
    assert outcome.chunks is None


def test_the_older_function_call_is_joined() -> None:
    outcome = from_deltas(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": '{"a":'}},
        {"function_call": {"arguments": "2}"}},
        finish="function_call",
    )
    assert kept(outcome)["choices"][0]["message"]["function_call"] == {"name": "f", "arguments": '{"a":2}'}
    assert isinstance(outcome, Completion)
    assert outcome.has_tool_calls


def test_several_choices_and_log_probabilities() -> None:
    def chunk(index: int, text: str, finish: str | None = None) -> dict[str, Any]:
        logprobs = {"content": [{"token": text, "logprob": -0.5}], "refusal": None} if text else None
        choice = {"index": index, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": finish}
        return {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}

    stream = [
        chunk(1, "b1"),
        chunk(0, "a1"),
        chunk(1, "b2"),
        chunk(0, "a2"),
        chunk(0, "", "stop"),
        chunk(1, "", "stop"),
    ]
    choices = kept(streamed(sse_bytes(stream)))["choices"]
    assert [c["message"]["content"] for c in choices] == ["a1a2", "b1b2"]
    assert [[t["token"] for t in c["logprobs"]["content"]] for c in choices] == [["a1", "a2"], ["b1", "b2"]]
    assert choices[0]["logprobs"]["refusal"] is None


def test_what_cannot_be_put_together_keeps_the_streams_own_chunks() -> None:
    chunks = [
        delta({"role": "assistant", "annotations": [{"url": "a"}]}, obfuscation="xyz", id="1", created=5),
        delta({"content": "hi", "annotations": [{"url": "b"}]}),
        delta({}, "stop"),
    ]
    outcome = streamed(sse_bytes(chunks))
    assert isinstance(outcome, Completion)
    assert outcome.chunks is not None
    stored = json.loads(outcome.chunks)
    assert [c["choices"] for c in stored] == [c["choices"] for c in chunks]
    assert not {"id", "created", "obfuscation"} & set(stored[0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"index": 0, "id": "b", "function": {"name": "g", "arguments": "{}"}},
        ),
        (
            {"id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "function": {"name": "g", "arguments": "{}"}},
        ),
    ],
)
def test_tool_calls_without_a_proper_index_stay_apart(first: Any, second: Any) -> None:
    outcome = from_deltas(
        {"role": "assistant", "tool_calls": [first]}, {"tool_calls": [second]}, finish="tool_calls"
    )
    assert [call["id"] for call in kept(outcome)["choices"][0]["message"]["tool_calls"]] == ["a", "b"]
    assert isinstance(outcome, Completion)
    assert outcome.chunks is not None


def test_padding_against_traffic_analysis_is_dropped() -> None:
    chunks = [{**chunk, "obfuscation": "x" * n} for n, chunk in enumerate(chat_chunks(["a"]))]
    outcome = streamed(sse_bytes(chunks))
    assert b"obfuscation" not in (outcome.body if isinstance(outcome, Completion) else b"obfuscation")
    assert isinstance(outcome, Completion)
    assert outcome.chunks is None


def test_a_surrogate_pair_cut_between_chunks_is_joined() -> None:
    stream = (
        b'data: {"choices":[{"index":0,"delta":{"content":"ok \\ud83d"}}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00!"}}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        b"data: [DONE]\n\n"
    )
    assert kept(streamed(stream))["choices"][0]["message"]["content"] == "ok 😀!"
    assert streamed(stream.replace(b"\\ude00", b"")) == Incomplete("surrogate")


def test_a_lone_surrogate_in_a_whole_answer_is_not_kept() -> None:
    assert whole(json.dumps(chat_body("bad \ud83d")).encode()) == Incomplete("invalid_json")


def test_what_an_answer_cost_is_known_though_it_is_not_kept() -> None:
    outcomes = (
        whole(chat_body(finish_reason="length")),
        streamed(sse_bytes(chat_chunks(finish="length"))),
        streamed(sse_bytes(chat_chunks(), done=False)),
    )
    for outcome in outcomes:
        assert isinstance(outcome, Incomplete)
        assert outcome.usage is not None
        assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == (12, 5)
    cut = streamed(sse_bytes(chat_chunks()[:2], done=False))
    assert isinstance(cut, Incomplete)
    assert cut.usage is None


BAD_BODIES: list[tuple[str, Any, str]] = [
    ("cut by the limit", chat_body(finish_reason="length"), "finish_reason"),
    ("filtered", chat_body(finish_reason="content_filter"), "finish_reason"),
    ("no finish reason", chat_body(finish_reason=None), "finish_reason"),
    ("error inside a 200", {"error": {"message": "no"}}, "error"),
    ("error beside an answer", chat_body(error={"message": "no"}), "error"),
    ("empty", chat_body(""), "empty"),
    ("white space", chat_body(" \n\u3000"), "empty"),
    ("null", chat_body(None), "empty"),
    ("refusal", chat_body(None, message={"refusal": "I cannot"}), "refusal"),
    ("no choices", chat_body(choices=[]), "shape"),
    ("choices missing", {"object": "chat.completion"}, "shape"),
    ("choices odd", chat_body(choices=[1]), "shape"),
    ("message missing", chat_body(choices=[{"index": 0, "finish_reason": "stop"}]), "shape"),
    ("same index twice", chat_body(choices=chat_body()["choices"] * 2), "shape"),
    ("index odd", chat_body(choices=[{**chat_body()["choices"][0], "index": "0"}]), "shape"),
    ("content odd", chat_body(message={"content": 5}), "shape"),
    ("other object", chat_body(object="text_completion"), "shape"),
    ("an array", [chat_body()], "shape"),
    ("tool calls odd", chat_body(None, message={"tool_calls": [{"function": 3}]}), "shape"),
    ("tool calls no list", chat_body(None, message={"tool_calls": "f"}), "shape"),
    (
        "arguments cut",
        chat_body(
            None,
            message={"tool_calls": [{"function": {"name": "f", "arguments": '{"a":'}}]},
            finish_reason="tool_calls",
        ),
        "arguments",
    ),
    ("HTML", b"<html>ok</html>", "invalid_json"),
    ("half", json.dumps(chat_body()).encode()[:-3], "invalid_json"),
    ("no UTF-8", json.dumps(chat_body("x")).encode().replace(b'"x"', b'"\xff"'), "invalid_json"),
    ("deep", b"[" * 100_000, "invalid_json"),
    ("nothing", b"", "invalid_json"),
]


@pytest.mark.parametrize(("name", "body", "reason"), BAD_BODIES)
def test_bad_answers_are_not_kept(name: str, body: Any, reason: str) -> None:
    assert whole(body) == Incomplete(reason)


def test_error_null_and_empty_arguments_are_no_fault() -> None:
    assert isinstance(whole(chat_body(error=None)), Completion)
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    assert isinstance(
        whole(chat_body(None, message={"tool_calls": [call]}, finish_reason="tool_calls")), Completion
    )


def test_one_bad_choice_spoils_all() -> None:
    good = chat_body()["choices"][0]
    assert whole(chat_body(choices=[good, {**good, "index": 1, "finish_reason": "length"}])) == Incomplete(
        "finish_reason"
    )


BAD_STREAMS: list[tuple[str, bytes, str]] = [
    ("no [DONE]", sse_bytes(chat_chunks(), done=False), "no_done"),
    ("[DONE] without a finish", sse_bytes(chat_chunks(finish=None)), "unended"),
    ("half an event, then the end", sse_bytes(chat_chunks(), done=False)[:-30], "unended"),
    ("cut by the limit", sse_bytes(chat_chunks(finish="length")), "finish_reason"),
    (
        "two ends",
        sse_bytes([*chat_chunks(finish="length", usage=False), *chat_chunks([], usage=False)]),
        "finish_reason",
    ),
    ("error first", sse_bytes([{"error": {"message": "no"}}]), "error"),
    ("error in the middle", sse_bytes([*chat_chunks(usage=False), {"error": {"message": "no"}}]), "error"),
    (
        "error as an event",
        sse_bytes(chat_chunks(), done=False) + b"event: error\ndata: oops\n\ndata: [DONE]\n\n",
        "error",
    ),
    (
        "error in a choice",
        sse_bytes(
            [delta({"content": "x"}), {"choices": [{"index": 0, "error": {"code": 1}}]}, delta({}, "stop")]
        ),
        "error",
    ),
    ("more after [DONE]", sse_bytes(chat_chunks()) + sse_bytes([delta({"content": "x"})]), "after_done"),
    ("no JSON", sse_bytes(["hello"]), "invalid_json"),
    ("an array", sse_bytes([[1]]), "shape"),
    ("choices odd", sse_bytes([{"choices": [1]}]), "shape"),
    ("index odd", sse_bytes([{"choices": [{"index": "x", "delta": {}}]}]), "shape"),
    ("only white space", sse_bytes(chat_chunks([" ", "\n"])), "empty"),
    (
        "reasoning only",
        sse_bytes([delta({"role": "assistant", "reasoning_content": "hm"}), delta({}, "stop")]),
        "empty",
    ),
    (
        "refusal",
        sse_bytes([delta({"refusal": "I can"}), delta({"refusal": "not"}), delta({}, "stop")]),
        "refusal",
    ),
    (
        "one of two choices unfinished",
        sse_bytes([delta({"content": "a"}), delta({"content": "b"}, index=1), delta({}, "stop")]),
        "unended",
    ),
    ("JSON instead of a stream", json.dumps(chat_body()).encode(), "unended"),
    ("NaN", sse_bytes(['{"choices":[],"x":"\\ud83d","y":NaN}']), "invalid_json"),
    ("deep", sse_bytes(['{"a":"\\u0041","b":' + "[" * 50_000]), "invalid_json"),
    ("nothing", b"", "unended"),
    ("only [DONE]", b"data: [DONE]\n\n", "unended"),
]


@pytest.mark.parametrize(("name", "stream", "reason"), BAD_STREAMS)
@pytest.mark.parametrize("size", [1, 100_000])
def test_bad_streams_are_not_kept(name: str, stream: bytes, reason: str, size: int) -> None:
    assert streamed(stream, size) == Incomplete(reason)


def test_an_end_mark_without_its_blank_line_is_an_end() -> None:
    assert isinstance(streamed(sse_bytes(chat_chunks()).rstrip()), Completion)


def test_nothing_incomplete_is_kept_wherever_the_stream_breaks() -> None:
    stream = sse_bytes(chat_chunks(["雪", "🐍"]))
    complete_at = len(stream) - 2  # the end mark is there, its blank line may be missing
    for cut in range(len(stream)):
        assert isinstance(streamed(stream[:cut]), Completion) == (cut >= complete_at), cut


def test_too_much_is_not_kept_and_not_held() -> None:
    for assembler in (StreamAssembler(max_bytes=100), JsonAssembler(max_bytes=100)):
        for _ in range(5):
            assembler.feed(b"data: " + b"x" * 40)
        assert assembler.finish() == Incomplete("too_large")


@pytest.mark.parametrize(
    "usage",
    [
        None,
        5,
        {},
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": True, "completion_tokens": 2},
        {"prompt_tokens": 2**60, "completion_tokens": 2},
        {"prompt_tokens": "3", "completion_tokens": 2},
    ],
)
def test_senseless_usage_is_no_usage(usage: Any) -> None:
    outcome = whole(chat_body(usage=usage))
    assert isinstance(outcome, Completion)
    assert outcome.usage is None


def test_cached_tokens_in_both_dialects() -> None:
    deepseek = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}
    outcome = whole(chat_body(usage=deepseek))
    assert isinstance(outcome, Completion)
    assert outcome.usage == Usage(10, 1, 8)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    [
        "choices",
        "delta",
        "index",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "finish_reason",
        "logprobs",
        "usage",
        "error",
        "role",
        "function_call",
    ]
)
chunky = st.recursive(
    json_values,
    lambda inner: st.dictionaries(keys, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(chunky, max_size=5), st.integers(1, 40))
def test_no_input_makes_an_assembler_raise(values: list[Any], size: int) -> None:
    streamed(sse_bytes(values), size)
    for value in values:
        whole(value)
        streamed(
            sse_bytes([{"choices": [{"index": 0, "delta": value}]}, {"choices": value}, {"choices": [value]}])
        )


@given(st.binary(max_size=200))
def test_no_bytes_make_an_assembler_raise(data: bytes) -> None:
    streamed(data, 7)
    streamed(b"data: " + data + b"\n\n")
    whole(data)
