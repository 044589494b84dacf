"""One line of tokens on its way through the network, and the slots that hold what was computed of it.

    position   0 ........... hold.length ....... base ............ computed ....... base + tail
    tokens     prompt, then the answer                              | pending ... |
    slots      [ hold: the tree's ][ lease: shared by choices ][ tail: private, in use | spare ]

The prompt of a request is read by one sequence; then every choice has its own. Pure bookkeeping:
knows neither who decides what runs next nor how slots are found.
"""

from __future__ import annotations

from collections.abc import Sequence as Row

import numpy as np

from semcache.engine.layers import Layers
from semcache.engine.prefix.handles import Handle
from semcache.engine.runs import Run
from semcache.engine.scheduling.answer import Answer
from semcache.engine.scheduling.generation import Generation
from semcache.engine.scheduling.tail import Lease, Tail, joined


class Sequence:
    """`ids` and `data` are the same tokens twice, for the network and for the tree (int32, little-endian).

    `computed` tokens have keys and values. `furthest` is the most that ever had: what is computed
    before it is a repetition after a preemption. `planned` tokens have their slots for the pass to
    come. `turn` is the order in which prompts get their next piece, 0 before the first.
    """

    __slots__ = (
        "_base_runs",
        "answer",
        "computed",
        "data",
        "furthest",
        "generation",
        "hold",
        "ids",
        "lease",
        "planned",
        "prompt",
        "tail",
        "turn",
    )

    def __init__(self, generation: Generation, ids: Row[int], data: bytes | bytearray, prompt: int) -> None:
        self.generation = generation
        self.ids = list(ids)
        self.data = bytearray(data)
        self.prompt = prompt
        self.answer: Answer | None = None
        self.hold: Handle | None = None
        self.lease: Lease | None = None
        self.tail = Tail()
        self.computed = 0
        self.furthest = 0
        self.planned = 0
        self.turn = 0
        self._base_runs: tuple[Run, ...] = ()

    @property
    def age(self) -> tuple[int, int]:
        """Order sequences from the oldest to the youngest."""
        return (self.generation.number, 0 if self.answer is None else self.answer.index)

    @property
    def layers(self) -> Layers:
        """Say whose tokens are whose."""
        return self.generation.layers

    @property
    def pending(self) -> int:
        """Count the tokens that have no keys and values yet; the last one of an answer never has."""
        return len(self.ids) - self.computed

    @property
    def base(self) -> int:
        """Give the position where the tail begins."""
        shared = 0 if self.hold is None else self.hold.length
        return shared + (0 if self.lease is None else self.lease.length)

    @property
    def in_use(self) -> int:
        """Count the slots of the tail that hold something."""
        return self.computed - self.base

    def runs_to(self, position: int) -> tuple[Run, ...]:
        """Give the slots of all tokens before `position`, which lies in the tail or at its begin."""
        mine = self.tail.first(position - self.base)
        before = self._base_runs
        if before and mine and before[-1].end == mine[0].start:
            return joined((*before, *mine))
        return before + mine

    def held(self, hold: Handle | None, lease: Lease | None = None) -> None:
        """Take note of a new place in the tree, or of none."""
        self.hold = hold
        self.lease = lease
        shared = () if hold is None else hold.runs
        self._base_runs = joined(shared + (() if lease is None else lease.runs))

    def skipped(self, start: int) -> None:
        """Note that tokens from `start` on were found; those that this sequence once had are no reuse."""
        begin = max(start, self.furthest)
        if self.hold is not None and self.hold.length > begin:
            self.generation.found(begin, self.hold)
        self.furthest = max(self.furthest, self.computed)

    def append(self, token: int) -> None:
        """Add a token of the answer."""
        self.ids.append(token)
        self.data += token.to_bytes(4, "little")

    def fork(self) -> Sequence:
        """Copy the tokens for another choice; it holds nothing yet."""
        return Sequence(self.generation, self.ids, self.data, self.prompt)


def to_bytes(tokens: Row[int]) -> bytes:
    """Give token ids in the form that the tree compares."""
    return np.asarray(tokens, dtype="<i4").tobytes()
