"""Which slots of the KV pool are out and which are free; slots are handed out as runs.

A run is a view of the pool where scattered slots would be a copy, so as few runs as possible are
given. Knows no tensor, no owner and no tree; belongs to one thread. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from semcache.engine.memory.free import FreeRuns
from semcache.engine.runs import Run
from semcache.errors import EngineError

_FREE, _OUT = b"\0", b"\1"


class SlotError(EngineError):
    """Slots are not what the caller says they are: given back twice, or never handed out. A defect."""


class RunAllocator:
    """Hands out the slots 0 to `capacity - 1` and takes them back.

    `take` and `give` cost a bisection over the different lengths of free runs and a memory scan of
    the slots concerned (a byte each), whatever the fragmentation. Memory: one byte a slot, and
    about 400 bytes a free run.

    Raises:
        SlotError: `capacity` is negative.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 0:
            raise SlotError("a pool cannot have less than no slots")
        self.capacity = capacity
        self._state = bytearray(capacity)  # a byte a slot: what the free runs cannot tell in one look-up
        self._runs = FreeRuns()
        self._free = capacity
        self._high_water = 0
        if capacity:
            self._runs.add(Run(0, capacity))

    @property
    def free(self) -> int:
        """Count the slots that nobody holds."""
        return self._free

    @property
    def used(self) -> int:
        """Count the slots that are out."""
        return self.capacity - self._free

    @property
    def largest(self) -> int:
        """Give the length of the longest free run, in slots."""
        return self._runs.largest

    @property
    def fragments(self) -> int:
        """Count the free runs."""
        return len(self._runs)

    @property
    def high_water(self) -> int:
        """Give the most slots that were ever out at once."""
        return self._high_water

    def take(self, n: int, near: int | None = None) -> tuple[Run, ...] | None:
        """Hand out `n` slots in as few runs as possible, or None (and nothing) when fewer are free.

        In order of preference: one run that begins at `near` (the `end` of a tail that should stay
        one run); the shortest single run that is long enough; the longest ones, those at `near`
        first, since they lengthen the tail instead of adding to it. A caller that grows a token at
        a time does well to take a block ahead and give the rest back: between two calls others may
        be handed what lies behind its tail.

        Raises:
            SlotError: `n` is negative.
        """
        if n < 0:
            raise SlotError("a negative number of slots was asked for")
        if n > self._free:
            return None
        taken: list[Run] = []
        while n:
            run = self._choose(n, near)
            self._runs.cut_front(run.start, run.length)
            self._state[run.start : run.end] = _OUT * run.length
            self._free -= run.length
            taken.append(run)
            n -= run.length
            near = None
        self._high_water = max(self._high_water, self.used)
        return tuple(taken)

    def give(self, runs: Iterable[Run]) -> None:
        """Take slots back, cut as the caller likes.

        Raises:
            SlotError: a run is empty, outside the pool, or holds a slot that is free (or named
                twice in `runs`); nothing was changed.
        """
        marked: list[Run] = []
        for run in runs:
            if not self._is_out(run):
                for other in marked:
                    self._state[other.start : other.end] = _OUT * other.length
                raise SlotError("slots were given back that are not out")
            self._state[run.start : run.end] = bytes(run.length)
            marked.append(run)
        for run in marked:
            self._runs.add(run)
            self._free += run.length

    def check_integrity(self) -> None:
        """Compare all views of the pool; costs a walk over it.

        Raises:
            SlotError: they disagree.
        """
        runs = self._runs.runs()
        sound = (
            self._runs.is_sound()
            and sum(run.length for run in runs) == self._free == self._state.count(_FREE)
            and len(self._state) == self.capacity
            and all(self._state.count(_FREE, run.start, run.end) == run.length for run in runs)
            and self.used <= self._high_water <= self.capacity
        )
        if not sound:
            raise SlotError("the pool's account of its slots is broken")

    def _is_out(self, run: Run) -> bool:
        inside = run.start >= 0 and run.length > 0 and run.end <= self.capacity
        return inside and self._state.find(_FREE, run.start, run.end) < 0

    def _choose(self, n: int, near: int | None) -> Run:
        """Give the run to take next for `n` slots, at most `n` long."""
        behind = 0 if near is None else self._runs.at(near)
        if near is not None and behind >= n:
            return Run(near, n)
        fitting = self._runs.fitting(n)
        if fitting is not None:
            return Run(fitting.start, n)
        if near is not None and behind:
            return Run(near, behind)
        return self._runs.longest()
