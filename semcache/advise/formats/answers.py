"""What a model answered, as text, from a response of any dialect. Pure.

Whole answers are read by the dialects themselves; what is less than one (a message alone, parts of one, a column of a
table) by the usual names.
"""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.fields import Fields, unpacked
from semcache.advise.formats.looks import dialect_of_answer
from semcache.advise.formats.streams import stream_in
from semcache.dialects.chat.wire import CHAT

_NAMES = ("output_text", "output", "content", "message", "text", "response", "completion")


def answer_in(value: Any) -> str | None:
    """Give the answer's text; None where there is none: only calls of tools, an error, or nothing that is known."""
    value = unpacked(value)
    if isinstance(value, str):
        return value or None
    if isinstance(value, list):
        return _of_list(value)
    if not isinstance(value, dict):
        return None
    return _whole(value) or _loose(value)


def _whole(answer: Fields) -> str | None:
    dialect = dialect_of_answer(answer)
    if dialect is None:
        return None
    try:
        document = answer if dialect is CHAT else dialect.read_answer(answer)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return _content(message.get("content")) if isinstance(message, dict) else None


def _loose(value: Fields) -> str | None:
    if "choices" in value or "candidates" in value:
        return None
    for name in _NAMES:
        if value.get(name) not in (None, "", [], {}):
            return answer_in(value[name])
    return None


def _of_list(items: list[Any]) -> str | None:
    """Read a stream that was logged piece by piece, output items, content blocks, or a list of one message."""
    said = stream_in(items)
    return _content(items) if said is None else said.text or None


def _content(content: Any) -> str | None:
    if not isinstance(content, list):
        return content if isinstance(content, str) and content else None
    texts = [found for item in content if (found := _item(item))]
    return "".join(texts) or None


def _item(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict) or item.get("type") not in (None, "text", "output_text", "message"):
        return None
    return _content(item.get("text")) or _content(item.get("content"))
