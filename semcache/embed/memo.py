"""Vectors of recent texts, so that a repeated text costs no second pass.

Bounded by count and by bytes. Keyed by encoder generation and a digest of the text: no prompt
text is kept. Used from the event loop's thread only.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from semcache.core import EncoderId, Vector

_OVERHEAD_BYTES = 400
"""What CPython keeps beside the components of one entry: key, tuple, array header, links."""

MemoKey = tuple[EncoderId, bytes]


def text_key(encoder: EncoderId, text: str) -> MemoKey:
    """Name a text under one generation; 16 bytes of BLAKE2b make a chance collision impossible."""
    return encoder, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VectorMemo:
    """Least recently used first out.

    Args:
        max_entries: vectors kept at most; 0 switches the memo off.
        max_bytes: bytes kept at most, vectors and their bookkeeping together.
    """

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._rows: OrderedDict[MemoKey, Vector] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """Vectors kept."""
        return len(self._rows)

    @property
    def size(self) -> int:
        """Bytes kept."""
        return self._bytes

    def get(self, key: MemoKey) -> Vector | None:
        """Give the vector and make it the most recent."""
        row = self._rows.get(key)
        if row is not None:
            self._rows.move_to_end(key)
        return row

    def put(self, key: MemoKey, vector: Vector) -> None:
        """Keep a vector, dropping the least recent ones beyond the bounds."""
        old = self._rows.pop(key, None)
        if old is not None:
            self._bytes -= _cost(old)
        if self._max_entries < 1 or _cost(vector) > self._max_bytes:
            return
        self._rows[key] = vector
        self._bytes += _cost(vector)
        while len(self._rows) > self._max_entries or self._bytes > self._max_bytes:
            _, dropped = self._rows.popitem(last=False)
            self._bytes -= _cost(dropped)

    def clear(self) -> None:
        """Forget everything."""
        self._rows.clear()
        self._bytes = 0


def _cost(vector: Vector) -> int:
    return int(vector.nbytes) + _OVERHEAD_BYTES
