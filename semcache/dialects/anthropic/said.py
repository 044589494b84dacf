"""Chat messages in the words of Anthropic's messages.

Pure. System messages in front become the `system` field, later ones stay where they are; results of tools become
blocks of one user message, together with the user's words that follow. What has no word there is refused by its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from semcache.dialects.anthropic.answer import call_id, read_arguments
from semcache.dialects.anthropic.parts import WRAPPER, block_of
from semcache.errors import RequestError

_INSTRUCTIONS = ("system", "developer")
_LEFT_AWAY = frozenset(("reasoning_content", "reasoning", "annotations", "cache_control"))
"""Reasoning that nobody signed, and what says nothing to a model."""
_KNOWN = {
    "system": frozenset(("content",)),
    "user": frozenset(("content",)),
    "assistant": frozenset(("content", "tool_calls", "refusal")),
    "tool": frozenset(("content", "tool_call_id", "name")),
}


@dataclass(slots=True)
class Said:
    """The messages written so far."""

    _system: list[Any] = field(default_factory=list)
    _messages: list[dict[str, Any]] = field(default_factory=list)
    _open: list[dict[str, Any]] | None = None
    """Blocks of a user message that begins with results of tools, while it may grow."""

    def fields(self) -> dict[str, Any]:
        """Give `system` and `messages`.

        Raises:
            RequestError: there is nothing to answer.
        """
        if not self._messages:
            raise RequestError("messages: must hold more than instructions", param="messages")
        if not self._system:
            return {"messages": self._messages}
        only = self._system[0] if len(self._system) == 1 else None
        if isinstance(only, str):
            return {"system": only, "messages": self._messages}
        blocks = [block for told in self._system for block in _listed(told)]
        return {"system": blocks, "messages": self._messages}

    def add(self, message: Mapping[str, Any], number: int) -> None:
        """Take a message.

        Raises:
            RequestError: it says what there is no word for.
        """
        place = f"messages[{number}]"
        role = message["role"]
        role = "system" if role in _INSTRUCTIONS else role
        _check(message, role, place)
        content = _content(message.get("content"), f"{place}.content")
        match role:
            case "system" if not self._messages:
                self._system.append(content)
            case "tool":
                self._result(message, content, place)
            case "assistant":
                self._append(message, role, _assistant(message, content, place))
            case "user" if self._open is not None and WRAPPER not in message:
                self._open += _listed(content)
                self._open = None
            case _:
                self._append(message, role, content)

    def _append(self, message: Mapping[str, Any], role: str, content: Any) -> None:
        own = message.get(WRAPPER)
        self._messages.append({"role": role, "content": content, **(own if isinstance(own, dict) else {})})
        self._open = None

    def _result(self, message: Mapping[str, Any], content: Any, place: str) -> None:
        asked = message.get("tool_call_id")
        if not isinstance(asked, str):
            raise _refused(f"{place}.tool_call_id", "must be a string")
        if self._open is None:
            blocks: list[dict[str, Any]] = []
            self._append({}, "user", blocks)
            self._open = blocks
        self._open.append({"type": "tool_result", "tool_use_id": asked, "content": content})


def _refused(
    param: str,
    why: str = "Anthropic's API has nothing for it; leave it out, or ask an upstream of another API",
) -> RequestError:
    return RequestError(f"{param}: {why}.", code="unsupported_parameter", param=param)


def _check(message: Mapping[str, Any], role: str, place: str) -> None:
    known = _KNOWN.get(role)
    if known is None:
        raise _refused(f"{place}.role")
    for name, value in message.items():
        if name not in known | _LEFT_AWAY | {"role", WRAPPER} and value not in (None, "", [], {}):
            raise _refused(f"{place}.{name}")


def _content(content: Any, place: str) -> Any:
    """Give a text, or blocks; no content is an empty text."""
    match content:
        case None | str():
            return content or ""
        case [{"type": "anthropic", "content": whole}]:
            return whole
        case list():
            blocks = [block_of(part) for part in content]
            if None in blocks:
                raise _refused(f"{place}[{blocks.index(None)}]")
            return blocks
        case _:
            raise _refused(place, "must be a text or an array")


def _assistant(message: Mapping[str, Any], content: Any, place: str) -> Any:
    refusal = message.get("refusal")
    said = content or (refusal if isinstance(refusal, str) else "")
    calls = message.get("tool_calls") or ()
    if not calls:
        return said
    blocks = _listed(said)
    for number, call in enumerate(calls):
        blocks.append(_call(call, number, f"{place}.tool_calls[{number}]"))
    return blocks


def _call(call: Any, number: int, place: str) -> dict[str, Any]:
    match call:
        case {"function": {"name": str() as name} as function}:
            try:
                given = read_arguments(function.get("arguments"))
            except ValueError:
                raise _refused(f"{place}.function.arguments", "must be a JSON object") from None
            return {
                "type": "tool_use",
                "id": call_id(call.get("id"), number),
                "name": name,
                "input": given,
            }
        case _:
            raise _refused(place)


def _listed(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if isinstance(content, list) else []
