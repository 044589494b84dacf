"""How many bytes of request bodies may be in memory at once, over all requests. Knows no request."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from semcache.errors import RequestError
from semcache.proxy.types import Receive


class HeldBytes:
    """Counts what requests hold.

    Args:
        most: bytes of all.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.used = 0
        """Bytes held now."""

    def take(self, size: int) -> None:
        """Count bytes that have come; `give` them back when they are let go.

        Raises:
            RequestError: 503, there are too many already.
        """
        if self.used + size > self._most:
            raise RequestError(
                "The proxy holds as many bytes of requests as it can.",
                status=503,
                type="server_error",
                code="overloaded",
                headers=(("retry-after", "1"), ("connection", "close")),
            )
        self.used += size

    def give(self, size: int) -> None:
        """Count them no more."""
        self.used -= size


class Holding:
    """The body of one request while it is read and answered; `leave` it on every way out.

    Args:
        receive: brings the body.
        held: where it is counted.
    """

    __slots__ = ("_held", "_passes", "_receive", "_size")

    def __init__(self, receive: Receive, held: HeldBytes) -> None:
        self._receive = receive
        self._held = held
        self._size = 0
        self._passes = False

    async def receive(self) -> MutableMapping[str, Any]:
        """Receive as ASGI has it, counting what comes.

        Raises:
            RequestError: 503, too many bytes are held already.
        """
        message = await self._receive()
        size = len(message.get("body", b""))
        if size and not self._passes:
            self._held.take(size)
            self._size += size
        return message

    def let_pass(self) -> None:
        """Count no more of what comes: it is handed on as it comes, and not held."""
        self._passes = True

    def leave(self) -> None:
        """Count its bytes no more. Idempotent."""
        self._held.give(self._size)
        self._size = 0
