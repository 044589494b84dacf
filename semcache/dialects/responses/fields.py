"""Tools, the choice among them and output formats: the flat words of responses and the nested ones of chat. Pure.

Reading gives None for what chat cannot say, writing for what responses cannot.
"""

from __future__ import annotations

from typing import Any

TOOL = "responses_tool"
"""Type of a tool in chat that stands for one which chat has no word for, as it came."""
_FUNCTION = ("name", "description", "parameters", "strict")
_CUSTOM = ("name", "description", "format")
_SCHEMA = ("name", "description", "schema", "strict")
_CHOICES = ("none", "auto", "required")


def read_tool(tool: Any) -> dict[str, Any] | None:
    """Give a tool as chat has it.

    A function that does not say so is strict here where it can be, and lax in chat: a null stands for the first.
    """
    plain = (
        {name: value for name, value in tool.items() if value is not None} if isinstance(tool, dict) else {}
    )
    match plain:
        case {"type": "function", "name": str(), **rest} if rest.keys() <= set(_FUNCTION):
            function = {"strict": None, **_without_type(plain)}
            if function["strict"] is False:
                del function["strict"]
            return {"type": "function", "function": function}
        case {"type": "custom", "name": str(), **rest} if rest.keys() <= set(_CUSTOM):
            custom = _without_type(plain)
            if "format" in custom:
                custom["format"] = _read_grammar(custom["format"])
            return None if custom.get("format", ()) is None else {"type": "custom", "custom": custom}
    return None


def write_tool(tool: Any) -> dict[str, Any] | None:
    """Give a chat tool as responses has it."""
    match tool:
        case {"type": "function", "function": {"name": str(), **rest} as function} if rest.keys() <= set(
            _FUNCTION
        ):
            written = {"type": "function", "strict": False, **function}
            return {name: value for name, value in written.items() if value is not None}
        case {"type": "custom", "custom": {"name": str(), **rest} as custom} if rest.keys() <= set(_CUSTOM):
            form = custom.get("format")
            match form:
                case {"type": "grammar", "grammar": dict(grammar)}:
                    return {"type": "custom", **custom, "format": {"type": "grammar", **grammar}}
                case None | {"type": "text"}:
                    return {"type": "custom", **custom}
    return None


def read_choice(choice: Any) -> Any:
    """Give a choice of tools as chat has it."""
    match choice:
        case str() if choice in _CHOICES:
            return choice
        case {"type": "function" | "custom" as kind, "name": str(name), **rest} if not rest:
            return {"type": kind, kind: {"name": name}}
        case {"type": "allowed_tools", "mode": mode, "tools": list(tools), **rest} if not rest:
            named = [read_choice(tool) for tool in tools]
            if all(isinstance(tool, dict) and tool["type"] != "allowed_tools" for tool in named):
                return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}
    return None


def write_choice(choice: Any) -> Any:
    """Give chat's choice of tools as responses has it."""
    match choice:
        case str() if choice in _CHOICES:
            return choice
        case {"type": "function", "function": {"name": name}}:
            return {"type": "function", "name": name}
        case {"type": "custom", "custom": {"name": name}}:
            return {"type": "custom", "name": name}
        case {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}:
            named = [write_choice(tool) for tool in tools]
            if all(isinstance(tool, dict) for tool in named):
                return {"type": "allowed_tools", "mode": mode, "tools": named}
    return None


def read_format(form: Any) -> dict[str, Any] | None:
    """Give an output format as chat has it."""
    match form:
        case {"type": "text" | "json_object", **rest} if not rest:
            return dict(form)
        case {"type": "json_schema", **rest} if rest.keys() <= set(_SCHEMA):
            return {"type": "json_schema", "json_schema": rest}
    return None


def write_format(form: Any) -> dict[str, Any] | None:
    """Give chat's output format as responses has it."""
    match form:
        case {"type": "text" | "json_object", **rest} if not rest:
            return dict(form)
        case {"type": "json_schema", "json_schema": dict(schema), **rest} if not rest and (
            schema.keys() <= set(_SCHEMA)
        ):
            return {"type": "json_schema", **schema}
    return None


def _read_grammar(form: Any) -> dict[str, Any] | None:
    match form:
        case {"type": "text", **rest} if not rest:
            return {"type": "text"}
        case {"type": "grammar", **rest} if rest.keys() <= {"definition", "syntax"}:
            return {"type": "grammar", "grammar": rest}
    return None


def _without_type(tool: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tool.items() if name != "type"}
