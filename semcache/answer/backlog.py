"""The part of a body that is still needed: bytes in, readable from any place not yet dropped.

Places are counted in chunks from the body's beginning. No waiting, no limits of its own.
"""

from __future__ import annotations

_JOIN = 64 * 1024
"""A reader that fell behind gets up to this many bytes at once."""
_DELETE_AT_ONCE = 64
"""Dropped chunks are cut off the list in lots, since each cut moves the rest."""


class Backlog:
    """A growing list of chunks whose beginning may be forgotten."""

    __slots__ = ("_base", "_chunks", "size")

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._base = 0
        self.size = 0
        """Bytes held."""

    @property
    def end(self) -> int:
        """The place after the last chunk."""
        return self._base + len(self._chunks)

    def append(self, chunk: bytes) -> None:
        """Add a chunk at the end."""
        self._chunks.append(chunk)
        self.size += len(chunk)

    def read(self, place: int) -> tuple[bytes, int]:
        """Give the bytes from `place` on (at most 64 KiB, or one chunk) and the place after them."""
        first = place - self._base
        if first == len(self._chunks) - 1:
            return self._chunks[first], place + 1
        last, size = first, 0
        while last < len(self._chunks) and (size + len(self._chunks[last]) <= _JOIN or last == first):
            size += len(self._chunks[last])
            last += 1
        return b"".join(self._chunks[first:last]), self._base + last

    def drop_before(self, place: int) -> None:
        """Forget all chunks before `place`."""
        count = min(place - self._base, len(self._chunks))
        for index in range(count - 1, -1, -1):
            if not self._chunks[index]:
                break
            self.size -= len(self._chunks[index])
            self._chunks[index] = b""
        if count == len(self._chunks) or count >= _DELETE_AT_ONCE:
            del self._chunks[:count]
            self._base += count
