"""The simulations run the product's code in worlds whose truth is known: small ones here, a thousand runs in the script."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from semcache.decide.risk.grid import BINS

BENCH = Path(__file__).parents[3] / "scripts" / "bench"
RUNS, STEPS = 16, 20


@pytest.fixture(scope="module")
def rig() -> dict[str, ModuleType]:
    """The modules of the rig by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        names = ("worlds", "choosers", "running", "summary", "sequences")
        return {name: importlib.import_module(f"risk_rig.{name}") for name in names}


def served(rig: dict[str, ModuleType], name: str, rule: str = "Ours") -> dict[str, float]:
    """Figures of one world under one rule."""
    (world,) = [world for world in rig["worlds"].worlds(STEPS) if world.name == name]
    chooser = rig["choosers"].Ours(world, RUNS) if rule == "Ours" else getattr(rig["choosers"], rule)(world)
    trace = rig["running"].run(world, chooser, RUNS, 7)
    found: dict[str, float] = rig["summary"].summary(world, trace, 5000)
    return found


def test_a_quiet_world_opens_and_stays_within_the_budget(rig: dict[str, ModuleType]) -> None:
    ours, plain = served(rig, "stationary"), served(rig, "stationary", "ByRate")
    assert ours["runs_within_budget"] >= 0.95
    assert ours["bound_kept"] >= 0.9
    assert ours["runs_that_served"] == 1.0
    assert 0.4 < ours["hit_rate"] < ours["oracle_hit_rate"]
    # The plain rate serves more, and breaks the budget in every second run: the world can tell.
    assert plain["hit_rate"] > ours["hit_rate"]
    assert plain["runs_within_budget"] < 0.8


def test_nothing_opens_where_nothing_is_good_enough(rig: dict[str, ModuleType]) -> None:
    ours = served(rig, "1.2 x the budget at every score")
    assert ours["runs_that_served"] <= 0.05
    assert served(rig, "1.2 x the budget at every score", "PerRequest")["wrong_per_hit"] > 0.01


def test_a_wrong_prior_serves_for_a_moment_only(rig: dict[str, ModuleType]) -> None:
    ours, good = served(rig, "served on a wrong prior"), served(rig, "served on a good prior")
    # Looked at each half day: after the first thousand would-be hits, most of which the prior served, or the second.
    assert 0 < ours["hits_a_run"] < 1500
    assert good["would_be_hits_until_open"] == 0.0
    assert good["runs_within_budget"] >= 0.95


def test_drift_closes_sooner_than_the_rules_of_others(rig: dict[str, ModuleType]) -> None:
    ours, peeked = served(rig, "sudden drift to 5 x"), served(rig, "sudden drift to 5 x", "ByRate")
    assert ours["runs_within_budget"] > peeked["runs_within_budget"] + 0.3
    assert ours["wrong_over"] < 0.7 * peeked["wrong_over"]


def test_the_oracle_serves_all_that_is_within_the_budget(rig: dict[str, ModuleType]) -> None:
    would = np.full((1, BINS), 100)
    risk = np.full((1, BINS), 0.5)
    risk[0, 10:] = 0.0
    # 2,000 right ones carry 40 wrong ones at 2 %: not one whole further bin of a hundred at 50 %.
    assert rig["running"]._oracle(would, risk, 0.02)[0] == 2000
    assert rig["running"]._oracle(would, risk, 0.03)[0] == 2100
    assert rig["running"]._oracle(would, np.full((1, BINS), 0.5), 0.02)[0] == 0


def test_the_worst_window_is_the_worst(rig: dict[str, ModuleType]) -> None:
    trace = rig["running"].Trace.empty(6, 1)
    trace.hits[:, 0] = 100
    trace.expected[:, 0] = [0, 0, 10, 10, 0, 0]
    assert rig["summary"]._worst(trace, 200)[0] == pytest.approx(0.1)
    assert rig["summary"]._worst(trace, 300)[0] == pytest.approx(20 / 300)
    assert rig["summary"]._worst(trace, 700)[0] == 0.0


def test_the_sequential_tests_alone(rig: dict[str, ModuleType]) -> None:
    kept = rig["sequences"].coverage(0.01, 60, 1500, 3)
    assert kept["anytime"] <= 0.1 < kept["wald_after_30"]
    late = rig["sequences"].delay(0.01, 5, 100.0, 20, 3)
    assert 0.2 * late["stated"] < late["mean"] < 1.2 * late["stated"]
    assert rig["sequences"].silence(0.01, 0.005, 100.0, 5, 3)["mean_days_at_least"] > 100


def test_worlds_are_what_they_say(rig: dict[str, ModuleType]) -> None:
    found = rig["worlds"].worlds(STEPS)
    assert len({world.name for world in found}) == len(found) >= 12
    for world in found:
        assert world.risk.shape == (world.steps, BINS)
        assert ((world.risk >= 0) & (world.risk <= 1)).all()
        assert world.mass.sum() == pytest.approx(1.0)
        assert replace(world).days * world.steps_a_day >= world.steps
