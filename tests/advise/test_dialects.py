"""Requests of other APIs in a log: read by the dialects, told apart by all they say."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.advise.asked import asked_of
from semcache.advise.formats.bodies import EMBEDDED, Request, request_of
from semcache.advise.rows import LogRow
from semcache.core import ChatRequest, TenantId
from semcache.embed.fingerprint import Partition, exact_key, namespace_of


def read_request(raw: dict[str, Any], path: str = "") -> Request:
    found = request_of(raw, path)
    assert isinstance(found, Request)
    return found


def test_calls_and_results_of_tools_keep_their_order() -> None:
    found = read_request(
        {
            "system": "S",
            "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "I call."},
                        {"type": "tool_use", "id": "1", "name": "f", "input": {"b": 1, "a": 2}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "1",
                            "content": [{"type": "text", "text": "4"}],
                        },
                        {"type": "text", "text": "and?"},
                    ],
                },
            ],
        }
    )
    body = found.body
    assert found.source == "anthropic"
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"b":1,"a":2}'
    assert (body["messages"][3]["content"], body["messages"][4]["content"]) == ("4", "and?")
    assert body["tools"][0]["function"]["parameters"] == {"type": "object"}


def test_items_of_a_response_become_messages() -> None:
    found = read_request(
        {
            "instructions": "S",
            "previous_response_id": "r",
            "input": [
                {"role": "user", "content": "go"},
                {"type": "reasoning", "id": "x"},
                {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "4"},
                {
                    "role": "user",
                    "content": [
                        {"type": "input_image", "image_url": "u"},
                        {"type": "input_text", "text": "?"},
                    ],
                },
            ],
        }
    )
    messages = found.body["messages"]
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "assistant",
        "tool",
        "user",
    ]
    assert messages[2]["responses_item"] == {"type": "reasoning", "id": "x"}, (
        "thoughts are part of the prompt"
    )
    assert messages[3]["tool_calls"][0]["id"] == "1"
    assert messages[5]["content"][1] == {"type": "text", "text": "?"}
    assert found.source == "responses"
    assert found.beside.uncacheable == "stateful", "what ties it to other state must not be lost"


def asked(raw: dict[str, Any]) -> ChatRequest:
    found = read_request(raw)
    made = asked_of(LogRow(found.body, "", 0, beside=found.beside), TenantId("t"))
    assert made is not None
    return made.request


CLAUDE = {"model": "claude", "system": "S", "messages": [{"role": "user", "content": "go"}]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (CLAUDE | {"top_k": 1}, CLAUDE | {"top_k": 2}),
        (CLAUDE, CLAUDE | {"container": "c"}),
        ({"model": "m", "prompt": "go", "best_of": 2}, {"model": "m", "prompt": "go"}),
        (
            {"model": "m", "messages": CLAUDE["messages"], "options": {"mirostat": 1}},
            {"model": "m", "messages": CLAUDE["messages"], "options": {"mirostat": 2}},
        ),
        (
            {"contents": [{"parts": [{"text": "go"}]}], "cachedContent": "a"},
            {"contents": [{"parts": [{"text": "go"}]}], "cachedContent": "b"},
        ),
    ],
    ids=["top_k", "container", "best_of", "mirostat", "cached-content"],
)
def test_what_chat_has_no_word_for_tells_requests_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    place = Partition(TenantId("t"), "tenant", "", "", "log")
    keys = {exact_key(namespace_of(request, place), request) for request in (asked(one), asked(other))}
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("raw", "uncacheable", "exact_only"),
    [
        (CLAUDE, None, None),
        (CLAUDE | {"container": "c"}, "stateful", None),
        ({"model": "m", "input": "go"}, None, None),
        ({"model": "m", "input": "go", "store": False}, None, None),
        ({"model": "m", "input": "go", "conversation": "c"}, "stateful", None),
        ({"model": "m", "prompt": "go", "echo": True}, "echo", None),
        ({"model": "m", "prompt": "go", "options": {}, "raw": True}, None, "raw"),
        ({"model": "m", "prompt": "go", "options": {}, "context": [1]}, "stateful", None),
    ],
    ids=str,
)
def test_what_closes_the_cache_is_known(
    raw: dict[str, Any], uncacheable: str | None, exact_only: str | None
) -> None:
    request = asked(raw)
    assert (request.uncacheable, request.exact_only) == (uncacheable, exact_only)


def test_a_dialect_is_told_by_the_address_before_its_looks() -> None:
    plain = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
    paths = {
        "/v1/messages": "anthropic",
        "/api/chat": "ollama",
        "/v1/chat/completions": "openai",
        "/x": "openai",
    }
    for path, source in paths.items():
        assert read_request(plain, path).source == source


@pytest.mark.parametrize(
    "raw",
    [
        {"contents": [7], "model": "m"},
        {"model": "m", "messages": CLAUDE["messages"], "options": {"temperature": "hot"}},
        {"model": "m", "prompt": "go", "options": {}, "system": 7},
    ],
    ids=str,
)
def test_a_request_that_its_api_would_refuse_is_told_so(raw: dict[str, Any]) -> None:
    assert isinstance(request_of(raw), str)


def test_what_is_embedded_is_no_question() -> None:
    raw = {"model": "m", "input": ["go"]}
    assert request_of(raw, "/v1/embeddings") == EMBEDDED == request_of({**raw, "encoding_format": "float"})
    assert read_request(raw).source == "responses"
