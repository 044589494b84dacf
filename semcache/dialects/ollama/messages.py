"""Ollama's messages in chat's words, and back.

Pure. Ollama's messages hold a text, perhaps images in base64, thinking, calls whose arguments are objects, and results that
are told by the name of the tool. Chat wants ids for calls: where none are given they are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.plain import (
    EMPTY,
    OpenCalls,
    asked_calls,
    chat_call,
    no_word,
    reasoning_of,
    whole_text,
)
from semcache.errors import RequestError

OLLAMA = "an Ollama model"
_SAYABLE = frozenset(("role", "content", "images", "thinking"))
_OF_TOOLS = frozenset(("tool_calls", "tool_name", "tool_call_id"))
_IMAGES = {"iVBORw0": "png", "/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"}
"""How base64 of image files begins."""
_WRITTEN = frozenset(
    (
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "name",
        "reasoning_content",
        "reasoning",
        "cache_control",
    )
)


@dataclass(slots=True)
class Messages:
    """What was read.

    Attributes:
        chat: the messages for chat.
        rest: by the number of a message, what of it is not (or not only) in `chat`, as it came.
        unsayable: names of what chat has no word for.
    """

    chat: list[dict[str, Any]] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)
    unsayable: list[str] = field(default_factory=list)
    _calls: OpenCalls = field(default_factory=OpenCalls)

    def add(self, number: int, message: Any) -> None:
        """Take the next message.

        Raises:
            RequestError: 400; it has no role.
        """
        place = f"messages[{number}]"
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RequestError(f"'{place}' must be an object with a role.", param=f"{place}.role")
        # Servers fold the case of names: what is empty says nothing only under a name that is known.
        rest = {k: v for k, v in message.items() if k not in _SAYABLE and not (k in _OF_TOOLS and v in EMPTY)}
        self.unsayable += [
            f"{place}.{name}" for name, value in rest.items() if name not in _OF_TOOLS and value not in EMPTY
        ]
        out: dict[str, Any] = {"role": message["role"], "content": None}
        odd = [name for name, is_odd in _oddities(message) if is_odd]
        if not odd:
            out["content"] = _content(message)
        if message.get("thinking") and "thinking" not in odd:
            out["reasoning_content"] = message["thinking"]
        for name in odd:
            rest |= {name: message[name] for name in _SAYABLE if name in message}
            self.unsayable.append(f"{place}.{name}")
        if message.get("tool_calls"):
            out["tool_calls"] = self._read_calls(message["tool_calls"], place)
        if message["role"] == "tool":
            out["tool_call_id"] = self._answered(message, place)
        self.chat.append(out)
        if rest:
            self.rest[str(number)] = rest

    def _read_calls(self, calls: Any, place: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for call in calls if isinstance(calls, list) else (None,):
            function = call.get("function") if isinstance(call, dict) else None
            if (
                not isinstance(call, dict)
                or not isinstance(function, dict)
                or not isinstance(function.get("arguments"), dict)
            ):
                self.unsayable.append(f"{place}.tool_calls")
                continue
            name = function.get("name")
            found.append(chat_call(self._calls.add(name, call.get("id")), name, function["arguments"]))
        return found

    def _answered(self, message: JsonObject, place: str) -> str:
        found = self._calls.answer(message.get("tool_name"), message.get("tool_call_id"))
        if found is None:
            self.unsayable.append(f"{place}.tool_name")
        return found or "call_unknown"


def read_messages(messages: Sequence[Any]) -> Messages:
    """Read the messages of a request.

    Raises:
        RequestError: 400; one has no role.
    """
    found = Messages()
    for number, message in enumerate(messages):
        found.add(number, message)
    return found


def _oddities(message: JsonObject) -> tuple[tuple[str, bool], ...]:
    """Tell which of the fields that chat has words for hold something else."""
    text, thinking, images = (message.get(name) for name in ("content", "thinking", "images"))
    are_images = isinstance(images, list) and all(isinstance(image, str) for image in images)
    return (
        ("content", not (text is None or isinstance(text, str))),
        ("thinking", not (thinking is None or isinstance(thinking, str))),
        ("images", not (images is None or are_images)),
    )


def _content(message: JsonObject) -> Any:
    """Give text and images in chat's words."""
    text, images = message.get("content"), message.get("images")
    if not images:
        return text
    parts = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]
    return [{"type": "text", "text": text}, *parts] if text else parts


def _data_url(image: str) -> str:
    kind = next((kind for start, kind in _IMAGES.items() if image.startswith(start)), None)
    return f"data:{f'image/{kind}' if kind else ''};base64,{image}"


def write_messages(messages: Sequence[JsonObject]) -> list[dict[str, Any]]:
    """Write chat messages as Ollama's.

    Raises:
        RequestError: 400; one holds what Ollama has no word for.
    """
    names: dict[str, str] = {}
    return [_written(message, f"messages[{number}]", names) for number, message in enumerate(messages)]


def _written(message: JsonObject, place: str, names: dict[str, str]) -> dict[str, Any]:
    for name, value in message.items():
        if value not in EMPTY and (
            name not in _WRITTEN or (name == "name" and message.get("role") != "tool")
        ):
            raise no_word(f"{place}.{name}", OLLAMA)
    role = "system" if message.get("role") == "developer" else message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        raise no_word(f"{place}.role", OLLAMA)
    content = message.get("content")
    out: dict[str, Any] = {"role": role}
    if isinstance(content, list):
        others = [part for part in content if not (isinstance(part, dict) and part.get("type") == "text")]
        texts = [part for part in content if part not in others]
        out["content"] = whole_text(texts, f"{place}.content", OLLAMA)
        if others:
            out["images"] = [_image(part, f"{place}.content") for part in others]
    else:
        out["content"] = whole_text(content, f"{place}.content", OLLAMA)
    if thinking := reasoning_of(message):
        out["thinking"] = thinking
    if calls := asked_calls(message, place, OLLAMA):
        names |= {call.id: call.name for call in calls}
        out["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in calls
        ]
    if role == "tool":
        answered = str(message.get("tool_call_id") or "")
        out["tool_name"] = message.get("name") or names.get(answered) or ""
        out["tool_call_id"] = answered
    return out


def _image(part: Any, place: str) -> str:
    image = part.get("image_url") if isinstance(part, dict) and part.get("type") == "image_url" else None
    url = image.get("url") if isinstance(image, dict) else None
    head, mark, data = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    if not mark or not head.startswith("data:"):
        raise no_word(place, OLLAMA)
    return data
