"""Requests of the responses API in chat's words, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import ChatRequest
from semcache.dialects.chat.request import parse_chat
from semcache.dialects.request import request_of
from semcache.dialects.responses.wire import RESPONSES
from semcache.errors import RequestError
from tests.dialects.answers import texts


def asked(**body: Any) -> ChatRequest:
    whole = {"model": "m", "input": "hi", "store": False, **body}
    return request_of(RESPONSES, json.loads(json.dumps(whole)), "/v1/responses")


def test_a_plain_question_is_a_plain_chat_question() -> None:
    request = asked(instructions="be brief", max_output_tokens=9, temperature=0.2, text={"verbosity": "low"})
    assert request.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "max_completion_tokens": 9,
        "temperature": 0.2,
        "verbosity": "low",
    }
    assert (request.prompt, request.system, request.temperature) == ("hi", "be brief", 0.2)
    assert (request.unsayable, request.uncacheable, request.exact_only) == ((), None, None)
    assert request.path == "/v1/responses"


def test_a_round_of_tools_is_what_chat_would_have_said() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}
    items = [
        {"role": "user", "content": "weather?"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "so"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "one moment"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "snow"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "rain"}]},
    ]
    request = asked(
        input=items, tools=[tool], tool_choice={"type": "function", "name": "f"}, parallel_tool_calls=True
    )
    called = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert request.body["messages"] == [
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "one moment"}],
            "reasoning_content": "so",
            "tool_calls": [{"id": "c1", **called}, {"id": "c2", **called}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "snow"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "rain"}]},
    ]
    function = {"strict": True, "name": "f", "parameters": {"type": "object"}}
    assert request.body["tools"] == [{"type": "function", "function": function}]
    assert request.body["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert request.body["parallel_tool_calls"] is True
    assert (request.unsayable, request.uncacheable, request.exact_only) == ((), None, "tools")


def test_a_schema_is_nested_and_logprobs_are_asked_for() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
    request = asked(text={"format": form}, include=["message.output_text.logprobs"], top_logprobs=3)
    nested = {"name": "n", "schema": {"type": "object"}, "strict": True}
    assert request.body["response_format"] == {"type": "json_schema", "json_schema": nested}
    assert (request.body["logprobs"], request.body["top_logprobs"]) == (True, 3)
    assert request.exact_only == "logprobs"
    assert request.unsayable == ()


@pytest.mark.parametrize("body", [{"store": None}, {"store": True}])
def test_what_the_api_stores_is_not_kept_here_but_can_be_said(body: dict[str, Any]) -> None:
    request = asked(**body)
    assert request.uncacheable == "stateful"
    assert request.unsayable == ()
    # Asked of a model that keeps nothing, it is as good as any question.
    assert parse_chat(dict(request.body), "/v1/chat/completions").uncacheable is None


ELSEWHERE: list[tuple[dict[str, Any], str]] = [
    ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"conversation": {"id": "conv_1"}}, "conversation"),
    ({"background": True}, "background"),
    ({"prompt": {"id": "pmpt_1"}}, "prompt"),
    ({"prompt": {"id": "pmpt_1"}, "input": None}, "prompt"),
    ({"tools": [{"type": "web_search"}]}, "tools[0]"),
    ({"tools": [{"type": "function", "name": "f"}, {"type": "mcp", "server_label": "s"}]}, "tools[1]"),
    ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0]"),
    ({"input": [{"id": "msg_1"}]}, "input[0]"),
    ({"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}, "input[0]"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f", "detail": "low"}]}]},
        "input[0].content[0]",
    ),
    ({"prompt_cache_options": {"prewarm": True}}, "prompt_cache_options.prewarm"),
]


@pytest.mark.parametrize(("body", "name"), ELSEWHERE, ids=str)
def test_what_is_kept_or_looked_up_elsewhere_is_never_cached(body: dict[str, Any], name: str) -> None:
    request = asked(**body)
    assert request.uncacheable == "stateful"
    assert name in request.unsayable


def test_a_file_by_its_id_can_be_said_but_not_cached() -> None:
    request = asked(input=[{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}])
    assert request.unsayable == ()
    assert request.uncacheable
    assert parse_chat(dict(request.body), "/v1/chat/completions").uncacheable == "file-id"


UNSAID: list[tuple[dict[str, Any], str]] = [
    ({"x_vendor": 1}, "x_vendor"),
    ({"stop": "x"}, "stop"),
    ({"messages": []}, "messages"),
    ({"input": [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}]}, "input[0]"),
    ({"input": [{"type": "x", "a": 1}]}, "input[0]"),
    ({"input": ["x"]}, "input[0]"),
    ({"input": 5}, "input"),
    ({"input": []}, "input"),
    ({"input": [{"role": "assistant", "content": "x", "phase": "commentary"}]}, "input[0].phase"),
    ({"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}, "input[0].content[0]"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}]},
        "input[0].content[0]",
    ),
    ({"input": [{"type": "custom_tool_call_output", "call_id": "c", "output": "x"}]}, "input[0].type"),
    ({"tools": [{"type": "function", "name": "f", "defer_loading": True}]}, "tools[0]"),
    ({"tools": {"a": 1}}, "tools"),
    ({"tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "web_search"}}, "tool_choice"),
    ({"reasoning": {"mode": "pro"}}, "reasoning.mode"),
    ({"text": {"format": {"type": "grammar", "definition": "x"}}}, "text.format"),
    ({"text": "x"}, "text"),
    ({"include": ["x"]}, "include"),
    ({"context_management": [{"type": "compaction"}]}, "context_management"),
    ({"image": {"context_compression": "enabled"}}, "image"),
    ({"instructions": ["x"]}, "instructions"),
]


@pytest.mark.parametrize(("body", "name"), UNSAID, ids=str)
def test_what_chat_cannot_say_is_named(body: dict[str, Any], name: str) -> None:
    request = asked(**body)
    assert name in request.unsayable
    assert request.uncacheable is None


@pytest.mark.parametrize(
    "body",
    [
        {"tool_choice": "auto", "parallel_tool_calls": False, "tools": []},
        {"truncation": "auto", "max_tool_calls": 3, "metadata": {"a": "b"}},
        {"reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"]},
        {"background": False, "previous_response_id": None, "conversation": None, "prompt": None},
        {"stream": True, "stream_options": {"include_obfuscation": False}},
        {"instructions": ""},
    ],
    ids=str,
)
def test_what_asks_for_nothing_a_chat_model_lacks_is_no_loss(body: dict[str, Any]) -> None:
    request = asked(**body)
    assert request.unsayable == ()
    assert not {"tool_choice", "parallel_tool_calls", "metadata", "store", "truncation"} & request.body.keys()


def test_a_stream_always_tells_its_usage() -> None:
    request = asked(stream=True)
    assert (request.stream, request.include_usage) == (True, True)
    assert request.body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("body", "param"),
    [({"model": ""}, "model"), ({"stream": "yes"}, "stream"), ({"temperature": "x"}, "temperature")],
)
def test_what_the_cache_relies_on_is_refused_by_its_name(body: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as refused:
        asked(**body)
    assert (refused.value.status, refused.value.param) == (400, param)


def test_a_warmer_request_is_warm_in_both_forms() -> None:
    request = RESPONSES.unstreamed(asked(stream=True, temperature=0.1), 0.7)
    assert request.native is not None
    assert (request.native["temperature"], request.body["temperature"], request.temperature) == (
        0.7,
        0.7,
        0.7,
    )
    assert not {"stream", "stream_options"} & (request.native.keys() | request.body.keys())


parts_in = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": texts})}),
    st.fixed_dictionaries({"type": st.just("file"), "file": st.fixed_dictionaries({"file_data": texts})}),
)
parts_out = st.fixed_dictionaries({"type": st.just("text"), "text": texts})
call = st.one_of(
    st.fixed_dictionaries(
        {
            "id": texts,
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": texts, "arguments": texts}),
        }
    ),
    st.fixed_dictionaries(
        {
            "id": texts,
            "type": st.just("custom"),
            "custom": st.fixed_dictionaries({"name": texts, "input": texts}),
        }
    ),
)


@st.composite
def talks(draw: st.DrawFn) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 3))):
        role = draw(st.sampled_from(("user", "system", "developer")))
        turns.append({"role": role, "content": draw(texts | st.lists(parts_in, min_size=1, max_size=2))})
        answer: dict[str, Any] = {"role": "assistant"}
        answer["content"] = draw(texts | st.lists(parts_out, min_size=1, max_size=2))
        if draw(st.booleans()):
            answer["reasoning_content"] = draw(texts)
        if draw(st.booleans()):
            answer["tool_calls"] = draw(
                st.lists(call, min_size=1, max_size=2, unique_by=lambda one: one["id"])
            )
            answer["content"] = draw(st.just(answer["content"]) | st.none())
        turns.append(answer)
        seen = [one["id"] for turn in turns[:-1] for one in turn.get("tool_calls", ())]
        unanswered = [one["id"] for one in answer.get("tool_calls", ()) if one["id"] not in seen]
        turns += [{"role": "tool", "tool_call_id": name, "content": draw(texts)} for name in unanswered]
    return [*turns, {"role": "user", "content": draw(texts)}]


chats = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": talks()},
    optional={
        "tools": st.just(
            [
                {
                    "type": "function",
                    "function": {"name": "f", "strict": True, "parameters": {"type": "object"}},
                },
                {"type": "function", "function": {"name": "g"}},
                {"type": "custom", "custom": {"name": "h", "format": {"type": "text"}}},
                {
                    "type": "custom",
                    "custom": {"name": "i", "format": {"type": "grammar", "grammar": {"syntax": "lark"}}},
                },
            ]
        ),
        "response_format": st.sampled_from(
            (
                {"type": "text"},
                {"type": "json_object"},
                {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}},
            )
        ),
        "verbosity": st.just("low"),
        "reasoning_effort": st.just("low"),
        "max_completion_tokens": st.integers(1, 99),
        "temperature": st.sampled_from((0, 0.5)),
        "top_p": st.just(0.5),
        "user": texts,
        "safety_identifier": texts,
        "prompt_cache_key": texts,
        "service_tier": st.just("flex"),
    },
)


@settings(max_examples=150)
@given(
    chats,
    st.sampled_from((None, "auto", "required", {"type": "function", "function": {"name": "f"}})),
    st.booleans(),
)
def test_what_is_written_is_read_back_equal(chat: dict[str, Any], choice: Any, logprobs: bool) -> None:
    if choice is not None and "tools" in chat:
        chat = {**chat, "tool_choice": choice, "parallel_tool_calls": False}
    if logprobs:
        chat = {**chat, "logprobs": True, "top_logprobs": 2}
    before = json.dumps(chat)
    written = RESPONSES.write(chat)
    assert json.dumps(chat) == before
    assert written.path == "/v1/responses"
    read = RESPONSES.read(json.loads(json.dumps(written.body)), written.path, b"")
    assert read.chat == chat
    assert (read.unsayable, read.uncacheable) == ((), None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("stop", ["x"]),
        ("seed", 1),
        ("logit_bias", {"1": 5}),
        ("frequency_penalty", 0.5),
        ("prediction", {"type": "content", "content": "x"}),
        ("audio", {"voice": "a"}),
        ("modalities", ["text", "audio"]),
        ("functions", [{"name": "f"}]),
        ("web_search_options", {}),
        ("top_logprobs", 3),
        ("x_vendor", 1),
        ("tools", [{"type": "x"}]),
        ("tool_choice", {"type": "x"}),
        ("response_format", {"type": "x"}),
    ],
)
def test_what_responses_cannot_say_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(RequestError) as refused:
        RESPONSES.write({"model": "m", "messages": [{"role": "user", "content": "hi"}], field: value})
    assert (refused.value.status, refused.value.param) == (400, field)


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"role": "user", "content": "x", "name": "bob"}, "messages[0].name"),
        ({"role": "user", "content": None}, "messages[0].content"),
        ({"role": "function", "content": "x"}, "messages[0].role"),
        ({"role": "user", "content": [{"type": "x"}]}, "messages[0].content[0]"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "type": "x"}]}, "messages[0].tool_calls[0]"),
        ({"role": "assistant", "content": None, "audio": {"id": "a"}}, "messages[0].audio"),
        ("x", "messages[0].role"),
    ],
)
def test_messages_without_a_word_are_refused_by_their_place(message: Any, param: str) -> None:
    with pytest.raises(RequestError) as refused:
        RESPONSES.write({"model": "m", "messages": [message]})
    assert (refused.value.status, refused.value.param) == (400, param)


def test_what_asks_for_nothing_is_written() -> None:
    idle = {
        "n": 1,
        "stop": None,
        "frequency_penalty": 0,
        "logprobs": False,
        "modalities": ["text"],
        "store": True,
    }
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream_options": {}, **idle}
    body = RESPONSES.write(chat).body
    assert body == {"model": "m", "input": [{"role": "user", "content": "hi"}], "store": False}


def test_a_leading_system_message_is_instructions() -> None:
    system, question = {"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}
    body = RESPONSES.write({"model": "m", "messages": [system, question]}).body
    assert (body["instructions"], body["input"]) == ("be brief", [question])
    body = RESPONSES.write({"model": "m", "messages": [question, system]}).body
    assert (body.get("instructions"), body["input"]) == (None, [question, system])
    body = RESPONSES.write({"model": "m", "messages": [system]}).body
    assert (body.get("instructions"), body["input"]) == (None, [system])
