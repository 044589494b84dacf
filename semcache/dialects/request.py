"""A parsed body of any dialect becomes a `ChatRequest`: the dialect translates, the rules are those of chat. Pure."""

from __future__ import annotations

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
        exact_only=request.exact_only or told.exact_only,
        uncacheable=request.uncacheable or told.uncacheable,
        native=body,
        extra=told.extra,
        unsayable=told.unsayable,
        query=told.query,
    )


def in_chat(request: ChatRequest) -> ChatRequest:
    """Give a request as a chat client would have asked it; `unsayable` must be empty."""
    if request.native is None:
        return request
    return replace(request, dialect=CHAT, path=CHAT_PATH, native=None, extra={}, query=b"")
