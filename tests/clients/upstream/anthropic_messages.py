"""Anthropic messages, from the upstream's side."""

from __future__ import annotations

from typing import Any

from tests.clients.upstream.said import Asked, Said, dumped, last_text, sse
from tests.fakes.upstream_server import Seen

stream_type = "text/event-stream; charset=utf-8"
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
}


def reads(path: str) -> bool:
    return path == "/v1/messages"


def read(seen: Seen) -> Asked:
    body = seen.json()
    last = body["messages"][-1]
    told = isinstance(last["content"], list) and any(p["type"] == "tool_result" for p in last["content"])
    return Asked(
        question=last_text(last["content"], lambda part: part.get("text")),
        model=body["model"],
        stream=bool(body.get("stream")),
        tools=bool(body.get("tools")),
        told=told,
        forced=(body.get("tool_choice") or {}).get("name", ""),
        schema=bool((body.get("output_config") or {}).get("format") or body.get("output_format")),
    )


def whole(said: Said) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    if said.call:
        name, arguments = said.call
        content.append({"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments})
    return _message(said) | {"content": content, "stop_reason": _stop(said), "usage": _usage(said)}


def events(said: Said, asked: Asked) -> list[bytes]:
    started = _message(said) | {"usage": _usage(said) | {"output_tokens": 1}}
    found = [("message_start", {"message": started}), ("ping", {})]
    if said.text:
        block = {"index": 0, "content_block": {"type": "text", "text": ""}}
        deltas = [{"index": 0, "delta": {"type": "text_delta", "text": word}} for word in said.words]
        found += _block(block, deltas)
    if said.call:
        name, arguments = said.call
        text, index = dumped(arguments), int(bool(said.text))
        empty = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        cut = [text[i : i + 5] for i in range(0, len(text), 5)]
        parts = [{"index": index, "delta": {"type": "input_json_delta", "partial_json": p}} for p in cut]
        found += _block({"index": index, "content_block": empty}, parts)
    end = {"delta": {"stop_reason": _stop(said), "stop_sequence": None}, "usage": _usage(said)}
    found += [("message_delta", end), ("message_stop", {})]
    return [sse({"type": name, **fields}, name) for name, fields in found]


def error(status: int, message: str) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": _KINDS[status], "message": message},
        "request_id": "req_upstream",
    }


def _block(start: dict[str, Any], deltas: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    middle = [("content_block_delta", delta) for delta in deltas]
    return [("content_block_start", start), *middle, ("content_block_stop", {"index": start["index"]})]


def _stop(said: Said) -> str:
    return "tool_use" if said.call else "end_turn"


def _usage(said: Said) -> dict[str, Any]:
    return {
        "input_tokens": said.input,
        "output_tokens": said.output,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def _message(said: Said) -> dict[str, Any]:
    return {
        "id": "msg_upstream",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
