"""A chat request in the words of Anthropic's messages.

Pure. Fields that cannot change an answer are left away; fields that can, and that have no word there, are refused by
name. Reasoning of earlier turns is left away too: nobody signed it, and the API takes no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.anthropic.options import EFFORTS
from semcache.dialects.anthropic.said import Said
from semcache.dialects.chat.request import UNHEARD
from semcache.errors import RequestError

MAX_TOKENS = 8192
"""The limit of an answer for which none was asked: this API wants one, and every model of it takes this."""
_SILENT = UNHEARD - {"stream", "user", "safety_identifier"} | {"prediction"}
"""They change the way to an answer, not the answer."""
_LIMITS = ("max_completion_tokens", "max_tokens")
_OWNERS = ("safety_identifier", "user")
_READ = frozenset(("model", "messages", *_LIMITS, *_OWNERS, "tools", "tool_choice", "parallel_tool_calls"))
_NOTHING: Mapping[str, Any] = {
    "n": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "logit_bias": {},
    "modalities": ["text"],
    "top_logprobs": 0,
    "functions": [],
}
"""Values that ask for nothing, of fields that have no word here."""
_EFFORTS = {"minimal": "low", **{word: word for word in EFFORTS}}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def write_request(chat: JsonObject) -> dict[str, Any]:
    """Give the body of a request, see `Dialect.write`."""
    said = Said()
    for number, message in enumerate(chat["messages"]):
        said.add(message, number)
    if chat["messages"][-1]["role"] == "assistant":
        why = "Anthropic's API would go on from these words, not answer them"
        raise _refused(f"messages[{len(chat['messages']) - 1}]", why)
    limit = next((chat[name] for name in _LIMITS if chat.get(name) is not None), MAX_TOKENS)
    body: dict[str, Any] = {"model": chat["model"], "max_tokens": limit, **said.fields()}
    for name, value in chat.items():
        if value is None or name in _READ or name in _SILENT:
            continue
        field = _FIELDS.get(name)
        if field is not None:
            _add(body, field(value))
        elif name not in _NOTHING or value != _NOTHING[name]:
            raise _refused(name)
    owner = next((chat[name] for name in _OWNERS if chat.get(name)), None)
    if owner is not None:
        body["metadata"] = {"user_id": owner}
    return {**body, **_tools(chat)}


def _refused(
    param: str,
    why: str = "Anthropic's API has nothing for it; leave it out, or ask an upstream of another API",
) -> RequestError:
    return RequestError(f"{param}: {why}.", code="unsupported_parameter", param=param)


def _add(body: dict[str, Any], fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        # Two of chat's fields may stand in one object.
        before = body.get(name)
        body[name] = {**before, **value} if isinstance(before, dict) else value


def _temperature(value: Any) -> dict[str, Any]:
    if isinstance(value, int | float) and value > 1:
        raise _refused("temperature", "Anthropic's API has none above 1")
    return {"temperature": value}


def _stop(value: Any) -> dict[str, Any]:
    return {"stop_sequences": [value] if isinstance(value, str) else value}


def _response_format(value: Any) -> dict[str, Any]:
    match value:
        case {"type": "text"}:
            return {}
        case {"type": "json_schema", "json_schema": {"schema": dict() as schema} as told}:
            if isinstance(told.get("description"), str):
                schema = {"description": told["description"], **schema}
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
        case _:
            raise _refused("response_format")


def _effort(value: Any) -> dict[str, Any]:
    if value == "none":
        return {"thinking": {"type": "disabled"}}
    if not isinstance(value, str) or value not in _EFFORTS:
        raise _refused("reasoning_effort")
    return {"output_config": {"effort": _EFFORTS[value]}}


_FIELDS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "temperature": _temperature,
    "top_p": lambda value: {"top_p": value},
    "top_k": lambda value: {"top_k": value},
    "stop": _stop,
    "stream": lambda value: {"stream": True} if value else {},
    "response_format": _response_format,
    "reasoning_effort": _effort,
}


def _tools(chat: JsonObject) -> dict[str, Any]:
    tools = [_tool(tool, number) for number, tool in enumerate(chat.get("tools") or ())]
    choice = _tool_choice(chat.get("tool_choice"))
    if tools and chat.get("parallel_tool_calls") is False and choice.get("type") != "none":
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": True}
    out: dict[str, Any] = {"tools": tools} if tools else {}
    return {**out, "tool_choice": choice} if choice else out


def _tool(tool: Any, number: int) -> dict[str, Any]:
    match tool:
        case {"type": "function", "function": {"name": str() as name, **told}} if told.keys() <= {
            "description",
            "parameters",
            "strict",
        }:
            out: dict[str, Any] = {"name": name}
            if told.get("description") is not None:
                out["description"] = told["description"]
            out["input_schema"] = told.get("parameters") or {"type": "object", "properties": {}}
            if told.get("strict") is not None:
                out["strict"] = told["strict"]
            return out
        case {"type": "anthropic", "tool": dict() as own}:
            return dict(own)
        case _:
            raise _refused(f"tools[{number}]")


def _tool_choice(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {}
        case "auto" | "required" | "none":
            return {"type": _CHOICES[value]}
        case {"type": "function", "function": {"name": str() as name}}:
            return {"type": "tool", "name": name}
        case _:
            raise _refused("tool_choice")
