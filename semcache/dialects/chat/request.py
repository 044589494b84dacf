"""The OpenAI chat completions dialect: a parsed body becomes a `ChatRequest`.

Checks only what the cache itself relies on; all else is the upstream's to judge. Field roles
follow openai-python's chat types. Knows nothing of policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semcache.core import ChatRequest
from semcache.errors import RequestError

DIALECT = "openai.chat"

_STATEFUL = ("previous_response_id", "conversation", "container", "background")


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
    prompt, media = _last_user_text(messages[-1])
    return ChatRequest(
        dialect=DIALECT,
        path=path,
        body=body,
        model=model,
        stream=bool(stream),
        include_usage=_include_usage(body),
        prompt=prompt,
        system="\n".join(
            _texts(message) for message in messages if message["role"] in ("system", "developer")
        ),
        user_turns=sum(message["role"] == "user" for message in messages),
        message_count=len(messages),
        temperature=_temperature(body),
        end_user=_end_user(body),
        exact_only=_exact_only(body, prompt, media),
        uncacheable=_uncacheable(body, messages),
    )


def _last_user_text(message: Mapping[str, Any]) -> tuple[str | None, bool]:
    """Give the text of a last user message (None when it is something else), and if media are in it."""
    if message["role"] != "user":
        return None, False
    content = message.get("content")
    if isinstance(content, str):
        return content, False
    if not isinstance(content, list) or not content:
        return None, False
    texts = [_text_part(part) for part in content]
    if any(text is None for text in texts):
        return None, True
    return "\n".join(text for text in texts if text is not None), False


def _text_part(part: Any) -> str | None:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    return None


def _texts(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text for part in parts if (text := _text_part(part)) is not None)


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


def _exact_only(body: Mapping[str, Any], prompt: str | None, media: bool) -> str | None:
    """Name the feature that closes the semantic tier; such requests may repeat only byte for byte."""
    n = body.get("n")
    checks = (
        ("tools", bool(body.get("tools") or body.get("functions"))),
        ("n", isinstance(n, int) and n > 1),
        ("seed", body.get("seed") is not None),
        ("logprobs", bool(body.get("logprobs") or body.get("top_logprobs"))),
        ("prediction", body.get("prediction") is not None),
        ("audio", body.get("audio") is not None or "audio" in (body.get("modalities") or ())),
        ("media", media),
        ("not-user-text", prompt is None),
        ("empty-text", prompt is not None and not prompt.strip()),
    )
    return next((name for name, found in checks if found), None)


def _uncacheable(body: Mapping[str, Any], messages: list[Any]) -> str | None:
    """Name what ties the answer to state outside the request."""
    if any(body.get(name) is not None for name in _STATEFUL):
        return "stateful"
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            file = part.get("file") if isinstance(part, dict) else None
            if isinstance(file, dict) and file.get("file_id") is not None:
                return "file-id"
    return None
