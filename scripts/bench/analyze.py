"""How fast a log is analysed, and in how much memory: a log of this size is made up, looked through, and counted.

    python scripts/bench/analyze.py --rows 100000 --bytes 2000

Without asking the log again of the pipeline, whose time is what `--minutes` of `semcache analyze` says.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from semcache.advise.analysis import AnalysisOrder, counted
from semcache.advise.pricing import Pricing
from semcache.advise.reading import opened_logs
from semcache.advise.rows import Watcher
from semcache.cost.prices import PriceBook
from semcache.policy.loader import load_default

WORDS = [
    "the",
    "a",
    "of",
    "to",
    "and",
    "is",
    "how",
    "what",
    "when",
    "order",
    "refund",
    "invoice",
    "please",
    "customer",
    "token",
    "model",
    "cache",
    "where",
    "why",
]
START = 1767312000.0


def text(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(WORDS, k=max(1, size // 5)))


def rows(count: int, size: int, seed: int) -> Iterator[str]:
    """Four system prompts, a third with a document, one question in four new; a request every two seconds."""
    rng = random.Random(seed)
    systems = [text(rng, size // 3) for _ in range(4)]
    documents = [text(rng, size // 2) for _ in range(max(1, count // 40))]
    questions = [text(rng, rng.randint(20, 200)) for _ in range(max(1, count // 4))]
    at = START
    for number in range(count):
        at += rng.expovariate(0.5)
        messages = [{"role": "system", "content": rng.choice(systems)}]
        if number % 3 == 0:
            messages += [
                {"role": "user", "content": rng.choice(documents)},
                {"role": "assistant", "content": "I have read it."},
            ]
        messages.append({"role": "user", "content": rng.choice(questions)})
        answer = {"role": "assistant", "content": text(rng, size // 6)}
        record = {
            "timestamp": at,
            "request": {"model": "gpt-4o-mini", "temperature": 0, "messages": messages},
            "response": {
                "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": size // 5, "completion_tokens": size // 24},
            },
            "latency_ms": 900,
            "user": f"u{number % 500}",
        }
        yield json.dumps(record) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=2000, help="of a row, about")
    parser.add_argument(
        "--reversed", action="store_true", help="newest first, so that rows have to be sorted"
    )
    parser.add_argument("--no-lint", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    snapshot = load_default()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with path.open("w") as file:
            made = rows(given.rows, given.bytes, given.seed)
            file.writelines(list(made)[::-1] if given.reversed else made)
        order = AnalysisOrder([path], snapshot, snapshot.tenants[0], lint=not given.no_lint)
        before, cpu, began = peak(), time.process_time(), time.monotonic()
        with opened_logs([path], Watcher()) as logs:
            looked, looked_cpu = time.monotonic() - began, time.process_time() - cpu
            found = counted(logs, order, Pricing(PriceBook()), Watcher())
        told = {
            "rows": found.reading.rows,
            "bytes": path.stat().st_size,
            "looking_seconds": round(looked, 2),
            "looking_cpu_seconds": round(looked_cpu, 2),
            "seconds": round(time.monotonic() - began, 2),
            "cpu_seconds": round(time.process_time() - cpu, 2),
            "memory_mib": peak() - before,
            "load": round(os.getloadavg()[0], 1),
            "overlap": round(found.overlap.all.share, 4),
            "exact": found.exact.hits,
        }
    print(json.dumps(told, indent=2))


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    main()
