"""Ollama's requests in chat's words: what can be said, what cannot, and that two requests are never taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from semcache.core import TenantId
from semcache.dialects.ollama.request import IRRELEVANT, TUNING
from semcache.dialects.ollama.wire import OLLAMA_CHAT, OLLAMA_GENERATE, OllamaChat
from semcache.dialects.request import in_chat, request_of
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import RequestError
from tests.dialects.answers import TOOL, texts
from tests.dialects.contract import leaves, mutated
from tests.dialects.ollama.natives import chats, generates, plain_json, said

PARTITION = Partition(TenantId("t"), "tenant", "", "", "up")


def asked(body: dict[str, Any], dialect: OllamaChat = OLLAMA_CHAT) -> Any:
    return request_of(dialect, json.loads(json.dumps(body)), "/api/x")


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    return {"model": "m", "messages": turns, **more}


def identity(body: dict[str, Any], dialect: OllamaChat = OLLAMA_CHAT) -> str:
    request = asked(body, dialect)
    namespace = namespace_of(request, PARTITION)
    return namespace.digest + exact_key(namespace, request)


def test_it_streams_unless_it_says_otherwise() -> None:
    for stream, expected in ((None, True), (True, True), (False, False)):
        request = asked(chat("hi", stream=stream))
        assert request.stream is expected
        assert request.include_usage is expected
        assert bool(request.body.get("stream")) is expected
    with pytest.raises(RequestError) as caught:
        asked(chat("hi", stream="yes"))
    assert caught.value.param == "stream"


def test_options_have_chats_words() -> None:
    options = {
        "temperature": 0.2, "top_p": 0.9, "seed": 7, "stop": ["a"], "num_predict": 50,
        "presence_penalty": 1, "frequency_penalty": 0.5,
    }  # fmt: skip
    request = asked(chat("hi", options=options, format="json", think=False, logprobs=True, top_logprobs=2))
    assert request.temperature == 0.2
    assert request.unsayable == ()
    assert request.extra == {}
    told = {
        k: v for k, v in request.body.items() if k not in ("messages", "model", "stream", "stream_options")
    }
    assert told == {
        "temperature": 0.2, "top_p": 0.9, "seed": 7, "stop": ["a"], "max_tokens": 50,
        "presence_penalty": 1, "frequency_penalty": 0.5,
        "response_format": {"type": "json_object"}, "reasoning_effort": "none", "logprobs": True, "top_logprobs": 2,
    }  # fmt: skip


def test_a_schema_is_a_response_format() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    told = asked(chat("hi", format=schema)).body["response_format"]
    assert told["type"] == "json_schema"
    assert told["json_schema"]["schema"] == schema
    assert OLLAMA_CHAT.write(asked(chat("hi", format=schema)).body).body["format"] == schema


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"options": {"top_k": 5}}, "options.top_k"),
        ({"options": {"mirostat": 1}}, "options.mirostat"),
        ({"options": {"repeat_penalty": 1.1}}, "options.repeat_penalty"),
        ({"options": {"num_predict": 0}}, "options.num_predict"),
        ({"options": {"stop": "a"}}, "options.stop"),
        ({"options": 5}, "options"),
        ({"think": True}, "think"),
        ({"think": "none"}, "think"),
        ({"format": "xml"}, "format"),
        ({"tools": {"a": 1}}, "tools"),
        ({"x_new": 1}, "x_new"),
        ({"_debug_render_only": True}, "_debug_render_only"),
    ],
)
def test_what_a_chat_model_cannot_be_told_is_named_and_counts(more: dict[str, Any], name: str) -> None:
    assert asked(chat("hi", **more)).unsayable == (name,)
    assert identity(chat("hi", **more)) != identity(chat("hi"))


@pytest.mark.parametrize(
    "more",
    [
        {"options": {"num_ctx": 8192}},
        {"options": {"num_keep": 4}},
        {"options": {"num_predict": -1}},
        {"truncate": False},
        {"shift": True},
    ],
)
def test_the_window_counts_but_a_chat_model_has_its_own(more: dict[str, Any]) -> None:
    assert asked(chat("hi", **more)).unsayable == ()
    assert identity(chat("hi", **more)) != identity(chat("hi"))


IRRELEVANT_BODIES = [
    {"keep_alive": "5m"},
    {"keep_alive": -1},
    {"stream": False},
    *({"options": {name: 1}} for name in sorted(TUNING)),
    {"options": {}},
    {"options": None},
    {"format": ""},
    {"tools": []},
    {"logprobs": False},
    {"think": None},
]


@pytest.mark.parametrize("more", IRRELEVANT_BODIES, ids=str)
def test_what_only_tunes_the_server_or_says_nothing_changes_nothing(more: dict[str, Any]) -> None:
    assert asked(chat("hi", **more)).unsayable == ()
    assert identity(chat("hi", **more)) == identity(chat("hi"))


def test_seeds_tools_and_images_close_the_semantic_tier() -> None:
    assert asked(chat("hi", options={"seed": 0})).exact_only == "seed"
    assert asked(chat("hi", tools=[TOOL])).exact_only == "tools"
    assert asked(chat({"role": "user", "content": "hi", "images": ["QUJD"]})).exact_only == "media"
    assert asked(chat("hi")).exact_only is None
    assert asked(chat("hi")).prompt == "hi"


def test_images_are_data_urls_and_come_back() -> None:
    images = ["iVBORw0KGgo=", "/9j/4AAQ", "R0lGODdh", "UklGRg==", "QUJD"]
    request = asked(chat({"role": "user", "content": "look", "images": images}))
    parts = request.body["messages"][0]["content"]
    assert parts[0] == {"type": "text", "text": "look"}
    kinds = [part["image_url"]["url"].partition(";")[0] for part in parts[1:]]
    assert kinds == ["data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp", "data:"]
    written = OLLAMA_CHAT.write(request.body).body["messages"]
    assert written == [{"role": "user", "content": "look", "images": images}]


def test_calls_get_ids_and_results_find_their_call() -> None:
    call = {"function": {"name": "f", "arguments": {"a": "雪", "b": 1}}}
    other = {"id": "own", "function": {"name": "g", "arguments": {}}}
    request = asked(
        chat(
            "hi",
            {"role": "assistant", "content": "", "tool_calls": [call, other]},
            {"role": "tool", "content": "2", "tool_name": "g"},
            {"role": "tool", "content": "1"},
        )
    )
    assistant, second, first = request.body["messages"][1:]
    assert [one["id"] for one in assistant["tool_calls"]] == ["call_0", "own"]
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"a": "雪", "b": 1}
    assert (second["tool_call_id"], first["tool_call_id"]) == ("own", "call_0")
    assert request.unsayable == ()
    assert request.prompt is None


def test_a_result_without_a_call_cannot_be_told() -> None:
    request = asked(chat("hi", {"role": "tool", "content": "1", "tool_name": "f"}))
    assert request.unsayable == ("messages[1].tool_name",)


@pytest.mark.parametrize("empty", [[], None])
def test_no_messages_load_the_model(empty: Any) -> None:
    request = asked({"model": "m", "messages": empty, "keep_alive": 0})
    assert request.uncacheable == "load"
    assert request.prompt is None
    assert request.unsayable == ("messages",)
    for prompt in ("", None):
        assert asked({"model": "m", "prompt": prompt}, OLLAMA_GENERATE).uncacheable == "load"


def test_generate_is_a_system_text_and_a_question() -> None:
    body = {"model": "m", "system": "Be brief.", "prompt": "hi", "options": {"temperature": 0}}
    request = asked(body, OLLAMA_GENERATE)
    assert request.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    assert (request.prompt, request.system, request.temperature) == ("hi", "Be brief.", 0.0)
    assert request.unsayable == ()
    assert in_chat(request).body["messages"] == request.body["messages"]


@pytest.mark.parametrize("name", ["raw", "template", "suffix"])
def test_generate_has_prompts_that_are_no_plain_question(name: str) -> None:
    body = {"model": "m", "prompt": "hi", name: True if name == "raw" else "x"}
    request = asked(body, OLLAMA_GENERATE)
    assert request.exact_only == name
    assert request.unsayable == (name,)
    assert identity(body, OLLAMA_GENERATE) != identity({"model": "m", "prompt": "hi"}, OLLAMA_GENERATE)


def test_a_context_ties_to_state() -> None:
    request = asked({"model": "m", "prompt": "hi", "context": [1, 2]}, OLLAMA_GENERATE)
    assert request.uncacheable == "stateful"
    assert request.unsayable == ("context",)
    assert asked({"model": "m", "prompt": "hi", "context": []}, OLLAMA_GENERATE).uncacheable is None


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": 5}, "messages"),
        ({"messages": [5]}, "messages[0].role"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"options": {"temperature": "hot"}}, "options.temperature"),
    ],
)
def test_what_the_cache_relies_on_is_checked(body: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        asked({**chat("hi"), **body})
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"n": 2}, "n"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"logit_bias": {"1": 2}}, "logit_bias"),
        ({"x_new": 1}, "x_new"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"messages": [{"role": "user", "content": "a", "name": "Bob"}]}, "messages[0].name"),
        ({"messages": [{"role": "function", "content": "a"}]}, "messages[0].role"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}],
                    }
                ]
            },
            "messages[0].content",
        ),
    ],
)
def test_what_ollama_cannot_be_asked_is_refused_by_name(more: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        OLLAMA_CHAT.write({**chat("hi"), **more})
    assert (caught.value.status, caught.value.param) == (400, param)


def test_generate_is_asked_one_question_only() -> None:
    for body in (chat("a", "b"), chat("a", tools=[TOOL])):
        with pytest.raises(RequestError):
            OLLAMA_GENERATE.write(body)


@settings(max_examples=80)
@given(chats, st.integers(0, 10**6))
def test_no_two_chats_are_one(body: dict[str, Any], at: int) -> None:
    differ(body, at, OLLAMA_CHAT)


@settings(max_examples=80)
@given(generates, st.integers(0, 10**6))
def test_no_two_generates_are_one(body: dict[str, Any], at: int) -> None:
    differ(body, at, OLLAMA_GENERATE)


def differ(body: dict[str, Any], at: int, dialect: OllamaChat) -> None:
    """Change one plain value anywhere: the identity changes, unless the place says nothing."""
    places = [path for path, _ in leaves(body)]
    path = places[at % len(places)]
    other = mutated(body, path)
    assume(said(other) != said(body))
    assert path[0] not in IRRELEVANT
    try:
        before, after = identity(body, dialect), identity(other, dialect)
    except RequestError:
        return
    assert before != after, path


@settings(max_examples=50)
@given(chats, chats)
def test_only_equal_chats_are_one(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Anything taken from one request and put into the other shows."""
    for name in one.keys() & other.keys():
        mixed = {**one, name: other[name]}
        if said(mixed) == said(one):
            continue
        try:
            assert identity(mixed) != identity(one), name
        except RequestError:
            continue


