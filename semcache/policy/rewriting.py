"""Rewriting of requests that changes no JSON value: tools in the order of their names, keys of their objects in order.

Clients that build their tools from sets and maps send the same tools in ever new orders, and no cache of prefixes knows
them again. Off unless a policy asks for it. Pure; knows no cache and no upstream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from semcache.core import ChatRequest, JsonObject

_LISTS = ("tools", "functions")
_CHOICES = ("tool_choice", "function_call")
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class RewriteRules:
    """What may be rewritten before a request is hashed and sent on."""

    sort_tools: bool = False
    sort_keys: bool = False


def rewritten(body: JsonObject, rules: RewriteRules) -> JsonObject:
    """Give the body with its tools in order; the same object where nothing is to be done.

    Tools of one name keep their order among each other. Lists stay as they are where a tool carries a mark for the
    provider's cache, which covers all before it, or where the choice of a tool names a position. Keys of
    strict tools stay, since models write arguments in the order of the schema.
    """
    if not (rules.sort_tools or rules.sort_keys):
        return body
    changed: dict[str, Any] = {}
    for name in _LISTS:
        tools = body.get(name)
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            continue
        made = [_in_order(tool) for tool in tools] if rules.sort_keys else tools
        if rules.sort_tools and _movable(body, tools):
            made = sorted(made, key=tool_name)
        if _differ(made, tools):
            changed[name] = made
    return {**body, **changed} if changed else body


def in_order(request: ChatRequest, rules: RewriteRules) -> ChatRequest:
    """Give the request with its body rewritten, to be hashed anew; the same one where nothing is to be done."""
    body = rewritten(request.body, rules)
    return request if body is request.body else replace(request, body=body, keys={})


def tool_name(tool: Mapping[str, Any]) -> str:
    """Give a tool's name, which OpenAI's chat puts one level deeper; of a built-in tool its type; else ""."""
    inner = tool.get("function")
    for value in (inner.get("name") if isinstance(inner, dict) else None, tool.get("name"), tool.get("type")):
        if isinstance(value, str):
            return value
    return ""


def _movable(body: JsonObject, tools: list[dict[str, Any]]) -> bool:
    marked = any("cache_control" in tool or "cache_control" in _inner(tool) for tool in tools)
    return not marked and not any(_has_number(body.get(name), 0) for name in _CHOICES)


def _inner(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = tool.get("function")
    return inner if isinstance(inner, dict) else {}


def _has_number(value: Any, depth: int) -> bool:
    """Tell whether a number stands anywhere in it, which may be a position."""
    if depth > _DEEPEST:
        return True
    match value:
        case dict():
            return any(_has_number(inner, depth + 1) for inner in value.values())
        case list():
            return any(_has_number(inner, depth + 1) for inner in value)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)


def _in_order(tool: dict[str, Any]) -> dict[str, Any]:
    if tool.get("strict") or _inner(tool).get("strict"):
        return tool
    made: dict[str, Any] = _sorted(tool, 0)
    return made


def _sorted(value: Any, depth: int) -> Any:
    """Put the keys of all objects in order, down to a depth that no schema reaches; lists keep theirs."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        return {name: _sorted(value[name], depth + 1) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(inner, depth + 1) for inner in value]
    return value


def _differ(made: Any, before: Any) -> bool:
    """Tell whether two equal JSON values are written differently."""
    if made is before:
        return False
    if isinstance(made, dict) and isinstance(before, dict):
        return list(made) != list(before) or any(_differ(made[name], before[name]) for name in made)
    if isinstance(made, list) and isinstance(before, list):
        return len(made) != len(before) or any(map(_differ, made, before))
    return bool(made != before)
