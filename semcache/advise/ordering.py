"""Where rows lie, in time order, in flat memory: sorted runs in a temporary file, merged as they are read.

Thirty-two bytes a row on the disk; in memory one run. Rows of equal times stay in the order that they came in.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semcache.errors import SemcacheError

_RUN = 1 << 19
_READ = 1 << 12
_PLACE = np.dtype([("time", "<f8"), ("file", "<u4"), ("length", "<u4"), ("offset", "<u8"), ("line", "<u8")])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record lies."""

    file: int
    offset: int
    length: int
    line: int


class Places:
    """Takes places with their times, gives them in order.

    Args:
        folder: where runs are written.
        run: places held in memory.
    """

    def __init__(self, folder: Path, run: int = _RUN) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self._folder = folder
        self._run = run
        self._held: list[tuple[float, int, int, int, int]] = []
        self._runs: list[tuple[int, int]] = []
        self._last = -np.inf
        self.is_sorted = True
        """All came in time order."""

    def add(self, time: float, place: Place) -> None:
        """Take one."""
        self.is_sorted = self.is_sorted and time >= self._last
        self._last = time
        self._held.append((time, place.file, place.length, place.offset, place.line))
        if len(self._held) >= self._run:
            self._spill()

    def _spill(self) -> None:
        rows = np.array(self._held, dtype=_PLACE)
        self._held.clear()
        ordered = np.sort(rows, order=("time", "file", "offset"), kind="stable")
        try:
            at = self._file.seek(0, 2)
            self._file.write(ordered.tobytes())
            self._file.flush()
        except OSError as error:
            why = error.strerror or "the system refuses it"
            raise SemcacheError(f"places of rows cannot be written into {self._folder}: {why}") from None
        self._runs.append((at, len(rows)))

    def __iter__(self) -> Iterator[Place]:
        if self._held:
            self._spill()
        for _, file, length, offset, line in heapq.merge(
            *(self._read(*run) for run in self._runs), key=_order
        ):
            yield Place(file, offset, length, line)

    def _read(self, at: int, count: int) -> Iterator[tuple[float, int, int, int, int]]:
        for first in range(0, count, _READ):
            number = min(_READ, count - first)
            self._file.seek(at + first * _PLACE.itemsize)
            data = self._file.read(number * _PLACE.itemsize)
            yield from np.frombuffer(data, dtype=_PLACE).tolist()

    def close(self) -> None:
        """Forget all."""
        self._file.close()


def _order(row: tuple[float, int, int, int, int]) -> tuple[float, int, int]:
    return row[0], row[1], row[3]
