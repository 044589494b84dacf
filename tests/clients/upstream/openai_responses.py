"""OpenAI responses, from the upstream's side: typed events with sequence numbers."""

from __future__ import annotations

from typing import Any

from tests.clients.upstream.said import KINDS, Asked, Said, dumped, last_text, sse
from tests.fakes.upstream_server import Seen

stream_type = "text/event-stream; charset=utf-8"


def reads(path: str) -> bool:
    return path == "/v1/responses"


def read(seen: Seen) -> Asked:
    body = seen.json()
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    users = [item for item in items if item.get("role") == "user"]
    form = (body.get("text") or {}).get("format") or {"type": "text"}
    return Asked(
        question=last_text(users[-1]["content"], lambda part: part.get("text")),
        model=body["model"],
        stream=bool(body.get("stream")),
        tools=bool(body.get("tools")),
        told=items[-1].get("type") == "function_call_output",
        schema=form["type"] != "text",
    )


def whole(said: Said) -> dict[str, Any]:
    return _response(said, "completed", _items(said), _usage(said))


def events(said: Said, asked: Asked) -> list[bytes]:
    found: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": _response(said, "in_progress", [], None)}),
        ("response.in_progress", {"response": _response(said, "in_progress", [], None)}),
    ]
    for place, item in enumerate(_items(said)):
        empty = {
            **item,
            "status": "in_progress",
            **({"content": []} if "content" in item else {"arguments": ""}),
        }
        found.append(("response.output_item.added", {"output_index": place, "item": empty}))
        found += _text(said, place) if "content" in item else _arguments(item, place)
        found.append(("response.output_item.done", {"output_index": place, "item": item}))
    found.append(("response.completed", {"response": whole(said)}))
    return [
        sse({"type": name, "sequence_number": number, **fields}, name)
        for number, (name, fields) in enumerate(found)
    ]


def error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": KINDS[status], "param": None, "code": f"up_{status}"}}


def _text(said: Said, place: int) -> list[tuple[str, dict[str, Any]]]:
    at = {"item_id": "msg_upstream", "output_index": place, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    deltas = [("response.output_text.delta", {**at, "delta": word, "logprobs": []}) for word in said.words]
    return [
        ("response.content_part.added", {**at, "part": part}),
        *deltas,
        ("response.output_text.done", {**at, "text": said.text, "logprobs": []}),
        ("response.content_part.done", {**at, "part": {**part, "text": said.text}}),
    ]


def _arguments(item: dict[str, Any], place: int) -> list[tuple[str, dict[str, Any]]]:
    at, text = {"item_id": item["id"], "output_index": place}, item["arguments"]
    cut = [text[i : i + 5] for i in range(0, len(text), 5)]
    deltas = [("response.function_call_arguments.delta", {**at, "delta": piece}) for piece in cut]
    done = {**at, "name": item["name"], "arguments": text}
    return [*deltas, ("response.function_call_arguments.done", done)]


def _items(said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        message = {"id": "msg_upstream", "type": "message", "status": "completed", "role": "assistant"}
        items.append({**message, "content": [part]})
    if said.call:
        name, arguments = said.call
        call = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1"}
        items.append({**call, "name": name, "arguments": dumped(arguments)})
    return items


def _usage(said: Said) -> dict[str, Any]:
    return {
        "input_tokens": said.input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": said.input + said.output,
    }


def _response(
    said: Said, status: str, output: list[dict[str, Any]], usage: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "id": "resp_upstream",
        "object": "response",
        "created_at": 1700000000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": said.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
        "metadata": {},
    }
