"""Whole answers of three protocols in both wire modes, as their servers send them."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.upstream_server import Behaviour, Seen, json_reply, reply

NDJSON = ("content-type", "application/x-ndjson")
SSE = ("content-type", "text/event-stream")
MESSAGES, OLLAMA, CHAT = "/v1/messages", "/api/chat", "/v1/chat/completions"


def answering(seen: Seen) -> Behaviour:
    """Answer each question with a text of its own, in the path's protocol and the wire mode that was asked for."""
    path = seen.target.partition("?")[0]
    if not seen.body or path not in WHOLE:
        return json_reply({"object": "list", "data": []})
    body = seen.json()
    text = f"Answer to: {asked(body)}"
    if body.get("stream", path == OLLAMA):
        return reply(STREAMED[path](text), headers=[NDJSON if path == OLLAMA else SSE])
    return json_reply(WHOLE[path](text))


def asked(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def chat_whole(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def chat_stream(text: str) -> bytes:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return b"data: %b\n\n" % _line({"object": "chat.completion.chunk", "choices": [choice]})

    half = len(text) // 2
    parts = [{"role": "assistant", "content": text[:half]}, {"content": text[half:]}]
    return b"".join([*(chunk(part) for part in parts), chunk({}, "stop"), b"data: [DONE]\n\n"])


def messages_whole(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


def messages_stream(text: str) -> bytes:
    half = len(text) // 2
    begun = {**messages_whole(""), "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
            for part in (text[:half], text[half:])
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return b"".join(b"event: %b\ndata: %b\n\n" % (event["type"].encode(), _line(event)) for event in events)


def ollama_whole(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    counts = {"prompt_eval_count": 3, "eval_count": 2}
    return {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": True,
        "done_reason": "stop",
        **counts,
    }


def ollama_stream(text: str) -> bytes:
    half = len(text) // 2
    parts = [
        {"model": "m", "message": {"role": "assistant", "content": part}, "done": False}
        for part in (text[:half], text[half:])
    ]
    return b"".join(_line(part) + b"\n" for part in [*parts, ollama_whole("")])


WHOLE = {CHAT: chat_whole, MESSAGES: messages_whole, OLLAMA: ollama_whole}
STREAMED = {CHAT: chat_stream, MESSAGES: messages_stream, OLLAMA: ollama_stream}
UPSTREAM = {CHAT: "main", MESSAGES: "messages", OLLAMA: "ollama"}
"""Who of the configuration speaks the protocol of a path."""
