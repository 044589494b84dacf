"""Replay synthetic traffic through the engine's prefix tree: which share of prompt tokens is reused?

The engine's order of eviction ("hybrid") against plain LRU, plain LFU, the plain rule without
learning, and an offline optimum (`prefix_rig/optimum.py` says exactly what it is), all over the
same tree and allocator with the same number of slots. Capacities are shares of the distinct tokens
of a trace, but never less than 1.3 times its longest request. Every seed is another workload of
its kind (`prefix_rig/traces.py`). Token hit rate = reused tokens / prompt tokens.

Needs no model and no GPU. With everything left as it is it takes about two hours of one core;
`--quick` shows in seconds that it runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from prefix_rig.optimum import optimal_reuse, prompt_tokens
from prefix_rig.plot import draw
from prefix_rig.replay import ORDERS, Texts, replay
from prefix_rig.traces import MAKERS, distinct_tokens, largest, trace
from rich.table import Table
from rig.report import circumstances, console, headline, save

OPTIMUM = "optimum"
SERIES = (*ORDERS, OPTIMUM)
CAPACITIES = (0.02, 0.05, 0.1, 0.2)


class Job(NamedTuple):
    """One workload."""

    name: str
    seed: int
    requests: int
    capacities: tuple[float, ...]


class Row(NamedTuple):
    """Token hit rates of one workload at one capacity, by order."""

    name: str
    seed: int
    share: float
    capacity: int
    rates: dict[str, float]

    @property
    def better(self) -> float:
        """The better one of the two plain orders."""
        return max(self.rates["LRU"], self.rates["LFU"])

    @property
    def gain(self) -> float:
        """Percentage points of the hybrid order above the better plain one."""
        return 100 * (self.rates["hybrid"] - self.better)

    @property
    def relative(self) -> float:
        """The same in per cent of the better plain one."""
        return 100 * (self.rates["hybrid"] / self.better - 1) if self.better else 0.0


def run(job: Job) -> list[Row]:
    """Replay one workload at all capacities with all orders."""
    requests = trace(job.name, job.seed, job.requests)
    distinct, longest = distinct_tokens(requests), largest(requests)
    texts, rows = Texts(), []
    for share in job.capacities:
        capacity = max(int(share * distinct), int(1.3 * longest))
        rates = {
            name: replay(requests, make(capacity), capacity, texts).rate for name, make in ORDERS.items()
        }
        rates[OPTIMUM] = optimal_reuse(requests, capacity) / prompt_tokens(requests)
        rows.append(Row(job.name, job.seed, share, capacity, rates))
    return rows


def all_rows(jobs: list[Job], processes: int) -> Iterable[Row]:
    """Run all jobs, in their order."""
    if processes == 1:
        for job in jobs:
            yield from run(job)
        return
    with get_context("spawn").Pool(processes) as pool:
        for rows in pool.imap(run, jobs):
            yield from rows


def table(rows: list[Row]) -> Table:
    """One line for each trace and capacity, over all seeds."""
    shown = Table(title="Token hit rate, % of prompt tokens (mean over seeds)")
    shown.add_column("trace")
    shown.add_column("capacity", justify="right")
    for name in SERIES:
        shown.add_column(name, justify="right")
    for title in ("hybrid - better of LRU, LFU: mean", "worst", "worst, relative"):
        shown.add_column(title, justify="right")
    for name in dict.fromkeys(row.name for row in rows):
        for share in dict.fromkeys(row.share for row in rows):
            group = [row for row in rows if (row.name, row.share) == (name, share)]
            shown.add_row(
                name,
                f"{100 * share:g} %",
                *(f"{100 * mean(row.rates[series] for row in group):.1f}" for series in SERIES),
                f"{mean(row.gain for row in group):+.2f}",
                f"{min(row.gain for row in group):+.2f}",
                f"{min(row.relative for row in group):+.1f} %",
            )
        shown.add_section()
    return shown


def verdict(rows: list[Row]) -> dict[str, object]:
    """Say how the target is met: never more than 2 % below the better plain order, above both on the mixed one."""
    worst = min(rows, key=lambda row: row.gain)
    mixed = [row for row in rows if row.name == "mixed"]
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.name, row.share), []).append(row)
    return {
        "runs": len(rows),
        "mean gain, points": round(mean(row.gain for row in rows), 3),
        "worst run, points": [worst.name, worst.seed, worst.share, round(worst.gain, 2)],
        "worst run, relative %": round(min(row.relative for row in rows), 1),
        "runs below -2 points": sum(row.gain < -2 for row in rows),
        "runs below -2 % relative": sum(row.relative < -2 for row in rows),
        "worst mean over seeds, points": round(
            min(mean(row.gain for row in group) for group in groups.values()), 2
        ),
        "mixed above both": f"{sum(row.gain > 0 for row in mixed)} of {len(mixed)} runs",
    }


def main() -> None:
    """Read the options, run, show, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", nargs="+", choices=list(MAKERS), default=list(MAKERS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--capacities", nargs="+", type=float, default=list(CAPACITIES))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one seed, 200 requests")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="an SVG file: hit rate over capacity")
    options = parser.parse_args()
    seeds, requests = (1, 200) if options.quick else (options.seeds, options.requests)
    jobs = [
        Job(name, options.first_seed + seed, requests, tuple(options.capacities))
        for name in options.traces
        for seed in range(seeds)
    ]
    facts = circumstances() | {"seeds": seeds, "requests": requests}
    rows = list(all_rows(jobs, options.processes))
    console().print(headline(facts))
    console().print(table(rows))
    outcome = verdict(rows)
    for name, value in outcome.items():
        console().print(f"{name}: {value}")
    save(options.json, {"circumstances": facts, "verdict": outcome, "rows": [row._asdict() for row in rows]})
    if options.plot is not None:
        means = {
            (name, series, share): mean(
                row.rates[series] for row in rows if (row.name, row.share) == (name, share)
            )
            for name in options.traces
            for series in SERIES
            for share in options.capacities
        }
        options.plot.write_text(draw(means))


if __name__ == "__main__":
    main()
