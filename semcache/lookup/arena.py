"""Where the vectors of one partition lie: one copy, dense, in chunks that never move.

Slots are 0..n-1 without gaps. The first chunk of rows grows by copying while it is small; after
that new chunks are added. The codes are one array, so that a scan is a single call; it doubles by
copying (5 ms at a million), and a running scan keeps the old one. Knows nothing of entries,
threads or searching.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semcache.core import Vector
from semcache.lookup.signs import RECENTRED_ROWS, Signs, coded

FLAT_ROWS = 1024
"""Up to here an exact scan of the floats costs as much as codes and rescoring (40 us)."""

CHUNK_ROWS = 32768
"""Largest chunk of rows: 50 MB of 384 floats; a million vectors lie in 36."""

_GROWTH = 1.25
"""Of the first chunk; an average waste of an eighth, where doubling wastes a third."""


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk of rows, float32 [n, d]; `offset` is the slot of the first."""

    offset: int
    rows: NDArray[np.float32]


class Arena:
    """Dense rows of one dimension; codes beside them as soon as there are more than `flat_rows`."""

    __slots__ = ("_offsets", "_rows", "_signs", "dimension", "flat_rows", "size")

    def __init__(self, dimension: int, flat_rows: int = FLAT_ROWS) -> None:
        self.dimension = dimension
        self.flat_rows = flat_rows
        self.size = 0
        self._rows: list[NDArray[np.float32]] = []
        self._signs: Signs | None = None
        self._offsets: list[int] = []

    @property
    def is_coded(self) -> bool:
        """True when sign codes are kept."""
        return self._signs is not None

    @property
    def nbytes(self) -> int:
        """Bytes reserved for rows and codes (untouched pages of a new chunk count, too)."""
        return sum(rows.nbytes for rows in self._rows) + (
            0 if self._signs is None else self._signs.codes.nbytes
        )

    def append(self, vector: Vector) -> int:
        """Put a row at the end and give its slot. Never touches a row that exists."""
        slot = self.size
        if slot == self._capacity():
            self._grow()
        chunk, row = self._locate(slot)
        self._rows[chunk][row] = vector
        if self._signs is not None:
            if slot == len(self._signs.codes):
                self._grow_codes()
            self._signs.codes[slot] = self._signs.code(vector)
        self.size += 1
        return slot

    def extend(self, vectors: NDArray[np.float32]) -> int:
        """Put many rows, float32 [n, d], at the end and give the slot of the first; as `append`, at a tenth of the price."""
        first, done = self.size, 0
        while done < len(vectors):
            if self.size == self._capacity():
                self._grow()
            if self._signs is not None and self.size == len(self._signs.codes):
                self._grow_codes()
            chunk, row = self._locate(self.size)
            room = min(len(self._rows[chunk]) - row, len(vectors) - done)
            if self._signs is not None:
                room = min(room, len(self._signs.codes) - self.size)
            some = vectors[done : done + room]
            self._rows[chunk][row : row + room] = some
            if self._signs is not None:
                self._signs.codes[self.size : self.size + room] = self._signs.code(some)
            self.size += room
            done += room
        return first

    def copy(self, start: int, stop: int) -> NDArray[np.float32]:
        """Give a copy of the rows in slots `start` to `stop`, float32 [n, d]."""
        rows = np.empty((stop - start, self.dimension), np.float32)
        done = 0
        while done < len(rows):
            chunk, row = self._locate(start + done)
            some = self._rows[chunk][row : row + len(rows) - done]
            rows[done : done + len(some)] = some
            done += len(some)
        return rows

    def row(self, slot: int) -> Vector:
        """Give a view of the row in `slot`."""
        chunk, row = self._locate(slot)
        found: Vector = self._rows[chunk][row]
        return found

    def fill(self, slot: int) -> None:
        """Move the last row into `slot` and shorten by one; other slots stay where they are.

        Rewrites a row in place: the caller sees to it that no scan is reading.
        """
        last = self.size - 1
        if slot != last:
            chunk, row = self._locate(slot)
            last_chunk, last_row = self._locate(last)
            self._rows[chunk][row] = self._rows[last_chunk][last_row]
            if self._signs is not None:
                self._signs.codes[slot] = self._signs.codes[last]
        self.size = last
        self._shrink()

    def parts(self) -> list[Part]:
        """Give views of all rows; valid while nobody calls `fill`, whatever is appended."""
        found: list[Part] = []
        for chunk, offset in enumerate(self._offsets):
            used = min(self.size - offset, len(self._rows[chunk]))
            if used > 0:
                found.append(Part(offset, self._rows[chunk][:used]))
        return found

    def signs(self) -> Signs | None:
        """Give a view of all codes and their centre, as valid as `parts`; None while flat."""
        return None if self._signs is None else self._signs.first(self.size)

    def _capacity(self) -> int:
        return self._offsets[-1] + len(self._rows[-1]) if self._offsets else 0

    def _locate(self, slot: int) -> tuple[int, int]:
        chunk = bisect_right(self._offsets, slot) - 1
        return chunk, slot - self._offsets[chunk]

    def _grow(self) -> None:
        capacity = self._capacity()
        if capacity < self.flat_rows:
            self._resize_first(min(self.flat_rows, int(capacity * _GROWTH) + 1))
            return
        if self._signs is None:
            self._signs = coded(self._rows, capacity, capacity)
        self._rows.append(np.empty((min(capacity, CHUNK_ROWS), self.dimension), dtype=np.float32))
        self._offsets.append(capacity)

    def _grow_codes(self) -> None:
        if self._signs is None:
            return
        if self.size <= RECENTRED_ROWS:
            # The first thousand may have been of one kind; a better centre tells more apart.
            self._signs = coded(self._rows, self.size, 2 * self.size)
        else:
            self._signs = self._signs.resized(self.size, 2 * self.size)

    def _resize_first(self, capacity: int) -> None:
        rows = np.empty((capacity, self.dimension), dtype=np.float32)
        if not self._offsets:
            self._offsets.append(0)
            self._rows.append(rows)
            return
        kept = min(self.size, capacity)
        rows[:kept] = self._rows[0][:kept]
        self._rows[0] = rows

    def _shrink(self) -> None:
        # Only when the chunk before is half empty, so that a size swinging around a border does
        # not allocate each time.
        if len(self._rows) > 1 and self.size <= self._offsets[-1] - len(self._rows[-2]) // 2:
            self._rows.pop()
            self._offsets.pop()
        if self._signs is not None and self.size * 4 < len(self._signs.codes):
            self._signs = self._signs.resized(self.size, self.size * 2)
        if len(self._rows) == 1 and self.size * 4 < len(self._rows[0]):
            self._resize_first(self.size * 2)
            self._signs = None
