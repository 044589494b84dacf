"""What one forwarded call is to be counted as, watched while its bytes pass; holds none of them back.

Knows no prices. Whatever goes wrong here only means that less is known of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.answer.decode import content_coding
from semcache.answer.usage_asked import OTHER, AskedWatch, readable, route_of
from semcache.answer.usage_seen import settled
from semcache.answer.usage_watch import ReplyWatch
from semcache.core import Usage
from semcache.proxy.headers import Pair
from semcache.routing.told import answered

_STREAMS = ("text/event-stream", "application/x-ndjson")


@dataclass(frozen=True, slots=True)
class Used:
    """What a forwarded call used. `is_estimated`: the upstream did not say; with no usage at all, nobody knows how much it was."""

    model: str = ""
    usage: Usage | None = None
    is_estimated: bool = False


class Account:
    """Watches one forwarded request and its reply.

    Args:
        method: of the request.
        path: of the request, without its query.
    """

    def __init__(self, method: str, path: str) -> None:
        self.route = route_of(method, path)
        """What is asked of a model; `other` where nothing is."""
        self.streams = False
        """The reply comes in pieces."""
        self.backend = ""
        """Who on a route answered; "" where no route was asked."""
        self._asked = AskedWatch(self.route, path)
        self._reply: ReplyWatch | None = None
        self._status = 0

    def accepted(self, accept: bytes) -> bytes:
        """Give the content codings to ask for, out of those that the client takes: such as can be counted."""
        return accept if self.route == OTHER else readable(accept)

    def sending(self, chunk: bytes) -> None:
        """Take bytes of the request."""
        self._asked.feed(chunk)

    def sent(self) -> None:
        """Note the end of the request."""
        self._asked.finish()

    def answered(self, status: int, headers: Sequence[Pair]) -> None:
        """Note the head of the reply."""
        told = answered(headers)
        self.backend = told.upstream if told is not None else ""
        self._status = status
        if self.route == OTHER or not 200 <= status < 300:
            return
        named = next((value for name, value in headers if name.lower() == b"content-type"), b"")
        media = named.split(b";")[0].strip().lower().decode("latin-1")
        self.streams = media in _STREAMS
        self._reply = ReplyWatch(media, content_coding(headers))

    def passing(self, chunk: bytes) -> None:
        """Take bytes of the reply's body."""
        if self._reply is not None:
            self._reply.feed(chunk)

    def used(self, *, client_left: bool = False) -> Used:
        """Sum up, at the end or where it broke off; `client_left`: that was why."""
        asked = self._asked
        if self._reply is not None:
            seen = self._reply.finish()
            usage, is_guess = settled(seen, asked.tokens)
            return Used(asked.model or seen.model, usage, is_guess)
        if self.route == OTHER or self._status or not (client_left and asked.is_whole):
            return Used(asked.model)
        # Whoever was asked has begun to read.
        return Used(asked.model, None if asked.tokens is None else Usage(asked.tokens, 0), is_estimated=True)
