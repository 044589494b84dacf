"""How a request reads in chat's words, what a model asked in chat would miss, and what ties it to the API's own state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from semcache.core import ChatRequest
from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.dialect import Translated
from semcache.dialects.request import in_chat, request_of
from semcache.errors import RequestError
from tests.dialects.anthropic.asked import MARK, requests
from tests.dialects.anthropic.test_identity import RESULT, TEXT, USE, asked, assistant, user

TOOL = {"name": "f", "description": "d", "input_schema": {"type": "object"}, "strict": True}
DATA = {"type": "base64", "media_type": "image/png", "data": "aGk="}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}


def read(body: dict[str, Any]) -> Translated:
    return MESSAGES.read(body, "/v1/messages", b"")


def request(body: dict[str, Any]) -> ChatRequest:
    return request_of(MESSAGES, body, "/v1/messages")


def test_a_plain_question() -> None:
    found = request(asked(user("hi"), system="s", temperature=0.5, stop_sequences=["END"]))
    assert found.body == {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "stop": ["END"],
    }
    assert (found.prompt, found.system, found.extra, found.unsayable) == ("hi", "s", {}, ())
    assert (found.exact_only, found.uncacheable, found.dialect) == (None, None, "anthropic.messages")


def test_a_round_of_tools() -> None:
    """As an agent sends it: calls, their results and the user's next words in one message, marks and nulls all over."""
    body = asked(
        user([{**TEXT, "cache_control": MARK}]),
        assistant([{**TEXT, "citations": None}, USE, {**USE, "id": "t2", "input": {"a": [1, "雪"]}}]),
        user(
            [
                {**RESULT, "cache_control": MARK},
                {"type": "tool_result", "tool_use_id": "t2", "content": [TEXT], "is_error": True},
                {"type": "text", "text": "go on"},
            ]
        ),
        tools=[{**TOOL, "cache_control": MARK}],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        metadata={"user_id": "u1"},
    )
    found = read(body)
    assert found.chat["messages"] == [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "t2", "type": "function", "function": {"name": "f", "arguments": '{"a":[1,"雪"]}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "r"},
        {"role": "tool", "tool_call_id": "t2", "content": "x"},
        {"role": "user", "content": "go on"},
    ]
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True}
    assert found.chat["tools"] == [{"type": "function", "function": function}]
    assert found.chat["tool_choice"] == "required"
    assert found.chat["parallel_tool_calls"] is False
    assert found.chat["user"] == "u1"
    assert found.unsayable == ()
    assert request(body).exact_only == "tools"
    assert request(body).prompt == "go on"


def test_text_before_results_stays_before_them() -> None:
    found = read(asked(user([TEXT, RESULT, {"type": "text", "text": "y"}, {"type": "text", "text": "z"}])))
    assert [message["role"] for message in found.chat["messages"]] == ["user", "tool", "user"]
    assert found.chat["messages"][2]["content"] == [
        {"type": "text", "text": "y"},
        {"type": "text", "text": "z"},
    ]
    assert request(asked(user([TEXT, {"type": "text", "text": "y"}]))).prompt == "x\ny"


def test_images_are_said_and_close_the_semantic_tier() -> None:
    web = {"type": "url", "url": "https://a.example/b.png"}
    body = asked(user([{"type": "image", "source": DATA}, {"type": "image", "source": web}, TEXT]))
    found = request(body)
    assert [part.get("image_url") for part in found.body["messages"][0]["content"]] == [
        {"url": "data:image/png;base64,aGk="},
        {"url": "https://a.example/b.png"},
        None,
    ]
    assert (found.unsayable, found.exact_only, found.prompt) == ((), "media", None)


def test_forms_of_answers_and_effort() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = {"type": "json_schema", "schema": schema}
    for fields in ({"output_config": {"format": form, "effort": "high"}}, {"output_format": form}):
        found = read(asked(user("x"), **fields))
        told = found.chat["response_format"]
        assert told["json_schema"] == {"name": "answer", "schema": schema, "strict": True}
        assert (found.unsayable, found.extra) == ((), {})
        assert found.chat.get("reasoning_effort") == fields.get("output_config", {}).get("effort")


def test_a_stream_tells_its_usage() -> None:
    found = read(asked(user("x"), stream=True))
    assert (found.stream, found.include_usage) == (True, True)
    assert found.chat["stream_options"] == {"include_usage": True}
    assert not read(asked(user("x"))).stream


UNSAYABLE = {
    "top_k": asked(user("x"), top_k=5),
    "thinking": asked(user("x"), thinking={"type": "enabled", "budget_tokens": 1024}),
    "tools[1]": asked(user("x"), tools=[TOOL, {"type": "web_search_20260318", "name": "web_search"}]),
    "tools[0]": asked(user("x"), tools=[{**TOOL, "input_examples": [{}]}]),
    "tool_choice": asked(user("x"), tool_choice={"type": "some"}),
    "messages[0].content[1]": asked(user([TEXT, DOCUMENT])),
    "messages[1].content[0]": asked(
        user("x"), assistant([{"type": "thinking", "thinking": "t", "signature": "s"}, TEXT]), user("y")
    ),
    "messages[0].content[0].content[1]": asked(
        user([{**RESULT, "content": [TEXT, {"type": "image", "source": DATA}]}])
    ),
    "messages[0].content": asked(user({"type": "text"})),
    "messages[0].name": asked({**user("x"), "name": "n"}),
    "messages[0].role": asked({"role": "tool", "content": "x"}),
    "system[1]": asked(user("x"), system=[TEXT, {**TEXT, "citations": [{}]}]),
    "container": asked(user("x"), container="c1"),
    "context_management": asked(user("x"), context_management={"edits": [{}]}),
    "output_config.effort": asked(user("x"), output_config={"effort": "max"}),
    "output_config.task_budget": asked(user("x"), output_config={"task_budget": {}}),
    "inference_geo": asked(user("x"), inference_geo="eu"),
    "who_knows": asked(user("x"), who_knows=1),
    "stop_sequences": asked(user("x"), stop_sequences="END"),
    "messages[1]": asked(user("x"), assistant("The answer is (")),
}


