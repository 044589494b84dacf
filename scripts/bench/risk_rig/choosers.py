"""Ways of choosing what to serve, all fed with the same labels: ours, and what others do.

A chooser looks at the labels of all runs so far and says for each run and bin which share of the hits is served, and
which share of would-be hits is labelled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from risk_rig.worlds import World
from semcache.decide.risk.evidence import Evidence, Source
from semcache.decide.risk.fixed import at_most
from semcache.decide.risk.grid import BINS, BUCKET_SECONDS, EDGES
from semcache.decide.risk.standing import Standing, State, audit_share, stand

Floats = NDArray[np.float64]
_FIRST_DAY = 20_000
_TABLE = 150


class Choice(NamedTuple):
    """For the next step: served share float64 [runs, BINS], labelled share of served and of other would-be hits [runs, BINS]."""

    served: Floats
    labelled: Floats


class Chooser(Protocol):
    """See the module."""

    def choose(self, step: int, n: Floats, wrong: Floats, /) -> Choice:
        """Choose after `step` steps; n, wrong: float64 [runs, days, BINS], labels so far."""


@dataclass
class Ours:
    """The product's code, run by run, with its standings kept for the record."""

    world: World
    runs: int
    standings: list[Standing | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.standings = [None] * self.runs
        days = self.world.days
        bucket, bins = np.divmod(np.arange(days * BINS), BINS)
        self._columns = (bins, bucket + _FIRST_DAY, np.full(days * BINS, Source.AUDIT))

    def choose(self, step: int, n: Floats, wrong: Floats) -> Choice:
        """Let each run stand for itself."""
        now = (_FIRST_DAY + step / self.world.steps_a_day) * BUCKET_SECONDS
        rules, prior = self.world.rules, self.world.prior
        for run in range(self.runs):
            counts = (n[run].ravel().astype(np.int64), wrong[run].ravel().astype(np.int64))
            evidence = Evidence(*self._columns, *counts)
            self.standings[run] = stand(evidence, rules, prior, now, self.standings[run])
        known = [standing for standing in self.standings if standing is not None]
        cuts = np.array([np.inf if s.cut is None else s.cut for s in known])
        shares = np.array([audit_share(s, rules) for s in known])
        return Choice((np.array(EDGES) >= cuts[:, None]) * 1.0, np.tile(shares[:, None], BINS))

    def states(self, state: State) -> NDArray[np.bool_]:
        """Say which runs are in a state; bool [runs]."""
        return np.array([s is not None and s.state is state for s in self.standings])

    def bounds(self) -> Floats:
        """Give the bound that stands in each run; float64 [runs]."""
        return np.array([1.0 if s is None else s.bound for s in self.standings])


@dataclass
class ByRate:
    """The least cut at which the share of wrong labels is within the budget, after 30 labels."""

    world: World

    def choose(self, _step: int, n: Floats, wrong: Floats) -> Choice:
        """Plug the estimate in."""
        total, bad = _from_bin_up(n), _from_bin_up(wrong)
        return _from_least((total >= 30) & (bad <= self.world.rules.budget * total), self.world)


@dataclass
class ByClopperPearson:
    """The least cut whose one-sided fixed-n 95 % bound is within the budget, looked at in every step."""

    world: World

    def __post_init__(self) -> None:
        budget = self.world.rules.budget
        self._enough = np.array([least_n(bad, budget) for bad in range(_TABLE)])

    def choose(self, _step: int, n: Floats, wrong: Floats) -> Choice:
        """Look the bound up."""
        total, bad = _from_bin_up(n), _from_bin_up(wrong).astype(np.int64)
        known = np.minimum(bad, len(self._enough) - 1)
        return _from_least((total >= self._enough[known]) & (bad < len(self._enough)), self.world)


@dataclass
class PerRequest:
    """As vCache does: explore each request with a probability that keeps served-and-wrong per request within the budget.

    Its wrongness at a score is a fit with an upper margin; here by bin, which is at least as
    flexible as its logistic curve. Labels come from explored requests only.
    """

    world: World

    def choose(self, _step: int, n: Floats, wrong: Floats) -> Choice:
        """Serve with probability budget / upper estimate."""
        total, bad = n.sum(axis=1), wrong.sum(axis=1)
        rate = (bad + 1.0) / (total + 2.0)
        upper = np.minimum(1.0, rate + 1.645 * np.sqrt(rate * (1.0 - rate) / (total + 2.0)))
        served = np.where(total >= 4, np.minimum(1.0, self.world.rules.budget / upper), 0.0)
        return Choice(served, 1.0 - served)


def _from_bin_up(counts: Floats) -> Floats:
    return counts.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]


def _from_least(allowed: NDArray[np.bool_], world: World) -> Choice:
    cut = np.where(allowed.any(axis=1), allowed.argmax(axis=1), BINS)
    share = np.where(cut < BINS, world.rules.audit_proven, world.rules.audit_unserved)
    return Choice((np.arange(BINS) >= cut[:, None]) * 1.0, np.tile(share[:, None], BINS))


@lru_cache(maxsize=4096)
def least_n(wrong: int, rate: float) -> int:
    """Give the fewest labels at which so many wrong ones leave the fixed-n 95 % bound within the rate."""
    low, high = wrong, 1 + int(10 * (wrong + 10) / rate)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if at_most(wrong, middle, rate) <= 0.05 else (middle + 1, high)
    return low
