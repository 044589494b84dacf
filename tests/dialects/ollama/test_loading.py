"""Requests without a question, as programs made for Ollama send them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from semcache.dialects.ollama.loading import loaded
from semcache.dialects.ollama.wire import OLLAMA_CHAT, OLLAMA_GENERATE
from semcache.dialects.request import request_of
from semcache.dialects.unsaid import NothingAsked, refusal


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/api/generate", {"model": "m"}, "load"),
        ("/api/generate", {"model": "m", "prompt": "", "keep_alive": "5m"}, "load"),
        ("/api/generate", {"model": "m", "prompt": "", "keep_alive": 0}, "unload"),
        ("/api/chat", {"model": "m", "messages": [], "tools": [], "keep_alive": -1}, "load"),
        ("/api/chat", {"model": "m", "messages": [], "keep_alive": "0s", "stream": False}, "unload"),
        ("/api/chat", {"model": "m", "keep_alive": False, "options": {"top_k": 3}}, "load"),
    ],
)
def test_a_model_is_loaded_or_let_go(path: str, body: dict[str, Any], reason: str) -> None:
    dialect = OLLAMA_CHAT if path == "/api/chat" else OLLAMA_GENERATE
    assert isinstance(refusal(request_of(dialect, body, path), "up"), NothingAsked)
    said = json.loads(loaded(path, body, 0.0))
    assert (said["model"], said["done"], said["done_reason"]) == ("m", True, reason)
    assert said["created_at"] == "1970-01-01T00:00:00Z"
    assert said.get("response", said.get("message", {}).get("content")) == ""


def test_not_what_asks_something() -> None:
    asked = request_of(OLLAMA_GENERATE, {"model": "m", "prompt": "Hi", "context": [1]}, "/api/generate")
    assert not isinstance(refusal(asked, "up"), NothingAsked)
