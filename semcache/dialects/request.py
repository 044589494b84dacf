"""A parsed body of any dialect becomes a `ChatRequest`: the dialect translates, the rules are those of chat. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from semcache.core import ChatRequest
from semcache.dialects.chat.request import DIALECT as CHAT
from semcache.dialects.chat.request import parse_chat
from semcache.dialects.dialect import Dialect

CHAT_PATH = "/v1/chat/completions"


def request_of(dialect: Dialect, body: dict[str, Any], path: str, query: bytes = b"") -> ChatRequest:
    """Read a body (which must no longer hold our own `cache` object).

    Raises:
        RequestError: 400 with `param`, where what the cache itself relies on is unusable.
    """
    if dialect.name == CHAT:
        return parse_chat(body, CHAT_PATH)
    told = dialect.read(body, path, query)
    request = parse_chat(told.chat, told.path)
    return replace(
        request,
        dialect=dialect.name,
        stream=told.stream,
        include_usage=told.include_usage,
        exact_only=told.exact_only or request.exact_only,
        uncacheable=told.uncacheable or request.uncacheable,
        native=body,
        extra=told.extra,
        unsayable=told.unsayable,
        uncacheable_in_chat=request.uncacheable,
        query=told.query,
    )


def in_chat(request: ChatRequest) -> ChatRequest:
    """Give a request as a chat client would have asked it; `unsayable` must be empty.

    What tied it to the state of an upstream of its own dialect (an answer that would be kept there) does so no more.
    """
    if request.native is None:
        return request
    return replace(
        request,
        dialect=CHAT,
        path=CHAT_PATH,
        native=None,
        extra={},
        query=b"",
        uncacheable=request.uncacheable_in_chat,
    )


def with_messages(
    request: ChatRequest, dialect: Dialect, messages: Sequence[Mapping[str, Any]]
) -> ChatRequest:
    """Give the same request with another history, in all the words that it has; its last message is the same.

    Args:
        request: `unsayable` must be empty.
        dialect: of `request.dialect`.
        messages: in chat's words.

    Raises:
        RequestError: the dialect has no word for some of it.
    """
    body = {**request.body, "messages": list(messages)}
    native = request.native
    if native is not None:
        before, after = dialect.write(request.body).body, dialect.write(body).body
        # Only what the history changed: all else stays as the client wrote it.
        native = {**native, **{name: value for name, value in after.items() if before.get(name) != value}}
    return replace(
        request,
        body=body,
        native=native,
        user_turns=sum(message.get("role") == "user" for message in messages),
        message_count=len(messages),
        keys={},
    )
