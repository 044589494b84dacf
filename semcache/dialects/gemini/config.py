"""What a Gemini request says beside its contents, in chat's words: generation config, tools, safety settings.

Pure. What chat has no word for, or does not say in full, stays beside it as it came, in one spelling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.gemini.schema import json_schema
from semcache.dialects.gemini.spelling import FORMS
from semcache.dialects.plain import EMPTY
from semcache.errors import RequestError

WORDS = {
    "topP": "top_p",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "maxOutputTokens": "max_tokens",
    "candidateCount": "n",
    "seed": "seed",
    "logprobs": "top_logprobs",
}
"""Fields of the config that are numbers in chat too."""
_WHOLE = frozenset(("maxOutputTokens", "candidateCount", "seed", "logprobs"))
_FORM = ("responseMimeType", "responseSchema", "responseJsonSchema")
_JSON = "application/json"
_SCHEMA_NAME = "answer"
_HARMLESS = ("BLOCK_NONE", "OFF")
_PLAIN_TOOLS = frozenset(("functionDeclarations", "codeExecution", "computerUse"))
_SEARCHES = frozenset(
    (
        "googleSearch", "googleSearchRetrieval", "urlContext", "googleMaps", "enterpriseWebSearch",
        "parallelAiSearch", "exaAiSearch",
    )
)  # fmt: skip
"""Tools that look things up in the world."""
_DECLARED = frozenset(("name", "description", "parametersJsonSchema"))
_TOLD_LATER = frozenset(("response", "responseJsonSchema"))
"""The form of a tool's results: a chat model sees the results themselves."""


