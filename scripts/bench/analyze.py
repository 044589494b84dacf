"""How fast a log is analysed, and in how much memory: a log of this size is made up, looked through, and counted.

    .venv/bin/python scripts/bench/analyze.py [--rows 100000] [--bytes 2000] [--dialect openai.chat] [--reversed] [--no-lint]

Without asking the log again of the pipeline, whose time is what `--minutes` of `semcache analyze` says.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rig.report import circumstances, console, headline, save

from semcache.advise.analysis import AnalysisOrder, counted
from semcache.advise.pricing import Pricing
from semcache.advise.reading import opened_logs
from semcache.advise.rows import Watcher
from semcache.cost.prices import PriceBook
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect
from semcache.dialects.table import BY_NAME
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
TALKING = ("openai.chat", "openai.responses", "anthropic.messages", "ollama.chat", "gemini.generate")
"""Dialects that have conversations."""


def text(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(WORDS, k=max(1, size // 5)))


def rows(count: int, size: int, seed: int, dialect: Dialect = CHAT) -> Iterator[str]:
    """Four system prompts, a third with a document, one question in four new; a request every two seconds.

    All in the words of a dialect.
    """
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
        asked = dialect.write({"model": "gpt-4o-mini", "temperature": 0, "messages": messages})
        said = {
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": size // 5, "completion_tokens": size // 24},
        }
        record = {
            "timestamp": at,
            "url": asked.path,
            "request": asked.body,
            "response": said if dialect is CHAT else dialect.write_answer(said),
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
    parser.add_argument(
        "--dialect", choices=TALKING, default=CHAT.name, help="whose requests and answers they are"
    )
    parser.add_argument("--no-lint", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a thousand rows: shows that it runs")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    given = parser.parse_args()
    count = 1000 if given.quick else given.rows
    facts = circumstances()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with path.open("w") as file:
            made = rows(count, given.bytes, given.seed, BY_NAME[given.dialect])
            file.writelines(list(made)[::-1] if given.reversed else made)
        told = measured(path, lint=not given.no_lint)
    told["requests_a_second"] = round(count / told["cpu_seconds"])
    out = console()
    out.print(headline(facts))
    for name, value in told.items():
        out.print(f"{name.replace('_', ' '):24} {value}")
    save(given.json, {"circumstances": facts, **told})


def measured(path: Path, *, lint: bool) -> dict[str, Any]:
    """Look through the log and count; seconds of the clock and of the processor, MiB beyond what was taken before."""
    snapshot = load_default()
    order = AnalysisOrder([path], snapshot, snapshot.tenants[0], lint=lint)
    pricing = Pricing(PriceBook())
    before, cpu, began = peak(), time.process_time(), time.monotonic()
    with opened_logs([path], Watcher()) as logs:
        looked = time.process_time() - cpu
        found = counted(logs, order, pricing, Watcher())
    return {
        "rows": found.reading.rows,
        "bytes": path.stat().st_size,
        "looking_cpu_seconds": round(looked, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "seconds": round(time.monotonic() - began, 2),
        "memory_mib": peak() - before,
        "overlap": round(found.overlap.all.share, 4),
        "exact_hits": found.exact.hits,
    }


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    main()
