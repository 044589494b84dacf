"""Requests of Ollama in chat's words, and back: `/api/chat` and `/api/generate`.

Pure. Options have chat's words where chat has any; the others, and all that nobody knows, stay beside. Left out of a
request's identity is only what cannot change its answer: how long a model stays loaded, how many threads it gets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.dialect import Translated, Written
from semcache.dialects.ollama.messages import OLLAMA, read_messages, write_messages
from semcache.dialects.plain import EMPTY, SILENT, no_word
from semcache.errors import RequestError

CHAT_PATH = "/api/chat"
GENERATE_PATH = "/api/generate"
IRRELEVANT = frozenset(("stream", "keep_alive"))
"""Top-level fields that cannot change the answer."""
TUNING = frozenset(
    ("numa", "num_batch", "num_gpu", "main_gpu", "low_vram", "use_mmap", "use_mlock", "num_thread")
)
"""Options that cannot either."""
_WINDOW = frozenset(("num_ctx", "num_keep", "f16_kv"))
"""Options that say how much an Ollama server holds in memory: a chat model has a window of its own, and need not be told."""
_OVERFLOW = frozenset(("truncate", "shift"))
"""What to do with requests beyond that window; the same."""
_NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_OPTIONS = {
    **{name: name for name in (*_NUMBERS, "seed", "stop")},
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
}
"""Chat's fields that are options here."""
_KNOWN = frozenset(
    (
        *(
            "model",
            "messages",
            "prompt",
            "system",
            "images",
            "stream",
            "keep_alive",
            "options",
            "format",
            "think",
        ),
        *("tools", "truncate", "shift", "logprobs", "top_logprobs", "raw", "template", "suffix", "context"),
    )
)
"""Top-level fields whose empty values say nothing. Servers fold the case of names: an empty `System` is no such field."""
_OWN_OF_GENERATE = frozenset(("prompt", "system", "images"))
_CLOSING = ("raw", "template", "suffix")
"""Fields of generate by which its prompt is no plain question."""
_SCHEMA_NAME = "answer"


@dataclass(slots=True)
class _Reading:
    chat: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    unsayable: list[str] = field(default_factory=list)

    def keep(self, name: str, value: Any, *, lost: bool = True) -> None:
        """Keep a field as it is; `lost`: a chat model cannot be told."""
        self.rest[name] = value
        if lost:
            self.unsayable.append(name)


def read_chat(body: JsonObject, query: bytes) -> Translated:
    """Read a request of `/api/chat`.

    Raises:
        RequestError: 400 with `param`.
    """
    messages = body.get("messages")
    if not (messages is None or isinstance(messages, list)):
        raise RequestError("'messages' must be an array.", param="messages")
    return _read(body, messages or [], frozenset(("messages",)), CHAT_PATH, query)


def read_generate(body: JsonObject, query: bytes) -> Translated:
    """Read a request of `/api/generate`: a system text and a prompt.

    Raises:
        RequestError: 400 with `param`.
    """
    prompt, system = body.get("prompt"), body.get("system")
    if not (prompt is None or isinstance(prompt, str)):
        raise RequestError("'prompt' must be a string.", param="prompt")
    if not (system is None or isinstance(system, str)):
        raise RequestError("'system' must be a string.", param="system")
    turns: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    turns.append({"role": "user", "content": prompt, "images": body.get("images")})
    return _read(body, turns if prompt else [], _OWN_OF_GENERATE, GENERATE_PATH, query)


def _read(body: JsonObject, messages: list[Any], told: frozenset[str], path: str, query: bytes) -> Translated:
    model, stream = body.get("model"), body.get("stream")
    if not (stream is None or isinstance(stream, bool)):
        raise RequestError("'stream' must be true or false.", param="stream")
    reading = _Reading()
    for name, value in body.items():
        if name not in _KNOWN and name.casefold() == "model":
            # The server would take it for the model, and ask another one than was looked at here.
            raise RequestError(f"'{name}' must be written 'model'.", param=name)
        if name not in _KNOWN and value in EMPTY:
            reading.keep(name, value, lost=False)
        elif name not in told and name not in IRRELEVANT and name != "model" and value not in EMPTY:
            _field(reading, name, value)
    streams = stream is not False
    if streams:
        reading.chat |= {"stream": True, "stream_options": {"include_usage": True}}
    turns = read_messages(messages)
    rest = {**reading.rest, **({"messages": turns.rest} if turns.rest else {})}
    loads = not messages
    return Translated(
        # A request without a question loads the model; it has no last user text.
        chat={"model": model, "messages": turns.chat or [{"role": "system", "content": ""}], **reading.chat},
        extra={"ollama": rest} if rest else {},
        unsayable=(*reading.unsayable, *turns.unsayable, *(("messages",) if loads else ())),
        stream=streams,
        include_usage=streams,
        path=path,
        exact_only=next((name for name in _CLOSING if path == GENERATE_PATH and name in rest), None),
        uncacheable="load" if loads else "stateful" if "context" in rest else None,
        query=query,
    )