@dataclass(slots=True)
class Config:
    """What was read: chat's fields, what stays beside, what is lost, and what closes the cache's tiers."""

    chat: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    unsayable: list[str] = field(default_factory=list)
    exact_only: str | None = None
    uncacheable: str | None = None

    def add(self, name: str, value: Any) -> None:
        """Take a field of the request.

        Raises:
            RequestError: 400 with `param`; the temperature is no number.
        """
        match name, value:
            case "generationConfig", dict():
                self._generation(value)
            case "tools", list():
                self._tools(value)
            case "toolConfig", dict():
                self._tool_config(value)
            case "safetySettings", list():
                self.rest[name] = value
                if not all(isinstance(one, dict) and one.get("threshold") in _HARMLESS for one in value):
                    self.unsayable.append(name)
            case _:
                self.rest[name] = value
                self.unsayable.append(name)
                if name == "cachedContent":
                    self.uncacheable = "stateful"

    def _generation(self, config: JsonObject) -> None:
        rest: dict[str, Any] = {}
        for name, value in config.items():
            is_read_apart = name in _FORM or (name == "thinkingConfig" and isinstance(value, dict))
            if value in EMPTY and name not in FORMS["config"] and value is not None:
                # Said twice, in two spellings, or nobody's: who knows whether nothing is meant by it.
                rest[name] = value
            if value in EMPTY or is_read_apart:
                continue
            words, is_lost = _setting(name, value)
            self.chat |= words
            if not words or is_lost is None:
                rest[name] = value
            if is_lost and not words:
                self.unsayable.append(f"generationConfig.{name}")
        for name, value, is_lost in self._format(config):
            rest[name] = value
            if is_lost:
                self.unsayable.append(f"generationConfig.{name}")
        thinking = config.get("thinkingConfig")
        if isinstance(thinking, dict):
            self._thinking(thinking, rest)
        if rest:
            self.rest["generationConfig"] = rest

    def _format(self, config: JsonObject) -> list[tuple[str, Any, bool]]:
        """Read the form of the answer; give fields that stay beside, and whether they are lost."""
        given = {name: config.get(name) for name in _FORM}
        kind, own, schema = given.values()
        if kind != _JSON or (own and schema):
            return [(k, v, (k, v) != ("responseMimeType", "text/plain")) for k, v in given.items() if v]
        if isinstance(own or schema, dict):
            wanted = {"name": _SCHEMA_NAME, "schema": json_schema(own) if own else schema}
            self.chat["response_format"] = {"type": "json_schema", "json_schema": wanted}
            return [("responseSchema", own, False)] if own else []
        self.chat["response_format"] = {"type": "json_object"}
        return [(name, value, True) for name, value in given.items() if value and name != "responseMimeType"]

    def _thinking(self, thinking: JsonObject, rest: dict[str, Any]) -> None:
        kept: dict[str, Any] = {}
        efforts = [name for name in ("thinkingLevel", "thinkingBudget") if name in thinking]
        for name, value in thinking.items():
            effort = _effort(name, value) if len(efforts) == 1 else None
            if effort is not None:
                self.chat["reasoning_effort"] = effort
            else:
                kept[name] = value
                if (name, value) != ("thinkingBudget", -1) and name != "includeThoughts":
                    self.unsayable.append(f"generationConfig.thinkingConfig.{name}")
        if kept:
            rest["thinkingConfig"] = kept

    def _tools(self, tools: list[Any]) -> None:
        functions: list[dict[str, Any]] = []
        is_plain = len(tools) == 1
        for number, tool in enumerate(tools):
            kinds = list(tool) if isinstance(tool, dict) else ["?"]
            lost = [name for name in kinds if name != "functionDeclarations"]
            self.unsayable += [f"tools[{number}].{name}" for name in lost]
            self._close(lost)
            is_plain = is_plain and not lost
            declared = tool.get("functionDeclarations") if isinstance(tool, dict) else None
            for function in declared if isinstance(declared, list) else ():
                functions.append({"type": "function", "function": self._function(function, number)})
                is_plain = is_plain and isinstance(function, dict) and not function.keys() - _DECLARED
        if functions:
            self.chat["tools"] = functions
        if not is_plain or not functions:
            self.rest["tools"] = tools
        self.exact_only = self.exact_only or "tools"

    def _close(self, kinds: list[str]) -> None:
        """Close the cache, or the search by meaning, to tools that are run by the provider."""
        if not _SEARCHES.isdisjoint(kinds):
            self.exact_only = "web-search"
        if "mcpServers" in kinds:
            self.uncacheable = "mcp"
        elif not _PLAIN_TOOLS.union(_SEARCHES).issuperset(kinds):
            # Documents that are kept there, and tools nobody knows.
            self.uncacheable = self.uncacheable or "stateful"

    def _function(self, function: Any, number: int) -> dict[str, Any]:
        if not isinstance(function, dict):
            self.unsayable.append(f"tools[{number}].functionDeclarations")
            return {}
        known = (*_DECLARED, *_TOLD_LATER, "parameters")
        self.unsayable += [f"tools[{number}].functionDeclarations.{k}" for k in function if k not in known]
        out = {name: function[name] for name in ("name", "description") if name in function}
        if "parametersJsonSchema" in function:
            out["parameters"] = function["parametersJsonSchema"]
        elif "parameters" in function:
            out["parameters"] = json_schema(function["parameters"])
        return out

    def _tool_config(self, config: JsonObject) -> None:
        match config:
            case {"functionCallingConfig": {"mode": ("AUTO" | "ANY" | "NONE") as mode, **more}, **others} if (
                not more and not others
            ):
                self.chat["tool_choice"] = {"AUTO": "auto", "ANY": "required", "NONE": "none"}[mode]
            case {
                "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [str() as only], **more},
                **others,
            } if not more and not others:
                self.chat["tool_choice"] = {"type": "function", "function": {"name": only}}
            case _:
                self.rest["toolConfig"] = config
                self.unsayable.append("toolConfig")


def _setting(name: str, value: Any) -> tuple[dict[str, Any], bool | None]:
    """Give a setting in chat's words, and whether it is lost without them; None: it is said, and counts as it came too."""
    if name == "temperature":
        number = _number(value)
        return {"temperature": number}, (None if isinstance(value, str) else False)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in WORDS and is_number and not (name in _WHOLE and isinstance(value, float)):
        return {WORDS[name]: value}, False
    match name, value:
        case "stopSequences", list() if all(isinstance(one, str) for one in value):
            return {"stop": value}, False
        case "responseLogprobs", True:
            return {"logprobs": True}, False
        case ("responseModalities", ["TEXT"]) | ("responseLogprobs", False):
            return {}, False
        case _:
            return {}, True


def _number(value: Any) -> float | int:
    """Give a temperature; protobuf's JSON lets numbers be texts.

    Raises:
        RequestError: 400; it is none.
    """
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
        name = "generationConfig.temperature"
        raise RequestError(f"'{name}' must be a number.", param=name)
    return number


def _effort(name: str, value: Any) -> str | None:
    if name == "thinkingLevel" and isinstance(value, str) and value.isupper() and value != "NONE":
        return value.lower()
    is_none = name == "thinkingBudget" and value == 0 and not isinstance(value, bool | float)
    return "none" if is_none else None
