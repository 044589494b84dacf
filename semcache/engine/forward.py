"""The seam between scheduling and the network: what one forward pass is asked, and what it promises.

Knows tensors only as results. A network writes keys and values of new tokens into the slots it
is told and reads those before them; who owns which slot is not its affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from semcache.engine.runs import Run


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive new tokens of one sequence in a forward pass.

    `position` is the place of the first new token in its sequence, counted from 0. `runs` are the
    slots of the whole sequence from its first token up to and with the last new one, in order:
    their lengths add up to `position + len(tokens)`. The slots of the new tokens are written, all
    others only read. `logits` says after how many of the last tokens logits are wanted.
    """

    tokens: tuple[int, ...]
    position: int
    runs: tuple[Run, ...]
    logits: int = 1


@dataclass(frozen=True, slots=True)
class Exactness:
    """How a network's bits depend on the way work is cut.

    `grid` 1 and `shares_generated` true: not at all. A token's KV and logits have the same bits
    whatever was cached, however the prompt was cut and whoever shared the pass. Else prompts must
    be cut at multiples of `grid`, one sequence to a pass, reuse rounded down to it, and KV made
    while decoding must not be shared (`shares_generated` false). `is_promised` false: none of
    this holds and nobody should care (the fast mode).
    """

    grid: int = 1
    shares_generated: bool = True
    is_promised: bool = True


class Network(Protocol):
    """Forward passes over a KV pool."""

    @property
    def exactness(self) -> Exactness:
        """Say what may be relied on; fixed for the life of the network."""
        ...

    @property
    def slots(self) -> int:
        """Give the capacity of the pool in tokens."""
        ...

    @property
    def bytes_per_slot(self) -> int:
        """Give the memory of one token's keys and values over all layers."""
        ...

    def forward(self, pieces: Sequence[Piece]) -> list[Tensor]:
        """Run the model over new tokens of several sequences at once.

        Gives for each piece float32 [logits, vocab] on the CPU. A row that is not finite is the
        caller's to notice; it never touches another sequence's rows.

        Raises:
            MemoryError: the device had no room for this pass; nothing is known about the new
                tokens' slots, all others are intact.
        """
        ...

    def clear(self, runs: Sequence[Run]) -> None:
        """Zero slots, so that values that are not finite cannot leak into a later owner's sums."""
        ...

    def read(self, run: Run) -> Tensor:
        """Copy a run's keys and values to the host: [2, layers, KV heads, length, head dim], pool dtype."""
        ...

    def write(self, run: Run, values: Tensor) -> None:
        """Put back what `read` gave, into a run of equal length."""
        ...
