"""Requests in the shape of Anthropic's messages, turned into chat requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from semcache.advise.formats.fields import Fields

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "document")
_RENAMED = {"stop_sequences": "stop"}
_DROPPED = frozenset(("system", "messages", "tools", "tool_choice", "metadata", "anthropic_version", "betas"))


def is_anthropic(raw: Fields) -> bool:
    """Tell by what only this dialect has."""
    if "system" in raw or "anthropic_version" in raw or "stop_sequences" in raw:
        return True
    tools = raw.get("tools")
    if isinstance(tools, list) and tools and isinstance(tools[0], dict) and "input_schema" in tools[0]:
        return True
    return any(_has_blocks(message) for message in raw["messages"])


def _has_blocks(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return False
    return any(isinstance(part, dict) and _is_block(part) for part in content)


def _is_block(part: Mapping[str, Any]) -> bool:
    return part.get("type") in _BLOCKS or (part.get("type") == "image" and "source" in part)


def from_anthropic(raw: Fields) -> dict[str, Any]:
    """Give the chat body: system prompt first, calls and results of tools as chat has them."""
    body = {_RENAMED.get(name, name): value for name, value in raw.items() if name not in _DROPPED}
    messages: list[Any] = []
    if raw.get("system"):
        messages.append({"role": "system", "content": _texts(raw["system"])})
    for message in raw["messages"]:
        messages += _messages(message)
    body["messages"] = messages
    if isinstance(raw.get("tools"), list) and raw["tools"]:
        body["tools"] = [_tool(tool) for tool in raw["tools"]]
    if raw.get("tool_choice") is not None:
        body["tool_choice"] = raw["tool_choice"]
    user = raw["metadata"].get("user_id") if isinstance(raw.get("metadata"), dict) else None
    if isinstance(user, str):
        body["user"] = user
    return body


def _messages(message: Any) -> list[Any]:
    """One message may hold results of tools, which are messages of their own in a chat."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return [message]
    role = message.get("role")
    results: list[Any] = []
    calls: list[Any] = []
    parts: list[Any] = []
    for part in message["content"]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "tool_result":
            content = _texts(part.get("content"))
            results.append({"role": "tool", "tool_call_id": part.get("tool_use_id"), "content": content})
        elif kind == "tool_use":
            calls.append(_call(part))
        elif kind not in ("thinking", "redacted_thinking"):
            parts.append(_part(part))
    if not parts and not calls:
        return results
    said: dict[str, Any] = {"role": role, "content": _plain(parts)}
    if calls:
        said["tool_calls"] = calls
    return [*results, said]


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    arguments = orjson.dumps(part.get("input") or {}).decode()
    return {
        "id": part.get("id"),
        "type": "function",
        "function": {"name": part.get("name"), "arguments": arguments},
    }


def _tool(tool: Any) -> Any:
    if not isinstance(tool, dict) or "input_schema" not in tool:
        return tool
    function = {name: tool[name] for name in ("name", "description") if name in tool}
    return {"type": "function", "function": {**function, "parameters": tool["input_schema"]}}


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    if part.get("type") == "text":
        return {"type": "text", "text": part.get("text")}
    return {name: value for name, value in part.items() if name != "cache_control"}


def _plain(parts: list[Any]) -> Any:
    if not parts:
        return None
    only = parts[0]
    if len(parts) == 1 and isinstance(only, dict) and isinstance(only.get("text"), str):
        return only["text"]
    return parts


def _texts(value: Any) -> Any:
    """Give text, or parts, of a system prompt or a tool's result."""
    return _plain([_part(part) for part in value]) if isinstance(value, list) else value
