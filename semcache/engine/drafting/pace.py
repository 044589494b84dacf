"""How many tokens of a draft to risk in one step.

A step over several rows costs more than one over a single row, and pays for as many tokens as the
model agrees with. With the chance p that it agrees with the next token, a block of k brings
(1 - p^(k+1)) / (1 - p) tokens on average (Leviathan et al. 2022, arXiv 2211.17192, equation 1);
the block is chosen that brings most per cost. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stakes:
    """What guessing costs and how fast opinions change.

    `row_cost` is what one more row adds to a step, in steps of one row. `memory` is for how many
    judged tokens an experience counts; `trust` is the chance of agreement believed at first.
    """

    row_cost: float = 0.1
    memory: float = 24.0
    trust: float = 0.8


class Pace:
    """The running estimate of one draft's worth."""

    def __init__(self, stakes: Stakes) -> None:
        self._stakes = stakes
        self._keep = 1 - 1 / stakes.memory
        # An opinion held before anything was seen, worth four tokens.
        self._agreed = 4 * stakes.trust
        self._judged = 4.0

    @property
    def chance(self) -> float:
        """Give the believed probability that the model agrees with the next token."""
        return self._agreed / self._judged

    def note(self, is_agreed: bool) -> None:
        """Learn from one token of the answer that the draft had an opinion about."""
        self._agreed = self._agreed * self._keep + is_agreed
        self._judged = self._judged * self._keep + 1

    def length(self, limit: int) -> int:
        """Give the block of at most `limit` tokens that brings most per cost; 0 when none pays."""
        best, length = 1.0, 0
        brought, power = 1.0, 1.0
        for k in range(1, limit + 1):
            power *= self.chance
            brought += power
            worth = brought / (1 + self._stakes.row_cost * k)
            if worth <= best:
                break  # what a token more brings only ever falls, what it costs does not: no better block follows
            best, length = worth, k
        return length
