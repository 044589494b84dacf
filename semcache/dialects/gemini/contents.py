"""Gemini's contents in chat's words.

Pure. A content that is nothing but a user's or the model's text is a message; of every other one chat is told what it has words
for, and the whole of it counts beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.plain import OpenCalls, chat_call, dumped
from semcache.errors import RequestError

ROLES = {"user": "user", "model": "assistant", "function": "user"}
OUTPUT = "output"
"""The field under which a result that is only a text stands."""
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
_BESIDE = frozenset(("thought", "thoughtSignature"))
"""Fields of a part that mean something to the model they came from, and to no other."""
_FILE = '"fileUri":'


@dataclass(slots=True)
class Contents:
    """What was read.

    Attributes:
        chat: the messages for chat.
        rest: contents that are more than text, by their number, in one spelling.
        unsayable: names of what chat has no word for.
        has_files: one refers to a file somewhere else.
    """

    chat: list[dict[str, Any]] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)
    unsayable: list[str] = field(default_factory=list)
    has_files: bool = False
    _calls: OpenCalls = field(default_factory=OpenCalls)

    def add(self, number: int, content: Any) -> None:
        """Take the next content.

        Raises:
            RequestError: 400; it is no object.
        """
        place = f"contents[{number}]"
        if not isinstance(content, dict):
            raise RequestError(f"'{place}' must be an object with parts.", param=place)
        texts = plain_texts(content)
        role = content.get("role", "user")
        if texts is not None and role in ("user", "model"):
            self.chat.append({"role": ROLES[role], "content": chat_text(texts)})
            return
        self.rest[str(number)] = content
        self.has_files = self.has_files or _FILE in dumped(content)
        self.unsayable += [f"{place}.{name}" for name in content if name not in ("role", "parts")]
        if not isinstance(role, str) or role not in ROLES:
            self.unsayable.append(f"{place}.role")
        parts = content.get("parts")
        turn = _Turn(self, place, by_model=role == "model")
        for at, part in enumerate(parts if isinstance(parts, list) else ()):
            turn.add(at, part)
        turn.close()

    def called(self, call: JsonObject) -> dict[str, Any]:
        """Give a call in chat's words."""
        name = call.get("name")
        return chat_call(self._calls.add(name, call.get("id")), name, call.get("args") or {})

    def answered(self, response: JsonObject) -> dict[str, Any] | None:
        """Give a result as a message; None: nothing called for it."""
        found = self._calls.answer(response.get("name"), response.get("id"))
        if found is None:
            return None
        return {"role": "tool", "tool_call_id": found, "content": result_text(response.get("response"))}


class _Turn:
    """One content that becomes messages: results of tools are messages of their own."""

    def __init__(self, contents: Contents, place: str, *, by_model: bool) -> None:
        self._contents, self._place, self._by_model = contents, place, by_model
        self._said: list[dict[str, Any]] = []
        self._thoughts: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._is_told = False

    def add(self, at: int, part: Any) -> None:
        """Take the next part."""
        lost = self._take(part) if isinstance(part, dict) else ["?"]
        self._contents.unsayable += [f"{self._place}.parts[{at}].{name}" for name in lost]

    def close(self) -> None:
        """Put what was said into a message."""
        if not (self._said or self._thoughts or self._calls) and self._is_told:
            return
        self._is_told = True
        if self._by_model:
            text = "".join(part["text"] for part in self._said)
            message: dict[str, Any] = {"role": "assistant", "content": text or None}
            if self._thoughts:
                message["reasoning_content"] = "".join(self._thoughts)
            if self._calls:
                message["tool_calls"] = self._calls
        else:
            message = {"role": "user", "content": list(self._said)}
        self._contents.chat.append(message)
        self._said.clear()

    def _take(self, part: JsonObject) -> list[str]:
        """Take a part; give the names of what chat has no word for."""
        others = [name for name in part if name not in _BESIDE]
        match part:
            case {"text": str() as text}:
                others.remove("text")
                if part.get("thought") is True:
                    self._thoughts.append(text)
                else:
                    self._said.append({"type": "text", "text": text})
            case {"functionCall": {"name": str(), **call}} if self._by_model and _is_plain_call(call):
                others.remove("functionCall")
                self._calls.append(self._contents.called(part["functionCall"]))
            case {"functionResponse": {"response": dict(), **told}} if not self._by_model:
                if not told.keys() - {"id", "name"} and self._result(part["functionResponse"]):
                    others.remove("functionResponse")
            case {"inlineData": {"mimeType": str() as kind, "data": str() as data}} if not self._by_model:
                if (medium := _medium(kind, data)) is not None:
                    others.remove("inlineData")
                    self._said.append(medium)
        return others

    def _result(self, response: JsonObject) -> bool:
        message = self._contents.answered(response)
        if message is None:
            return False
        if self._said:
            self.close()
        self._contents.chat.append(message)
        self._is_told = True
        return True


def _is_plain_call(call: Mapping[Any, Any]) -> bool:
    return not call.keys() - {"id", "args"} and isinstance(call.get("args", {}), dict)


def _medium(kind: str, data: str) -> dict[str, Any] | None:
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    if kind in _SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _SOUNDS[kind]}}
    return None


def read_contents(contents: list[Any]) -> Contents:
    """Read the contents of a request.

    Raises:
        RequestError: 400; one is no object.
    """
    found = Contents()
    for number, content in enumerate(contents):
        found.add(number, content)
    return found


def plain_texts(content: JsonObject) -> list[str] | None:
    """Give the texts of a content that holds nothing else; None: it does."""
    parts = content.get("parts")
    if content.keys() - {"role", "parts"} or not isinstance(parts, list) or not parts:
        return None
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.keys() == {"text"} and isinstance(part["text"], str)
    ]
    return texts if len(texts) == len(parts) else None


def chat_text(texts: list[str]) -> Any:
    """Give texts as the content of a chat message."""
    return texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]


def result_text(response: Any) -> str:
    """Give the result of a tool as a text."""
    match response:
        case {"output": str() as text, **others} if not others:
            return text
        case _:
            return dumped(response)


def result_object(text: str) -> dict[str, Any]:
    """Give the text of a result as an object, so that `result_text` gives it back."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if isinstance(found, dict) and result_text(found) == text:
        return found
    return {OUTPUT: text}
