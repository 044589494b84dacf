"""Chat requests in Anthropic's words: what both can say comes back equal, what it cannot is refused by its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.anthropic.write import MAX_TOKENS
from semcache.dialects.request import request_of
from semcache.errors import RequestError
from tests.dialects.answers import arguments, call, texts
from tests.dialects.anthropic import asked as own

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
WEB = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}
PART = st.one_of(texts.map(lambda text: {"type": "text", "text": text}), st.sampled_from((IMAGE, WEB)))
parts = st.lists(PART, min_size=2, max_size=3)
contents = texts | parts
calls = st.lists(arguments, min_size=1, max_size=2).map(
    lambda given: [call(number, "f", one) for number, one in enumerate(given)]
)


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    if draw(st.booleans()):
        out.append({"role": "system", "content": draw(texts)})
    for _ in range(draw(st.integers(0, 2))):
        out.append({"role": "user", "content": draw(contents)})
        said: dict[str, Any] = {"role": "assistant", "content": draw(texts)}
        if draw(st.booleans()):
            said |= {"content": draw(st.none() | texts), "tool_calls": draw(calls)}
        out.append(said)
        out += (
            {"role": "tool", "tool_call_id": one["id"], "content": draw(texts)}
            for one in said.get("tool_calls", ())
        )
        if draw(st.booleans()):
            out.append({"role": "system", "content": draw(texts)})
    out.append({"role": "user", "content": draw(contents)})
    return out


FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True}
FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"a": 1}, "strict": True}}
chats: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": turns(), "max_tokens": st.integers(1, 99)},
    optional={
        "temperature": st.sampled_from((0, 0.5, 1)),
        "top_p": st.just(0.5),
        "stop": st.lists(texts, min_size=1, max_size=2),
        "tools": st.lists(
            st.sampled_from(({"type": "function", "function": FUNCTION},)), min_size=1, max_size=2
        ),
        "tool_choice": st.sampled_from(
            ("auto", "required", "none", {"type": "function", "function": {"name": "f"}})
        ),
        "response_format": st.just(FORM),
        "reasoning_effort": st.sampled_from(("low", "medium", "high", "xhigh")),
        "user": st.just("u1"),
    },
)


def values(value: Any) -> Any:
    """Give calls by the value of their arguments: blanks in their JSON say nothing."""
    match value:
        case {"arguments": str() as told}:
            return {**value, "arguments": json.loads(told)}
        case dict():
            return {name: values(item) for name, item in value.items()}
        case list():
            return [values(item) for item in value]
        case _:
            return value


@settings(max_examples=100, deadline=None)
@given(chats)
def test_what_both_can_say_comes_back_equal(chat: dict[str, Any]) -> None:
    written = MESSAGES.write(chat)
    assert written.path == "/v1/messages"
    read = MESSAGES.read(json.loads(json.dumps(written.body)), written.path, written.query)
    assert values(read.chat) == values(chat)
    assert read.unsayable == ()


def write(**fields: Any) -> dict[str, Any]:
    return MESSAGES.write({"model": "m", "messages": [{"role": "user", "content": "x"}], **fields}).body


def test_a_judges_question() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}]
    assert write(messages=messages, temperature=0, max_tokens=120) == {
        "model": "m",
        "system": "s",
        "messages": [{"role": "user", "content": "x"}],
        "temperature": 0,
        "max_tokens": 120,
    }


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, {"max_tokens": MAX_TOKENS}),
        ({"max_tokens": 1, "max_completion_tokens": 2}, {"max_tokens": 2}),
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"top_k": 5}, {"top_k": 5}),
        ({"stream": True, "stream_options": {"include_usage": True}}, {"stream": True}),
        ({"stream": False}, {"stream": None}),
        ({"n": 1, "logprobs": False, "presence_penalty": 0.0, "seed": None}, {"n": None}),
        (
            {"store": True, "metadata": {"a": "b"}, "service_tier": "flex"},
            {"service_tier": None, "metadata": None},
        ),
        ({"safety_identifier": "s", "user": "u"}, {"metadata": {"user_id": "s"}}),
        ({"reasoning_effort": "minimal"}, {"output_config": {"effort": "low"}}),
        ({"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"response_format": {"type": "text"}}, {"output_config": None}),
        (
            {"response_format": FORM, "reasoning_effort": "high"},
            {"output_config": {"format": {"type": "json_schema", "schema": {"a": 1}}, "effort": "high"}},
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "description": "d"}}},
            {"output_config": {"format": {"type": "json_schema", "schema": {"description": "d"}}}},
        ),
        ({"parallel_tool_calls": False}, {"tool_choice": None}),
        (
            {"tools": [{"type": "function", "function": {"name": "f"}}], "parallel_tool_calls": False},
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "f"}}]},
            {"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]},
        ),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f"}}],
                "tool_choice": "none",
                "parallel_tool_calls": False,
            },
            {"tool_choice": {"type": "none"}},
        ),
    ],
    ids=str,
)
def test_fields(fields: dict[str, Any], told: dict[str, Any]) -> None:
    body = write(**fields)
    assert {name: body.get(name) for name in told} == told


def said(*messages: dict[str, Any]) -> dict[str, Any]:
    body = write(messages=list(messages))
    return {name: body[name] for name in ("system", "messages") if name in body}


HI = {"role": "user", "content": "hi"}


def test_instructions_in_front_are_the_system_and_later_ones_stay() -> None:
    developer = {"role": "developer", "content": "d"}
    system = {"role": "system", "content": "s"}
    assert said(developer, HI) == {"system": "d", "messages": [HI]}
    told = [{"type": "text", "text": "s"}, {"type": "text", "text": "d"}]
    assert said(system, developer, HI) == {"system": told, "messages": [HI]}
    assert said(HI, developer, HI) == {"messages": [HI, {"role": "system", "content": "d"}, HI]}


def test_results_of_tools_and_what_follows_are_one_message() -> None:
    asked = {
        "role": "assistant",
        "content": "",
        "tool_calls": [call(1, "f", {}), call(2, "f", {"a": 1})],
        "reasoning_content": "hm",
    }
    results = [{"role": "tool", "tool_call_id": f"call_{n}", "content": f"r{n}"} for n in (1, 2)]
    uses = [
        {"type": "tool_use", "id": "call_1", "name": "f", "input": {}},
        {"type": "tool_use", "id": "call_2", "name": "f", "input": {"a": 1}},
    ]
    back = [{"type": "tool_result", "tool_use_id": f"call_{n}", "content": f"r{n}"} for n in (1, 2)]
    assert said(HI, asked, *results, HI, HI)["messages"] == [
        HI,
        {"role": "assistant", "content": uses},
        {"role": "user", "content": [*back, {"type": "text", "text": "hi"}]},
        HI,
    ]
    assert (
        said(HI, asked, *results, {"role": "assistant", "content": "done"}, HI)["messages"][-2]["content"]
        == "done"
    )


def test_blocks_that_chat_only_carries_come_out_as_they_were() -> None:
    """A reviser of an Anthropic answer is asked in chat, at an Anthropic upstream."""
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
    tool = {"type": "web_search_20260318", "name": "web_search"}
    body = {
        "model": "m",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "s"}, {"type": "text", "text": "t", "citations": [{"a": 1}]}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}, document], "name": "n"}],
        "tools": [tool],
    }
    request = request_of(MESSAGES, json.loads(json.dumps(body)), "/v1/messages")
    assert MESSAGES.write(request.body).body == body


REFUSED = {
    "n": {"n": 2},
    "logprobs": {"logprobs": True},
    "top_logprobs": {"top_logprobs": 3},
    "seed": {"seed": 0},
    "logit_bias": {"logit_bias": {"1": 5}},
    "presence_penalty": {"presence_penalty": 0.5},
    "frequency_penalty": {"frequency_penalty": -0.5},
    "modalities": {"modalities": ["text", "audio"]},
    "audio": {"audio": {"voice": "a"}},
    "web_search_options": {"web_search_options": {}},
    "functions": {"functions": [{"name": "f"}]},
    "verbosity": {"verbosity": "low"},
    "chat_template_kwargs": {"chat_template_kwargs": {"a": 1}},
    "temperature": {"temperature": 1.5},
    "reasoning_effort": {"reasoning_effort": "huge"},
    "response_format": {"response_format": {"type": "json_object"}},
    "tools[1]": {
        "tools": [
            {"type": "function", "function": {"name": "f"}},
            {"type": "custom", "custom": {"name": "g"}},
        ]
    },
    "tool_choice": {"tool_choice": {"type": "allowed_tools"}},
    "messages": {"messages": [{"role": "system", "content": "s"}]},
    "messages[1].role": {"messages": [HI, {"role": "function", "content": "s"}]},
    "messages[0].name": {"messages": [{**HI, "name": "n"}]},
    "messages[0].content": {"messages": [{"role": "user", "content": 5}]},
    "messages[0].content[1]": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "input_audio"}]}]
    },
    "messages[0].content[0]": {
        "messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}
        ]
    },
    "messages[1].audio": {"messages": [HI, {"role": "assistant", "content": None, "audio": {"id": "a"}}, HI]},
    "messages[1].tool_calls[0]": {"messages": [HI, {"role": "assistant", "tool_calls": ["x"]}]},
    "messages[1].tool_calls[0].function.arguments": {
        "messages": [
            HI,
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1"}}]},
        ]
    },
    "messages[1]": {"messages": [HI, {"role": "assistant", "content": "The answer is ("}]},
    "messages[1].tool_call_id": {"messages": [HI, {"role": "tool", "content": "r"}]},
}


@pytest.mark.parametrize(("param", "fields"), REFUSED.items(), ids=REFUSED.keys())
def test_what_it_cannot_say_is_refused_by_its_place(param: str, fields: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as caught:
        write(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert param in caught.value.message


said_blocks = st.lists(st.one_of(own.texts, own.images), min_size=1, max_size=3)
said_results = st.one_of(
    own.block(
        "tool_result", tool_use_id=own.words, content=own.words | st.lists(own.texts, min_size=1, max_size=2)
    ),
    own.block("tool_result", tool_use_id=own.words, content=own.words, is_error=st.just(True)),
)
said_calls = st.tuples(
    st.lists(own.block("thinking", thinking=own.words, signature=st.just("")), max_size=1),
    st.lists(own.texts, max_size=2),
    st.lists(own.calls, min_size=1, max_size=2),
).map(lambda parts: [block for several in parts for block in several])
said_turns = st.one_of(
    own.message("user", own.words | said_blocks),
    own.message(
        "user", st.tuples(st.lists(said_results, min_size=1), said_blocks).map(lambda two: two[0] + two[1])
    ),
    own.message("assistant", own.words | said_calls),
    own.message("system", own.words),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(said_turns, max_size=4), own.words | said_blocks, st.none() | own.words)
def test_whatever_chat_can_say_of_a_native_request_can_be_written_again(
    before: list[dict[str, Any]], last: Any, system: str | None
) -> None:
    """History is cut and summed up in chat's words, and goes on in these."""
    body = {
        "model": "m",
        "max_tokens": 5,
        "messages": [*before, {"role": "user", "content": last}],
        "system": system,
    }
    read = MESSAGES.read(json.loads(json.dumps(body)), "/v1/messages", b"")
    assert read.unsayable == ()
    again = MESSAGES.read(json.loads(json.dumps(MESSAGES.write(read.chat).body)), "/v1/messages", b"")

    def spoken(chat: dict[str, Any]) -> list[Any]:
        turns = [{k: v for k, v in one.items() if k != "reasoning_content"} for one in chat["messages"]]
        while turns[0]["role"] == "system":
            # Several in front become one.
            turns.pop(0)
        return [values(one) for one in turns]

    assert spoken(again.chat) == spoken(read.chat)
