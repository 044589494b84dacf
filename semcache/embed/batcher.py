"""Many waiting requests, one model: deadline, bounded queue, memo, identical texts computed once.

All of it runs on the event loop; the model runs on its `Worker` thread. Knows nothing of scripts
or calibration.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from semcache.core import EncoderId, Vector
from semcache.embed.memo import MemoKey, VectorMemo, text_key
from semcache.embed.spec import TextModel
from semcache.embed.worker import Job, State, Worker
from semcache.errors import EncoderError


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how many.

    Attributes:
        deadline: seconds one `encode` waits at most.
        queue: distinct texts in flight at most; one more is refused as `busy`.
        stall_after: seconds after which a running pass counts as hung: new requests are then
            refused as `busy` at once instead of waiting their deadline out.
        reload_after: seconds before a failed load is tried again.
        close_wait: seconds `aclose` waits for a running pass.
    """

    deadline: float = 0.05
    queue: int = 64
    stall_after: float = 1.0
    reload_after: float = 60.0
    close_wait: float = 2.0


class Batcher:
    """Serves one model to many coroutines of one event loop.

    Args:
        load: makes the model, on the worker's thread.
        generation: the model's id (part of the memo's key); asked after loading.
        limits: see `Limits`.
        memo: shared by all models of the process.
        name: for the thread.
    """

    def __init__(
        self,
        load: Callable[[], TextModel],
        generation: Callable[[], EncoderId],
        limits: Limits,
        memo: VectorMemo,
        name: str,
    ) -> None:
        self._load = load
        self._generation = generation
        self._limits = limits
        self._memo = memo
        self._name = name
        self._jobs: dict[MemoKey, Job] = {}
        self._worker = self._new_worker()
        self._failed_at: float | None = None
        self._closed = False

    @property
    def state(self) -> State:
        """Where the worker is."""
        return "closed" if self._closed else self._worker.state

    @property
    def failure(self) -> EncoderError | None:
        """Why loading failed, if it did."""
        return self._worker.failure

    @property
    def in_flight(self) -> int:
        """Distinct texts queued or being computed."""
        return len(self._jobs)

    @property
    def stalled(self) -> bool:
        """True while one pass has been running for longer than `stall_after`."""
        return self._worker.busy_for(time.monotonic()) > self._limits.stall_after

    async def start(self) -> None:
        """Load the model and wait until it is there.

        Raises:
            EncoderError: it cannot be loaded.
        """
        self._begin_loading()
        await asyncio.to_thread(self._worker.loaded.wait)
        if self._worker.state == "failed":
            raise self._cause()

    async def encode(self, text: str, deadline: float | None = None) -> Vector:
        """Embed a text that `check_text` has passed: float32 [d], unit length, read-only.

        Args:
            text: canonical text.
            deadline: seconds, instead of the default one.

        Raises:
            EncoderError: `late`, `busy` (queue full, or the thread hangs), `loading`, `error`, or
                the model's refusal of this text.
        """
        self._require_ready()
        key = text_key(self._generation(), text)
        known = self._memo.get(key)
        if known is not None:
            return known
        life = self._limits.deadline if deadline is None else deadline
        job = self._jobs.get(key)
        if job is None:
            job = self._submit(key, text, life)
        else:
            job.expires = max(job.expires, time.monotonic() + life)
        return await self._wait(job, life)

    async def aclose(self) -> None:
        """Refuse new requests, end those in flight, stop the thread. Idempotent."""
        self._closed = True
        self._worker.stop()
        for job in list(self._jobs.values()):
            job.dropped = True
            self._finish(job, EncoderError("the encoder is closed", kind="closed"))
        await asyncio.to_thread(self._worker.join, self._limits.close_wait)

    def _new_worker(self) -> Worker:
        return Worker(self._load, self._settle, f"encoder-{self._name}")

    def _begin_loading(self) -> None:
        if self._worker.state == "failed":
            self._worker = self._new_worker()
        if self._worker.state == "idle":
            self._failed_at = None
            self._worker.start()

    def _require_ready(self) -> None:
        match self.state:
            case "ready":
                pass
            case "idle" | "loading":
                self._begin_loading()
                raise EncoderError("the encoder is still loading", kind="loading")
            case "failed":
                raise self._failed()
            case "closed":
                raise EncoderError("the encoder is closed", kind="closed")

    def _failed(self) -> EncoderError:
        now = time.monotonic()
        if self._failed_at is None:
            self._failed_at = now
        cause = self._cause()
        if now - self._failed_at >= self._limits.reload_after:
            self._begin_loading()
        return cause

    def _cause(self) -> EncoderError:
        failure = self._worker.failure
        return EncoderError(str(failure) if failure else "the encoder's thread died")

    def _submit(self, key: MemoKey, text: str, life: float) -> Job:
        if len(self._jobs) >= self._limits.queue:
            raise EncoderError(f"{len(self._jobs)} texts are waiting already", kind="busy")
        if self.stalled:
            raise EncoderError("the encoder hangs", kind="busy")
        job = Job(key, text, time.monotonic() + life, life, asyncio.get_running_loop())
        self._jobs[key] = job
        self._worker.submit(job)
        return job

    async def _wait(self, job: Job, life: float) -> Vector:
        future: asyncio.Future[Vector] = job.loop.create_future()
        job.waiters.add(future)
        timer = job.loop.call_later(life, self._expire, job, future)
        try:
            return await future
        finally:
            timer.cancel()
            job.waiters.discard(future)
            if not job.waiters and not job.started and self._jobs.get(job.key) is job:
                # Nobody waits and the worker has not begun: it need not. A pass that has begun
                # is left to end, for its vector goes to the memo.
                del self._jobs[job.key]
                self._worker.withdraw(job)

    def _expire(self, job: Job, future: asyncio.Future[Vector]) -> None:
        if job.result is not None:
            # Ready in time; it is the event loop that is late in saying so.
            self._settle([job])
        elif not future.done():
            future.set_exception(EncoderError("the encoder did not answer in time", kind="late"))

    def _settle(self, jobs: list[Job]) -> None:
        for job in jobs:
            if isinstance(job.result, Exception):
                self._finish(job, job.result)
            elif job.result is not None:
                self._memo.put(job.key, job.result)
                self._finish(job, job.result)

    def _finish(self, job: Job, result: Vector | EncoderError) -> None:
        if self._jobs.get(job.key) is job:
            del self._jobs[job.key]
        for future in job.waiters:
            if future.done():
                continue
            if isinstance(result, EncoderError):
                # A fresh exception a waiter: one object raised in many tasks mixes their tracebacks.
                future.set_exception(EncoderError(str(result), kind=result.kind))
            else:
                future.set_result(result)