@pytest.mark.parametrize(("place", "body"), UNSAYABLE.items(), ids=UNSAYABLE.keys())
def test_what_a_chat_model_would_miss_is_named(place: str, body: dict[str, Any]) -> None:
    assert read(body).unsayable == (place,)


@pytest.mark.parametrize(
    "fields",
    [
        {"thinking": {"type": "disabled"}},
        {"cache_control": MARK, "service_tier": "auto", "speed": "fast", "metadata": {"user_id": "u"}},
        {"diagnostics": {"previous_message_id": None}, "betas": ["b"], "anthropic_version": "v"},
        {"tools": [], "system": "", "stop_sequences": []},
        {"tools": [{**TOOL, "eager_input_streaming": True}]},
    ],
    ids=str,
)
def test_harmless_fields_are_sayable(fields: dict[str, Any]) -> None:
    found = request(asked(user("x"), **fields))
    assert found.unsayable == ()
    assert found.uncacheable is None
    assert in_chat(found).extra == {}


def test_unsigned_reasoning_of_earlier_turns_is_sayable() -> None:
    """A client sends back what it was given: reasoning of a model behind this proxy that signs nothing."""
    thought = {"type": "thinking", "thinking": "hm", "signature": ""}
    found = read(asked(user("x"), assistant([thought, TEXT, USE]), user([RESULT])))
    assert found.unsayable == ()
    assert found.chat["messages"][1]["reasoning_content"] == "hm"
    assert found.chat["messages"][1]["content"] == "x"


STATEFUL = {
    "container": ("stateful", asked(user("x"), container="c1")),
    "container id": ("stateful", asked(user("x"), container={"id": "c1"})),
    "skills": ("container", asked(user("x"), container={"skills": [{"skill_id": "s"}]})),
    "code": (
        "container",
        asked(user("x"), tools=[{"type": "code_execution_20260521", "name": "code_execution"}]),
    ),
    "mcp": ("mcp", asked(user("x"), mcp_servers=[{"type": "url", "url": "https://a.example"}])),
    "thread": ("stateful", asked(user("x"), thread={"type": "create"})),
    "diagnostics": ("stateful", asked(user("x"), diagnostics={"previous_message_id": "msg_1"})),
    "file": ("file-id", asked(user([{"type": "document", "source": {"type": "file", "file_id": "f"}}]))),
    "upload": ("file-id", asked(user([{"type": "container_upload", "file_id": "f"}]))),
    "deep": (
        "file-id",
        asked(user([{**RESULT, "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}])),
    ),
}


@pytest.mark.parametrize(("word", "body"), STATEFUL.values(), ids=STATEFUL.keys())
def test_state_that_the_api_holds_is_never_cached(word: str, body: dict[str, Any]) -> None:
    assert request(body).uncacheable == word


def test_a_file_id_among_the_words_of_a_tool_is_no_file() -> None:
    calls = assistant([{**USE, "input": {"file_id": "f"}}])
    assert request(asked(user("x"), calls, user([RESULT]))).uncacheable is None


@pytest.mark.parametrize(
    ("param", "change"),
    [
        ("model", {"model": None}),
        ("model", {"model": ""}),
        ("messages", {"messages": []}),
        ("messages", {"messages": {}}),
        ("messages[1].role", {"messages": [user("x"), {"content": "y"}]}),
        ("messages[0].role", {"messages": ["x"]}),
        ("stream", {"stream": 1}),
        ("temperature", {"temperature": "hot"}),
    ],
)
def test_what_the_cache_relies_on_is_refused_by_name(param: str, change: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as caught:
        request({**asked(user("x")), **change})
    assert (caught.value.status, caught.value.param) == (400, param)


@settings(max_examples=60, deadline=None)
@given(requests)
def test_any_request_is_read_and_its_words_kept(body: dict[str, Any]) -> None:
    found = request(json.loads(json.dumps(body)))
    assert found.native == body
    assert found.stream == bool(body.get("stream"))
    assert set(found.extra) <= {*body, "system"}
    if found.prompt is not None:
        assert body["messages"][-1]["role"] == "user"


def test_half_a_character_among_the_words_of_a_tool_is_read() -> None:
    """The proxy passes such requests on as they are, but reads them first."""
    found = read(asked(user("x"), assistant([{**USE, "input": {"a": "\ud83d"}}]), user([RESULT])))
    called = found.chat["messages"][1]["tool_calls"][0]["function"]
    assert called["arguments"] == '{"a":"\\ud83d"}'


@pytest.mark.parametrize("depth", [400, 5000])
def test_a_deep_input_is_read_or_refused_by_name(depth: int) -> None:
    deep: Any = {}
    for _ in range(depth):
        deep = {"a": deep}
    body = asked(user("x"), assistant([{**USE, "input": deep}]), user([RESULT]))
    if depth == 400:
        assert request(body).body["messages"][1]["tool_calls"]
        return
    with pytest.raises(RequestError) as caught:
        request(body)
    assert caught.value.param == "messages"


def test_deep_nesting_is_read() -> None:
    block: Any = TEXT
    for _ in range(400):
        block = {"type": "tool_result", "tool_use_id": "t", "content": [block]}
    assert request(asked(user([block]))).unsayable
