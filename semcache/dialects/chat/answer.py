"""Which chat answers are whole and good enough to remember, and the form they are kept in.

Pure. Takes a parsed `chat.completion` object (as received, or put together from a stream) and gives
a `Completion`, or `Incomplete` with the reason. Only what is known to be whole passes: every
choice finished by itself, nothing refused, nothing empty, no error anywhere.
"""

from __future__ import annotations

from typing import Any

import orjson

from semcache.core import Completion
from semcache.dialects.dialect import Incomplete
from semcache.dialects.usage import read_usage

FINISHED = frozenset(("stop", "tool_calls", "function_call"))
"""Finish reasons by which the model itself ended its answer."""
OWN_FIELDS = frozenset(("id", "created"))
"""Fresh in every replay."""
_PADDING = frozenset(("obfuscation",))
"""Random filler against traffic analysis; means nothing later."""
_OF_THE_CALL = frozenset(("prefix",))
"""What the local engine reused of earlier computing; a replay computes nothing and must not claim it."""
DROPPED = OWN_FIELDS | _PADDING | _OF_THE_CALL


def complete(document: Any, chunks: bytes | None = None) -> Completion | Incomplete:
    """Judge an answer object; keep it without `id` and `created`, `object` first.

    Args:
        document: The parsed `chat.completion`.
        chunks: The stream's own chunk objects when `document` does not hold all of them.
    """
    usage = read_usage(document.get("usage")) if isinstance(document, dict) else None
    reason = _flaw(document)
    if reason is not None:
        return Incomplete(reason, usage)
    kept = {key: value for key, value in document.items() if key not in DROPPED}
    kept = {"object": "chat.completion", **{k: v for k, v in kept.items() if k != "object"}}
    try:
        body = orjson.dumps(kept)
    except orjson.JSONEncodeError:
        return Incomplete("surrogate", usage)
    return Completion(
        body=body,
        usage=usage,
        chunks=chunks,
        has_tool_calls=any(_calls(choice["message"]) for choice in document["choices"]),
    )


def _flaw(document: Any) -> str | None:
    if not isinstance(document, dict):
        return "shape"
    if document.get("error"):
        return "error"
    choices = document.get("choices")
    if document.get("object", "chat.completion") != "chat.completion" or not isinstance(choices, list):
        return "shape"
    if not choices or len({_index(choice) for choice in choices}) != len(choices):
        return "shape"
    return next((reason for choice in choices if (reason := _choice_flaw(choice))), None)


def _index(choice: Any) -> int | None:
    index = choice.get("index", 0) if isinstance(choice, dict) else None
    return index if isinstance(index, int) else None


def _choice_flaw(choice: Any) -> str | None:
    if _index(choice) is None:
        return "shape"
    message = choice.get("message")
    if choice.get("error"):
        return "error"
    if not isinstance(message, dict):
        return "shape"
    finish = choice.get("finish_reason")
    if not isinstance(finish, str) or finish not in FINISHED:
        return "finish_reason"
    if message.get("refusal"):
        return "refusal"
    return _message_flaw(message)


def _message_flaw(message: dict[str, Any]) -> str | None:
    content = message.get("content")
    if not (content is None or isinstance(content, str | list)):
        return "shape"
    try:
        calls = _calls(message)
    except TypeError:
        return "shape"
    if any(not _is_json(arguments) for arguments in calls):
        return "arguments"
    said = content.strip() if isinstance(content, str) else content
    return None if said or calls or isinstance(message.get("audio"), dict) else "empty"


def _calls(message: dict[str, Any]) -> list[str]:
    """Give the arguments of every call ("" for calls that are not of functions).

    Raises:
        TypeError: a call has not the protocol's shape.
    """
    calls = message.get("tool_calls") or []
    functions: list[Any] = []
    if not isinstance(calls, list):
        raise TypeError
    for call in calls:
        if not isinstance(call, dict):
            raise TypeError
        functions.append(call.get("function", {"arguments": ""}))
    if message.get("function_call"):
        functions.append(message["function_call"])
    found = [function.get("arguments", "") if isinstance(function, dict) else None for function in functions]
    if not all(isinstance(arguments, str) for arguments in found):
        raise TypeError
    return [str(arguments) for arguments in found]


def _is_json(arguments: str) -> bool:
    """Some servers send "" for a call without arguments."""
    if not arguments.strip():
        return True
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return True
