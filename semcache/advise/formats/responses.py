"""Requests in the shape of OpenAI's responses, turned into chat requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semcache.advise.formats.fields import Fields

_DROPPED = frozenset(("input", "instructions"))
_TEXTS = ("input_text", "output_text", "text")
_STATEFUL = ("previous_response_id", "conversation")


def is_responses(raw: Fields) -> bool:
    """Tell by what only this dialect has; an `input` alone may be anything."""
    given = raw.get("input")
    if "messages" in raw or not isinstance(given, str | list) or not given:
        return False
    return "instructions" in raw or "model" in raw or "previous_response_id" in raw


def from_responses(raw: Fields) -> dict[str, Any]:
    """Give the chat body: instructions first, items in their order. What ties it to the provider's memory stays in it."""
    body = {name: value for name, value in raw.items() if name not in _DROPPED}
    messages: list[Any] = []
    if isinstance(raw.get("instructions"), str) and raw["instructions"]:
        messages.append({"role": "system", "content": raw["instructions"]})
    given = raw["input"]
    if isinstance(given, str):
        messages.append({"role": "user", "content": given})
    else:
        messages += [message for item in given if (message := _item(item)) is not None]
    body["messages"] = messages
    return body


def _item(item: Any) -> Any:
    if isinstance(item, str):
        return {"role": "user", "content": item}
    if not isinstance(item, dict):
        return item
    match item.get("type"):
        case "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        case "function_call_output":
            return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
        case "reasoning":
            return None
        case _:
            return {**_without_type(item), "content": _content(item.get("content"))}


def _without_type(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("type", "id", "status")}


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    parts = [_part(part) for part in content]
    only = parts[0] if len(parts) == 1 else None
    return only["text"] if isinstance(only, dict) and isinstance(only.get("text"), str) else parts


def _part(part: Any) -> Any:
    if isinstance(part, dict) and part.get("type") in _TEXTS:
        return {"type": "text", "text": part.get("text")}
    return part
