"""One step of the engine: reap, admit, plan, run, settle. All of it happens on one thread.

    queue -- admit --> running -- plan --> passes -- settle --> events, tree
                          ^                            |
                          +--- resuming <-- preempt ---+

Knows no thread and no HTTP; `runner` turns it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semcache.engine.generation import GenerationRequest
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.scheduling.admission import Admission
from semcache.engine.scheduling.counters import Counters
from semcache.engine.scheduling.job import Job
from semcache.engine.scheduling.passes import Passes
from semcache.engine.scheduling.planning import Limits, Planner
from semcache.engine.scheduling.pool import Pool
from semcache.engine.scheduling.ports import Model
from semcache.engine.scheduling.queue import WaitingQueue
from semcache.engine.scheduling.roster import Roster
from semcache.engine.scheduling.sequence import Sequence
from semcache.engine.scheduling.settling import Settler
from semcache.engine.scheduling.slots import Slots
from semcache.engine.scheduling.tier import SecondTier
from semcache.errors import EngineError, RequestError


@dataclass(frozen=True, slots=True)
class Parts:
    """What a scheduler is put together from.

    `warm` is told of nodes computed ahead of any request. `clock` gives seconds that never go back.
    """

    model: Model
    slots: Slots
    tree: PrefixTree
    users: WaitingQueue
    background: WaitingQueue
    warm: Callable[[int], None]
    tier: SecondTier | None
    clock: Callable[[], float]


class Scheduler:
    """Holds all requests that run; `step` moves each of them by one pass at most."""

    def __init__(self, parts: Parts, limits: Limits, counters: Counters | None = None) -> None:
        network = parts.model.network
        exactness = network.exactness
        self._parts = parts
        self._clock = parts.clock
        self._exactness = exactness
        self.counters = counters or Counters()
        self.pool = Pool(
            network, parts.slots, parts.tree, parts.clock, step=limits.tail, warm=parts.warm, tier=parts.tier
        )
        self._roster = Roster(self.pool, self.counters, parts.clock)
        self._admission = Admission(
            parts.users,
            parts.background,
            self.pool,
            parts.slots,
            self._roster,
            parts.clock,
            limits=limits,
            grid=exactness.grid,
            context=parts.model.context,
        )
        self._planner = Planner(self.pool, self._roster, limits, exactness)
        self._passes = Passes(network, self.counters.steps)
        self._settler = Settler(
            parts.model,
            self.pool,
            self._roster,
            self.counters,
            parts.clock,
            self._answered,
        )

    @property
    def choices(self) -> int:
        """Count the choices of users' requests that are being read or answered."""
        return self._roster.choices

    @property
    def has_work(self) -> bool:
        """True when a step would do something."""
        roster, parts = self._roster, self._parts
        return bool(roster.running or roster.resuming or len(parts.users) or len(parts.background))

    def step(self) -> None:
        """Drop what its owners gave up, let in what fits, and move everything on by one pass.

        Raises:
            EngineError: slots are lost or counted twice; found out after a fault nobody foresaw.
            Exception: the tree, its order of eviction or another part contradicts itself. After
                either, `abandon` is all that may be called.
        """
        for generation in self._roster.generations:
            if generation.job.is_cancelled:
                self._roster.drop(generation)
        self._admission.admit()
        for entries in self._planner.plan():
            outcomes = self._passes.run(entries)
            self.counters.steps = self._passes.count
            self._settler.settle(outcomes, self._passes.count)
        if self._settler.is_in_doubt:
            self._settler.is_in_doubt = False
            self.check_integrity()

    def abandon(self, error: EngineError) -> None:
        """Fail all that runs, was preempted, or was just about to begin; who waits goes on waiting.

        For the end of the engine or of these books: no slot is given back and no book is looked at.
        """
        self._roster.abandon(error)
        self._admission.abandon(error)

    def check_integrity(self) -> None:
        """Compare all books.

        Raises:
            EngineError: slots are lost, counted twice, or held by nobody.
        """
        self.pool.check_integrity(self._roster.running)

    def _answered(self, sequence: Sequence) -> None:
        """Have a finished answer computed again on the grid, when nothing else is to be done.

        Its own keys and values must not be shared then, and the next turn would have to wait for
        them. Nothing is lost when the queue is full.
        """
        grid = self._exactness.grid
        known = len(sequence.ids) - 1
        end = known - known % grid
        if (
            self._exactness.shares_generated
            or end <= sequence.prompt
            or sequence.generation.request.background
        ):
            return
        again = GenerationRequest(
            prompt=tuple(sequence.ids[:end]),
            sampling=sequence.generation.request.sampling,
            max_tokens=0,
            layers=sequence.layers,
            background=True,
        )
        job = Job(again, _nobody, self._clock(), self._parts.background.remove, is_own=True)
        try:
            self._parts.background.push(job)
        except RequestError:
            return


def _nobody(_: object) -> None:
    """Take the events of work that nobody asked for."""
