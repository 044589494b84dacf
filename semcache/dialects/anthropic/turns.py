"""Messages of a request in chat's words.

Pure. Calls of tools at an assistant message's end become chat's calls; results inside a user message become `tool`
messages, and what stands before and after them user messages of their own, in order. (The API joins neighbouring
messages of one role, so that this says the same.) Blocks without a word in chat stay, see `parts`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from semcache.dialects.anthropic.answer import call_of
from semcache.dialects.anthropic.parts import WRAPPER, cleaned, names_file, part_of, plain, wrapped

_CALL = {"type", "id", "name", "input"}
_RESULT = {"type", "tool_use_id", "content", "is_error"}
_ROLES = frozenset(("user", "assistant", "system"))
_FRAME = frozenset(("role", "content", "cache_control"))


@dataclass(slots=True)
class Turns:
    """The messages read so far.

    Attributes:
        messages: chat's.
        unsayable: places in the request of what chat has no word for.
        failed: numbers of the `tool` messages whose tool failed; chat's tools say so in their result's words alone.
        names_file: a file that the API holds is named somewhere.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    unsayable: list[str] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    names_file: bool = False

    def add_system(self, system: Any) -> None:
        """Take the `system` field; an empty one is none."""
        if system:
            self.messages.append({"role": "system", "content": self._content(system, "system")})

    def add(self, message: dict[str, Any], number: int) -> None:
        """Take a message; its role is known to be a text."""
        place = f"messages[{number}]"
        before = len(self.messages)
        content = message.get("content")
        role = message["role"]
        if isinstance(content, list) and role == "assistant":
            self.messages.append(self._assistant(content, place))
        elif isinstance(content, list) and role == "user":
            self._user(content, place)
        else:
            self.messages.append({"role": role, "content": self._content(content, f"{place}.content")})
        if role not in _ROLES:
            self.unsayable.append(f"{place}.role")
        rest = {name: value for name, value in message.items() if name not in _FRAME and value is not None}
        if rest:
            self.unsayable += (f"{place}.{name}" for name in rest)
            self.messages[before][WRAPPER] = rest

    def _content(self, content: Any, place: str) -> Any:
        match content:
            case None | str():
                return content
            case list():
                return plain([self._part(cleaned(block), f"{place}[{i}]") for i, block in enumerate(content)])
            case _:
                self.unsayable.append(place)
                return [{"type": WRAPPER, "content": content}]

    def _part(self, block: Any, place: str) -> dict[str, Any]:
        part = part_of(block)
        if part is not None:
            return part
        self.unsayable.append(place)
        self.names_file = self.names_file or names_file(block)
        return wrapped(block)

    def _assistant(self, content: list[Any], place: str) -> dict[str, Any]:
        blocks = [cleaned(block) for block in content]
        said = len(blocks)
        while said and _is_call(blocks[said - 1]):
            said -= 1
        calls = [call_of(block) for block in blocks[said:]]
        message: dict[str, Any] = {"role": "assistant"}
        first = 0
        if said and _is_unsigned(blocks[0]):
            # As this proxy writes the reasoning of models that sign nothing.
            message["reasoning_content"] = blocks[0]["thinking"]
            first = 1
        parts = [self._part(blocks[i], f"{place}.content[{i}]") for i in range(first, said)]
        message["content"] = plain(parts) if parts or not calls else None
        return {**message, "tool_calls": calls} if calls else message

    def _user(self, content: list[Any], place: str) -> None:
        parts: list[dict[str, Any]] = []
        before = len(self.messages)
        for number, found in enumerate(content):
            block = cleaned(found)
            if not _is_result(block):
                parts.append(self._part(block, f"{place}.content[{number}]"))
                continue
            self._flush(parts)
            parts = []
            self._result(block, f"{place}.content[{number}].content")
        self._flush(parts)
        if len(self.messages) == before:
            self.messages.append({"role": "user", "content": []})

    def _flush(self, parts: list[dict[str, Any]]) -> None:
        if parts:
            self.messages.append({"role": "user", "content": plain(parts)})

    def _result(self, block: dict[str, Any], place: str) -> None:
        if block.get("is_error"):
            self.failed.append(len(self.messages))
        said: Any = ""
        if block.get("content"):
            said = self._texts(block["content"], place)
        self.messages.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": said})

    def _texts(self, content: Any, place: str) -> Any:
        """Chat's tools answer in text alone."""
        if not isinstance(content, list):
            return self._content(content, place)
        parts: list[dict[str, Any]] = []
        for number, block in enumerate(content):
            part = self._part(block, f"{place}[{number}]")
            if part["type"] == "image_url":
                self.unsayable.append(f"{place}[{number}]")
            parts.append(part)
        return plain(parts)


def _is_call(block: Any) -> bool:
    match block:
        case {"type": "tool_use", "id": str(), "name": str(), "input": dict()}:
            return len(block) == len(_CALL)
        case _:
            return False


def _is_result(block: Any) -> bool:
    match block:
        case {"type": "tool_result", "tool_use_id": str()}:
            return set(block) <= _RESULT and isinstance(block.get("is_error", False), bool)
        case _:
            return False


def _is_unsigned(block: Any) -> bool:
    match block:
        case {"type": "thinking", "thinking": str()}:
            return set(block) <= {"type", "thinking", "signature"} and block.get("signature", "") == ""
        case _:
            return False
