"""From a chat body to a request: what closes which tier, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.dialects.chat.request import parse_chat
from semcache.errors import RequestError

ASK = [{"role": "user", "content": "Hi"}]


def parse(**fields: Any) -> Any:
    return parse_chat({"model": "m", "messages": ASK, **fields}, "/v1/chat/completions")


def test_a_plain_question() -> None:
    request = parse(temperature=0.5, user="u", stream=True, stream_options={"include_usage": True})
    assert request.prompt == "Hi"
    assert (request.stream, request.include_usage, request.temperature) == (True, True, 0.5)
    assert (request.end_user, request.user_turns) == ("u", 1)
    assert request.exact_only is None
    assert request.uncacheable is None


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"tools": [{}]}, "tools"),
        ({"functions": [{}]}, "tools"),
        ({"n": 2}, "n"),
        ({"seed": 0}, "seed"),
        ({"logprobs": True}, "logprobs"),
        ({"prediction": {}}, "prediction"),
        ({"modalities": ["text", "audio"]}, "audio"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "media"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "not-user-text"),
        ({"messages": [{"role": "user", "content": None}]}, "not-user-text"),
        ({"messages": [{"role": "user", "content": " \n"}]}, "empty-text"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "not-user-text"),
    ],
)
def test_features_that_close_the_semantic_tier(fields: dict[str, Any], word: str) -> None:
    assert parse(**fields).exact_only == word


def test_harmless_values_close_nothing() -> None:
    assert parse(n=1, logprobs=False, tools=[], modalities=["text"], seed=None).exact_only is None


@pytest.mark.parametrize(
    "fields",
    [
        {"previous_response_id": "r"},
        {"conversation": "c"},
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]},
    ],
)
def test_state_outside_the_request_closes_the_cache(fields: dict[str, Any]) -> None:
    assert parse(**fields).uncacheable


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": ASK}, "model"),
        ({"model": "", "messages": ASK}, "model"),
        ({"model": 3, "messages": ASK}, "model"),
        ({"model": "m"}, "messages"),
        ({"model": "m", "messages": []}, "messages"),
        ({"model": "m", "messages": "Hi"}, "messages"),
        ({"model": "m", "messages": ["Hi"]}, "messages[0].role"),
        ({"model": "m", "messages": [{"content": "Hi"}]}, "messages[0].role"),
        ({"model": "m", "messages": ASK, "stream": "yes"}, "stream"),
        ({"model": "m", "messages": ASK, "temperature": "hot"}, "temperature"),
        ({"model": "m", "messages": ASK, "temperature": True}, "temperature"),
    ],
)
def test_refusals_name_the_field(body: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_chat(body, "/v1/chat/completions")
    assert (caught.value.status, caught.value.param) == (400, param)


def test_odd_but_legal_messages_are_accepted() -> None:
    history = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "42", "tool_call_id": "1"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    assert parse(messages=history).prompt == "a\nb"
