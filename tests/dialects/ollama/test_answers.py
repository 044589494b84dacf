"""Ollama's answers: kept whole, put together from lines, and told again."""

from __future__ import annotations

import json
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Completion, Usage
from semcache.dialects.dialect import Incomplete, Wanted
from semcache.dialects.ollama.wire import OLLAMA_CHAT, OLLAMA_GENERATE, OllamaChat
from tests.dialects.answers import arguments, texts
from tests.dialects.contract import parts

ID, CREATED = b"ab", b"1800000000"
DURATIONS = {"total_duration": 9, "load_duration": 1, "prompt_eval_duration": 2, "eval_duration": 3}
END = {
    "model": "m", "created_at": "2026-01-01T00:00:00.1Z", "message": {"role": "assistant", "content": ""},
    "done": True, "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 5, **DURATIONS,
}  # fmt: skip


def line(content: str = "", done: bool = False, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return {**END, **more, "message": message} if done else {**LINE, **more, "message": message}


LINE = {"model": "m", "created_at": "2026-01-01T00:00:00.05Z", "done": False}


def ndjson(*lines: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


def streamed(data: bytes, size: int = 1 << 20, dialect: OllamaChat = OLLAMA_CHAT) -> Completion | Incomplete:
    assembler = dialect.assembler("application/x-ndjson")
    assert assembler is not None
    for part in parts(data, size):
        assembler.feed(part)
    return assembler.finish()


def whole(answer: Any, dialect: OllamaChat = OLLAMA_CHAT) -> Completion | Incomplete:
    assembler = dialect.assembler("application/json")
    assert assembler is not None
    assembler.feed(json.dumps(answer).encode())
    return assembler.finish()


def good(outcome: Completion | Incomplete) -> Completion:
    assert isinstance(outcome, Completion), outcome
    return outcome


def message_of(outcome: Completion | Incomplete) -> dict[str, Any]:
    choice: dict[str, Any] = json.loads(good(outcome).body)["choices"][0]
    return {**choice["message"], "finish_reason": choice["finish_reason"]}


def replayed(
    completion: Completion, *, stream: bool, usage: Any = "original", dialect: OllamaChat = OLLAMA_CHAT
) -> bytes:
    return dialect.layout(completion, Wanted(stream, include_usage=True, usage=usage)).whole(ID, CREATED)


@pytest.mark.parametrize("size", [1, 3, 50, 100_000])
def test_lines_make_an_answer_however_they_are_cut(size: int) -> None:
    lines = [line(message={"thinking": "hm"}), line("Pa"), line("ris 雪"), line("🐍👨‍👩‍👧"), line(done=True)]
    outcome = good(streamed(ndjson(*lines), size))
    assert message_of(outcome) == {
        "role": "assistant",
        "content": "Paris 雪🐍👨‍👩‍👧",
        "reasoning_content": "hm",
        "finish_reason": "stop",
    }
    assert outcome.usage == Usage(12, 5)
    assert (outcome.native, outcome.chunks) == (None, None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (ndjson(line("a")), "unended"),
        (b"", "unended"),
        (ndjson(line("a"), line(done=True), line("b")), "after_done"),
        (ndjson(line("a"), line(done=True), line(done=True)), "after_done"),
        (ndjson(line("a"), {"error": "boom"}), "error"),
        (ndjson(line("a"), line(done=True), {"error": "boom"}), "error"),
        (ndjson(line("a"), line(done=True, done_reason="length")), "finish_reason"),
        (ndjson(line("a"), line(done=True, done_reason=None)), "finish_reason"),
        (ndjson(line(done=True, done_reason="load")), "finish_reason"),
        (ndjson(line(done=True)), "empty"),
        (ndjson(line("a"), {**line("b"), "done": "yes"}), "unended"),
        (ndjson(line("a"), line(done=True))[:-5], "unended"),
        (b"data: x\n", "invalid_json"),
        (b"[1]\n", "shape"),
        (ndjson({**LINE, "message": {"content": 5}}), "shape"),
        (ndjson({**LINE, "message": "a"}), "shape"),
        (ndjson(line("a", message={"tool_calls": {"a": 1}})), "shape"),
        (ndjson(line("a", message={"tool_calls": [5]}), line(done=True)), "shape"),
        (ndjson(line("a", message={"tool_calls": [{"function": {"name": "f", "arguments": 5}}]}), line(done=True)), "ok"),
        (b'{"message":{"content":"\\ud800"}}\n', "invalid_json"),
    ],
)  # fmt: skip
def test_what_is_not_whole_is_not_kept(data: bytes, reason: str) -> None:
    outcome = streamed(data)
    assert (outcome.reason if isinstance(outcome, Incomplete) else "ok") == reason


def test_what_was_billed_is_known_all_the_same() -> None:
    outcome = streamed(ndjson(line("a"), line(done=True, done_reason="length")))
    assert isinstance(outcome, Incomplete)
    assert outcome.usage == Usage(12, 5)
    outcome = whole({**line("a", done=True), "done_reason": "length"})
    assert isinstance(outcome, Incomplete)
    assert outcome.usage == Usage(12, 5)


def test_too_much_is_not_collected() -> None:
    from semcache.dialects.ollama.stream import StreamAssembler

    assembler = StreamAssembler(OLLAMA_CHAT, dict, dict, max_bytes=100)
    assembler.feed(ndjson(line("a" * 200)))
    outcome = assembler.finish()
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == "too_large"


def test_it_is_done_at_its_last_line() -> None:
    assembler = OLLAMA_CHAT.assembler("application/x-ndjson")
    assert assembler is not None
    assembler.feed(ndjson(line("a")))
    assert not assembler.is_done
    assembler.feed(ndjson(line(done=True)))
    assert assembler.is_done


def test_fields_said_twice_and_differently_keep_the_lines() -> None:
    lines = [line("a", x_rate=1), line("b", x_rate=2), line(done=True)]
    completion = good(streamed(ndjson(*lines)))
    assert completion.chunks is not None
    assert OLLAMA_CHAT.can_replay(completion, stream=True)
    assert not OLLAMA_CHAT.can_replay(completion, stream=False)
    with pytest.raises(ValueError, match="stream"):
        replayed(completion, stream=False)
    again = [json.loads(one) for one in replayed(completion, stream=True).splitlines()]
    fresh = {"created_at": "2027-01-15T08:00:00Z"}
    times = dict.fromkeys(DURATIONS, 1)
    assert again == [{**one, **fresh, **(times if one["done"] else {})} for one in lines]
    last = json.loads(replayed(completion, stream=True, usage="zero").splitlines()[-1])
    assert (last["eval_count"], last["semcache_saved"]) == (0, {"prompt_eval_count": 12, "eval_count": 5})


def test_a_field_that_stands_in_every_line_is_one() -> None:
    lines = [line("a", remote_host="h"), line("b", remote_host="h"), line(done=True, remote_host="h")]
    completion = good(streamed(ndjson(*lines)))
    assert completion.chunks is None
    assert json.loads(completion.native or b"")["remote_host"] == "h"
    assert b'"remote_host":"h"' in replayed(completion, stream=False)


def test_a_context_survives_in_generates_own_words() -> None:
    answer = {
        "model": "m", "created_at": "x", "response": "Paris.", "done": True, "done_reason": "stop",
        "context": [1, 2, 3], "prompt_eval_count": 1, "eval_count": 2, **DURATIONS,
    }  # fmt: skip
    completion = good(whole(answer, OLLAMA_GENERATE))
    assert json.loads(completion.body)["choices"][0]["message"]["content"] == "Paris."
    for stream in (False, True):
        told = replayed(completion, stream=stream, dialect=OLLAMA_GENERATE)
        last = json.loads(told.splitlines()[-1])
        assert last["context"] == [1, 2, 3]
        again = streamed(told, dialect=OLLAMA_GENERATE) if stream else whole(last, OLLAMA_GENERATE)
        assert json.loads(good(again).native or b"") == json.loads(completion.native or b"")
    assert "message" not in last
    assert last["response"] == ""


def test_a_replay_took_no_time_but_clients_may_divide_by_it() -> None:
    completion = good(whole(line("Paris.", done=True)))
    told = json.loads(replayed(completion, stream=False, usage="zero"))
    assert told["eval_count"] / told["eval_duration"] == 0
    assert told["semcache_saved"] == {"prompt_eval_count": 12, "eval_count": 5}
    assert told["created_at"] == "2027-01-15T08:00:00Z"
    original = json.loads(replayed(completion, stream=False))
    assert (original["prompt_eval_count"], original["eval_count"]) == (12, 5)
    assert "semcache_saved" not in original
    uncounted = good(whole({k: v for k, v in line("a", done=True).items() if "count" not in k}))
    told = json.loads(replayed(uncounted, stream=False, usage="zero"))
    assert (told["eval_count"], told["prompt_eval_count"], "semcache_saved" in told) == (0, 0, False)


def test_texts_are_cut_between_characters() -> None:
    text = "👨‍👩‍👧" * 500
    completion = good(whole(line(text, done=True)))
    pieces = [json.loads(one)["message"]["content"] for one in replayed(completion, stream=True).splitlines()]
    assert len(pieces) > 2
    assert "".join(pieces) == text
    assert all(regex.fullmatch(r"(👨‍👩‍👧)*", piece) for piece in pieces)


def test_calls_without_ids_are_counted_and_come_back_as_they_were() -> None:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    answer = line(done=True, message={"tool_calls": [call, call]})
    completion = good(whole(answer))
    told = json.loads(completion.body)["choices"][0]
    assert [one["id"] for one in told["message"]["tool_calls"]] == ["call_0", "call_1"]
    assert told["finish_reason"] == "tool_calls"
    assert completion.has_tool_calls
    assert json.loads(replayed(completion, stream=False))["message"]["tool_calls"] == [call, call]


def live(dialect: OllamaChat, *chunks: Any) -> list[dict[str, Any]]:
    writer = dialect.live_writer(Wanted(stream=True, include_usage=True, usage="original"), "ab", 1800000000)
    sent = b"".join([writer.feed(chunk) for chunk in chunks]) + writer.finish()
    return [json.loads(one) for one in sent.splitlines()]


def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def test_a_refusal_is_shown_and_a_call_without_an_object_is_an_error() -> None:
    refused = live(OLLAMA_CHAT, delta(refusal="No."), delta("stop"))
    assert refused[0]["message"]["content"] == "No."
    broken = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "[1"}}
    failed = live(OLLAMA_CHAT, delta(content="a"), delta(tool_calls=[broken]), delta("tool_calls"))
    assert list(failed[-1]) == ["error"]
    assert not any(one.get("done") for one in failed)


