"""Requests for text completions, read into chat's words and written from them. Pure.

A prompt becomes one message of a user. A server of chat completions puts its chat template around that message, so that the
model answers the prompt instead of going on with it: what users of a model made for chat get anyhow, and not what a bare
base model would say. The old API's limit of 16 tokens is not carried over: without `max_tokens` the server of chat
completions sets its own.
"""

from __future__ import annotations

from typing import Any

from semcache.core import JsonObject
from semcache.dialects.dialect import Translated, Written
from semcache.errors import RequestError

PATH = "/v1/completions"
_ALIKE = frozenset(
    (
        "frequency_penalty",
        "logit_bias",
        "max_tokens",
        "metadata",
        "model",
        "n",
        "presence_penalty",
        "prompt_cache_key",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
        "user",
        # Of servers beside OpenAI's; they name them alike in both APIs.
        "cache_salt",
        "ignore_eos",
        "min_p",
        "min_tokens",
        "repetition_penalty",
        "stop_token_ids",
        "top_k",
    )
)
"""Fields that mean the same in both APIs."""
_NO_MATTER = frozenset(("metadata", "prompt_cache_options", "prompt_cache_retention", "store"))
"""Fields of chat that this API may not know, and that change no answer."""
_MOST_LOGPROBS = 20


def read(body: dict[str, Any], query: bytes) -> Translated:
    """Read a request; what asks for more than one answer to one text is only forwarded."""
    prompt = _text_of(body.get("prompt"))
    chat: dict[str, Any] = {"messages": [{"role": "user", "content": body.get("prompt")}]}
    extra: dict[str, Any] = {}
    unsayable = [] if prompt is not None else ["prompt"]
    if prompt is not None:
        chat["messages"] = [{"role": "user", "content": prompt}]
    for name, value in body.items():
        if name in _ALIKE:
            chat[name] = value
        elif name == "logprobs" and _is_count(value):
            chat.update(logprobs=True, top_logprobs=value)
        elif name != "prompt":
            extra[name] = value
            if value is not None and not _is_default(name, value):
                unsayable.append(name)
    options = body.get("stream_options")
    return Translated(
        chat=chat,
        extra=extra,
        unsayable=tuple(unsayable),
        stream=body.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        path=PATH,
        uncacheable=_uncacheable(body, prompt),
        query=query,
    )


def write(chat: JsonObject) -> Written:
    """Write a chat body that asks one question.

    Raises:
        RequestError: 400 with `param`: it asks for what this API has no word for.
    """
    body: dict[str, Any] = {"model": chat.get("model"), "prompt": _only_text(chat.get("messages"))}
    for name, value in chat.items():
        if value is None or name in ("model", "messages", "logprobs", "top_logprobs", *_NO_MATTER):
            continue
        if name == "max_completion_tokens":
            body["max_tokens"] = value
        elif name in _ALIKE:
            body[name] = value
        elif value not in ([], {}):
            raise _refused(name)
    if chat.get("logprobs"):
        body["logprobs"] = chat.get("top_logprobs") or 0
    elif chat.get("top_logprobs"):
        raise _refused("top_logprobs")
    return Written(PATH, body)


def _text_of(prompt: Any) -> str | None:
    """Give the one text that is to be completed, bare or alone in its list; None for anything else."""
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    return prompt if isinstance(prompt, str) else None


def _uncacheable(body: JsonObject, prompt: str | None) -> str | None:
    if prompt is None:
        return "prompts"
    for name in ("echo", "suffix", "best_of"):
        if body.get(name) is not None and not _is_default(name, body[name]):
            return name.replace("_", "-")
    return None


def _is_default(name: str, value: Any) -> bool:
    """True for a field written out that means nothing."""
    match name:
        case "echo":
            return value is False
        case "best_of":
            return value == 1 and not isinstance(value, bool)
        case _:
            return False


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_LOGPROBS


def _only_text(messages: Any) -> str:
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], dict):
        message = messages[0]
        content = message.get("content")
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
            part = content[0]
            content = part.get("text") if part.get("type") == "text" else None
        if message.get("role") == "user" and isinstance(content, str):
            return content
    raise RequestError(
        "A text completion takes one text of a user and no conversation.",
        code="unsupported_parameter",
        param="messages",
    )


def _refused(name: str) -> RequestError:
    return RequestError(
        f"A text completion has no word for '{name}'.", code="unsupported_parameter", param=name
    )
