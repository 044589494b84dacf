"""A batch in the order of its file and sorted by common beginnings, through a proxy to the local engine, in one run.

    .venv/bin/python scripts/bench/batch.py [--documents 12] [--questions 6] [--words 300] [--kv-mib 96] [--rounds 3]

Each document is asked about several times, in an order by chance, and the engine's memory holds only some of them. The cache
is off, so that every request is computed. Both orders alternate, each round on a fresh proxy; medians are shown.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rig.serving import ROOT, semcache

_WORDS = [
    "river",
    "stone",
    "market",
    "winter",
    "paper",
    "engine",
    "garden",
    "silver",
    "corner",
    "bridge",
    "letter",
    "window",
    "summer",
    "copper",
    "harbor",
]


def write_batch(file: Path, given: argparse.Namespace, seed: int) -> None:
    chance = random.Random(seed)
    documents = [
        f"Document {n}: " + " ".join(chance.choice(_WORDS) for _ in range(given.words))
        for n in range(given.documents)
    ]
    rows = [
        {
            "model": "local",
            "max_tokens": 4,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": document},
                {"role": "user", "content": f"Question {n}: how often does it say {chance.choice(_WORDS)}?"},
            ],
        }
        for document in documents
        for n in range(given.questions)
    ]
    chance.shuffle(rows)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def policy(folder: Path) -> Path:
    """The shipped policy with the cache switched off."""
    folder.mkdir()
    text = (ROOT / "policies" / "default.yaml").read_text(encoding="utf-8")
    (folder / "default.yaml").write_text(
        text.replace("  mode: semantic", '  mode: "off"', 1), encoding="utf-8"
    )
    return folder


def run(order: str, file: Path, given: argparse.Namespace) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory(prefix="semcache-batch-") as name:
        folder = Path(name)
        environment = {
            "SEMCACHE_ENGINE__KV_BYTES": str(given.kv_mib << 20),
            "SEMCACHE_ADMIN__ENABLED": "false",
            "SEMCACHE_PREWARM__ENABLED": "false",
        }
        with semcache(
            folder, "--policies", str(policy(folder / "policies")), environment=environment
        ) as proxy:
            command = [sys.executable, "-m", "semcache", "batch", str(file), "--order", order, "--json"]
            command += ["--out", str(folder / "out.jsonl"), "--at-once", str(given.at_once)]
            command += ["--url", f"http://127.0.0.1:{proxy.port}/v1"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=12)
    parser.add_argument("--questions", type=int, default=6)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--kv-mib", type=int, default=96)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    found: dict[str, list[Mapping[str, Any]]] = {"file": [], "prefix": []}
    with tempfile.TemporaryDirectory(prefix="semcache-batch-") as name:
        for number in range(given.rounds):
            file = Path(name) / f"batch-{number}.jsonl"
            write_batch(file, given, number)
            for order in ("file", "prefix") if number % 2 == 0 else ("prefix", "file"):
                found[order].append(run(order, file, given))
    table = Table(
        title=f"{given.documents} documents x {given.questions} questions, medians of {given.rounds}"
    )
    for column in ("order", "input tokens", "cached", "computed", "seconds"):
        table.add_column(column, justify="left" if column == "order" else "right")
    for order, runs in found.items():
        computed = statistics.median(run["input_tokens"] - run["cached_tokens"] for run in runs)
        tokens = statistics.median(run["input_tokens"] for run in runs)
        seconds = statistics.median(run["seconds"] for run in runs)
        table.add_row(
            order, f"{tokens:,.0f}", f"{1 - computed / tokens:.1%}", f"{computed:,.0f}", f"{seconds:.1f}"
        )
    ratios = [p["seconds"] / f["seconds"] for f, p in zip(found["file"], found["prefix"], strict=True)]
    Console().print(table)
    Console().print(
        f"time, prefix / file: median {statistics.median(ratios):.2f}, by round {[round(r, 2) for r in ratios]}"
    )


if __name__ == "__main__":
    main()
