"""Whole answers in both ways: what chat can say, what is kept beside it, what is never kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.anthropic.counts import chat_usage, native_usage
from semcache.dialects.dialect import Incomplete
from semcache.dialects.keeping import kept
from semcache.dialects.usage import read_anthropic, read_usage
from tests.dialects.anthropic.answered import answers, assembled, replayed, stored, usages, whole

TEXT = {"type": "text", "text": "Paris"}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": "雪"}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def message(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 3}
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(content),
    }
    return {**body, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage, **fields}


def test_a_plain_answer_needs_nothing_but_chat() -> None:
    completion = stored(message(TEXT))
    assert completion.native is None
    assert json.loads(completion.body) == {
        "object": "chat.completion",
        "model": "claude",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Paris"},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
    }


def test_thinking_text_and_calls_read_as_chat() -> None:
    completion = stored(message(THINKING, TEXT, USE, stop_reason="tool_use"))
    choice = json.loads(completion.body)["choices"][0]
    assert choice["message"] == {
        "role": "assistant",
        "content": "Paris",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a":"雪"}'}},
        ],
    }
    assert choice["finish_reason"] == "tool_calls"
    assert completion.has_tool_calls
    # The signature is not chat's to say.
    assert completion.native is not None


def test_unsigned_thinking_and_calls_are_said_by_chat_alone() -> None:
    unsigned = {**THINKING, "signature": ""}
    assert stored(message(unsigned, TEXT, USE, stop_reason="tool_use")).native is None
    assert stored(message(TEXT, stop_reason="stop_sequence", stop_sequence="END")).native is None


def test_a_stop_sequence_is_told_as_other_servers_do() -> None:
    completion = stored(message(TEXT, stop_reason="stop_sequence", stop_sequence="END"))
    choice = json.loads(completion.body)["choices"][0]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", "END")
    assert whole(completion)["stop_sequence"] == "END"


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("max_tokens", "finish_reason"),
        ("refusal", "finish_reason"),
        ("pause_turn", "finish_reason"),
        ("model_context_window_exceeded", "finish_reason"),
        ("compaction", "finish_reason"),
        ("stop", "finish_reason"),
        ("tool_calls", "finish_reason"),
        ("unheard_of", "finish_reason"),
        (None, "finish_reason"),
        (5, "finish_reason"),
    ],
)
def test_an_answer_that_did_not_end_by_itself_is_not_kept(reason: Any, why: str) -> None:
    outcome = kept(MESSAGES, message(TEXT, stop_reason=reason))
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == why
    assert outcome.usage is not None
    assert outcome.usage.prompt_tokens == 5


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (message(), "empty"),
        (message({"type": "text", "text": " "}), "empty"),
        (message(THINKING), "empty"),
        (message({"type": "text"}), "shape"),
        (message({"type": "thinking", "thinking": 5}, TEXT), "shape"),
        (message({"type": "tool_use", "id": "t", "name": "f", "input": "x"}), "shape"),
        (message({"text": "x"}), "shape"),
        (message("x"), "shape"),  # type: ignore[arg-type]
        ({**message(), "content": "x"}, "shape"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}, "shape"),
        ([], "shape"),
        (None, "shape"),
    ],
    ids=str,
)
def test_what_has_not_the_shape_is_not_kept(answer: Any, reason: str) -> None:
    outcome = assembled(json.dumps(answer).encode(), stream=False)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == reason


@settings(max_examples=100, deadline=None)
@given(answers)
def test_an_answer_is_replayed_as_it_came(answer: dict[str, Any]) -> None:
    completion = stored(answer)
    assert MESSAGES.can_replay(completion, stream=False)
    replay = json.loads(replayed(completion, stream=False))
    assert replay.pop("id") == "msg_0123456789abcdef01234567"
    assert replay == MESSAGES.bare(answer)


@settings(max_examples=100, deadline=None)
@given(usages)
def test_usage_is_the_same_count_in_both_words(usage: dict[str, Any]) -> None:
    told = chat_usage(usage)
    assert told is not None
    assert read_usage(told) == read_anthropic(usage)
    assert read_anthropic(native_usage(told)) == read_anthropic(usage)
    assert native_usage(told) == usage


@pytest.mark.parametrize(
    ("native", "chat"),
    [
        (
            {"input_tokens": 2000, "cache_read_input_tokens": 8000, "output_tokens": 100},
            {
                "prompt_tokens": 10000,
                "completion_tokens": 100,
                "total_tokens": 10100,
                "prompt_tokens_details": {"cached_tokens": 8000},
            },
        ),
        (
            {
                "input_tokens": 5,
                "cache_creation_input_tokens": 7,
                "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
                "output_tokens": 3,
                "output_tokens_details": {"thinking_tokens": 2},
            },
            {
                "prompt_tokens": 12,
                "completion_tokens": 3,
                "total_tokens": 15,
                "prompt_tokens_details": {"cache_write_tokens": 7},
                "completion_tokens_details": {"reasoning_tokens": 2},
                "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
            },
        ),
    ],
)
def test_usage_by_example(native: dict[str, Any], chat: dict[str, Any]) -> None:
    assert chat_usage(native) == chat
    assert native_usage(chat) == native
    assert read_usage(chat) == read_anthropic(native)


@pytest.mark.parametrize(
    "usage", [None, 5, {}, {"input_tokens": -1, "output_tokens": 3}, {"input_tokens": "5"}]
)
def test_counts_that_are_not_sane_cost_no_answer(usage: Any) -> None:
    completion = stored(message(TEXT, usage=usage))
    assert completion.usage is None
    told = json.loads(replayed(completion, stream=False))["usage"]
    assert told == (usage if isinstance(usage, dict) else {"input_tokens": 0, "output_tokens": 0})
    assert native_usage({"prompt_tokens": usage}) == {"input_tokens": 0, "output_tokens": 0}


def test_a_replay_costs_nothing_and_tells_what_it_saved() -> None:
    for content in ((TEXT,), (THINKING, TEXT)):
        completion = stored(message(*content))
        nothing = {"input_tokens": 0, "output_tokens": 0}
        nothing |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        told = json.loads(replayed(completion, stream=False, zero=True))["usage"]
        assert told == {**nothing, "semcache_saved": {"input_tokens": 5, "output_tokens": 3}}
    unknown = json.loads(replayed(stored(message(TEXT, usage=None)), stream=False, zero=True))["usage"]
    assert unknown == nothing


# ------------------------------------------------------------------------- chat answers as messages


def chat(message: dict[str, Any], finish: str | None = "stop", **choice: Any) -> dict[str, Any]:
    one = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **choice}
    return {"id": "chatcmpl-ab", "object": "chat.completion", "created": 1, "model": "m", "choices": [one]}


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}


def test_a_chat_answer_as_other_servers_send_it() -> None:
    """Empty fields all over, reasoning under either name or both, blank arguments."""
    told = {"content": "", "refusal": None, "annotations": [], "audio": None, "function_call": None}
    reasoned = {"reasoning": "hm", "reasoning_content": "hm", "tool_calls": [CALL]}
    document = chat({**told, **reasoned}, "tool_calls", stop_reason=None, token_ids=None, logprobs=None)
    answer = MESSAGES.write_answer({**document, "system_fingerprint": "fp", "prompt_logprobs": None})
    assert answer == {
        "id": "msg_ab",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (chat({"content": "x"}, "length"), "max_tokens"),
        (chat({"content": "x"}, "content_filter"), "refusal"),
        (chat({"content": None, "refusal": "no"}), "refusal"),
        (chat({"content": "x", "tool_calls": [CALL]}, "stop"), "tool_use"),
        (chat({"content": "x"}, None), None),
    ],
)
def test_why_it_stopped(document: dict[str, Any], reason: str | None) -> None:
    assert MESSAGES.write_answer(document)["stop_reason"] == reason


@pytest.mark.parametrize(
    "document",
    [
        {**chat({"content": "x"}), "choices": []},
        {**chat({"content": "x"}), "choices": [*chat({"content": "x"})["choices"]] * 2},
        {**chat({"content": "x"}), "x_vendor": 1},
        chat({"content": "x", "x_vendor": 1}),
        chat({"content": "x"}, x_vendor=1),
        chat({"content": "x"}, logprobs={"content": [{"token": "x"}]}),
        chat({"content": "x", "audio": {"id": "a"}}),
        chat({"content": "x", "function_call": {"name": "f", "arguments": "{}"}}),
        chat({"content": "x", "reasoning": "a", "reasoning_content": "b"}),
        chat({"content": [{"type": "image_url"}]}),
        chat({"content": "x", "tool_calls": [{**CALL, "type": "custom"}]}),
        chat({"content": "x", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "[1]"}}]}),
        chat({"content": "x", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "{"}}]}),
        chat({"content": "x", "tool_calls": [{**CALL, "extra_content": {"a": 1}}]}),
        chat({"content": "x"}, "function_call"),
        chat({"content": "x"}, ["stop"]),  # type: ignore[arg-type]
        chat({"content": "x"}, logprobs=["x"]),
        chat({"content": "x", "tool_calls": 5}),
        chat({"content": 5}),
        chat({"content": "x", "reasoning": 5}),
        {**chat({"content": "x"}), "choices": ["x"]},
        {**chat({"content": "x"}), "choices": [{"message": "x"}]},
        {"error": {"message": "no"}},
    ],
    ids=str,
)
def test_what_a_message_cannot_say_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        MESSAGES.write_answer(document)
