"""Brings a worker's sums to the book of costs, each exactly once.

Every second what was added up becomes a batch with a name of its own. A batch that failed may have arrived all the same (the
reply was lost): it is sent again, the very same under the very same name, until the store has it, and only then the next one.
Meanwhile sums wait in their cells, bounded there. Knows neither records nor prices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from semcache.cost.cells import Cells
from semcache.cost_port import CostBook, CostKey, CostSums
from semcache.errors import StoreError

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Batch:
    name: str
    sums: Mapping[CostKey, CostSums]


class Booking:
    """One worker's way to the book.

    Args:
        cells: what was added up.
        book: where it goes.
        writer: a name that no other worker has, nor had.
        told: hears what became of each attempt: `booked` or `failed`.
        every: seconds between batches.
    """

    def __init__(
        self, cells: Cells, book: CostBook, writer: str, told: Callable[[str], None], every: float = 1.0
    ) -> None:
        self._cells = cells
        self._book = book
        self._writer = writer
        self._told = told
        self._every = every
        self._number = 0
        self._batch: _Batch | None = None
        self._sending = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """Keys that are not booked yet, so far as this worker knows."""
        return len(self._cells) + (len(self._batch.sums) if self._batch is not None else 0)

    async def run(self) -> None:
        """Book every second, for as long as the worker lives."""
        while True:
            await asyncio.sleep(self._every)
            await self.flush()

    async def flush(self) -> bool:
        """Book everything there is now; False when the store was away, and all of it waits."""
        async with self._sending:
            if self._batch is not None and not await self._send():
                return False
            sums = self._cells.take()
            if not sums:
                return True
            self._number += 1
            self._batch = _Batch(f"{self._writer}.{self._number}", sums)
            return await self._send()

    async def end(self) -> None:
        """Book the rest at the end of a worker; what does not arrive is in the raw rows only, and the log says so."""
        if not await self.flush():
            _log.warning("the store is away: sums of costs were not booked", keys=self.waiting)

    async def _send(self) -> bool:
        batch = self._batch
        if batch is None:
            return True
        try:
            await self._book.add(batch.name, batch.sums)
        except StoreError:
            self._told("failed")
            return False
        self._batch = None
        self._told("booked")
        return True
