"""What ties a request to a node: two digests, of its prompt's head and of its conversation. Pure.

The head is what many conversations of one owner share (model, tools, system messages); a conversation is a head and
the first message after it, which every later turn repeats word for word. Computed prompts are reused by equal
beginnings, so both are equal exactly where something can be reused. Knows no nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from semcache.core import ChatRequest

HEAD = 16
"""Bytes of the head's digest, which stand first; those of the conversation's follow."""

_SYSTEM = frozenset({"system", "developer"})
_OF_HEAD = ("tools", "functions", "response_format", "cache_salt", "prompt_cache_key")
"""Fields that stand in a rendered prompt before its messages, or set callers apart."""


def affinity_of(request: ChatRequest, owner: str) -> bytes:
    """Give the affinity of a request: `HEAD` bytes of its head, as many of its conversation.

    Args:
        request: read as a chat; the model is the effective one.
        owner: who shares computed prompts: tenant, and principal or user where policy says so.
    """
    messages = request.body.get("messages")
    turns = messages if isinstance(messages, list) else []
    system, first = _beginning(turns)
    fields = {name: request.body.get(name) for name in _OF_HEAD}
    head = _digest(
        (owner.encode("utf-8", "surrogatepass"), _dump(request.model), _dump(fields), _dump(system))
    )
    return head + _digest((head, _dump(first)))


def head_of(affinity: bytes) -> bytes:
    """Give the part of an affinity that conversations with equal heads share."""
    return affinity[:HEAD]


def _beginning(messages: list[Any]) -> tuple[list[Any], Any]:
    """Split off the leading system messages, and the first message behind them (None: there is none)."""
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in _SYSTEM:
            return messages[:number], message
    return messages, None


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=HEAD)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Text that is no Unicode, or a number too large: such a body is passed on as it came.
        return repr(value).encode("utf-8", "backslashreplace")