@given(texts, plain_json)
def test_any_field_that_nobody_knows_counts(name: str, value: Any) -> None:
    assume(said({name: value}))
    for base, dialect in ((chat("hi"), OLLAMA_CHAT), ({"model": "m", "prompt": "hi"}, OLLAMA_GENERATE)):
        assert identity({**base, name: value}, dialect) != identity(base, dialect)


CHATS = [
    {"messages": [{"role": "developer", "content": "s"}, {"role": "user", "content": "q"}]},
    {"response_format": {"type": "json_object"}},
    {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}},
        }
    },
    {"reasoning_effort": "none"},
    {"reasoning_effort": "high"},
    {"seed": 1, "presence_penalty": 0.5, "frequency_penalty": 1, "max_tokens": 3, "stop": ["a"]},
    {"logprobs": True, "top_logprobs": 2},
    {"tools": [TOOL], "tool_choice": "auto"},
]


@pytest.mark.parametrize("more", CHATS, ids=str)
@pytest.mark.parametrize("dialect", [OLLAMA_CHAT, OLLAMA_GENERATE], ids=lambda one: one.name)
def test_what_chat_asks_comes_back(dialect: OllamaChat, more: dict[str, Any]) -> None:
    body = {**chat("hi"), **more}
    if "tools" in more and dialect is OLLAMA_GENERATE:
        return
    read = asked(dialect.write(body).body, dialect)
    wanted = json.loads(json.dumps(body).replace("developer", "system"))
    assert {name: read.body.get(name) for name in wanted} == wanted
    assert read.unsayable == ()


@pytest.mark.parametrize("name", ["Model", "MODEL", "mOdel"])
def test_no_other_spelling_of_model_gets_past_the_one_that_is_looked_at(name: str) -> None:
    """Ollama's server folds the case of names, and takes the last."""
    with pytest.raises(RequestError) as caught:
        asked({**chat("hi"), name: "other"})
    assert (caught.value.status, caught.value.param) == (400, name)


@pytest.mark.parametrize("name", ["System", "sy\u017ftem", "PROMPT", "Format"])
@pytest.mark.parametrize("value", ["", [], {}])
def test_what_would_undo_a_field_is_part_of_the_identity(name: str, value: Any) -> None:
    plain = {"model": "m", "prompt": "hi", "system": "Be brief.", "format": "json"}
    assert identity({**plain, name: value}, OLLAMA_GENERATE) != identity(plain, OLLAMA_GENERATE)
    said = {"role": "user", "content": "hi"}
    assert identity(chat({**said, "Content": value})) != identity(chat(said))
