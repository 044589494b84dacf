"""Runs of a world under a chooser, all runs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from risk_rig.choosers import Choice, Chooser, Ours
from risk_rig.worlds import World
from semcache.decide.risk.counting import ageing, from_bin_up
from semcache.decide.risk.grid import BINS, EDGES
from semcache.decide.risk.standing import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Trace:
    """What happened, float64 [steps, runs] each.

    `would`, `hits`, `wrong`, `labels`: counts. `expected`: wrong ones in the mean, given what was served.
    `truth`: risk of what is served in that step. `past`: mean risk of the labels that the bound
    at that cut rests on. `bound`: NaN where nothing is proven. `oracle`: hits of one who knows all risks.
    """

    would: Floats
    hits: Floats
    wrong: Floats
    expected: Floats
    labels: Floats
    oracle: Floats
    truth: Floats
    past: Floats
    bound: Floats
    alarmed: Floats

    @classmethod
    def empty(cls, steps: int, runs: int) -> Trace:
        """Nothing yet."""
        return cls(*(np.zeros((steps, runs)) for _ in range(10)))


@dataclass
class Books:
    """Labels so far, float64 [runs, days, BINS]: how many, how many said wrong, and the sum of their true risks."""

    n: Floats
    said: Floats
    risk: Floats


def run(world: World, chooser: Chooser, runs: int, seed: int) -> Trace:
    """Let a chooser serve a world."""
    rng = np.random.default_rng(seed)
    books = Books(*np.zeros((3, runs, world.days, BINS)))
    trace = Trace.empty(world.steps, runs)
    open_for, attacked = np.zeros(runs), np.zeros(runs)
    for step in range(world.steps):
        choice = chooser.choose(step, books.n, books.said)
        if isinstance(chooser, Ours):
            _stood(world, chooser, books, trace, step, choice)
        attacked = _attacked(world, attacked, open_for, rng)
        would, risk = _arrivals(world, step, attacked > 0, rng)
        wrong = rng.binomial(would, risk)
        served = rng.binomial(would - wrong, choice.served), rng.binomial(wrong, choice.served)
        _enter(world, books, step, [(would - wrong, served[0]), (wrong, served[1])], risk, choice, rng, trace)
        _note(trace, step, would, served, risk, choice)
        trace.oracle[step] = _oracle(would, risk, world.rules.budget)
        open_for = np.where(trace.hits[step] > 0, open_for + 1, 0)
    return trace


def _enter(
    world: World,
    books: Books,
    step: int,
    kinds: list[tuple[Ints, Ints]],
    risk: Floats,
    choice: Choice,
    rng: np.random.Generator,
    trace: Trace,
) -> None:
    """Label a share of what came, right and wrong, as the comparer judges it; who explores labels what he explored."""
    partly = (choice.served > 0.0) & (choice.served < 1.0)
    share = np.where(partly, 1.0, choice.labelled)
    right, wrong = (rng.binomial(np.where(partly, kind - served, kind), share) for kind, served in kinds)
    day = step // world.steps_a_day
    books.n[:, day] += right + wrong
    books.said[:, day] += rng.binomial(right, world.flips.false_alarm) + rng.binomial(
        wrong, 1.0 - world.flips.miss
    )
    books.risk[:, day] += (right + wrong) * risk
    trace.labels[step] = (right + wrong).sum(axis=1)


def _attacked(world: World, since: Floats, open_for: Floats, rng: np.random.Generator) -> Floats:
    """Give for each run how many steps of an attack are left."""
    attack = world.attack
    if attack is None:
        return since
    begins = rng.random(since.size) < 1.0 / attack.every if attack.every else open_for >= attack.patience
    return np.where(since > 1, since - 1, np.where(begins, attack.length, 0))


def _arrivals(
    world: World, step: int, attacked: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Draw would-be hits of a step, [runs, BINS], and their risks."""
    would = rng.poisson(world.load * world.mass, (attacked.size, BINS))
    risk = np.tile(world.risk[step], (attacked.size, 1))
    attack = world.attack
    if attack is None:
        return would, risk
    best = np.array(EDGES) >= 0.999
    extra = rng.poisson(world.load * attack.share * best / best.sum() * attacked[:, None])
    both = would + extra
    mixed = (would * risk + extra * attack.risk) / np.maximum(both, 1)
    return both, np.where(both > 0, mixed, risk)


def _oracle(would: Ints, risk: Floats, budget: float) -> Floats:
    """Hits of who knows all risks and serves from the least cut within the budget."""
    hits, wrong = from_bin_up(would), from_bin_up(would * risk)
    within = (wrong <= budget * hits) & (hits > 0)
    first = within.argmax(axis=1)
    return np.where(within.any(axis=1), hits[np.arange(len(hits)), first], 0)


def _note(
    trace: Trace, step: int, would: Ints, served: tuple[Ints, ...], risk: Floats, choice: Choice
) -> None:
    both = served[0] + served[1]
    trace.would[step] = would.sum(axis=1)
    trace.hits[step] = both.sum(axis=1)
    trace.wrong[step] = served[1].sum(axis=1)
    trace.expected[step] = (both * risk).sum(axis=1)
    weight = would * choice.served
    trace.truth[step] = (weight * risk).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-9)


def _stood(world: World, chooser: Ours, books: Books, trace: Trace, step: int, choice: Choice) -> None:
    """Note what is claimed as the step begins, and the mean risk of the labels that the claim rests on."""
    proven = chooser.states(State.OPEN) | (chooser.states(State.ALARMED) & (choice.served.max(axis=1) > 0.0))
    trace.bound[step] = np.where(proven, chooser.bounds(), np.nan)
    trace.alarmed[step] = chooser.states(State.ALARMED)
    day = step // world.steps_a_day
    weight = ageing(world.rules.half_life, day + 1)[None, :, None]
    n, risk = (from_bin_up((weight * sums[:, : day + 1]).sum(axis=1)) for sums in (books.n, books.risk))
    cut = choice.served.argmax(axis=1)
    at = np.arange(cut.size)
    trace.past[step] = risk[at, cut] / np.maximum(n[at, cut], 1e-9)
