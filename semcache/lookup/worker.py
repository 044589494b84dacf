"""The one thread that scans big partitions, one at a time, and the order around it.

Knows nothing of vectors. One scan at a time is deliberate: searching is bound by one core's
memory bandwidth, and it makes "is a scan reading this?" a question with one answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import faiss

from semcache.errors import VectorIndexError

T = TypeVar("T")


def _one_thread() -> None:
    # OpenMP keeps this setting per calling thread, so no one else's is touched.
    faiss.omp_set_num_threads(1)


class ScanThread:
    """Runs jobs on its own thread in the order asked for. Make it after any fork."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "semcache-lookup", initializer=_one_thread)
        self._turn = asyncio.Lock()
        self._closed = False

    async def run(self, prepare: Callable[[], Callable[[], T]], finish: Callable[[], None]) -> T:
        """Wait for the turn, call `prepare` here, run its result there, call `finish` here.

        `finish` is called once the thread is done, also when the caller has been cancelled by
        then: a scan cannot be stopped midway, only its result be ignored.

        Raises:
            VectorIndexError: `closed`.
        """
        await self._turn.acquire()
        loop = asyncio.get_running_loop()

        def done(_: Future[T]) -> None:
            loop.call_soon_threadsafe(self._finish, finish)

        try:
            if self._closed:
                raise VectorIndexError("the index is closed", kind="closed")
            running = self._executor.submit(prepare())
        except BaseException:
            # Nothing runs, so nothing else would give the turn up.
            self._finish(finish)
            raise
        running.add_done_callback(done)
        return await asyncio.shield(asyncio.wrap_future(running))

    def _finish(self, finish: Callable[[], None]) -> None:
        try:
            finish()
        finally:
            self._turn.release()

    async def aclose(self) -> None:
        """Let a running scan end (milliseconds) and stop the thread. Idempotent."""
        self._closed = True
        async with self._turn:
            self._executor.shutdown(wait=False)
