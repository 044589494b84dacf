"""What our engine does when more arrives than it can answer: an open-loop mix at 0.5, 1 and 2 times its capacity.

    python scripts/bench/engine_overload.py [--precision fp32|int8] [--seconds 90] [--rounds 1] [--json FILE]

Capacity is measured first: requests answered a second with as many clients as rows are decoded at once. Then
windows of each load, in turn, in which requests arrive at random moments (Poisson) whether or not earlier ones
are answered: seven of ten on four system prompts of 500 tokens, the others on prompts of their own of 100 to 500;
three of ten want 64 tokens, the others 8. A client leaves at its deadline. The engine keeps its limits as shipped.

How to read it: goodput is answers completed before the deadline, a second; `of 1x` is its ratio to that at
the measured capacity: well below 1 at 2x would be a collapse. TTFT runs from the moment of arrival to the first text,
of requests that found half of their prompt or more (cached) and of the others; those refused have none. 503 is
the share refused at once, `gone` that of clients which gave up. Times are wall time: on a machine with other work they
are too long, and the capacity too low, in the same measure; `cpu` is the share of a core that the engine got in the window.
`--hurry` gives client and engine nine times the weight of other programs (needs root; start it with setsid) while the windows last.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from engine_rig.mix import Mix, Outcome, share
from engine_rig.openloop import closed_loop, open_loop
from engine_rig.prompts import Prompts
from engine_rig.rows import ask
from engine_rig.servers import Server, counts, ours
from rich.table import Table
from rig.report import circumstances, console, headline, quantile, save
from rig.serving import models_folder

LOADS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Window:
    """One load's windows together. Seconds, and requests a second."""

    load: float
    offered: float
    sent: int
    goodput: float
    cached: tuple[float, float]
    uncached: tuple[float, float]
    refused: float
    gone: float
    other: float
    without_retry: int
    cpu: float


@contextlib.contextmanager
def hurried(wanted: bool) -> Iterator[None]:
    """Give this process group, client and engine, nine times the weight of its neighbours for a moment.

    Where the kernel shares the processors out between groups, priorities of processes say nothing.
    """
    if not wanted:
        yield
        return
    group = Path("/proc/self/autogroup")
    group.write_text("-10")
    try:
        yield
    finally:
        group.write_text("0")


def capacity(server: Server, mix: Mix, args: argparse.Namespace) -> float:
    """Measure requests a second with all rows busy, the shared prompts being warm."""
    for system in mix.systems:
        ask(server, mix.about(system), 1)
    done, seconds = asyncio.run(closed_loop(server, mix.one, args.clients, args.seconds))
    return done / seconds


def window(
    server: Server, mix: Mix, rate: float, args: argparse.Namespace
) -> tuple[list[Outcome], float, float]:
    """Run one window; gives outcomes, wall seconds and CPU seconds."""
    arrivals = mix.poisson(rate, args.seconds)
    began, before = time.perf_counter(), server.cpu()
    outcomes = asyncio.run(open_loop(server, arrivals, args.deadline))
    return outcomes, time.perf_counter() - began, server.cpu() - before


def summary(
    load: float, rate: float, found: list[tuple[list[Outcome], float, float]], seconds: float
) -> Window:
    """Put the windows of one load together."""
    outcomes = [each for some, _, _ in found for each in some]
    first = [each for each in outcomes if each.first > 0]
    cached = [each.first for each in first if each.is_cached]
    uncached = [each.first for each in first if each.is_complete and not each.is_cached]
    known = sum(share(outcomes, status) for status in (200, 503, 0))
    return Window(
        load,
        rate,
        len(outcomes),
        sum(each.is_complete for each in outcomes) / (seconds * len(found)),
        (quantile(cached, 0.5), quantile(cached, 0.99)),
        (quantile(uncached, 0.5), quantile(uncached, 0.99)),
        share(outcomes, 503),
        share(outcomes, 0),
        max(0.0, 1 - known) if outcomes else 0.0,
        sum(each.status == 503 and not each.retry_after for each in outcomes),
        sum(cpu for _, _, cpu in found) / sum(wall for _, wall, _ in found),
    )


def table_of(windows: list[Window], unit: float) -> Table:
    """Lay the windows out; `unit` is the goodput at 1x."""
    table = Table(
        "load", "offered/s", "sent", "goodput/s", "of 1x", "TTFT cached p50 / p99 s", "uncached p50 / p99 s"
    )
    for name in ("503", "gone", "other", "cpu"):
        table.add_column(name)
    for each in windows:
        table.add_row(
            f"{each.load:g}x",
            f"{each.offered:.2f}",
            str(each.sent),
            f"{each.goodput:.2f}",
            f"{each.goodput / unit:.2f}" if unit else "",
            " / ".join(f"{value:.2f}" for value in each.cached),
            " / ".join(f"{value:.2f}" for value in each.uncached),
            *(f"{100 * value:.0f} %" for value in (each.refused, each.gone, each.other, each.cpu)),
        )
    return table


def main() -> None:
    """Read the command line, measure the capacity, then the loads in turn, print."""
    args = _arguments()
    say = console()
    facts = circumstances()
    say.print(headline(facts))
    with ours(
        args.model, "--precision", args.precision, *args.flags, name=f"ours {args.precision}"
    ) as server:
        mix = Mix(Prompts(args.model, args.seed), args.seed)
        found: dict[float, list[tuple[list[Outcome], float, float]]] = {load: [] for load in LOADS}
        with hurried(args.hurry):
            limit = capacity(server, mix, args)
            say.print(f"{server.version}; capacity {limit:.2f} requests/s with {args.clients} clients")
            for number in range(args.rounds):
                for load in LOADS[number % len(LOADS) :] + LOADS[: number % len(LOADS)]:
                    found[load].append(window(server, mix, load * limit, args))
        windows = [summary(load, load * limit, found[load], args.seconds) for load in LOADS]
        time.sleep(1)
        left = counts(server)
    unit = next(each.goodput for each in windows if each.load == 1.0)
    say.print(table_of(windows, unit))
    lost = left["capacity"] - left["free"] - left["tree"] - left["running"]
    say.print(f"slots after it: {left}, lost {lost:g}; load {os.getloadavg()[0]:.1f}")
    figures = {"capacity": limit, "windows": [asdict(each) for each in windows], "slots": left}
    save(args.json, {"circumstances": facts, "load_after": os.getloadavg()[0]} | figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Our engine under more load than it can answer.")
    parser.add_argument("--model", type=Path, default=models_folder() / "SmolLM2-135M-Instruct")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "int8"))
    parser.add_argument("--seconds", type=float, default=90.0, help="length of a window")
    parser.add_argument("--rounds", type=int, default=1, help="windows of each load")
    parser.add_argument("--deadline", type=float, default=30.0, help="seconds until a client leaves")
    parser.add_argument("--clients", type=int, default=16, help="of the capacity measurement")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--hurry", action="store_true")
    parser.add_argument("--quick", action="store_true", help="windows of 6 seconds: shows that it runs")
    parser.add_argument(
        "--flag", dest="flags", action="append", default=[], help="one more flag of our engine"
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.quick:
        args.seconds, args.rounds = 6.0, 1
    return args


if __name__ == "__main__":
    main()
