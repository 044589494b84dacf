"""Lint on live traffic: a bounded queue, a thread that works it off within a small share of a core, and a flush a minute.

Knows neither wire nor Redis. Prompts stay in memory for as long as the linter compares them, and go nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable

from semcache.core import JsonObject, Labels
from semcache.cost_port import LintShelf
from semcache.linting.linter import Price
from semcache.ports import Clock

Pricing = Callable[[str, float], Price | None]
"""Gives the price of lost tokens of a model at a time."""


class LintWatch:
    """Takes requests as they come and finds what keeps their beginnings from being reused.

    Args:
        shelf: where findings go.
        clock: time.
        worker: name of this process, that of no other.
        pricing: what lost tokens cost.
    """

    def __init__(self, shelf: LintShelf, clock: Clock, worker: str, pricing: Pricing | None = None) -> None:
        self._shelf = shelf
        self._clock = clock
        self._worker = worker
        self._pricing = pricing
        self.dropped = 0

    def seen(self, body: JsonObject, at: float, tenant: str, model: str, labels: Labels = ()) -> None:
        """Take note of a request; never waits. One too many is dropped and counted."""

    async def run(self) -> None:
        """Work requests off and write findings down until cancelled; store faults are skipped, the next flush says all."""
