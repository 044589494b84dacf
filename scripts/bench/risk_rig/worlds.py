"""Worlds: how would-be hits spread over score bins, and how often they are wrong, step by step.

Scores fall as those of a verifier that is good but not sure: log10 of the predicted risk is normal
with mean -2.2 and deviation 1. What is true of a world only it knows, and the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.bound import Noise
from semcache.decide.risk.grid import BINS, EDGES
from semcache.decide.risk.prior import Prior
from semcache.decide.risk.rules import RiskRules, UntilProven

Floats = NDArray[np.float64]
_DAY = 86_400.0
_MOST_SAID = 0.975


@dataclass(frozen=True)
class Attack:
    """Somebody adds `share` of the load in the best bins, `risk` of it wrong, for `length` steps.

    He comes in one of `every` steps by chance, or, when `patience` is set, whenever the domain was
    open for so many steps in a row.
    """

    share: float
    risk: float
    length: int
    every: int = 0
    patience: int = 0


@dataclass(frozen=True)
class World:
    """One scenario.

    `load`: would-be hits a step in the mean. `risk`: float64 [steps, BINS]. `change`: step of a
    drift, -1 for none. `flips`: what the comparer really does.
    """

    name: str
    rules: RiskRules
    load: float
    mass: Floats
    risk: Floats
    steps_a_day: int = 2
    change: int = -1
    flips: Noise = field(default_factory=Noise)
    prior: Prior | None = None
    attack: Attack | None = None

    @property
    def steps(self) -> int:
        """Length of a run."""
        return len(self.risk)

    @property
    def days(self) -> int:
        """Length of a run in buckets."""
        return -(-self.steps // self.steps_a_day)


def spread() -> tuple[Floats, Floats]:
    """Give mass and mean predicted risk of each bin."""
    draws = 10.0 ** np.random.default_rng(11).normal(-2.2, 1.0, 2_000_000)
    scores = 1.0 - draws[draws < 1.0]
    bins = np.searchsorted(EDGES, scores, side="right") - 1
    count = np.bincount(bins, minlength=BINS).astype(np.float64)
    mean = np.bincount(bins, 1.0 - scores, BINS) / np.maximum(count, 1.0)
    return count / count.sum(), mean


def worlds(steps: int) -> list[World]:
    """Give all scenarios, each so many steps of half a day long, or twice as many shorter ones where somebody attacks."""
    mass, mean = spread()
    # Labels older than a run do not exist, so a short memory changes nothing but the time it takes.
    chat = RiskRules(budget=0.01, age_out=31 * _DAY, half_life=30 * _DAY, audit_thin=0.2, audit_proven=0.05)
    clinic = replace(chat, budget=0.001, audit_thin=0.5, audit_proven=0.1)
    half, at = steps // 2, np.arange(steps)

    def flat(risk: Floats) -> Floats:
        return np.tile(np.clip(risk, 0.0, 1.0), (steps, 1))

    def grown(factor: Floats) -> Floats:
        return np.clip(mean * factor[:, None], 0.0, 1.0)

    plain = World("stationary", chat, 1000.0, mass, flat(mean))
    strict = replace(plain, name="stationary, budget 0.1 %", rules=clinic, load=5000.0)
    hurried = World("", chat, 500.0, mass, np.repeat(flat(mean), 2, axis=0), steps_a_day=8)
    light, heavy = Attack(0.15, 0.25, 2, every=50), Attack(0.5, 0.25, 2, every=50)
    waiting = replace(heavy, every=0, patience=20)
    watchful = replace(chat, audit_thin=0.5, audit_proven=0.5)
    trusting = replace(chat, until_proven=UntilProven.SERVE, prior_strength=1000.0)
    offline = _card(mass, mean, 20_000)
    ten, second = Noise(0.1, 0.1), Noise(0.01, 0.19)
    slow = 1.0 + 4.0 * np.clip((at - steps / 4) / half, 0.0, 1.0)
    listed = [
        plain,
        strict,
        replace(plain, name="overconfident: 4 x the risk", risk=flat(4.0 * mean + 0.001)),
        replace(plain, name="underconfident: a quarter of the risk", risk=flat(mean / 4.0)),
        replace(plain, name="1.2 x the budget at every score", risk=flat(np.full(BINS, 0.012))),
        replace(plain, name="sudden drift to 5 x", risk=grown(np.where(at < half, 1.0, 5.0)), change=half),
        replace(plain, name="slow drift to 5 x", risk=grown(slow), change=steps // 4),
        replace(hurried, name="light bursts", attack=light),
        replace(hurried, name="heavy bursts", attack=heavy),
        replace(hurried, name="heavy bursts when open", attack=waiting),
        replace(hurried, name="the same, half of all hits audited", attack=waiting, rules=watchful),
        replace(
            plain,
            name="labels flipped 10 %, stated",
            load=10_000.0,
            flips=ten,
            rules=replace(chat, noise=ten),
        ),
        replace(plain, name="labels flipped 10 %, not stated", flips=ten),
        replace(
            plain, name="flagged ones judged twice, stated", flips=second, rules=replace(chat, noise=second)
        ),
        replace(plain, name="served on a good prior", rules=trusting, prior=offline),
        replace(
            plain,
            name="served on a wrong prior",
            rules=trusting,
            prior=offline,
            risk=flat(10.0 * mean + 0.01),
        ),
    ]
    again = [world for world in listed if "drift" in world.name or world.name == "light bursts"]
    eager = {"audit_thin": 0.5, "audit_proven": 0.1, "half_life": 10 * _DAY}
    watched = [
        replace(world, name=f"{world.name}, watchful", rules=replace(world.rules, **eager)) for world in again
    ]
    low = np.where(np.array(EDGES) < _MOST_SAID, mass, 0.0)
    unsure = replace(
        plain, name="never sure: no score over 0.975", mass=low / low.sum(), risk=flat(mean / 10.0)
    )
    return [*listed, *watched, unsure]


def _card(mass: Floats, mean: Floats, hits: int) -> Prior:
    counts = np.round(mass * hits)
    return Prior(tuple(counts), tuple(counts * mean))
