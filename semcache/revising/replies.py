"""Replies that say how they came about, and replies written here in the shape of an upstream's.

All who share a flight read one head, so the word that an answer was drafted travels in it: under a name with a
colon in it, which no HTTP head can hold (RFC 9110 section 5.1), so that no upstream can say such a word; and with the prefix
of names that never pass to clients.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from semcache.core import DraftRecord
from semcache.ports import UpstreamReply

Pair = tuple[bytes, bytes]
_WORD = b"semcache-draft:"


class Marked:
    """An upstream's reply as it is, with the word of its draft in the head.

    Args:
        reply: the upstream's.
        record: what is known of the draft by now.
    """

    __slots__ = ("_reply", "_word")

    def __init__(self, reply: UpstreamReply, record: DraftRecord) -> None:
        self._reply = reply
        self._word = _word(record)

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._reply.status

    @property
    def headers(self) -> Sequence[Pair]:
        """The upstream's pairs, and ours."""
        return (*self._reply.headers, self._word)

    def body(self) -> AsyncIterator[bytes]:
        """Stream the upstream's body."""
        return self._reply.body()

    async def aclose(self) -> None:
        """Close the upstream's reply."""
        await self._reply.aclose()


class Written:
    """An answer that was put together here.

    Args:
        parts: the body.
        record: what became of the draft.
        kind: the body's content type.
    """

    __slots__ = ("_kind", "_parts", "_word")

    def __init__(self, parts: Iterable[bytes], record: DraftRecord, kind: bytes) -> None:
        self._parts = parts
        self._kind = kind
        self._word = _word(record)

    @property
    def status(self) -> int:
        """Success: others are never written."""
        return 200

    @property
    def headers(self) -> Sequence[Pair]:
        """Content type, and the word of the draft."""
        return ((b"content-type", self._kind), self._word)

    async def body(self) -> AsyncIterator[bytes]:
        """Give the parts."""
        for part in self._parts:
            yield part

    async def aclose(self) -> None:
        """Hold nothing that could be closed."""


def drafted(headers: Iterable[Pair]) -> DraftRecord | None:
    """Read from a flight's head how its answer was drafted, for those who did not open it: way, result, entry.

    What it cost and saved stands in the record of the request that made the call. None: not at all.
    """
    for name, value in headers:
        if name == _WORD:
            way, result, entry = value.decode().split(" ", 2)
            return DraftRecord(way, result, entry)
    return None


def _word(record: DraftRecord) -> Pair:
    return _WORD, f"{record.way} {record.result} {record.entry}".encode()
