"""A scan thread without a thread: a scan ends when the test says so, so that overlaps are exact."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class ManualWorker:
    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._may_end = asyncio.Event()
        self.running = False

    async def run(self, prepare: Callable[[], Callable[[], T]], finish: Callable[[], None]) -> T:
        async with self._turn:
            job = prepare()
            self.running = True
            self._may_end.clear()
            try:
                await self._may_end.wait()
                return job()
            finally:
                self.running = False
                finish()

    def end(self) -> None:
        self._may_end.set()

    async def aclose(self) -> None:
        return
