"""The OpenAI chat completions dialect: a parsed body becomes a `ChatRequest`.

Checks only what the cache itself relies on; all else is the upstream's to judge. Field roles
follow openai-python's chat types; what closes the cache stands in `closing`. Knows nothing of policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semcache.core import ChatRequest
from semcache.dialects.closing import Closes, closing, last_text, text_part
from semcache.errors import RequestError

DIALECT = "openai.chat"
UNHEARD = frozenset(
    {
        "stream",
        "stream_options",
        "metadata",
        "store",
        "service_tier",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "cache_salt",
    }
)
"""Fields that no model hears of: they change no answer."""


def parse_chat(body: dict[str, Any], path: str) -> ChatRequest:
    """Normalise a chat body (which must no longer hold our own `cache` object).

    Raises:
        RequestError: 400 with `param` when model or messages are unusable.
    """
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise RequestError("You must provide a model parameter: a non-empty string.", param="model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestError("'messages' must be a non-empty array.", param="messages")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RequestError(
                f"'messages[{number}]' must be an object with a role.", param=f"messages[{number}].role"
            )
    stream = body.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise RequestError("'stream' must be true or false.", param="stream")
    return ChatRequest(
        dialect=DIALECT,
        path=path,
        body=body,
        model=model,
        stream=bool(stream),
        include_usage=_include_usage(body),
        prompt=last_text(messages[-1]),
        system="\n".join(
            _texts(message) for message in messages if message["role"] in ("system", "developer")
        ),
        user_turns=sum(message["role"] == "user" for message in messages),
        message_count=len(messages),
        temperature=_temperature(body),
        end_user=_end_user(body),
        exact_only=closing(body, Closes.MEANING),
        uncacheable=closing(body, Closes.CACHE),
    )


def _texts(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text for part in parts if (text := text_part(part)) is not None)


def _include_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _temperature(body: Mapping[str, Any]) -> float | None:
    value = body.get("temperature")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestError("'temperature' must be a number.", param="temperature")
    return float(value)


def _end_user(body: Mapping[str, Any]) -> str:
    for name in ("safety_identifier", "user"):
        value = body.get(name)
        if isinstance(value, str) and value:
            return value
    return ""
