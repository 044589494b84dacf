"""Ollama's chat and generate, from the upstream's side."""

from __future__ import annotations

from typing import Any

from tests.clients.upstream.said import Asked, Said, dumped
from tests.fakes.upstream_server import Seen

stream_type = "application/x-ndjson"


def reads(path: str) -> bool:
    return path == "/api/chat"


def read(seen: Seen) -> Asked:
    body = seen.json()
    users = [m for m in body["messages"] if m["role"] == "user"]
    return Asked(
        question=users[-1]["content"],
        model=body["model"],
        stream=body.get("stream", True),
        tools=bool(body.get("tools")),
        told=body["messages"][-1]["role"] == "tool",
        schema=bool(body.get("format")),
    )


def whole(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.call:
        message["tool_calls"] = [_call(said)]
    return _frame(said) | {"message": message} | _done(said)


def events(said: Said, asked: Asked) -> list[bytes]:
    found: list[dict[str, Any]] = [
        _frame(said) | {"message": {"role": "assistant", "content": word}, "done": False}
        for word in said.words
    ]
    if said.call:
        message = {"role": "assistant", "content": "", "tool_calls": [_call(said)]}
        found.append(_frame(said) | {"message": message, "done": False})
    found.append(_frame(said) | {"message": {"role": "assistant", "content": ""}} | _done(said))
    return [f"{dumped(line)}\n".encode() for line in found]


def error(status: int, message: str) -> dict[str, Any]:
    return {"error": message}


def _call(said: Said) -> dict[str, Any]:
    assert said.call
    name, arguments = said.call
    return {"function": {"name": name, "arguments": arguments}}


def _frame(said: Said) -> dict[str, Any]:
    return {"model": said.model, "created_at": "2026-11-01T10:00:00.123456789Z"}


def _done(said: Said) -> dict[str, Any]:
    return {
        "done": True,
        "done_reason": "stop",
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": said.input,
        "prompt_eval_duration": 2_000_000,
        "eval_count": said.output,
        "eval_duration": 2_000_000,
    }
