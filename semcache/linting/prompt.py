"""A request's body as the text that a model reads, in the order that providers render it: tools, system, messages.

Reads OpenAI's chat, responses and plain completions, Anthropic's messages and Ollama's bodies, and never raises: what
it does not understand is left away. Marks that steer caches, and thoughts that providers drop, are no part of
the text. Offsets are therefore those of this plain text, without any template's own words. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import orjson

from semcache.core import JsonObject

_SYSTEM = ("system", "developer")
_DROPPED = ("thinking", "redacted_thinking", "reasoning")
"""Parts that providers do not read again."""
_NIBBLES = "abcdefghijklmnop"
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name and its JSON as it came, keys in the client's order."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message behind the system prompt; `where` is its place in the request, such as `messages[3]`."""

    role: str
    text: str
    where: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads, in this order. `system` are all system messages at the head, joined by line breaks."""

    tools: tuple[Tool, ...] = ()
    system: str = ""
    turns: tuple[Turn, ...] = ()


def prompt_of(body: JsonObject) -> Prompt:
    """Read a request's body, of whichever dialect."""
    tools = tuple(map(_tool, (*_list(body.get("tools")), *_list(body.get("functions")))))
    system = [text for name in ("system", "instructions") if (text := _content(body.get(name), 0))]
    turns: list[Turn] = []
    for turn in _turns(body):
        if turn.role in _SYSTEM and not turns:
            system.append(turn.text)
        else:
            turns.append(turn)
    return Prompt(tools, "\n".join(system), tuple(turns))


def dumped(value: Any) -> str:
    """Write a JSON value down, keys as they came; "" for one that cannot be written."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        pass
    try:
        return json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        return ""


def _turns(body: JsonObject) -> Iterator[Turn]:
    for name in ("messages", "input"):
        for place, item in enumerate(_list(body.get(name))):
            if isinstance(item, dict) and item.get("type") not in _DROPPED:
                yield Turn(_role(item), _message(item), f"{name}[{place}]")
    for name in ("input", "prompt"):
        value = body.get(name)
        texts = value if isinstance(value, list) and name == "prompt" else [value]
        for text in texts:
            if isinstance(text, str) and text:
                yield Turn("user", text, name)


def _role(item: Mapping[str, Any]) -> str:
    role = item.get("role", item.get("type"))
    return role if isinstance(role, str) else ""


def _tool(value: Any) -> Tool:
    plain = _unmarked(value)
    return Tool(_name(plain), dumped(plain))


def _name(tool: Any) -> str:
    """Give a tool's name, which OpenAI's chat puts one level deeper; of a built-in tool its type."""
    if not isinstance(tool, dict):
        return ""
    inner = tool.get("function")
    for holder in (inner, tool):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    kind = tool.get("type")
    return kind if isinstance(kind, str) else ""


def _message(item: Mapping[str, Any]) -> str:
    """Give all of a message that is read: its content, and its calls of tools or their results."""
    content = item.get("content")
    if isinstance(content, str) and len(item) == 2:
        return content
    texts = [_content(content, 0)]
    texts += [dumped(item[name]) for name in ("tool_calls", "function_call") if item.get(name)]
    if content is None and "role" not in item:
        texts.append(dumped(_unmarked(item)))
    return "\n".join(text for text in texts if text)


def _content(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or depth > _DEEPEST:
        return ""
    return "\n".join(_part(part, depth + 1) for part in value)


def _part(part: Any, depth: int) -> str:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else ""
    kind, text = part.get("type"), part.get("text")
    if isinstance(text, str):
        return text
    if kind in _DROPPED:
        return ""
    if kind == "tool_result":
        return _content(part.get("content"), depth)
    if kind == "tool_use":
        return dumped(_unmarked(part))
    return _stand_in(str(kind), dumped(_unmarked(part)))


def _stand_in(kind: str, text: str) -> str:
    """Stand for a picture, sound or file: equal exactly for equal ones, and nothing that looks like a number."""
    check = crc32(text.encode("utf-8", "surrogatepass"))
    return f"[{kind} {''.join(_NIBBLES[check >> shift & 15] for shift in range(0, 32, 4))}]"


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict) and "cache_control" in value:
        return {name: inner for name, inner in value.items() if name != "cache_control"}
    return value


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()
