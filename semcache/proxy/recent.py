"""Requests read a moment ago, by their very bytes: an equal body need not be parsed and hashed again.

Bounded by bytes, first in, first out. Holds nothing that depends on who asks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from semcache.core import ChatRequest
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect
from semcache.dialects.request import request_of
from semcache.proxy.body import parse_object

_COPIES, _OVERHEAD = 2, 1200
"""A parsed body takes about so many times its bytes (it is kept beside), and so many bytes for the objects around."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A body as read: the request, our own `cache` object, and whether its text is whole Unicode."""

    request: ChatRequest
    cache_object: Any
    whole: bool


def read_request(dialect: Dialect, body: bytes, path: str = "", query: bytes = b"") -> Parsed:
    """Read a body in a dialect.

    Raises:
        RequestError: 400, it is no JSON object or no usable request.
    """
    value, whole = parse_object(body)
    cache_object = value.pop("cache", None)
    return Parsed(request_of(dialect, value, path, query), cache_object, whole)


def read_chat(body: bytes) -> Parsed:
    """Read a chat body.

    Raises:
        RequestError: 400, it is no JSON object or no usable chat request.
    """
    return read_request(CHAT, body)


_Place = tuple[str, bytes, bytes]
"""Path, query and body."""


class RecentRequests:
    """Parsed bodies by where they were sent and by their bytes.

    Args:
        max_bytes: memory they may take, about.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[_Place, Parsed] = OrderedDict()

    def get(self, path: str, query: bytes, body: bytes) -> Parsed | None:
        """Give what an equal body was read as."""
        return self._kept.get((path, query, body))

    def put(self, path: str, query: bytes, body: bytes, parsed: Parsed) -> None:
        """Keep a body for a while."""
        size, place = _size(body), (path, query, body)
        if size > self._max_bytes // 16 or place in self._kept:
            return
        self._kept[place] = parsed
        self._bytes += size
        while self._bytes > self._max_bytes:
            (_, _, gone), _ = self._kept.popitem(last=False)
            self._bytes -= _size(gone)


def _size(body: bytes) -> int:
    return _COPIES * len(body) + _OVERHEAD
