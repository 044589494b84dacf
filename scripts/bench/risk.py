"""Simulations of the risk bound: is the budget kept, what does that cost, and how do other rules fare.

    .venv/bin/python scripts/bench/risk.py [--runs 1000] [--only NAME ...] [--quick] [--json FILE]
    .venv/bin/python scripts/bench/risk.py --publish FILE

Worlds of would-be hits with known risks (stationary, drifting, attacked, judged with errors, badly calibrated, with
a wrong prior) are served by the product's own code from sampled labels, run by run, and beside it by
three rules of others on the same worlds: the plain rate of wrong labels, a Clopper-Pearson bound that is looked at
again and again, and a per-request rule in the manner of vCache. An oracle that knows all risks says
what could have been served. Before that, the two sequential tests alone. docs/risk.md says what the figures mean.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import ROOT
from risk_rig.choosers import ByClopperPearson, ByRate, Chooser, Ours, PerRequest
from risk_rig.orders import compared
from risk_rig.page import publish
from risk_rig.running import run
from risk_rig.sequences import coverage, delay, silence
from risk_rig.summary import Figures, summary
from risk_rig.worlds import World, worlds

COLUMNS = (
    ("runs_within_budget", "runs within budget", "%"),
    ("bound_kept", "bound kept", "%"),
    ("wrong_per_hit", "wrong per hit", "%%"),
    ("worst_window_p95", "worst window, p95", "%%"),
    ("would_be_hits_until_open", "would-be hits until open", "n"),
    ("hit_rate", "served", "%"),
    ("oracle_hit_rate", "oracle", "%"),
    ("given_up", "given up", "%"),
    ("given_up_second_half", "second half", "%"),
    ("labels_per_would_be_hit", "labelled", "%"),
    ("runs_ever_alarmed", "alarmed", "%"),
)
CHANGE = (
    ("runs_over_after_change", "runs that served over the budget", "%"),
    ("days_over", "days", "n"),
    ("hits_over", "hits", "n"),
    ("wrong_over", "wrong", "n"),
    ("audits_over", "audits", "n"),
)
_FORMS = {"%": "{:.1%}", "%%": "{:.2%}", "n": "{:,.0f}"}


def choosers(world: World, runs: int) -> dict[str, Chooser]:
    """Give all rules by name, ours first."""
    return {
        "this bound": Ours(world, runs),
        "plain rate": ByRate(world),
        "Clopper-Pearson, peeked": ByClopperPearson(world),
        "per request (vCache-like)": PerRequest(world),
    }


def cell(figures: Figures, key: str, form: str) -> str:
    """Format one figure; a dash where there is none."""
    value = figures.get(key)
    return "-" if value is None or math.isnan(value) else _FORMS[form].format(value)


def lay_out(title: str, rules: dict[str, Figures], columns: tuple[tuple[str, str, str], ...]) -> Table:
    """Lay a world out, a line for each rule."""
    shown = Table("rule", *(name for _, name, _ in columns), title=title)
    for rule, figures in rules.items():
        shown.add_row(rule, *(cell(figures, key, form) for key, _, form in columns))
    return shown


def plain(title: str, rows: dict[str, dict[str, float]]) -> Table:
    """Lay figures out that have names of their own."""
    names = list(next(iter(rows.values())))
    shown = Table("", *names, title=title)
    for name, figures in rows.items():
        shown.add_row(name, *(f"{figures[key]:,.4g}" for key in names))
    return shown


def alone(runs: int, labels: int, steps: int) -> dict[str, dict[str, dict[str, float]]]:
    """Measure the sequential tests by themselves."""
    few = max(1, runs // 4)
    return {
        "orders": compared(worlds(steps), max(1, runs // 40), 34),
        "coverage": {f"rate {rate:.1%}": coverage(rate, runs, labels, 31) for rate in (0.002, 0.01, 0.05)},
        "delay": {
            f"budget {budget:.1%}, {factor} x": delay(budget, factor, 100.0, few, 32)
            for budget in (0.01, 0.001)
            for factor in (2, 3, 5, 10)
        },
        "silence": {
            f"risk {share:.0%} of the budget": silence(0.01, share * 0.01, 100.0, few, 33)
            for share in (1.0, 0.7, 0.5)
        },
    }


def main() -> None:
    """Run, print, save."""
    parser = argparse.ArgumentParser(description="Simulations of the risk bound.")
    parser.add_argument("--runs", type=int, default=1000, help="runs of each world")
    parser.add_argument("--steps", type=int, default=40, help="steps of half a day in each run")
    parser.add_argument("--only", nargs="*", default=[], help="worlds whose name contains any of these")
    parser.add_argument("--quick", action="store_true", help="four short runs of each")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--publish", type=Path, metavar="FILE", help="write saved figures into docs/risk.md")
    chosen = parser.parse_args()
    if chosen.publish:
        publish(chosen.publish, ROOT / "docs" / "risk.md")
        return
    runs, steps, labels = (4, 16, 300) if chosen.quick else (chosen.runs, chosen.steps, 5000)
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    began = time.process_time()
    tests = {} if chosen.only else alone(runs, labels, steps)
    for name, rows in tests.items():
        screen.print(plain(name, rows))
    found: dict[str, dict[str, Figures]] = {}
    for number, world in enumerate(worlds(steps)):
        if chosen.only and not any(part in world.name for part in chosen.only):
            continue
        rules = served(world, runs, 40 + number)
        found[world.name] = rules
        screen.print(lay_out(world.name, rules, COLUMNS))
        if "days_over" in rules["this bound"]:
            screen.print(lay_out(f"{world.name}: after the change", rules, CHANGE))
        # After every world: a long run that is cut short has not been for nothing.
        figures = {"runs": runs, "steps": steps, "cpu_seconds": time.process_time() - began}
        save(chosen.json, {"circumstances": facts, **figures, "tests": tests, "worlds": found})
    screen.print(f"{time.process_time() - began:.0f} s of processor time")


def served(world: World, runs: int, seed: int) -> dict[str, Figures]:
    """Let every rule serve a world."""
    window = int(50 / world.rules.budget)
    return {
        name: summary(world, run(world, rule, runs, seed), window)
        for name, rule in choosers(world, runs).items()
    }


if __name__ == "__main__":
    main()
