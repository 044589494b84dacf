"""What of a stored answer can be drafted from: the text of a plain answer, and nothing else. Pure.

Knows neither upstreams nor policies.
"""

from __future__ import annotations

from typing import Any

import orjson

from semcache.core import Completion
from semcache.decide.hidden import hidden

_MORE_THAN_TEXT = ("tool_calls", "function_call", "refusal", "audio", "annotations")
"""Parts of a message that its text does not stand without, or that point into it."""


def text_of(completion: Completion, max_bytes: int) -> str | None:
    """Give what an answer says; None for one that is more than one whole text, hides characters, or is longer than `max_bytes`."""
    if completion.chunks is not None or completion.has_tool_calls:
        return None
    choice = _only_choice(completion.body)
    if choice is None or choice.get("finish_reason") != "stop" or choice.get("logprobs"):
        return None
    message = choice.get("message")
    if not isinstance(message, dict) or any(message.get(part) for part in _MORE_THAN_TEXT):
        return None
    text = message.get("content")
    if not isinstance(text, str) or not text.strip() or len(text.encode()) > max_bytes:
        return None
    # A model would be told what no check reads and no reader sees.
    return None if hidden(text) else text


def _only_choice(body: bytes) -> dict[str, Any] | None:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return None
    return choices[0]
