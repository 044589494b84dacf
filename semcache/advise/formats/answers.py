"""What a model answered, as text, from a response of any dialect. Pure."""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.fields import unpacked


def answer_in(value: Any) -> str | None:
    """Give the answer's text; None where there is none: only calls of tools, an error, or nothing that is known."""
    value = unpacked(value)
    if isinstance(value, str):
        return value or None
    if isinstance(value, list):
        # Output items of a response, content blocks, or a list of one message.
        return _joined(value)
    if not isinstance(value, dict):
        return None
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        choice = choices[0]
        return answer_in(choice.get("message")) if "message" in choice else _text(choice.get("text"))
    for name in ("output_text", "output", "content", "message", "text", "response", "completion"):
        if value.get(name) is not None:
            return answer_in(value[name])
    return None


def _joined(items: list[Any]) -> str | None:
    texts = [found for item in items if (found := _item(item))]
    return "".join(texts) or None


def _item(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("choices"), list):
        return _delta(item["choices"])
    kind = item.get("type")
    if kind in ("text", "output_text") or kind is None:
        return _text(item.get("text")) or (answer_in(item["content"]) if item.get("content") else None)
    return answer_in(item.get("content")) if kind == "message" else None


def _delta(choices: list[Any]) -> str | None:
    """Read a chunk of a stream that was logged chunk by chunk."""
    delta = choices[0].get("delta") if choices and isinstance(choices[0], dict) else None
    return _text(delta.get("content")) if isinstance(delta, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
