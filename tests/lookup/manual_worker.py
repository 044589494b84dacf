"""A scan thread without a thread: a scan ends when the test says so, so that overlaps are exact."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from semcache.lookup.worker import Errand

T = TypeVar("T")
R = TypeVar("R")


class ManualWorker:
    helper = None

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._may_end = asyncio.Event()
        self.running = False

    async def run(self, errand: Errand[T, R]) -> R:
        async with self._turn:
            job = errand.begin()
            self.running = True
            self._may_end.clear()
            try:
                await self._may_end.wait()
                return errand.end(job())
            finally:
                self.running = False
                errand.release()

    def end(self) -> None:
        self._may_end.set()

    async def aclose(self) -> None:
        return
