"""Chat requests as requests of Gemini. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.dialect import Written
from semcache.dialects.gemini.config import WORDS
from semcache.dialects.gemini.contents import result_object
from semcache.dialects.gemini.target import path_of
from semcache.dialects.plain import EMPTY, SILENT, asked_calls, no_word, reasoning_of, whole_text

GEMINI = "a Gemini model"
_NUMBERS = {word: name for name, word in WORDS.items()} | {
    "temperature": "temperature",
    "max_completion_tokens": "maxOutputTokens",
}
_MESSAGE = frozenset(
    ("role", "content", "tool_calls", "tool_call_id", "reasoning_content", "reasoning", "cache_control")
)
_FUNCTION = frozenset(("name", "description", "parameters", "strict"))


def write(chat: JsonObject) -> Written:
    """Write a chat body.

    Raises:
        RequestError: 400 with `param`; it asks for what Gemini has no word for.
    """
    system, contents = _contents(chat["messages"])
    body: dict[str, Any] = {"systemInstruction": {"parts": system}} if system else {}
    body["contents"] = contents
    config: dict[str, Any] = {}
    for name, value in chat.items():
        if name in SILENT or name in ("model", "messages") or value in EMPTY:
            continue
        if name in _NUMBERS:
            config[_NUMBERS[name]] = value
        elif name in ("tools", "tool_choice"):
            body |= _tools(value) if name == "tools" else {"toolConfig": _tool_config(value)}
        else:
            config |= _setting(name, value)
    if config:
        body["generationConfig"] = config
    streams = bool(chat.get("stream"))
    return Written(path_of(str(chat["model"]), stream=streams), body, b"alt=sse" if streams else b"")


def _setting(name: str, value: Any) -> dict[str, Any]:
    match name, value:
        case "stop", _:
            return {"stopSequences": [value] if isinstance(value, str) else value}
        case "logprobs", bool():
            return {"responseLogprobs": True} if value else {}
        case "reasoning_effort", "none":
            return {"thinkingConfig": {"thinkingBudget": 0}}
        case "reasoning_effort", str():
            return {"thinkingConfig": {"thinkingLevel": value.upper()}}
        case "response_format", {"type": "json_object"}:
            return {"responseMimeType": "application/json"}
        case "response_format", {"type": "json_schema", "json_schema": {"schema": dict() as schema}}:
            return {"responseMimeType": "application/json", "responseJsonSchema": schema}
        case ("response_format", {"type": "text"}) | ("parallel_tool_calls", True) | ("modalities", ["text"]):
            return {}
        case _:
            raise no_word(name, GEMINI)


def _tools(tools: Any) -> dict[str, Any]:
    functions: list[dict[str, Any]] = []
    for number, tool in enumerate(tools if isinstance(tools, list) else (None,)):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or function.keys() - _FUNCTION:
            raise no_word(f"tools[{number}]", GEMINI)
        told = {name: function[name] for name in ("name", "description") if name in function}
        if "parameters" in function:
            told["parametersJsonSchema"] = function["parameters"]
        functions.append(told)
    return {"tools": [{"functionDeclarations": functions}]}


def _tool_config(choice: Any) -> dict[str, Any]:
    match choice:
        case "auto" | "none":
            calling: dict[str, Any] = {"mode": choice.upper()}
        case "required":
            calling = {"mode": "ANY"}
        case {"type": "function", "function": {"name": str() as name}}:
            calling = {"mode": "ANY", "allowedFunctionNames": [name]}
        case _:
            raise no_word("tool_choice", GEMINI)
    return {"functionCallingConfig": calling}


def _contents(messages: Sequence[JsonObject]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Give the parts of the system instruction, and the contents; results in a row are one content."""
    system: list[dict[str, Any]] = []
    contents: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    follows_result = False
    for number, message in enumerate(messages):
        place = f"messages[{number}]"
        lost = next((k for k, v in message.items() if k not in _MESSAGE and v not in EMPTY), None)
        if lost is not None:
            raise no_word(f"{place}.{lost}", GEMINI)
        role = message.get("role")
        match role:
            case "system" | "developer" if not contents:
                system += _user_parts(message.get("content"), place)
            case "user":
                contents.append({"role": "user", "parts": _user_parts(message.get("content"), place)})
            case "assistant":
                contents.append({"role": "model", "parts": _model_parts(message, place, names)})
            case "tool" if follows_result:
                contents[-1]["parts"].append(_result(message, place, names))
            case "tool":
                contents.append({"role": "user", "parts": [_result(message, place, names)]})
            case _:
                raise no_word(f"{place}.role", GEMINI)
        follows_result = role == "tool"
    if not contents:
        raise no_word("messages", GEMINI)
    return system, contents


def _user_parts(content: Any, place: str) -> list[dict[str, Any]]:
    if not isinstance(content, list):
        return [{"text": whole_text(content, f"{place}.content", GEMINI)}]
    return [_user_part(part, f"{place}.content") for part in content]


def _user_part(part: Any, place: str) -> dict[str, Any]:
    match part:
        case {"type": "text", "text": str() as text}:
            return {"text": text}
        case {"type": "image_url", "image_url": {"url": str() as url}}:
            head, mark, data = url.partition(";base64,")
            if mark and head.startswith("data:image/"):
                return {"inlineData": {"mimeType": head.removeprefix("data:"), "data": data}}
        case {"type": "input_audio", "input_audio": {"data": str() as data, "format": "wav" | "mp3" as kind}}:
            return {"inlineData": {"mimeType": f"audio/{kind}", "data": data}}
    raise no_word(place, GEMINI)


def _model_parts(message: JsonObject, place: str, names: dict[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if thoughts := reasoning_of(message):
        parts.append({"text": thoughts, "thought": True})
    if text := whole_text(message.get("content"), f"{place}.content", GEMINI):
        parts.append({"text": text})
    for call in asked_calls(message, place, GEMINI):
        names[call.id] = call.name
        parts.append({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}})
    return parts or [{"text": ""}]


def _result(message: JsonObject, place: str, names: dict[str, str]) -> dict[str, Any]:
    called = message.get("tool_call_id")
    if not isinstance(called, str) or called not in names:
        raise no_word(f"{place}.tool_call_id", GEMINI)
    text = whole_text(message.get("content"), f"{place}.content", GEMINI)
    return {"functionResponse": {"id": called, "name": names[called], "response": result_object(text)}}
