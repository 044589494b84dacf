"""Requests read a moment ago, by their very bytes: an equal body need not be parsed and hashed again.

Bounded by bytes, first in, first out. Holds nothing that depends on who asks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from semcache.core import ChatRequest
from semcache.dialects.chat.request import parse_chat
from semcache.proxy.body import parse_object

_UPSTREAM_PATH = "/v1/chat/completions"
_OVERHEAD = 4
"""A parsed body takes about this many times its bytes."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A body as read: the request, our own `cache` object, and whether its text is whole Unicode."""

    request: ChatRequest
    cache_object: Any
    whole: bool


def read_chat(body: bytes) -> Parsed:
    """Read a chat body.

    Raises:
        RequestError: 400, it is no JSON object or no usable chat request.
    """
    value, whole = parse_object(body)
    cache_object = value.pop("cache", None)
    return Parsed(parse_chat(value, _UPSTREAM_PATH), cache_object, whole)


class RecentRequests:
    """Parsed bodies by their bytes.

    Args:
        max_bytes: memory they may take, about.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[bytes, Parsed] = OrderedDict()

    def get(self, body: bytes) -> Parsed | None:
        """Give what an equal body was read as."""
        return self._kept.get(body)

    def put(self, body: bytes, parsed: Parsed) -> None:
        """Keep a body for a while."""
        size = len(body) * _OVERHEAD
        if size > self._max_bytes // 16 or body in self._kept:
            return
        self._kept[body] = parsed
        self._bytes += size
        while self._bytes > self._max_bytes:
            gone, _ = self._kept.popitem(last=False)
            self._bytes -= len(gone) * _OVERHEAD