def test_generate_streams_texts_at_the_top() -> None:
    lines = live(OLLAMA_GENERATE, delta(reasoning_content="hm"), delta(content="Paris."), delta("stop"))
    assert [one["response"] for one in lines] == ["", "Paris.", ""]
    assert lines[0]["thinking"] == "hm"
    assert (lines[-1]["done"], lines[-1]["done_reason"]) == (True, "stop")
    assert not any("message" in one for one in lines)


def test_a_cut_stream_has_no_end_for_who_reads_it_live() -> None:
    reader = OLLAMA_CHAT.live_reader()
    chunks = reader.feed(ndjson(line("a"), line("b"))) + reader.finish()
    assert [c["choices"][0]["delta"].get("content") for c in chunks] == ["a", "b"]
    assert not reader.is_done
    assert reader.feed(b"not json\n")[0]["error"]["type"] == "upstream_error"
    assert reader.feed(b'{"error":"boom"}\n') == [{"error": {"message": "boom", "type": "upstream_error"}}]


calls = st.lists(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({"name": st.just("f"), "arguments": arguments})},
        optional={"id": st.just("call_x")},
    ),
    min_size=1,
    max_size=2,
)
natives = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": texts},
    optional={"thinking": texts, "tool_calls": calls, "x_new": texts, "images": st.just(["QUJD"])},
)
tops = st.fixed_dictionaries(
    {},
    optional={
        "x_new": texts, "remote_model": texts, "prompt_eval_count": st.integers(0, 9),
        "eval_count": st.integers(1, 9), "logprobs": st.just([{"token": "x", "logprob": -1.0}]),
    },
)  # fmt: skip


@settings(max_examples=80)
@given(natives, tops, st.integers(1, 60))
def test_an_answer_in_its_own_words_comes_back_equal_in_both_modes(
    message: dict[str, Any], top: dict[str, Any], size: int
) -> None:
    answer = {"model": "m", "message": message, "done": True, "done_reason": "stop", **top}
    completion = good(whole({**answer, "created_at": "now", **DURATIONS}))
    told = json.loads(replayed(completion, stream=False))
    assert OLLAMA_CHAT.bare(told) == answer
    again = good(streamed(replayed(completion, stream=True), size))
    assert again.chunks is None
    assert json.loads(again.body) == json.loads(completion.body)
    assert json.loads(again.native or b"0") == json.loads(completion.native or b"0")
    assert again.usage == completion.usage
