"""Who may begin: preempted sequences first, then those that wait, background work when nobody else is there.

Knows nothing of passes.
"""

from __future__ import annotations

from collections.abc import Callable

from semcache.engine.layers import NOBODY, Layer, aligned
from semcache.engine.scheduling.generation import Generation
from semcache.engine.scheduling.job import Job
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.pool import Pool
from semcache.engine.scheduling.queue import WaitingQueue
from semcache.engine.scheduling.roster import Roster
from semcache.engine.scheduling.sequence import Sequence, to_bytes
from semcache.engine.scheduling.slots import Slots
from semcache.errors import EngineError


class Admission:
    """Lets requests in while their choices and their prompts fit; in turn, never past the one in front."""

    def __init__(
        self,
        users: WaitingQueue,
        background: WaitingQueue,
        pool: Pool,
        slots: Slots,
        roster: Roster,
        clock: Callable[[], float],
        *,
        limits: Limits,
        grid: int,
        context: int,
    ) -> None:
        self._users = users
        self._background = background
        self._pool = pool
        self._slots = slots
        self._roster = roster
        self._clock = clock
        self._active = limits.active
        self._grid = grid
        self._margin = limits.tail
        self._context = context
        self._blocked: tuple[Job, int] | None = None
        self._number = 0
        self._beginning: tuple[WaitingQueue, Job] | None = None

    def admit(self) -> None:
        """Start what may start now; background work makes way before a user's request begins."""
        if len(self._users) or self._roster.users:
            self._stop_background()
        while self._resume_one() or self._start_one(self._users):
            pass
        if not self._roster.running:
            self._start_one(self._background)

    def abandon(self, error: EngineError) -> None:
        """Fail the request that was about to begin when a fault came; else it would bring the fault again."""
        if self._beginning is not None:
            queue, job = self._beginning
            queue.remove(job)
            self._roster.refuse(job, error)

    def _stop_background(self) -> None:
        for sequence in list(self._roster.running):
            if sequence.generation.request.background:
                self._roster.preempt(sequence)

    def _resume_one(self) -> bool:
        """Let the oldest preempted sequence go on; users' before background work."""
        waiting = self._roster.resuming
        users = [one for one in waiting if not one.generation.request.background]
        quiet = not self._roster.running and not len(self._users)
        for sequence in (users or (waiting if quiet else []))[:1]:
            if self._enter(sequence):
                self._roster.resume(sequence)
                return True
        return False

    def _start_one(self, queue: WaitingQueue) -> bool:
        """Start the request in front; False when there is none or it has to wait."""
        job = queue.head()
        if job is None or self._has_preempted_users():
            return False
        running = self._roster.choices
        if running and running + job.request.choices > self._active:
            return False
        self._beginning = queue, job
        has_begun = self._begin(queue, job)
        self._beginning = None
        return has_begun

    def _begin(self, queue: WaitingQueue, job: Job) -> bool:
        """Look a request up and let it run; False when there is no room for it yet."""
        refusal = self._refusal(job)
        if refusal:
            if queue.take(job):
                self._roster.fail(self._generation(job), EngineError(refusal))
            return True
        # With nothing else running there is always room for the one in front.
        if self._roster.running and self._blocked == (job, self._slots.room):
            return False
        sequence = self._sequence(job)
        if not self._enter(sequence):
            self._blocked = (job, self._slots.room)
            return False
        if not queue.take(job):  # cancelled in this very moment
            self._pool.discard(sequence)
            return True
        if not job.request.background:
            self._pool.count_hit(sequence)
        self._roster.enter(sequence)
        return True

    def _enter(self, sequence: Sequence) -> bool:
        """Look a sequence up and see whether the rest of it fits beside what others still have to read."""
        began = self._clock()
        self._pool.look_up(sequence)
        needed = sequence.pending + self._margin
        needed += sum(one.pending + self._margin for one in self._roster.running)
        if self._roster.running and needed > self._slots.room:
            self._pool.discard(sequence)
            return False
        sequence.generation.job.matched(began, self._clock())
        sequence.skipped(0)
        return True

    def _refusal(self, job: Job) -> str | None:
        """Say why a request can never run."""
        length = len(job.request.prompt)
        if length == 0:
            return "the prompt is empty"
        if length + min(job.request.max_tokens, 1) > self._context:
            return f"the prompt of {length} tokens leaves no room in the context of {self._context}"
        if length > self._slots.capacity:
            return (
                f"the prompt of {length} tokens is longer than the engine's memory of {self._slots.capacity}"
            )
        return None

    def _generation(self, job: Job) -> Generation:
        self._number += 1
        whole = (Layer(len(job.request.prompt), NOBODY),)
        return Generation(job, self._number, aligned(job.request.layers or whole, self._grid))

    def _sequence(self, job: Job) -> Sequence:
        prompt = job.request.prompt
        return Sequence(self._generation(job), prompt, to_bytes(prompt), len(prompt))

    def _has_preempted_users(self) -> bool:
        return any(not one.generation.request.background for one in self._roster.resuming)
