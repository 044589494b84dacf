"""What a call may cost at most, as far as one can tell before it is made. Pure.

Guesses on the dear side: what is set aside too much comes back when the call is settled, what is set aside too little is overrun.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from semcache.core import Usage

_BYTES = 3
"""Bytes of ASCII to a token: prose has four, code and numbers fewer."""
_MEDIUM = 4096
"""Tokens of a picture, a recording or a file that comes along; its bytes are no text."""
_MEDIA = frozenset(("image_url", "input_image", "image", "input_audio", "file", "input_file", "document"))
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "max_tokens_to_sample")
_CHOICES = ("n", "best_of")
_MOST = 10_000_000
"""Tokens: no model writes more, whatever a client asks for."""
_ASCII = bytes(range(128))
_NOT_LEADING = bytes(range(0xC0))
_WITHOUT_OUTPUT = ("/embeddings", "/moderations", "/rerank")


def usage_at_most(
    body: Mapping[str, Any], assumed_output: int, path: str = "", raw: bytes | None = None
) -> Usage:
    """Give the tokens that a call is to be charged for beforehand.

    Args:
        body: the request, of whatever dialect.
        assumed_output: output tokens where it states no limit of its own.
        path: of the request: some write no text.
        raw: its bytes, where it cannot be written as JSON again.
    """
    written = 0 if path.endswith(_WITHOUT_OUTPUT) else output_at_most(body, assumed_output)
    return Usage(input_at_most(body, raw), written)


def input_at_most(body: Mapping[str, Any], raw: bytes | None = None) -> int:
    """Guess the input tokens of a request: all that it brings, tools and schemas included."""
    data = _written(body) if raw is None else raw
    tokens = _tokens(data)
    for part in _media(body):
        tokens += _MEDIUM - _tokens(_written(part))
    return min(max(1, tokens), _MOST)


def output_at_most(body: Mapping[str, Any], assumed: int) -> int:
    """Give the most output tokens of a request, over all its choices."""
    stated = next((limit for name in _LIMITS if (limit := _count(body.get(name)))), assumed)
    choices = max(_count(body.get(name)) or 1 for name in _CHOICES)
    return min(stated * choices, _MOST)


def _tokens(data: bytes) -> int:
    """Count bytes without looking at them one by one: long prompts pass here on the event loop."""
    plain = len(data) - len(data.translate(None, _ASCII))
    return plain // _BYTES + 1 + len(data.translate(None, _NOT_LEADING))


def _written(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=str)
    except (TypeError, ValueError):
        return repr(value).encode("utf-8", "replace")  # half a surrogate pair: no text, but it was sent


def _media(body: Mapping[str, Any]) -> list[Any]:
    messages = body.get("messages") or body.get("input")
    if not isinstance(messages, list):
        return []
    parts = [
        part
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for part in message["content"]
    ]
    return [part for part in parts if isinstance(part, dict) and part.get("type") in _MEDIA]


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return min(value, _MOST) if whole and value > 0 else None
