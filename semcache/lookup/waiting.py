"""Searches that wait for their turn: those of one partition are made together. Knows no index."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from semcache.core import Neighbour, Vector
from semcache.lookup.partition import Partition

TOGETHER = 8
"""Searches that are made in one turn, at most: so that nobody's turn lasts long."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The `k` nearest to `query`; `found` is cancelled when nobody waits for them any more."""

    query: Vector
    k: int
    found: asyncio.Future[list[Neighbour]]

    def answer(self, neighbours: list[Neighbour]) -> None:
        """Give the neighbours, if somebody still waits."""
        if not self.found.done():
            self.found.set_result(neighbours)

    def fail(self, error: BaseException) -> None:
        """Say what went wrong, if somebody still waits; the end of the whole process is a cancelling."""
        if self.found.done():
            return
        if isinstance(error, Exception):
            self.found.set_exception(error)
        else:
            self.found.cancel()


Take = Callable[[], list[Wanted]]


class Waiting:
    """Has searches made, a few of one partition at a time.

    Args:
        make: waits for a turn, calls the given function once for who is in it, and gives what each found.
    """

    def __init__(self, make: Callable[[Partition, Take], Awaitable[list[list[Neighbour]]]]) -> None:
        self._make = make
        self._lines: dict[int, list[Wanted]] = {}
        self._looking: set[asyncio.Task[None]] = set()

    async def ask(self, partition: Partition, query: Vector, k: int) -> list[Neighbour]:
        """Wait for the k nearest; raises what `make` does. Cancelled at any time, nobody else is the worse for it."""
        wanted = Wanted(query, k, asyncio.get_running_loop().create_future())
        line = self._lines.setdefault(partition.number, [])
        line.append(wanted)
        if len(line) == 1:
            self._look(partition)
        return await wanted.found

    async def aclose(self) -> None:
        """Wait for those under way; `make` must raise from now on."""
        await asyncio.gather(*self._looking, return_exceptions=True)

    def _look(self, partition: Partition) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(partition))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _answer(self, partition: Partition) -> None:
        """Search for those who wait for a partition; whatever goes wrong is theirs to know."""
        taken: list[Wanted] = []

        def take() -> list[Wanted]:
            # When the turn has come, so that all who came meanwhile are in it.
            line = [one for one in self._lines.pop(partition.number, []) if not one.found.done()]
            taken.extend(line[:TOGETHER])
            if len(line) > TOGETHER:
                self._lines[partition.number] = line[TOGETHER:]
                self._look(partition)
            return taken

        try:
            found = await self._make(partition, take)
            for one, neighbours in zip(taken, found, strict=True):
                one.answer(neighbours)
        except BaseException as error:
            for one in taken or self._lines.pop(partition.number, []):
                one.fail(error)
            if not isinstance(error, Exception):
                raise