def _field(reading: _Reading, name: str, value: Any) -> None:
    chat = reading.chat
    match name, value:
        case "options", dict():
            _options(reading, value)
        case "format", ("json" | dict()):
            chat["response_format"] = _chat_format(value)
        case "think", False:
            chat["reasoning_effort"] = "none"
        case "think", str() if value != "none":
            chat["reasoning_effort"] = value
        case "tools", list():
            chat |= {"tools": value, "tool_choice": "auto"}
        case ("logprobs" | "raw", False):
            pass
        case "logprobs", True:
            chat["logprobs"] = True
        case "top_logprobs", int() if not isinstance(value, bool):
            if value:
                chat["top_logprobs"] = value
        case _:
            reading.keep(name, value, lost=name not in _OVERFLOW)


def _chat_format(value: Any) -> dict[str, Any]:
    if value == "json":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": _SCHEMA_NAME, "schema": value}}


def _options(reading: _Reading, options: JsonObject) -> None:
    rest: dict[str, Any] = {}
    for name, value in options.items():
        if name in TUNING or (value in EMPTY and name in _OPTIONS.values()):
            continue
        if value in EMPTY:
            rest[name] = value
            continue
        words = _option(name, value)
        reading.chat |= words
        if not words:
            rest[name] = value
            # Fewer than no tokens means: no limit but the window's.
            is_unlimited = name == "num_predict" and value in (-1, -2)
            if name not in _WINDOW and not is_unlimited:
                reading.unsayable.append(f"options.{name}")
    if rest:
        reading.rest["options"] = rest


def _option(name: str, value: Any) -> dict[str, Any]:
    """Give an option in chat's words; nothing if chat has none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "temperature" and not is_number:
        raise RequestError("'options.temperature' must be a number.", param="options.temperature")
    is_whole = is_number and isinstance(value, int)
    if (name in _NUMBERS and is_number) or (name == "seed" and is_whole):
        return {name: value}
    if name == "num_predict" and is_whole and value > 0:
        return {"max_tokens": value}
    if name == "stop" and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return {"stop": value}
    return {}


def write_chat(chat: JsonObject) -> Written:
    """Write a chat body as a request of `/api/chat`.

    Raises:
        RequestError: 400 with `param`.
    """
    messages = write_messages(chat["messages"])
    body = {"model": chat["model"], "messages": messages, "stream": bool(chat.get("stream"))}
    return Written(CHAT_PATH, body | _fields(chat))


def write_generate(chat: JsonObject) -> Written:
    """Write a chat body as a request of `/api/generate`.

    Raises:
        RequestError: 400 with `param`; it is more than a system text and one question.
    """
    messages = write_messages(chat["messages"])
    roles = tuple(message["role"] for message in messages)
    if roles not in (("user",), ("system", "user")):
        raise no_word("messages", f"{OLLAMA} by /api/generate")
    if chat.get("tools"):
        raise no_word("tools", f"{OLLAMA} by /api/generate")
    question = messages[-1]
    body: dict[str, Any] = {"model": chat["model"], "prompt": question["content"]}
    if len(messages) == 2:
        body["system"] = messages[0]["content"]
    if question.get("images"):
        body["images"] = question["images"]
    return Written(GENERATE_PATH, {**body, "stream": bool(chat.get("stream"))} | _fields(chat))


def _fields(chat: JsonObject) -> dict[str, Any]:
    """Give all fields but model and messages.

    Raises:
        RequestError: 400 with `param`.
    """
    body: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, value in chat.items():
        if value in EMPTY or name in SILENT or name in ("model", "messages"):
            continue
        if name in _OPTIONS:
            wants_list = name == "stop" and isinstance(value, str)
            options[_OPTIONS[name]] = [value] if wants_list else value
        else:
            body |= _field_of(name, value)
    return {**body, "options": options} if options else body


def _field_of(name: str, value: Any) -> dict[str, Any]:
    match name, value:
        case (("tools" | "top_logprobs"), _):
            return {name: value}
        case "logprobs", bool():
            return {"logprobs": True} if value else {}
        case "reasoning_effort", str():
            return {"think": False if value == "none" else value}
        case "response_format", dict():
            return _format(value)
        case ("tool_choice", "auto") | ("n", 1) | ("parallel_tool_calls", True) | ("modalities", ["text"]):
            return {}
        case _:
            raise no_word(name, OLLAMA)


def _format(wanted: JsonObject) -> dict[str, Any]:
    match wanted:
        case {"type": "text"}:
            return {}
        case {"type": "json_object"}:
            return {"format": "json"}
        case {"type": "json_schema", "json_schema": {"schema": dict() as schema}}:
            return {"format": schema}
        case _:
            raise no_word("response_format", OLLAMA)
