"""The decode loop: several requests at once, one step each in turn, on one thread.

No batching and no sharing of keys and values between requests; the loop, the queue and the
promises of `generation.Runner` are what this adds to `Sequence`. Knows no HTTP.
"""

from __future__ import annotations

import logging
import threading
from collections import deque

from semcache.engine.generation import (
    Done,
    Event,
    Failed,
    GenerationRequest,
    RunnerStats,
    Sink,
    overloaded,
)
from semcache.engine.network import LoadedModel
from semcache.engine.sequence import Choice, Sequence
from semcache.errors import EngineError

_log = logging.getLogger(__name__)

PREFILL_CHUNK = 128
"""Prompt tokens in one forward pass: what others may have to wait for between two of their tokens."""


class Job:
    """A submitted request: the ticket its owner holds, and the runner's own record of it."""

    def __init__(self, request: GenerationRequest, sink: Sink) -> None:
        self.request = request
        self._sink = sink
        self._cancelled = threading.Event()
        self.sequence: Sequence | None = None

    def cancel(self) -> None:
        """Give the generation up. Idempotent, from any thread."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """True once the owner gave up."""
        return self._cancelled.is_set()

    def send(self, events: list[Event]) -> None:
        """Hand events to the owner, unless it gave up."""
        for event in events:
            if not self.is_cancelled:
                self._sink(event)


class RoundRobinRunner:
    """Decodes up to `max_active` choices at once; up to `max_queue` requests wait in order.

    A round gives one piece of prompt to one reading request and one token to every choice that
    decodes, so a long prompt delays the others by one piece a token. A fault inside a request
    fails that request alone.
    """

    def __init__(
        self, model: LoadedModel, *, max_active: int = 8, max_queue: int = 64, chunk: int = PREFILL_CHUNK
    ) -> None:
        self._model = model
        self._max_active = max_active
        self._max_queue = max_queue
        self._chunk = chunk
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._closing = False
        self._generated = 0
        self._thread = threading.Thread(target=self._work, name="engine-runner", daemon=True)
        self._thread.start()

    def submit(self, request: GenerationRequest, sink: Sink) -> Job:
        """Queue a generation.

        Raises:
            RequestError: the queue is full (503 `overloaded`).
            EngineError: the runner is closed or has died.
        """
        job = Job(request, sink)
        with self._changed:
            if not self.is_alive:
                raise EngineError("the engine is shutting down")
            self._waiting = deque(other for other in self._waiting if not other.is_cancelled)
            if len(self._waiting) >= self._max_queue:
                raise overloaded(f"{len(self._waiting)} requests are waiting already", retry_after=2)
            self._waiting.append(job)
            self._changed.notify()
        return job

    def stats(self) -> RunnerStats:
        """Give present figures."""
        with self._changed:
            queued = sum(not job.is_cancelled for job in self._waiting)
            return RunnerStats(self._active(), queued, self._generated)

    @property
    def is_alive(self) -> bool:
        """False once the runner can never answer again."""
        return self._thread.is_alive() and not self._closing

    def close(self) -> None:
        """End the thread after its present step; waiting and running requests fail. Idempotent."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        try:
            while self._wait_for_work():
                self._round()
        finally:
            with self._changed:
                self._closing = True
                left = [*self._running, *self._waiting]
                self._running, self._waiting = [], deque()
            for job in left:
                job.send([Failed(EngineError("the engine is shutting down"))])

    def _wait_for_work(self) -> bool:
        """Sleep until there is something to do; False when it is time to go."""
        with self._changed:
            while not (self._closing or self._running or self._waiting):
                self._changed.wait()
            self._running = [job for job in self._running if not job.is_cancelled]
            self._admit()
            return not self._closing

    def _active(self) -> int:
        return sum(job.request.choices for job in list(self._running) if not job.is_cancelled)

    def _admit(self) -> None:
        """Start waiting requests in order while their choices fit."""
        while self._waiting:
            job = self._waiting[0]
            if not job.is_cancelled:
                if self._running and self._active() + job.request.choices > self._max_active:
                    return
                self._running.append(job)
            self._waiting.popleft()

    def _round(self) -> None:
        reading = next((job for job in self._running if _is_reading(job)), None)
        if reading is not None:
            self._guarded(reading, None)
            self._running.remove(reading)
            self._running.append(reading)  # to the end: others' prompts get their piece first
        for job in list(self._running):
            if job is reading or job.sequence is None:
                continue
            for choice in job.sequence.choices:
                if not choice.is_finished:
                    self._guarded(job, choice)
        self._running = [job for job in self._running if not _is_over(job)]

    def _guarded(self, job: Job, choice: Choice | None) -> None:
        """Do one step of a job: a piece of its prompt, or a token of `choice`."""
        if job.is_cancelled:
            return
        try:
            self._step(job, choice)
        except EngineError as error:
            self._fail(job, error)
        except Exception as error:  # noqa: BLE001 - boundary: whatever one request trips over must not end the others
            _log.error("a generation failed: %s", type(error).__name__)
            self._fail(job, EngineError("the generation failed inside the engine"))

    def _step(self, job: Job, choice: Choice | None) -> None:
        if job.sequence is None:
            job.sequence = Sequence(job.request, self._model, self._chunk)
        before = job.sequence.generated
        job.send(job.sequence.read() if choice is None else choice.step())
        self._generated += job.sequence.generated - before
        if job.sequence.is_finished:
            job.send([Done(len(job.request.prompt), job.sequence.generated)])

    def _fail(self, job: Job, error: EngineError) -> None:
        job.send([Failed(error)])
        job.cancel()  # nothing may follow


def _is_reading(job: Job) -> bool:
    return not job.is_cancelled and (job.sequence is None or job.sequence.is_reading)


def _is_over(job: Job) -> bool:
    return job.is_cancelled or (job.sequence is not None and job.sequence.is_finished)
