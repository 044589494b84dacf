"""Answers that were logged as they came: the text of an event stream (SSE), of any dialect. Pure."""

from __future__ import annotations

from typing import Any

import orjson

_STARTS = ("data:", "event:", ": ", "id:")


def is_stream(value: Any) -> bool:
    """Tell the text of an event stream from an answer."""
    return isinstance(value, str) and value.lstrip()[:8].startswith(_STARTS) and "data:" in value


def whole(text: str) -> dict[str, Any]:
    """Give what came in the stream as one answer: its text, and the usage that its last events told."""
    said: list[str] = []
    usage: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("data:"):
            event = _loaded(line[5:])
            said.append(_text(event))
            usage |= _usage(event)
    return {"content": "".join(said), "usage": usage}


def _loaded(data: str) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(event: dict[str, Any]) -> str:
    choices, delta = event.get("choices"), event.get("delta")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        delta = choices[0].get("delta")
    if isinstance(delta, str):
        # Of a response; its arguments of tools come in events of another name.
        return delta if event.get("type") == "response.output_text.delta" else ""
    if not isinstance(delta, dict):
        return ""
    found = delta.get("content") or delta.get("text")
    return found if isinstance(found, str) else ""


def _usage(event: dict[str, Any]) -> dict[str, Any]:
    """Counts stand in the event, or in the message or response that it brings; later ones hold."""
    found: dict[str, Any] = {}
    for holder in (event.get("message"), event.get("response"), event):
        usage = holder.get("usage") if isinstance(holder, dict) else None
        if isinstance(usage, dict):
            found |= {name: value for name, value in usage.items() if value is not None}
    return found
