"""Loads a proxy for a stated time and says whether what it holds grows; see scripts/trust/soak.

A proxy with one worker and its Valkey, a scripted upstream, and a load at a fixed rate: repeats, new questions (so that the
quota evicts all the time), paraphrases, streams, clients that hang up, refused and cut answers, strangers' keys, odd bodies, and
names that never come twice. After the first third of the time every figure is judged by its slope: it fails where one
grew by more than `meters.BOUNDS` allows until the end (caches that are bounded by number are full after some 60,000 requests:
with a rate that brings fewer in the first third, what still fills them counts as growth), where an answer was another question's, where a status was not the one
that was due, or where the proxy reported an error. `--json FILE` keeps every look, `--plot FILE.png` draws them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from semcache.evaluate.plot import BLUE, DARK, GREEN, ORANGE, Line, Panel, draw
from tests.trust.soak.meters import Samples
from tests.trust.soak.soaking import Soak, soak
from tests.trust.soak.traffic import Heard


def main() -> int:
    options = _options(sys.argv[1:])
    # What it started ends with it, however it is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console(width=120)
    seconds = 60 * options.minutes
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with tempfile.TemporaryDirectory() as folder, Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=seconds)

        def on_look(passed: float, figures: dict[str, float], heard: Heard) -> None:
            told = f"{figures['proxy MiB']:.0f} MiB, {heard.asked} asked, {heard.outcomes['wrong']} wrong"
            bar.update(task, completed=min(passed, seconds), description=told)

        found = soak(
            Path(folder), seconds=seconds, rate=options.rate, entries=options.entries, on_look=on_look
        )
    report(console, found, options)
    if options.json:
        options.json.write_text(json.dumps(_figures(found, options), indent=1) + "\n")
    if options.plot:
        _draw(options.plot, found.samples, found.since)
    return 1 if found.faults else 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/trust/soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=100.0, help="requests a second")
    parser.add_argument("--entries", type=int, default=2000, help="quota of the tenant")
    parser.add_argument("--json", type=Path, help="keep the figures in a file")
    parser.add_argument("--plot", type=Path, help="draw them (.png or .svg)")
    return parser.parse_args(words)


def report(console: Console, found: Soak, options: argparse.Namespace) -> None:
    """Print what was seen."""
    rows = found.samples.rows
    table = Table("figure", "at first", "middle", "at last", "grew", "may grow", "")
    for one in found.growths:
        values = rows[one.name]
        verdict = "flat" if one.is_flat else "[red]grows"
        numbers = (values[0], one.middle, values[-1], one.grew, one.allowed)
        table.add_row(one.name, *(f"{number:.1f}" for number in numbers), verdict)
    console.print(table)
    outcomes = ", ".join(f"{count} {name}" for name, count in found.heard.outcomes.most_common())
    console.print(f"{found.heard.asked} requests in {options.minutes:g} minutes: {outcomes}")
    console.print(
        f"exact hits, last minutes: p50 {rows['p50 ms'][-1]:.1f} ms, p99 {rows['p99 ms'][-1]:.1f} ms;"
        f" {found.stored:.0f} answers stored in room for {options.entries}"
    )
    console.print(f"{_machine()}")
    for fault in found.faults:
        console.print(f"[red]{fault}")


def _machine() -> str:
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    return f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}, Python {platform.python_version()}, {moment}"


def _figures(found: Soak, options: argparse.Namespace) -> dict[str, object]:
    return {
        "machine": _machine(),
        "minutes": options.minutes,
        "rate": options.rate,
        "entries": options.entries,
        "outcomes": dict(found.heard.outcomes),
        "grew": {one.name: [one.middle, one.grew, one.allowed] for one in found.growths},
        "faults": found.faults,
        "at": found.samples.at,
        "rows": found.samples.rows,
    }


def _draw(path: Path, samples: Samples, since: float) -> None:
    minutes = [at / 60 for at in samples.at]
    panels = []
    for name, colour in zip(
        ("proxy MiB", "valkey MiB", "files", "tasks"), (BLUE, ORANGE, GREEN, DARK), strict=True
    ):
        line = Line(name, minutes, samples.rows[name], colour=colour)
        panels.append(Panel(f"{name} (judged from minute {since / 60:.0f} on)", "minutes", name, [line]))
    draw(path, panels)


if __name__ == "__main__":
    sys.exit(main())
