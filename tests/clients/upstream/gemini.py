"""Gemini's generateContent, from the upstream's side."""

from __future__ import annotations

import re
from typing import Any

from tests.clients.upstream.said import Asked, Said, last_text, sse
from tests.fakes.upstream_server import Seen

stream_type = "text/event-stream"
_PATH = re.compile(r"/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)")
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
}


def reads(path: str) -> bool:
    return _PATH.fullmatch(path) is not None


def read(seen: Seen) -> Asked:
    body = seen.json()
    found = _PATH.fullmatch(seen.target.partition("?")[0])
    assert found
    last = body["contents"][-1]
    config = body.get("generationConfig") or {}
    return Asked(
        question=last_text(last["parts"], lambda part: part.get("text")),
        model=found[1],
        stream=found[2] == "streamGenerateContent",
        tools=bool(body.get("tools")),
        told=any({"functionResponse", "function_response"} & part.keys() for part in last["parts"]),
        # Protocol buffers' JSON may be written either way, and is.
        schema="application/json" in (config.get("responseMimeType"), config.get("response_mime_type")),
    )


def whole(said: Said) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": said.text}] if said.text else []
    if said.call:
        parts.append(_call(said))
    return _frame(said, parts, "STOP")


def events(said: Said, asked: Asked) -> list[bytes]:
    frames = [_frame(said, [{"text": word}]) for word in said.words]
    last = [_call(said)] if said.call else [{"text": ""}]
    return [sse(frame).replace(b"\n", b"\r\n") for frame in (*frames, _frame(said, last, "STOP"))]


def error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": _STATUS[status]}}


def _call(said: Said) -> dict[str, Any]:
    assert said.call
    name, arguments = said.call
    return {"functionCall": {"name": name, "args": arguments}}


def _frame(said: Said, parts: list[dict[str, Any]], finish: str = "") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = {
        "promptTokenCount": said.input,
        "candidatesTokenCount": said.output,
        "totalTokenCount": said.input + said.output,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": said.model,
        "responseId": "response-upstream",
    }
