"""Who runs, who was preempted, and how a request ends: by its last token, a fault, or its owner.

Knows nothing of queues, passes or logits.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator

from semcache.engine.generation import Failed
from semcache.engine.scheduling.counters import Counters
from semcache.engine.scheduling.generation import Generation
from semcache.engine.scheduling.job import Job
from semcache.engine.scheduling.pool import Pool
from semcache.engine.scheduling.sequence import Sequence
from semcache.errors import EngineError


class Roster:
    """`running` sequences hold slots, oldest first; `resuming` ones were preempted and hold none.

    `users` counts the users' requests that are not over, `choices` their unfinished choices.
    """

    def __init__(self, pool: Pool, counters: Counters, clock: Callable[[], float]) -> None:
        self._pool = pool
        self._counters = counters
        self._clock = clock
        self.running: list[Sequence] = []
        self.resuming: list[Sequence] = []
        self.choices = 0
        self.users = 0
        self._generations: dict[Generation, None] = {}

    @property
    def generations(self) -> Iterator[Generation]:
        """Go over the requests that are not over."""
        return iter(tuple(self._generations))

    def enter(self, sequence: Sequence) -> None:
        """Let the sequence that reads a new request's prompt run from now on."""
        generation = sequence.generation
        self._generations[generation] = None
        if not generation.request.background:
            self.users += 1
            self.choices += generation.open
        insort(self.running, sequence, key=_age)

    def is_running(self, sequence: Sequence) -> bool:
        """Tell whether a sequence still runs."""
        return sequence in self.running

    def preempt(self, sequence: Sequence) -> None:
        """Take a sequence's slots away; it goes on later, from what the tree then still has."""
        self._counters.preemptions += not sequence.generation.request.background
        self.running.remove(sequence)
        self._pool.leave(sequence)
        insort(self.resuming, sequence, key=_age)

    def resume(self, sequence: Sequence) -> None:
        """Let a preempted sequence run again."""
        self.resuming.remove(sequence)
        insort(self.running, sequence, key=_age)

    def finish(self, sequence: Sequence, choices: int = 1) -> None:
        """End a choice (or several): what was computed stays in the tree, the rest of its slots is free."""
        generation = sequence.generation
        self.running.remove(sequence)
        if generation.request.background and not generation.job.is_own:
            self._pool.keep_warm(sequence)
        self._pool.leave(sequence)
        generation.open -= choices
        if not generation.request.background:
            self.choices -= choices
        if generation.open <= 0:
            self._forget(generation)
            generation.job.send([generation.done(self._clock())])

    def fork(self, stem: Sequence, choices: list[Sequence]) -> None:
        """Put the choices of a request in the place of the sequence that read its prompt."""
        self.running.remove(stem)
        lease = self._pool.lease(stem, len(choices))
        for choice in choices:
            self._pool.join(choice, stem, lease)
            insort(self.running, choice, key=_age)
        self._pool.discard(stem)

    def fail(self, generation: Generation, error: EngineError, *, dirty: bool = False) -> None:
        """End a request with an error; `dirty` slots may hold anything and are cleared."""
        if not generation.is_over:
            self.refuse(generation.job, error)
            self.drop(generation, dirty=dirty)

    def abandon(self, error: EngineError) -> None:
        """End all requests with an error and forget them; what they hold is left as it is."""
        for generation in self.generations:
            generation.is_over = True
            self.refuse(generation.job, error)
        self._generations.clear()
        self.running.clear()
        self.resuming.clear()
        self.users = self.choices = 0

    def refuse(self, job: Job, error: EngineError) -> None:
        """Tell an owner that its request failed; for one that holds nothing, or whose slots nobody takes back."""
        self._counters.failures += 1
        job.send([Failed(error)])

    def drop(self, generation: Generation, *, dirty: bool = False) -> None:
        """End a request without a word; all its slots are free at once."""
        if generation.is_over:
            return
        self._forget(generation)
        for sequence in [one for one in self.running if one.generation is generation]:
            self.running.remove(sequence)
            self._pool.discard(sequence, dirty=dirty)

    def _forget(self, generation: Generation) -> None:
        generation.is_over = True
        if generation in self._generations:
            del self._generations[generation]
            self._pool.reconsider()
            if not generation.request.background:
                self.users -= 1
                self.choices -= generation.open
        self.resuming = [one for one in self.resuming if one.generation is not generation]


def _age(sequence: Sequence) -> tuple[int, int]:
    return sequence.age
