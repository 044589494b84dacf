"""The long run about isolation: who got which answer, while everything happens to real replicas on one store.

    scripts/trust/isolation [--operations 100000] [--seed 1] [--events 40] [--connections 48]
    scripts/trust/isolation --flips 10000 [--seed 1]

Without `--flips`: random asks (tenants, keys, users, namespaces, models, system prompts, conversations, dialects), verdicts, complaints,
invalidations, clients that hang up; beside them policies that change, replicas that are killed, restarted or join, and a store that
is killed. How to read it: `leaks` must be 0; `recall` is the share of hits among replies that had to be hits; `withdrawn and still
served` the longest time after its acknowledgement. With `--flips`: one field of a request is changed, and nothing stored
may be served to it. Ends with 1 where something leaked, and then tells the seed and the last operations.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.trust.isolation import flip_run, run
from tests.trust.isolation.events import KINDS
from tests.trust.isolation.world import Size

_SHOWN = 20
_FLOORS = {"exact": 0.99, "semantic": 0.9}
_FLIP_FLOOR = 0.99


def main() -> int:
    """Run, print, and say by the exit code whether it held."""
    arguments = _arguments()
    # What it started ends with it, however it is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console()
    with tempfile.TemporaryDirectory(prefix="isolation-") as folder:
        if arguments.flips:
            return _flips(console, arguments, Path(folder) / "run")
        return _operations(console, arguments, Path(folder) / "run")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--flips", type=int, default=0, help="flip single fields so often instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=40, help="policies, kills, restarts")
    parser.add_argument("--connections", type=int, default=48)
    return parser.parse_args()


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)


def _operations(console: Console, arguments: argparse.Namespace, folder: Path) -> int:
    kinds = tuple(itertools.islice(itertools.cycle(KINDS), arguments.events))
    plan = run.Plan(arguments.operations, arguments.seed, Size(), kinds, arguments.connections)
    with _bar(console) as progress:
        task = progress.add_task("operations", total=plan.operations)
        tally = asyncio.run(run.run(plan, folder, lambda done: progress.update(task, completed=done)))
    total = sum(tally.operations.values())
    _table(console, "Operations", tally.operations, f"{total} in {tally.seconds:.0f} s")
    _table(console, "What befell the processes", tally.events)
    _table(console, "What became of acts", tally.acts)
    _table(console, "Replies by outcome", tally.outcomes)
    held = Table("", "", title="Isolation", show_header=False)
    held.add_row("leaks", str(len(tally.leaks)))
    held.add_row("faults", str(len(tally.faults)))
    for tier, floor in _FLOORS.items():
        found, expected = tally.found[tier], tally.expected[tier]
        held.add_row(
            f"recall, {tier}", f"{tally.recall(tier):.2%} ({found} of {expected}; at least {floor:.0%})"
        )
    held.add_row("upstream calls", str(tally.calls))
    held.add_row("connections cut by kills", str(tally.broken))
    held.add_row("withdrawn and still served", f"{tally.latest * 1000:.0f} ms at most")
    console.print(held)
    for leak in tally.leaks[:_SHOWN]:
        console.print(f"[red]leak[/red] {leak.kind}: {leak.detail}: {leak.reply}", highlight=False)
    for fault in tally.faults[:_SHOWN]:
        console.print(f"[red]fault[/red] {fault}", highlight=False)
    fallen = [tier for tier, floor in _FLOORS.items() if tally.recall(tier) < floor]
    for line in tally.missed[:_SHOWN] if fallen else ():
        console.print(f"[yellow]no hit[/yellow] {line}", highlight=False)
    failed = bool(tally.leaks or tally.faults or fallen)
    if failed:
        console.print(f"seed {plan.seed}; the last operations:")
        for line in (*tally.happened, *tally.done, *tally.last):
            console.print(line, highlight=False)
    return int(failed)


def _flips(console: Console, arguments: argparse.Namespace, folder: Path) -> int:
    with _bar(console) as progress:
        task = progress.add_task("flips", total=arguments.flips)
        flipped = asyncio.run(
            flip_run.run(
                arguments.flips, arguments.seed, folder, lambda done: progress.update(task, completed=done)
            )
        )
    _table(console, "Flips", flipped.by_kind, f"{flipped.tries} in {flipped.seconds:.0f} s")
    _table(console, "By dialect", flipped.by_dialect)
    held = Table("", "", title="One field changed", show_header=False)
    held.add_row("hits", str(len(flipped.wrong)))
    held.add_row("refused, so no try", str(flipped.refused))
    held.add_row("not heard by any model, so no try", str(flipped.unheard))
    for what in flipped.expected:
        held.add_row(f"hits of {what}", f"{flipped.found[what]} of {flipped.expected[what]}")
    console.print(held)
    for line in flipped.wrong[:_SHOWN]:
        console.print(f"[red]hit[/red] {line}", highlight=False)
    fallen = [what for what in flipped.expected if flipped.recall(what) < _FLIP_FLOOR]
    for line in flipped.missed[:_SHOWN] if fallen else ():
        console.print(f"[yellow]no hit[/yellow] {line}", highlight=False)
    failed = bool(flipped.wrong or fallen)
    if failed:
        console.print(f"seed {arguments.seed}")
    return int(failed)


def _table(console: Console, title: str, counts: Mapping[str, int], caption: str = "") -> None:
    table = Table("what", "how often", title=title, caption=caption)
    for name, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        table.add_row(name, str(count))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
