"""The turns of a chat as plain text, or nothing when it holds what cannot be resolved.

A chat is opaque when anything but text of a user or an assistant bears on it: tool calls and
their results, images, audio, names, system messages in the middle, odd roles, a last message
that is no user's text, more text than is read in good time. Knows nothing of what is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_TURNS = 64
"""Turns of a history that are read; the client's whole history counts."""
MAX_CHARACTERS = 8_000
"""Characters of all turns together: what is longer holds too much to be sure of."""
_PLAIN = frozenset(("role", "content", "cache_control"))
_INSTRUCTIONS = frozenset(("system", "developer"))


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; `user` tells who speaks."""

    user: bool
    text: str


def plain(messages: Sequence[object]) -> tuple[Turn, ...] | None:
    """Give the turns behind the leading system messages, or None for a chat that is opaque."""
    start = 0
    while start < len(messages) and _role(messages[start]) in _INSTRUCTIONS:
        start += 1
    if not 0 < len(messages) - start <= MAX_TURNS + 1:
        return None
    turns: list[Turn] = []
    size = 0
    for message in messages[start:]:
        turn = _turn(message)
        if turn is None:
            return None
        size += len(turn.text)
        # The last question of a long paste is long as well: only a history is bounded here.
        if size > MAX_CHARACTERS and len(messages) - start > 1:
            return None
        turns.append(turn)
    last = turns[-1]
    follows_itself = len(turns) > 1 and turns[-2].user
    return None if not last.user or follows_itself or not last.text.strip() else tuple(turns)


def last_text(messages: Sequence[object]) -> str:
    """Give the text of the last message, "" when it has none."""
    message = messages[-1] if messages else None
    text = _text(message.get("content")) if isinstance(message, Mapping) else None
    return text or ""


def _role(message: object) -> str:
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


def _turn(message: object) -> Turn | None:
    role = _role(message)
    if role not in ("user", "assistant") or not isinstance(message, Mapping):
        return None
    if any(name not in _PLAIN and value not in (None, [], {}, "") for name, value in message.items()):
        return None
    text = _text(message.get("content"))
    return None if text is None else Turn(role == "user", text)


def _text(content: object) -> str | None:
    """Give the text of a string or of text parts; None when anything else is among them."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts: list[str] = []
    for part in content:
        text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
        if not isinstance(text, str) or part.keys() - {"type", "text", "cache_control"}:
            return None
        texts.append(text)
    return "\n".join(texts)
