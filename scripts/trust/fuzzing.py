"""Fuzzes the targets of tests/fuzz for a stated time; see scripts/trust/fuzz."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from multiprocessing import Process

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.fuzz.mutating import CORPUS, corpus, mutated
from tests.fuzz.targets import TARGETS, named


def main() -> int:
    options = _options(sys.argv[1:])
    names = [options.target] if options.target else list(TARGETS)
    if options.guided:
        return _guided(names, options.seconds)
    console = Console()
    table = Table("target", "inputs", "a second", "broken")
    broken = 0
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console
    ) as bar:
        for name in names:
            bar.add_task(name, total=None)
            inputs, found = _plain(name, options.seconds, options.seed)
            table.add_row(name, f"{inputs:,}", f"{inputs / options.seconds:,.0f}", str(found))
            broken += found
    console.print(table)
    return 1 if broken else 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/trust/fuzz")
    parser.add_argument("target", nargs="?", choices=list(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guided", action="store_true", help="by coverage; needs the package atheris")
    return parser.parse_args(words)


def _plain(name: str, seconds: float, seed: int) -> tuple[int, int]:
    chance = random.Random(f"{name}-{seed}")
    seeds = [data for _, data in corpus(name)]
    kinds: set[str] = set()
    inputs, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        data = mutated(seeds, chance)
        inputs += 1
        try:
            TARGETS[name](data)
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            kind = f"{type(error).__name__} {place and (place.tb_frame.f_code.co_filename, place.tb_lineno)}"
            if kind not in kinds:
                kinds.add(kind)
                (CORPUS / name / named(data)).write_bytes(data)
                print(f"{name}: {kind}: {str(error)[:200]} -> corpus/{name}/{named(data)}")
    return inputs, len(kinds)


def _guided(names: Sequence[str], seconds: float) -> int:
    """Each target in a process of its own, since the fuzzer ends its process when it ends."""
    ended = 0
    for name in names:
        process = Process(target=_guide, args=(name, seconds))
        process.start()
        process.join()
        ended |= process.exitcode or 0
    return 1 if ended else 0


def _guide(name: str, seconds: float) -> None:
    import atheris  # noqa: PLC0415 - nothing else needs the package

    atheris.instrument_all()
    kept = f"-artifact_prefix={CORPUS / name}/"
    atheris.Setup(
        [name, f"-max_total_time={int(seconds)}", kept, "-max_len=20000", "-rss_limit_mb=2048"], TARGETS[name]
    )
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
