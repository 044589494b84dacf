"""Compare pairs of answers whose verdict is known: confusion table, by file, and CPU time a comparison.

    python scripts/bench/answers.py [FILE.jsonl ...] [--without-likeness] [--show] [--json FILE]

A row of a file: {"q": question, "a": answer, "b": answer, "same": true, false or null, "sim": likeness of both by an
encoder on the reference scale, or null}. Without files those of the tests are taken, on which the rules were made or
mended: their figures say what is kept, not what to expect of answers never seen.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from semcache.decide.answers.comparison import compare

PAIRS = Path(__file__).parents[2] / "tests" / "decide" / "answers"
FILES = ("development", "held_out", "verbose", "fresh")
TRUTHS = {True: "same", False: "different", None: "open"}
VERDICTS = {True: "right", False: "wrong", None: "undecided"}


def measured(path: Path, console: Console, *, likeness: bool, show: bool) -> dict[str, Any]:
    found: Counter[tuple[bool | None, bool | None]] = Counter()
    seconds = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        begun = time.process_time()
        verdict = compare(row["q"], row["a"], row["b"], row.get("sim") if likeness else None)
        seconds.append(time.process_time() - begun)
        found[row["same"], verdict.agree] += 1
        if show and verdict.agree is not row["same"]:
            console.print(
                TRUTHS[row["same"]], VERDICTS[verdict.agree], verdict.reasons, row["q"], markup=False
            )
    seconds.sort()
    cells = {f"{TRUTHS[same]}/{VERDICTS[agree]}": n for (same, agree), n in sorted(found.items(), key=str)}
    return {
        "cells": cells,
        "p50_ms": 1000 * seconds[len(seconds) // 2],
        "p99_ms": 1000 * seconds[int(len(seconds) * 0.99)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--without-likeness", action="store_true")
    parser.add_argument("--show", action="store_true", help="name the pairs that are not told as they are")
    parser.add_argument("--json", type=Path)
    told = parser.parse_args()
    console = Console(highlight=False)
    files = told.files or [PAIRS / f"{name}.jsonl" for name in FILES]
    table = Table("file", "truth", *VERDICTS.values(), "p50 ms", "p99 ms", box=None)
    results = {}
    for path in files:
        result = results[path.stem] = measured(
            path, console, likeness=not told.without_likeness, show=told.show
        )
        for truth in TRUTHS.values():
            cells = [result["cells"].get(f"{truth}/{verdict}", 0) for verdict in VERDICTS.values()]
            if any(cells):
                times = (f"{result['p50_ms']:.1f}", f"{result['p99_ms']:.1f}")
                table.add_row(path.stem, truth, *map(str, cells), *times)
    console.print(table)
    if told.json is not None:
        told.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
