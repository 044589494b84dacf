"""The thread that scans big partitions, one at a time, the one that helps it, and the order around them.

Knows nothing of vectors. One scan at a time is deliberate: it makes "is a scan reading this?" a question with one
answer, and two threads at one scan answer as many in a second as two scans side by side, each twice as soon.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import faiss

from semcache.errors import VectorIndexError

T = TypeVar("T")
R = TypeVar("R")


def _one_thread() -> None:
    # OpenMP keeps this setting per calling thread, so no one else's is touched.
    faiss.omp_set_num_threads(1)


@dataclass(frozen=True, slots=True)
class Errand(Generic[T, R]):
    """One scan. `begin`, `end` and `release` are called on the event loop's thread.

    `begin` gives the job for the scan thread, `end` makes the answer of what the job gave, and
    `release` follows once the thread is done with it, whatever became of the job or the caller.
    """

    begin: Callable[[], Callable[[], T]]
    end: Callable[[T], R]
    release: Callable[[], None]


class ScanThread:
    """Runs errands on its own thread in the order asked for."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "semcache-lookup", initializer=_one_thread)
        several = len(os.sched_getaffinity(0)) > 1
        self.helper = ThreadPoolExecutor(1, "semcache-helper", initializer=_one_thread) if several else None
        """Does a share of the errand that runs; None where there is one core."""
        self._turn = asyncio.Lock()
        self._closed = False

    async def run(self, errand: Errand[T, R]) -> R:
        """Wait for the turn and run the errand.

        A scan cannot be stopped midway: when the caller is cancelled, its result is ignored and
        the turn is given up once the thread is done.

        Raises:
            VectorIndexError: `closed`.
        """
        await self._turn.acquire()
        try:
            if self._closed:
                raise VectorIndexError("the index is closed", kind="closed")
            running = asyncio.wrap_future(self._executor.submit(errand.begin()))
        except BaseException:
            # Nothing runs, so nothing else would give the turn up.
            self._over(errand)
            raise
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            running.add_done_callback(lambda done: self._over(errand, done))
            raise
        try:
            return errand.end(running.result())
        finally:
            self._over(errand)

    def _over(self, errand: Errand[T, R], ignored: asyncio.Future[T] | None = None) -> None:
        try:
            errand.release()
        finally:
            self._turn.release()
            if ignored is not None and not ignored.cancelled():
                # Nobody else will look at it, and asyncio complains of errors never looked at.
                ignored.exception()

    async def aclose(self) -> None:
        """Let a running scan end (milliseconds) and stop the thread. Idempotent."""
        self._closed = True
        async with self._turn:
            self._executor.shutdown(wait=False)
            if self.helper is not None:
                self.helper.shutdown(wait=False)
