"""The thread that owns one model: loads it, takes waiting jobs, computes, hands results back.

The only code of this room that runs off the event loop. Knows nothing of deadlines beyond
skipping what cannot be ready in time, and nothing of scripts or calibration.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from semcache.core import Vector
from semcache.embed.memo import MemoKey
from semcache.embed.spec import TextModel
from semcache.errors import EncoderError

State = Literal["idle", "loading", "ready", "failed", "closed"]

_SMOOTHING = 0.2
"""Weight of the newest pass in the running mean of seconds a text."""

_LARGEST_MARGIN = 0.5
"""A job is skipped for lack of time only in the second half of its life, whatever passes cost."""


@dataclass(slots=True, eq=False)
class Job:
    """One distinct text on its way through the worker.

    `expires` and `life` are in seconds (monotonic instant; whole deadline). `waiters` belong to
    the event loop; `result` is written once by the worker; `dropped` tells the worker that
    nobody waits any more.
    """

    key: MemoKey
    text: str
    expires: float
    life: float
    loop: asyncio.AbstractEventLoop
    waiters: set[asyncio.Future[Vector]] = field(default_factory=set)
    result: Vector | EncoderError | None = None
    started: bool = False
    dropped: bool = False


class Worker:
    """Owns the thread. `submit`, `withdraw` and `stop` are called from the event loop.

    Args:
        load: makes the model, on the thread; raises EncoderError when that is impossible.
        deliver: called on the job's event loop with jobs whose `result` is set.
        name: of the thread.
    """

    def __init__(
        self, load: Callable[[], TextModel], deliver: Callable[[list[Job]], None], name: str
    ) -> None:
        self._load = load
        self._deliver = deliver
        self._queue: deque[Job] = deque()
        self._wake = threading.Condition()
        self._state: State = "idle"
        self._pass_began: float | None = None
        self._seconds_a_text = 0.0
        self.failure: EncoderError | None = None
        self.loaded = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def state(self) -> State:
        """Where the thread is; a thread that died counts as failed."""
        if self._state in ("loading", "ready") and not self._thread.is_alive():
            return "failed"
        return self._state

    @property
    def queued(self) -> int:
        """Jobs that wait."""
        return len(self._queue)

    def busy_for(self, now: float) -> float:
        """Seconds the present pass has been running; 0 between passes."""
        began = self._pass_began
        return 0.0 if began is None else max(0.0, now - began)

    def start(self) -> None:
        """Start loading."""
        self._state = "loading"
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue a job."""
        with self._wake:
            self._queue.append(job)
            self._wake.notify()

    def withdraw(self, job: Job) -> None:
        """Take back a job that nobody waits for."""
        job.dropped = True
        with self._wake:
            if job in self._queue:
                self._queue.remove(job)

    def stop(self) -> None:
        """Tell the thread to end after the present pass."""
        with self._wake:
            self._state = "closed"
            self._queue.clear()
            self._wake.notify()

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end; False when it hangs (it is a daemon and holds up no exit)."""
        if self._thread.ident is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        model = self._open()
        if model is None:
            return
        while jobs := self._take(model.max_batch):
            self._compute(model, jobs)
        model.close()

    def _open(self) -> TextModel | None:
        try:
            model = self._load()
        except EncoderError as error:
            self.failure = error
        except Exception as error:  # noqa: BLE001 - boundary: whatever a runtime raises, the proxy goes on
            self.failure = EncoderError(f"the encoder cannot be loaded: {type(error).__name__}")
        else:
            with self._wake:
                if self._state == "loading":
                    self._state = "ready"
            return model
        finally:
            if self._state == "loading":
                self._state = "failed"
            self.loaded.set()
        return None

    def _take(self, limit: int) -> list[Job]:
        """Give up to `limit` jobs that can still be in time; nothing once stopped."""
        while True:
            with self._wake:
                while not self._queue and self._state != "closed":
                    self._wake.wait()
                if self._state == "closed":
                    return []
                taken = [self._queue.popleft() for _ in range(min(limit, len(self._queue)))]
            jobs = [job for job in taken if self._worth(job, time.monotonic())]
            if jobs:
                return jobs

    def _worth(self, job: Job, now: float) -> bool:
        """Skip dropped jobs, and those that would only be ready too late.

        Without the second rule an overloaded queue serves every job just after its deadline,
        and the encoder works at full load for nothing.
        """
        if job.dropped:
            return False
        if job.expires - now >= min(self._seconds_a_text, _LARGEST_MARGIN * job.life):
            return True
        job.result = EncoderError("the deadline would pass before the encoder is done", kind="late")
        self._post([job])
        return False

    def _compute(self, model: TextModel, jobs: list[Job]) -> None:
        for job in jobs:
            job.started = True
        began = self._pass_began = time.monotonic()
        try:
            results = model.embed([job.text for job in jobs])
            if len(results) != len(jobs):
                raise EncoderError(f"the encoder gave {len(results)} results for {len(jobs)} texts")
        except EncoderError as error:
            results = [error] * len(jobs)
        except Exception as error:  # noqa: BLE001 - boundary: the thread must survive any runtime's fault
            # The runtime's own words may quote the text, so only the class is passed on.
            results = [EncoderError(f"the encoder failed: {type(error).__name__}")] * len(jobs)
        self._pass_began = None
        spent = (time.monotonic() - began) / len(jobs)
        self._seconds_a_text += _SMOOTHING * (spent - self._seconds_a_text)
        for job, result in zip(jobs, results, strict=True):
            job.result = result
        self._post(jobs)

    def _post(self, jobs: list[Job]) -> None:
        for loop in {job.loop for job in jobs}:
            mine = [job for job in jobs if job.loop is loop]
            try:
                loop.call_soon_threadsafe(self._deliver, mine)
            except RuntimeError:
                # The loop is closed: nobody is left to tell.
                continue
