"""Which chat bodies are taken, and how the others are refused."""

from __future__ import annotations

import contextlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.schema import ChatBody, parse_chat
from semcache.errors import RequestError

SECRET = "correct-horse-battery"


def parse(**fields: Any) -> ChatBody:
    document = {"model": "local", "messages": [{"role": "user", "content": SECRET}], **fields}
    return parse_chat(orjson.dumps(document))


def refusal(**fields: Any) -> RequestError:
    with pytest.raises(RequestError) as refused:
        parse(**fields)
    assert refused.value.status == 400
    assert refused.value.type == "invalid_request_error"
    return refused.value


@pytest.mark.parametrize(
    "fields",
    [
        {"store": True, "metadata": {"a": "b"}, "user": "u", "service_tier": "auto", "from_the_future": [1]},
        {"temperature": None, "max_tokens": None, "stop": None, "stream": None, "n": None, "tools": None},
        {"temperature": 0, "top_p": 1, "presence_penalty": -2, "frequency_penalty": 2, "seed": -5},
        {"stop": ["a", "b", "c", "d"], "n": 8, "logprobs": True, "top_logprobs": 20},
        {"response_format": {"type": "text"}, "modalities": ["text"], "tool_choice": "auto"},
        {"stream": True, "stream_options": {"include_usage": True, "include_obfuscation": False}},
        {
            "parallel_tool_calls": True,
            "reasoning_effort": "low",
            "prediction": {"type": "content", "content": ""},
        },
        {"functions": [], "function_call": None},
        {"response_format": {"type": "json_object"}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {}, "strict": True},
            }
        },
        {"prediction": {"type": "content", "content": [{"type": "text", "text": "a"}]}, "tools": []},
        {"top_k": -1, "min_p": 0.05},
        {"top_k": 0, "min_p": 1},
        {"cache_salt": "x" * 128},
        {"prefix_cache": {"tenant": "t", "user": None, "public_messages": 1, "tenant_messages": 0}},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_compatible_servers_take_is_taken(fields: dict[str, Any]) -> None:
    assert parse(**fields).model == "local"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": "0.5"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": -1}, "max_completion_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"n": 0}, "n"),
        ({"n": 9}, "n"),
        ({"seed": 1 << 63}, "seed"),
        ({"stop": ""}, "stop"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stop": ["a", ""]}, "stop[1]"),
        ({"stop": "x" * 513}, "stop"),
        ({"presence_penalty": 3}, "presence_penalty"),
        ({"logit_bias": {"secret_key": 101}}, "logit_bias"),
        ({"top_logprobs": 21, "logprobs": True}, "top_logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"model": None}, "model"),
        ({"top_k": -2}, "top_k"),
        ({"min_p": 1.5}, "min_p"),
        ({"response_format": {}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {}}},
            "response_format.json_schema.schema",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": 1}}},
            "response_format.json_schema.schema",
        ),
        ({"prediction": {"type": "other", "content": "x"}}, "prediction.type"),
        ({"prediction": {"type": "content"}}, "prediction.content"),
        ({"prediction": {"type": "content", "content": [{"type": "image"}]}}, "prediction.content[0]"),
        ({"prediction": {"type": "content", "content": "x"}, "n": 2}, "prediction"),
        ({"cache_salt": ""}, "cache_salt"),
        ({"cache_salt": "x" * 129}, "cache_salt"),
        ({"prefix_cache": {}}, "prefix_cache.tenant"),
        ({"prefix_cache": {"tenant": ""}}, "prefix_cache.tenant"),
        ({"prefix_cache": {"tenant": "t", "user": ""}}, "prefix_cache.user"),
        ({"prefix_cache": {"tenant": "t", "public_messages": -1}}, "prefix_cache.public_messages"),
        ({"prefix_cache": {"tenant": "t", "public_messages": 2}}, "prefix_cache.public_messages"),
        ({"prefix_cache": {"tenant": "t", "tenant_messages": 2}}, "prefix_cache.tenant_messages"),
    ],
)
def test_bad_values_are_named(fields: dict[str, Any], param: str) -> None:
    error = refusal(**fields)
    assert error.param == param
    assert error.message.startswith(param)
    assert "secret_key" not in error.message


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"audio": {"voice": "x"}}, "audio"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    error = refusal(**fields)
    assert (error.code, error.param) == ("unsupported_parameter", param)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"model": NaN}',
        b"\xff\xfe",
        b'{"model": "\\ud800"}',
        b'{"a":' * 100_000,
        b'{"model":"local","messages":[{"role":"user","content":"\xc3\x28"}]}',
    ],
    ids=range(10),
)
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestError) as refused:
        parse_chat(raw)
    assert refused.value.code == "invalid_json"


def test_a_missing_field_is_called_missing() -> None:
    with pytest.raises(RequestError) as refused:
        parse_chat(b'{"model": "local"}')
    assert (refused.value.code, refused.value.param) == ("missing_required_parameter", "messages")


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(sorted(ChatBody.model_fields))


@given(st.dictionaries(names, json, max_size=4))
def test_any_json_is_taken_or_refused_and_never_quoted(fields: dict[str, Any]) -> None:
    with contextlib.suppress(RequestError):
        parse(**fields)
        return
    error = refusal(**fields)
    assert SECRET not in error.message


def test_huge_numbers_are_refused() -> None:
    with pytest.raises(RequestError):
        parse_chat(b'{"model":"local","messages":[],"seed":' + b"9" * 5000 + b"}")
