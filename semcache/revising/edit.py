"""A compact edit of an answer: the form it is asked for in, read from a reply, and applied. Pure.

    {"edit": "keep", "changes": [], "answer": ""}
    {"edit": "change", "changes": [{"old": "30 days", "new": "14 days"}], "answer": ""}
    {"edit": "rewrite", "changes": [], "answer": "..."}

What is to be changed is named by its words, which must stand in the answer once: an edit that fits twice, or over
another one, is no edit. Knows no models and no questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import JsonObject

_MOST_CHANGES = 64


@dataclass(frozen=True, slots=True)
class Made:
    """An answer after an edit; `result` is `kept`, `edited` or `rewritten`."""

    text: str
    result: str


def edit_format() -> JsonObject:
    """Give the `response_format` of a reply that holds an edit (strict: every field is there)."""
    change = _object({"old": {"type": "string"}, "new": {"type": "string"}})
    schema = _object(
        {
            "edit": {"type": "string", "enum": ["keep", "change", "rewrite"]},
            "changes": {"type": "array", "items": change},
            "answer": {"type": "string"},
        }
    )
    return {"type": "json_schema", "json_schema": {"name": "edit", "strict": True, "schema": schema}}


def edited(text: str, reply: str) -> Made | None:
    """Read an edit of `text` from a reply and apply it; None where it cannot be read, or does not fit.

    Words around the JSON object are overlooked: models that are not held to a form like to add some.
    """
    try:
        edit: Any = orjson.loads(reply[reply.find("{") : reply.rfind("}") + 1])
    except orjson.JSONDecodeError:
        return None
    match edit:
        case {"edit": "keep"} if not edit.get("changes") and not edit.get("answer"):
            return Made(text, "kept")
        case {"edit": "change", "changes": [*changes]} if 0 < len(changes) <= _MOST_CHANGES:
            return _changed(text, changes)
        case {"edit": "rewrite", "answer": str(answer)} if answer.strip() and not edit.get("changes"):
            return Made(answer, "rewritten")
    return None


def _changed(text: str, changes: Sequence[Any]) -> Made | None:
    places: list[tuple[int, int, str]] = []
    for change in changes:
        match change:
            case {"old": str(old), "new": str(new)} if old:
                start = text.find(old)
                if start < 0 or text.find(old, start + 1) >= 0:
                    return None
                places.append((start, start + len(old), new))
            case _:
                return None
    places.sort()
    parts: list[str] = []
    at = 0
    for start, end, new in places:
        if start < at:
            return None
        parts += (text[at:start], new)
        at = end
    made = "".join((*parts, text[at:]))
    return Made(made, "kept" if made == text else "edited")


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
