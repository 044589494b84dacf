"""Gemini's answers: kept whole, put together from pieces in both framings, and told again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Completion, Usage
from semcache.dialects.dialect import ErrorWords, Incomplete, Wanted
from semcache.dialects.gemini.wire import GEMINI, GEMINI_ARRAY, Gemini
from tests.dialects import contract as by
from tests.dialects.answers import documents
from tests.dialects.gemini.natives import answers

ID, CREATED = b"ab", b"1800000000"
COUNTS = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 20, "thoughtsTokenCount": 3}
both = pytest.mark.parametrize("dialect", [GEMINI, GEMINI_ARRAY], ids=["events", "array"])


def piece(*parts: Any, finish: str | None = None, index: int | None = None, **top: Any) -> dict[str, Any]:
    said = [{"text": one} if isinstance(one, str) else one for one in parts]
    candidate: dict[str, Any] = {"content": {"parts": said, "role": "model"}}
    if finish:
        candidate["finishReason"] = finish
    if index is not None:
        candidate["index"] = index
    return {"candidates": [candidate], "modelVersion": "g-001", "responseId": "r1", **top}


def framed(dialect: Gemini, *pieces: Any, closed: bool = True) -> bytes:
    told = [json.dumps(one, indent=2 if dialect is GEMINI_ARRAY else None).encode() for one in pieces]
    if dialect is GEMINI_ARRAY:
        return b"[" + b"\n,\r\n".join(told) + (b"\n]\n" if closed else b"")
    return b"".join(b"data: " + one + b"\r\n\r\n" for one in told)


def streamed(dialect: Gemini, data: bytes, size: int = 1 << 20) -> Completion | Incomplete:
    return by.assembled(dialect, data, stream=True, size=size)


def whole(answer: Any) -> Completion | Incomplete:
    return by.assembled(GEMINI, json.dumps(answer).encode(), stream=False)


def good(outcome: Completion | Incomplete) -> Completion:
    assert isinstance(outcome, Completion), outcome
    return outcome


def replayed(
    completion: Completion, *, stream: bool, usage: Any = "original", dialect: Gemini = GEMINI
) -> bytes:
    return dialect.layout(completion, Wanted(stream, include_usage=True, usage=usage)).whole(ID, CREATED)


@both
@pytest.mark.parametrize("size", [1, 3, 50, 100_000])
def test_pieces_make_an_answer_however_they_are_cut(dialect: Gemini, size: int) -> None:
    data = framed(
        dialect,
        piece({"text": "h", "thought": True}, usageMetadata={"promptTokenCount": 12}),
        piece({"text": "m", "thought": True}),
        piece('Pa"]}'),
        piece("ris 雪", "🐍👨‍👩‍👧\\"),
        piece("", finish="STOP", usageMetadata=COUNTS),
    )
    outcome = good(streamed(dialect, data, size))
    choice = json.loads(outcome.body)["choices"][0]
    assert choice["message"] == {
        "role": "assistant",
        "content": 'Pa"]}ris 雪🐍👨‍👩‍👧\\',
        "reasoning_content": "hm",
    }
    assert choice["finish_reason"] == "stop"
    assert outcome.usage == Usage(12, 8, reasoning_tokens=3)
    assert outcome.chunks is None


END = piece("b", finish="STOP")


@both
@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([], "unended"),
        ([piece("a")], "unended"),
        ([piece("a", index=0), piece("b", finish="STOP", index=1)], "unended"),
        ([piece("a", finish="STOP"), piece("b", finish="STOP")], "after_done"),
        ([END, piece("c")], "after_done"),
        ([END, {"error": {"code": 500, "message": "boom"}}], "error"),
        ([{"error": {"code": 500, "message": "boom"}}], "error"),
        ([piece("a", finish="MAX_TOKENS")], "finish_reason"),
        ([piece("a", finish="SAFETY")], "finish_reason"),
        ([piece("a", finish="X_NEW")], "finish_reason"),
        ([piece("a", finish="MALFORMED_FUNCTION_CALL")], "finish_reason"),
        ([{"promptFeedback": {"blockReason": "SAFETY"}}], "finish_reason"),
        ([{"promptFeedback": {"blockReason": "SAFETY"}}, END], "finish_reason"),
        ([piece(finish="STOP")], "empty"),
        ([piece({"functionCall": {"args": {}}}, finish="STOP")], "shape"),
        ([{"candidates": [5]}], "shape"),
        ([{"candidates": 5}], "shape"),
        ([{"candidates": [{"content": {"parts": [5]}}]}], "shape"),
        ([{"candidates": [{"content": 5}]}], "shape"),
        ([END], "ok"),
        ([END, {"usageMetadata": COUNTS}], "ok"),
        ([END, piece("", usageMetadata=COUNTS)], "ok"),
    ],
)
def test_what_is_not_whole_is_not_kept(dialect: Gemini, pieces: list[Any], reason: str) -> None:
    outcome = streamed(dialect, framed(dialect, *pieces))
    assert (outcome.reason if isinstance(outcome, Incomplete) else "ok") == reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (framed(GEMINI_ARRAY, END, closed=False), "unended"),
        (framed(GEMINI_ARRAY, END)[:-20], "unended"),
        (framed(GEMINI_ARRAY, END) + b" x", "shape"),
        (framed(GEMINI_ARRAY, END) + b"[]", "shape"),
        (b"[1," + framed(GEMINI_ARRAY, END)[1:], "shape"),
        (b'["a",' + framed(GEMINI_ARRAY, END)[1:], "shape"),
        (b"[[]," + framed(GEMINI_ARRAY, END)[1:], "shape"),
        (b"]", "invalid_json"),
        (b"", "invalid_json"),
        (b"  ", "invalid_json"),
        (b"[{bad}]", "invalid_json"),
    ],
)
def test_an_array_must_be_one(data: bytes, reason: str) -> None:
    outcome = streamed(GEMINI_ARRAY, data)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == reason


def test_an_array_is_done_when_it_is_closed_and_events_never_are() -> None:
    for dialect in (GEMINI, GEMINI_ARRAY):
        assembler = dialect.assembler(by.media_type(dialect, stream=True))
        assert assembler is not None
        assembler.feed(framed(dialect, END))
        assert assembler.is_done == (dialect is GEMINI_ARRAY)


def test_a_last_event_may_lack_its_blank_line() -> None:
    assert good(streamed(GEMINI, framed(GEMINI, piece("a"), END).rstrip()))


@both
def test_what_was_billed_is_known_all_the_same(dialect: Gemini) -> None:
    outcome = streamed(dialect, framed(dialect, piece("a", usageMetadata=COUNTS)))
    assert isinstance(outcome, Incomplete)
    assert outcome.usage == Usage(12, 8, reasoning_tokens=3)


def test_other_media_types_are_no_answers() -> None:
    assert GEMINI.assembler("application/x-protobuf") is None


@both
def test_what_pieces_say_differently_keeps_the_pieces(dialect: Gemini) -> None:
    pieces = [
        {**piece("a", usageMetadata=COUNTS), "x": 1},
        {**piece("b", finish="STOP", usageMetadata=COUNTS), "x": 2},
    ]
    completion = good(streamed(dialect, framed(dialect, *pieces)))
    assert completion.chunks is not None
    assert [dialect.can_replay(completion, stream=mode) for mode in (False, True)] == [False, True]
    with pytest.raises(ValueError, match="replayed"):
        replayed(completion, stream=False, dialect=dialect)
    told = replayed(completion, stream=True, dialect=dialect)
    assert pieces_of(dialect, told) == [{**one, "responseId": "ab"} for one in pieces]
    zero = pieces_of(dialect, replayed(completion, stream=True, usage="zero", dialect=dialect))
    assert zero[0]["usageMetadata"]["semcache_saved"] == COUNTS
    assert zero[1]["usageMetadata"]["totalTokenCount"] == 0


def pieces_of(dialect: Gemini, data: bytes) -> list[dict[str, Any]]:
    if dialect is GEMINI_ARRAY:
        found: list[dict[str, Any]] = json.loads(data)
        return found
    return by.events_of(data)


def test_signatures_and_media_survive_in_its_own_words() -> None:
    parts = [
        {"text": "think", "thought": True},
        {"text": "Paris", "thoughtSignature": "c2ln"},
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
        {"text": "."},
    ]
    completion = good(whole(piece(*parts, finish="STOP", usageMetadata=COUNTS)))
    told = json.loads(completion.body)["choices"][0]["message"]
    assert (told["content"], told["reasoning_content"]) == ("Paris.", "think")
    assert json.loads(replayed(completion, stream=False))["candidates"][0]["content"]["parts"] == parts
    again = good(streamed(GEMINI, replayed(completion, stream=True)))
    assert json.loads(again.native or b"")["candidates"][0]["content"]["parts"] == parts


def test_parts_that_a_stream_would_join_are_not_streamed() -> None:
    for parts in (("a", "b"), ("a", "")):
        completion = good(whole(piece(*parts, finish="STOP")))
        assert not GEMINI.can_replay(completion, stream=True)
        assert GEMINI.can_replay(completion, stream=False)
        with pytest.raises(ValueError, match="replayed"):
            replayed(completion, stream=True)


def test_a_replay_costs_nothing_and_says_what_it_saved() -> None:
    completion = good(whole(piece("a", finish="STOP", usageMetadata=COUNTS)))
    told = json.loads(replayed(completion, stream=False, usage="zero"))
    assert told["usageMetadata"] == {
        "promptTokenCount": 0,
        "candidatesTokenCount": 0,
        "totalTokenCount": 0,
        "semcache_saved": COUNTS,
    }
    assert told["responseId"] == "ab"
    assert json.loads(replayed(completion, stream=False))["usageMetadata"] == COUNTS


@both
@settings(max_examples=60)
@given(answers(), st.integers(1, 60))
def test_an_answer_in_its_own_words_comes_back_equal(
    dialect: Gemini, answer: dict[str, Any], size: int
) -> None:
    completion = good(whole(answer))
    told = json.loads(replayed(completion, stream=False, dialect=dialect))
    assert dialect.bare(told) == dialect.bare(answer)
    if dialect.can_replay(completion, stream=True):
        again = good(streamed(dialect, replayed(completion, stream=True, dialect=dialect), size))
        assert again.chunks is None
        assert json.loads(again.body) == json.loads(completion.body)
        assert json.loads(again.native or b"0") == json.loads(completion.native or b"0")
        assert again.usage == completion.usage


sayable = st.frozensets(
    st.sampled_from(("tools", "only-tools", "reasoning", "logprobs", "choices")), max_size=3
).flatmap(documents)


@settings(max_examples=40)
@given(sayable, st.integers(1, 60))
def test_arrays_say_what_events_say(document: dict[str, Any], size: int) -> None:
    completion = by.stored(document)
    reply = replayed(completion, stream=True, dialect=GEMINI_ARRAY)
    again = streamed(GEMINI_ARRAY, reply, size)
    assert by.answer_of(again) == by.said(document)
    assert isinstance(streamed(GEMINI_ARRAY, reply[:-2]), Incomplete)
    assert json.loads(reply)[0]["responseId"] == "ab"
    reader = GEMINI_ARRAY.live_reader()
    chunks = [chunk for part in by.parts(reply, size) for chunk in reader.feed(part)] + reader.finish()
    assert reader.is_done
    assert by.answer_of(by.of_chunks(chunks)) == by.said(document)
    writer = GEMINI_ARRAY.live_writer(by.wanted(stream=True), "ab", 1)
    sent = b"".join([writer.feed(chunk) for chunk in by.chat_stream(completion)])
    assert isinstance(streamed(GEMINI_ARRAY, sent), Incomplete)
    sent += writer.finish()
    assert by.answer_of(streamed(GEMINI_ARRAY, sent, size)) == by.said(document)
    assert isinstance(json.loads(sent), list)


def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def live(dialect: Gemini, *chunks: Any) -> list[dict[str, Any]]:
    writer = dialect.live_writer(by.wanted(stream=True), "ab", 1)
    return pieces_of(dialect, b"".join([writer.feed(chunk) for chunk in chunks]) + writer.finish())


@both
def test_errors_of_a_live_stream_are_well_formed(dialect: Gemini) -> None:
    for chunks in ([], [delta(content="a")]):
        failed = live(dialect, *chunks, {"error": {"message": "boom"}}, delta(content="late"))
        assert failed[-1]["error"]["message"] == "boom"
        assert len(failed) == len(chunks) + 1
    broken = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "[1"}}
    failed = live(dialect, delta(tool_calls=[broken]), delta("tool_calls"))
    assert list(failed[-1]) == ["error"]
    assert live(dialect, delta(refusal="No."))[0]["candidates"][0]["content"]["parts"] == [{"text": "No."}]
    sent = framed(dialect, piece("a"), closed=False)
    event = dialect.write_error_event(ErrorWords("boom", 502, "upstream_error"))
    assert pieces_of(dialect, sent + event)[-1]["error"]["message"] == "boom"


@both
def test_a_question_that_is_refused_is_told_live(dialect: Gemini) -> None:
    reader = dialect.live_reader()
    data = framed(dialect, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": COUNTS})
    chunks = reader.feed(data) + reader.finish()
    assert reader.is_done
    assert chunks[0]["choices"][0]["finish_reason"] == "content_filter"
    assert chunks[1]["usage"]["prompt_tokens"] == 12


@both
def test_a_cut_stream_has_no_end_for_who_reads_it_live(dialect: Gemini) -> None:
    reader = dialect.live_reader()
    chunks = reader.feed(framed(dialect, piece("a"), closed=False)) + reader.finish()
    assert [c["choices"][0]["delta"] for c in chunks] == [{"role": "assistant", "content": "a"}]
    assert not reader.is_done


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": []}},
        [{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}],
        {"error": "slow down"},
    ],
    ids=str,
)
def test_errors_are_read_in_every_shape(body: Any) -> None:
    read = GEMINI.read_error(429, json.dumps(body).encode())
    assert (read.message, read.status, read.type) == ("slow down", 429, "rate_limit_error")
    told = json.loads(GEMINI.write_error(read))
    assert told == {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}


def test_log_probabilities_of_half_characters_have_no_words() -> None:
    token = {"token": "�", "logprob": -1.0, "bytes": [240, 159], "top_logprobs": []}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "x"},
        "logprobs": {"content": [token]},
        "finish_reason": "stop",
    }
    completion = by.stored({"object": "chat.completion", "model": "m", "choices": [choice]})
    assert not GEMINI.can_replay(completion, stream=True)
