"""What of a chat answer the plainer dialects have words for: text, reasoning, calls of functions, log probabilities.

Pure. Ollama and Gemini write their answers from this; what is in a chat answer beside it they cannot say. Chat's request fields
that cannot change an answer stand here too, since nobody has to write those.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.chat.request import UNHEARD
from semcache.errors import RequestError

SILENT = UNHEARD | {"prediction"}
"""Fields of chat requests that only steer how an answer comes about."""
EMPTY: tuple[Any, ...] = (None, "", [], {})
"""Values that say nothing. (False and 0 do.)"""
_ENVELOPE = frozenset(
    ("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier", "prefix")
)
_CHOICE = frozenset(("index", "message", "logprobs", "finish_reason"))
_MESSAGE = frozenset(("role", "content", "reasoning_content", "reasoning", "tool_calls"))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function with its parsed arguments."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """One choice of a chat answer; `text` is None where there is none, `logprobs` are those of the text."""

    text: str | None
    reasoning: str
    calls: tuple[Call, ...]
    logprobs: list[Any] | None
    finish: str | None


def said(answer: JsonObject) -> list[Said]:
    """Give the choices of a `chat.completion`.

    Raises:
        ValueError: there is more in it.
    """
    _only(answer, _ENVELOPE, "")
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError("an answer without choices")
    for number, choice in enumerate(choices):
        if not isinstance(choice, dict) or choice.get("index", 0) != number:
            raise ValueError(f"choices[{number}]")
    return [_choice(choice) for choice in choices]


def _choice(choice: JsonObject) -> Said:
    _only(choice, _CHOICE, "choices.")
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ValueError("choices.message")
    _only(message, _MESSAGE, "choices.message.")
    text = message.get("content")
    if message.get("role", "assistant") != "assistant" or not (text is None or isinstance(text, str)):
        raise ValueError("choices.message.content")
    calls, finish = message.get("tool_calls") or [], choice.get("finish_reason")
    if not isinstance(calls, list) or not (finish is None or isinstance(finish, str)):
        raise ValueError("choices.finish_reason")
    return Said(
        text,
        _reasoning(message),
        tuple(call_of(call) for call in calls),
        _logprobs(choice.get("logprobs")),
        finish,
    )


def reasoning_of(message: JsonObject) -> str | None:
    """Give the reasoning of a message or delta, under whichever of its two names; None: there is none."""
    given = [message[name] for name in ("reasoning_content", "reasoning") if message.get(name)]
    return str(given[0]) if given and all(isinstance(one, str) and one == given[0] for one in given) else None


def _reasoning(message: JsonObject) -> str:
    found = reasoning_of(message)
    if found is None and (message.get("reasoning_content") or message.get("reasoning")):
        raise ValueError("choices.message.reasoning")
    return found or ""


def call_of(call: Any) -> Call:
    """Read one tool call.

    Raises:
        ValueError: it is not of a function, or its arguments are no object.
    """
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type", "function") != "function":
        raise ValueError("tool_calls")
    if call.keys() - {"id", "type", "function", "index"} or function.keys() - {"name", "arguments"}:
        raise ValueError("tool_calls")
    text, name = function.get("arguments") or "{}", function.get("name")
    arguments = orjson.loads(text) if isinstance(text, str) else None
    if not isinstance(arguments, dict) or not isinstance(name, str):
        raise ValueError("tool_calls.function.arguments")
    return Call(str(call.get("id") or ""), name, arguments)


class OpenCalls:
    """Which calls of a conversation wait for their results; those that came without an id get a counted one."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str]] = []
        self._count = 0

    def add(self, name: Any, given: Any) -> str:
        """Take the next call; give its id."""
        chosen = given if isinstance(given, str) and given else f"call_{self._count}"
        self._count += 1
        self._waiting.append((str(name), chosen))
        return chosen

    def answer(self, name: Any, given: Any) -> str | None:
        """Give the id of the call that a result belongs to: its own, else the first one waiting under that name; None: there is none."""
        for call in self._waiting:
            if given == call[1] or (not given and name in ("", None, call[0])):
                self._waiting.remove(call)
                return call[1]
        return given if isinstance(given, str) and given else None


def chat_call(id: str, name: Any, arguments: Any) -> dict[str, Any]:
    """Give a tool call in chat's words; the order of the arguments stays."""
    return {
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": dumped(arguments)},
    }


def dumped(value: Any) -> str:
    """Give a parsed value as JSON text; what is no Unicode, or deeper than orjson goes, is written all the same."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Heard:
    """What a piece of a choice says by itself; calls and ends are for `chat.merge` to put together."""

    index: int
    text: str
    reasoning: str
    tokens: list[Any]


def heard(choice: Any) -> Heard | None:
    """Read one choice of a chat chunk; None: it is none. What has another shape is not heard."""
    index = choice.get("index", 0) if isinstance(choice, dict) else None
    if not isinstance(index, int):
        return None
    delta = choice.get("delta")
    said = delta if isinstance(delta, dict) else {}
    # A refusal has no word of its own; it is what the model said.
    texts = [text for name in ("content", "refusal") if isinstance(text := said.get(name), str)]
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return Heard(index, "".join(texts), reasoning_of(said) or "", tokens if isinstance(tokens, list) else [])


def calls_of(choice: JsonObject) -> tuple[Call, ...]:
    """Give the calls of a choice that was put together.

    Raises:
        ValueError: one is not of a function, or its arguments are no object.
    """
    return tuple(call_of(call) for call in choice["message"].get("tool_calls") or ())


def finish_word(choice: JsonObject) -> str | None:
    """Give why a choice that was put together ended."""
    finish = choice.get("finish_reason")
    return finish if isinstance(finish, str) else None


def _logprobs(value: Any) -> list[Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.keys() - {"content", "refusal"} or value.get("refusal"):
        raise ValueError("choices.logprobs")
    content = value.get("content")
    if not (content is None or isinstance(content, list)):
        raise ValueError("choices.logprobs")
    return content or None


def _only(value: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    for name, item in value.items():
        if name not in known and item not in EMPTY:
            raise ValueError(f"no word for {where}{name}")


def no_word(param: str, whose: str) -> RequestError:
    """Build the refusal of a chat request that a dialect cannot say."""
    message = f"{whose} has nothing for '{param}': leave it out, or ask an upstream of another API."
    return RequestError(message[0].upper() + message[1:], param=param, code="unsupported_parameter")


def asked_calls(message: JsonObject, place: str, whose: str) -> tuple[Call, ...]:
    """Give the calls in a message of a chat request.

    Raises:
        RequestError: 400; one is not of a function, or its arguments are no object.
    """
    calls = message.get("tool_calls") or []
    try:
        return tuple(call_of(call) for call in (calls if isinstance(calls, list) else (None,)))
    except ValueError:
        raise no_word(f"{place}.tool_calls", whose) from None


def too_deep() -> RequestError:
    """Build the refusal of a request that cannot be read to its bottom."""
    return RequestError("The request is nested too deeply.", code="invalid_json")


def whole_text(content: Any, param: str, whose: str) -> str:
    """Give the text of a message that may hold nothing else; text parts are lines of it.

    Raises:
        RequestError: 400; it holds other things.
    """
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            texts = [
                part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
                for part in content
            ]
            if all(isinstance(text, str) for text in texts):
                return "\n".join(map(str, texts))
    raise no_word(param, whose)
