"""The fields of a request beside its messages, in chat's words; those without one are kept as they came. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from semcache.dialects.anthropic.parts import WRAPPER, cleaned

_SAME = frozenset(("max_tokens", "temperature", "top_p"))
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
EFFORTS = frozenset(("low", "medium", "high", "xhigh"))
"""Words for effort that both sides have."""
_TOOL = {"type", "name", "description", "input_schema", "strict", "eager_input_streaming"}
FORMAT_NAME = "answer"
"""Chat wants a name for a form of answers; Anthropic has none."""


@dataclass(slots=True)
class Options:
    """The fields read so far.

    Attributes:
        chat: in chat's words.
        extra: those without one; under a name whose words are in `chat`, what chat leaves away of it.
        unsayable: places in the request of what a model would miss.
    """

    chat: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    unsayable: list[str] = field(default_factory=list)

    def take(self, name: str, value: Any) -> None:
        """Take a field; its value is not null."""
        match name, value:
            case (("max_tokens" | "temperature" | "top_p"), _):
                self.chat[name] = value
            case "stop_sequences", list() if all(isinstance(one, str) for one in value):
                if value:
                    self.chat["stop"] = value
            case "tools", list():
                self._tools(value)
            case "tool_choice", dict():
                self._tool_choice(value)
            case "output_config", dict():
                self._output(value)
            case "output_format", dict() if "response_format" not in self.chat and _form(value):
                self.chat["response_format"] = _form(value)
            case "thinking", {"type": "disabled"} if len(value) == 1:
                self.extra[name] = value
            case _:
                self._keep(name, value)

    def _keep(self, name: str, value: Any) -> None:
        # In a list where chat's own field has this name, so that neither is taken for the other.
        self.extra[name] = [value] if name == "tool_choice" else value
        self.unsayable.append(name)

    def _tools(self, tools: list[Any]) -> None:
        eager: list[Any] = []
        said: list[Any] = []
        for number, found in enumerate(tools):
            tool = cleaned(found)
            function = _function(tool)
            if function is None:
                self.unsayable.append(f"tools[{number}]")
            elif "eager_input_streaming" in tool:
                eager.append([number, tool["eager_input_streaming"]])
            said.append({"type": WRAPPER, "tool": tool} if function is None else function)
        if said:
            self.chat["tools"] = said
        if eager:
            self.extra["tools"] = eager

    def _tool_choice(self, choice: dict[str, Any]) -> None:
        told = {name: value for name, value in choice.items() if value is not None}
        single = told.pop("disable_parallel_tool_use", False)
        match told:
            case {"type": "auto" | "any" | "none" as kind} if len(told) == 1 and isinstance(single, bool):
                self.chat["tool_choice"] = _CHOICES[kind]
            case {"type": "tool", "name": str() as name} if len(told) == 2 and isinstance(single, bool):
                self.chat["tool_choice"] = {"type": "function", "function": {"name": name}}
            case _:
                self._keep("tool_choice", choice)
                return
        if single:
            self.chat["parallel_tool_calls"] = False

    def _output(self, config: dict[str, Any]) -> None:
        rest = {name: value for name, value in config.items() if value is not None}
        form = _form(rest.get("format"))
        if form is not None and "response_format" not in self.chat:
            self.chat["response_format"] = form
            del rest["format"]
        effort = rest.get("effort")
        if isinstance(effort, str) and effort in EFFORTS:
            self.chat["reasoning_effort"] = effort
            del rest["effort"]
        if rest:
            self.extra["output_config"] = rest
            self.unsayable += (f"output_config.{name}" for name in rest)


def _form(value: Any) -> dict[str, Any] | None:
    match value:
        case {"type": "json_schema", "schema": dict() as schema} if len(value) == 2:
            form = {"name": FORMAT_NAME, "schema": schema, "strict": True}
            return {"type": "json_schema", "json_schema": form}
        case _:
            return None


def _function(tool: Any) -> dict[str, Any] | None:
    """Give a client's tool as chat's; None where chat has no word for all of it."""
    match tool:
        case {"name": str() as name, "input_schema": dict() as schema} if _is_custom(tool):
            told: dict[str, Any] = {"name": name}
            if "description" in tool:
                told["description"] = tool["description"]
            told["parameters"] = schema
            if "strict" in tool:
                told["strict"] = tool["strict"]
            return {"type": "function", "function": told}
        case _:
            return None


def _is_custom(tool: Mapping[str, Any]) -> bool:
    return tool.keys() <= _TOOL and tool.get("type", "custom") == "custom"
