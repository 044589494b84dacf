"""What arrives in an overload run: a seeded Poisson stream of requests of several kinds. Pure but for the prompts' text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from engine_rig.prompts import Messages, Prompts

SHARED = 4
SHARED_PREFIX = 500
TAIL_PREFIX = (100, 500)
SHARED_PART = 0.7
SHORT, LONG = 8, 64
LONG_PART = 0.3


@dataclass(frozen=True)
class Arrival:
    """One request: seconds after the start of the window, what is asked, and the ceiling of its answer."""

    at: float
    messages: Messages
    most: int
    is_shared: bool


class Mix:
    """Requests: most on a few system prompts, the first of them most often, the rest on prompts of their own."""

    def __init__(self, prompts: Prompts, seed: int) -> None:
        self._prompts = prompts
        self._random = random.Random(seed)
        self.systems = [prompts.system(SHARED_PREFIX) for _ in range(SHARED)]

    def one(self, at: float = 0.0) -> Arrival:
        """Draw one request."""
        is_shared = self._random.random() < SHARED_PART
        if is_shared:
            weights = [1 / (rank + 1) for rank in range(SHARED)]
            system = self._random.choices(self.systems, weights)[0]
        else:
            system = self._prompts.system(self._random.randint(*TAIL_PREFIX))
        most = LONG if self._random.random() < LONG_PART else SHORT
        return Arrival(at, self.about(system), most, is_shared)

    def about(self, system: str) -> Messages:
        """Draw a question on a system prompt."""
        return self._prompts.ask(system, self._prompts.question(self._random.randint(8, 20)))

    def poisson(self, rate: float, seconds: float) -> list[Arrival]:
        """Draw what arrives in a window at `rate` requests a second."""
        return [self.one(at) for at in moments(self._random, rate, seconds)]


def moments(source: random.Random, rate: float, seconds: float) -> list[float]:
    """Draw the moments of a Poisson stream inside a window."""
    found, now = [], source.expovariate(rate)
    while now < seconds:
        found.append(now)
        now += source.expovariate(rate)
    return found


@dataclass(frozen=True)
class Outcome:
    """How one request went. Seconds from its moment of arrival; `first` is 0 when no text came.

    `status` 0 means that the client gave up at its deadline.
    """

    status: int
    first: float
    whole: float
    cached: int
    prompt: int
    completion: int
    retry_after: bool = False

    @property
    def is_complete(self) -> bool:
        """True for an answer that came to its end."""
        return self.status == 200 and self.completion > 0

    @property
    def is_cached(self) -> bool:
        """True when at least half of the prompt was found computed."""
        return 2 * self.cached >= self.prompt > 0


def share(outcomes: Sequence[Outcome], status: int) -> float:
    """Share of outcomes of one status."""
    return sum(each.status == status for each in outcomes) / max(1, len(outcomes))
