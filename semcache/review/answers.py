"""The text of a stored answer: reading it, and putting another one in its place. Pure.

Only an answer that is one text can be edited: calls of tools, several choices, refusals and streams that lost
something when they were put together stay as the model gave them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from semcache.core import Completion
from semcache.review.problems import UnfitError

_PLAIN = frozenset(("role", "content", "reasoning_content", "reasoning"))
"""Parts of a message that an edit may leave out: reasoning led to the old text."""


def text_of(completion: Completion) -> str | None:
    """Give the text of the first choice; None where there is none that can be read."""
    message = _message(completion)
    content = message.get("content") if message is not None else None
    match content:
        case str():
            return content
        case list():
            parts = [part.get("text") for part in content if isinstance(part, dict)]
            return "".join(part for part in parts if isinstance(part, str)) or None
        case _:
            return None


def thought_of(completion: Completion) -> str:
    """Give what the model thought before it answered, as far as it can be read; "" where there is nothing."""
    message = _message(completion) or {}
    said = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((text for text in said if isinstance(text, str) and text), "")


def calls_of(completion: Completion) -> tuple[tuple[str, str], ...]:
    """Give name and arguments of the tools that the first choice calls."""
    calls = (_message(completion) or {}).get("tool_calls")
    return tuple(map(_call, calls)) if isinstance(calls, list) else ()


def is_vectors(completion: Completion) -> bool:
    """True for embeddings: numbers, with nothing in them to read."""
    try:
        document = orjson.loads(completion.native or b"null")
    except orjson.JSONDecodeError:
        return False
    data = document.get("data") if isinstance(document, dict) else None
    return isinstance(data, list) and any(isinstance(one, dict) and "embedding" in one for one in data)


def may_edit(completion: Completion) -> bool:
    """True when the answer is one text."""
    return _flaw(completion) is None


def with_text(completion: Completion, text: str) -> Completion:
    """Give the answer with another text: finished by itself, usage as it was billed.

    Raises:
        UnfitError: `not-editable`: the answer is more than one text; `bad-text`: the text is empty, or no Unicode.
    """
    flaw = _flaw(completion)
    if flaw is not None:
        raise UnfitError("not-editable", f"This answer cannot be edited: {flaw}.")
    if not text.strip():
        raise UnfitError("bad-text", "The text must not be empty.", "text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnfitError("bad-text", "The text is no Unicode.", "text") from None
    document = orjson.loads(completion.body)
    choice = document["choices"][0]
    choice["finish_reason"] = "stop"
    choice["message"] = {"role": "assistant", "content": text}
    if "logprobs" in choice:
        choice["logprobs"] = None  # of tokens that are not there any more
    return Completion(orjson.dumps(document), completion.usage)


def digest_of(completion: Completion) -> str:
    """Name an answer in the log without telling it: the first 16 bytes of its SHA-256 in hex."""
    digest = hashlib.sha256(len(completion.body).to_bytes(8, "big") + completion.body)
    for more in (completion.chunks, completion.native):
        digest.update(more or b"")
    return digest.hexdigest()[:32]


def _flaw(completion: Completion) -> str | None:
    if completion.chunks is not None:
        return "it can only be replayed as the stream that it was"
    if completion.has_tool_calls:
        return "it calls tools"
    if is_vectors(completion):
        return "it is vectors, not words"
    message = _message(completion, only=True)
    if message is None or not isinstance(message.get("content"), str):
        return "it is not one text"
    more = [name for name, value in message.items() if name not in _PLAIN and value]
    return "it holds more than a text" if more else None


def _call(call: Any) -> tuple[str, str]:
    called = call.get("function") or call.get("custom") if isinstance(call, dict) else None
    if not isinstance(called, dict):
        return "?", ""
    told = called.get("arguments", called.get("input", ""))
    return str(called.get("name", "?")), told if isinstance(told, str) else str(told)


def _message(completion: Completion, *, only: bool = False) -> dict[str, Any] | None:
    try:
        document = orjson.loads(completion.body)
    except orjson.JSONDecodeError:
        return None
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices or (only and len(choices) != 1):
        return None
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else None
