"""Who really answered a routed call, told in the head of its reply.

Under names with a colon in them, which no HTTP head can hold (RFC 9110 section 5.1), so that no upstream can say such a
word; and with the prefix of names that never pass to clients.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass

from semcache.ports import UpstreamReply

Pair = tuple[bytes, bytes]
_UPSTREAM = b"semcache-upstream:"
_MODEL = b"semcache-model:"
_FOREIGN = b"semcache-foreign:"
_INNER = b"semcache-inner:"


@dataclass(frozen=True, slots=True)
class Answered:
    """Who answered: the upstream's name, the model it was asked for ("": the one that the client asked for).

    `is_own`: its answers count as the route's, and may be stored under it. `is_inner`: it is the engine of this machine.
    """

    upstream: str
    model: str = ""
    is_own: bool = True
    is_inner: bool = False


class Told:
    """A reply as it came, with the word of who gave it in its head.

    Args:
        reply: the upstream's.
        answered: who that was.
    """

    __slots__ = ("_answered", "_reply")

    def __init__(self, reply: UpstreamReply, answered: Answered) -> None:
        self._reply = reply
        self._answered = answered

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._reply.status

    @property
    def headers(self) -> Sequence[Pair]:
        """The upstream's pairs, and ours."""
        said = self._answered
        ours = [(_UPSTREAM, said.upstream.encode())]
        if said.model:
            ours.append((_MODEL, said.model.encode("utf-8", "surrogatepass")))
        if not said.is_own:
            ours.append((_FOREIGN, b"1"))
        if said.is_inner:
            ours.append((_INNER, b"1"))
        return (*self._reply.headers, *ours)

    def body(self) -> AsyncIterator[bytes]:
        """Stream the upstream's body."""
        return self._reply.body()

    async def aclose(self) -> None:
        """Close the upstream's reply."""
        await self._reply.aclose()


def answered(headers: Iterable[Pair]) -> Answered | None:
    """Read from a head who answered; None: no route was asked."""
    found = {name: value for name, value in headers if name in (_UPSTREAM, _MODEL, _FOREIGN, _INNER)}
    if _UPSTREAM not in found:
        return None
    model = found.get(_MODEL, b"").decode("utf-8", "surrogatepass")
    return Answered(found[_UPSTREAM].decode(), model, _FOREIGN not in found, _INNER in found)
