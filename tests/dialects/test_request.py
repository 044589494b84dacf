"""Requests of other dialects with another history, and put into chat."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.dialects.request import in_chat, request_of, with_messages
from semcache.dialects.table import BY_NAME

ANTHROPIC: dict[str, Any] = {
    "model": "c",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ],
    "metadata": {"user_id": "u"},
}
RESPONSES: dict[str, Any] = {
    "model": "g",
    "instructions": "Be short.",
    "input": [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ],
    "metadata": {"a": "b"},
}
OLLAMA: dict[str, Any] = {
    "model": "o",
    "messages": ANTHROPIC["messages"],
    "keep_alive": "5m",
    "stream": False,
}
CASES = [
    ("anthropic.messages", "/v1/messages", ANTHROPIC, "messages"),
    ("openai.responses", "/v1/responses", RESPONSES, "input"),
    ("ollama.chat", "/api/chat", OLLAMA, "messages"),
]


@pytest.mark.parametrize(("name", "path", "body", "history"), CASES, ids=[case[0] for case in CASES])
def test_a_trimmed_history_changes_nothing_else(
    name: str, path: str, body: dict[str, Any], history: str
) -> None:
    dialect = BY_NAME[name]
    request = request_of(dialect, body, path)
    chat: list[Any] = request.body["messages"]
    kept = [message for message in chat if message.get("content") not in ("one", "two")]
    trimmed = with_messages(request, dialect, kept)
    assert trimmed.body["messages"] == kept
    assert trimmed.native is not None
    others = {key: value for key, value in trimmed.native.items() if key != history}
    assert others == {key: value for key, value in body.items() if key != history}
    again = request_of(dialect, dict(trimmed.native), path)
    assert again.body["messages"] == kept
    assert again.prompt == request.prompt == "three"


@pytest.mark.parametrize(("name", "path", "body", "_"), CASES, ids=[case[0] for case in CASES])
def test_put_into_chat_nothing_of_its_own_words_is_left(
    name: str, path: str, body: dict[str, Any], _: str
) -> None:
    found = in_chat(request_of(BY_NAME[name], body, path))
    assert (found.dialect, found.path, found.native, found.extra) == (
        "openai.chat",
        "/v1/chat/completions",
        None,
        {},
    )
    # An answer is kept by an upstream of its own dialect alone.
    assert found.uncacheable is None
