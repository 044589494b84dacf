"""OpenAI chat completions, from the upstream's side."""

from __future__ import annotations

from typing import Any

from tests.clients.upstream.said import KINDS, Asked, Said, dumped, last_text, sse
from tests.fakes.upstream_server import Seen

stream_type = "text/event-stream; charset=utf-8"


def reads(path: str) -> bool:
    return path == "/v1/chat/completions"


def read(seen: Seen) -> Asked:
    body = seen.json()
    texts = [m for m in body["messages"] if m["role"] == "user"]
    stream = bool(body.get("stream"))
    return Asked(
        question=last_text(texts[-1]["content"], lambda part: part.get("text")),
        model=body["model"],
        stream=stream,
        tools=bool(body.get("tools")),
        told=body["messages"][-1]["role"] == "tool",
        schema=body.get("response_format", {"type": "text"})["type"] != "text",
        counts=not stream or bool((body.get("stream_options") or {}).get("include_usage")),
    )


def whole(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": None}
    if said.call:
        message["tool_calls"] = [_call(said)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(said)}
    return {
        "id": "chatcmpl-upstream",
        "object": "chat.completion",
        "created": 1700000000,
        "model": said.model,
        "choices": [choice],
        "usage": _usage(said),
        "system_fingerprint": "fp_1",
    }


def events(said: Said, asked: Asked) -> list[bytes]:
    chunks = [_chunk(said, {"role": "assistant", "content": "", "refusal": None})]
    chunks += [_chunk(said, {"content": word}) for word in said.words]
    if said.call:
        name, arguments = said.call
        text = dumped(arguments)
        first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
        pieces = [{"index": 0, "function": {"arguments": text[i : i + 5]}} for i in range(0, len(text), 5)]
        chunks += [_chunk(said, {"tool_calls": [piece]}) for piece in (first, *pieces)]
    chunks.append(_chunk(said, {}, _finish(said)))
    if asked.counts:
        chunks.append({**_chunk(said, {}), "choices": [], "usage": _usage(said)})
    return [*map(sse, chunks), sse("[DONE]")]


def error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": KINDS[status], "param": None, "code": f"up_{status}"}}


def _call(said: Said) -> dict[str, Any]:
    assert said.call
    name, arguments = said.call
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": dumped(arguments)}}


def _finish(said: Said) -> str:
    return "tool_calls" if said.call else "stop"


def _usage(said: Said) -> dict[str, Any]:
    return {
        "prompt_tokens": said.input,
        "completion_tokens": said.output,
        "total_tokens": said.input + said.output,
    }


def _chunk(said: Said, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-upstream",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": said.model,
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
    }
