"""What the ledger costs: taking and writing a record, packing and reading rows, booking and reading sums.

    python scripts/bench/ledger.py [--rows 300000] [--days 90] [--keys 500]

Starts an embedded Valkey of its own. Prints one JSON object; needs no model and no network. Times are CPU time of the process,
which other work on the machine changes least; `wall` ones are what somebody waits.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from semcache.core import Outcome, RequestRecord, TenantId, Usage
from semcache.cost.cells import Cells
from semcache.cost.keeping import Keeper, KeepRules
from semcache.cost.ledger import Ledger, Pricing
from semcache.cost.metrics import Metrics
from semcache.cost.plain import dumped
from semcache.cost.prices import PriceBook
from semcache.cost.row_making import row_of
from semcache.cost.row_reader import read_rows
from semcache.cost.rows import RowFiles
from semcache.cost.savings import costed
from semcache.cost.segments import files
from semcache.cost_port import DAY, CostKey, CostSums
from semcache.cost_rules import CostPolicy
from semcache.process import SystemClock
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.link import LinkRules

NOW = time.time()
MISS = RequestRecord(
    request_id="req_0123456789abcdef01234567",
    at=NOW,
    tenant="acme",
    domain="chat",
    route="chat",
    model="gpt-4o-mini",
    stream=True,
    outcome=Outcome.MISS,
    reason="no-neighbour",
    status=200,
    duration=1.25,
    overhead=0.001,
    usage=Usage(1234, 321, 1000),
    labels=(("project", "search"), ("environment", "prod"), ("team", "x")),
    key_name="k1",
    backend="openai",
)
HIT = replace(
    MISS, outcome=Outcome.SEMANTIC, usage=None, saved=MISS.usage, similarity=0.97, entry_id="e" * 16
)


def taking(folder: Path, whole: bool) -> dict[str, float]:
    """CPU microseconds of taking a record, and of writing it; `whole` with money, rows and sums."""
    metrics, count = Metrics(list), 500
    parts = {}
    if whole:
        parts = {
            "pricing": Pricing(PriceBook(), lambda _: CostPolicy()),
            "rows": RowFiles(folder, "w", 64 << 20, SystemClock(), metrics.costs),
            "sums": Cells(metrics.costs.folded),
        }
    ledger = Ledger(metrics, io.BytesIO(), count, **parts)
    ledger.emit(MISS)
    ledger.flush()
    taken, written = [], []
    # In portions as a writer finds them that looks ten times a second.
    for _ in range(60):
        begin = time.process_time()
        for turn in range(count):
            ledger.emit(HIT if turn % 2 else MISS)
        middle = time.process_time()
        ledger.flush()
        taken.append((middle - begin) / count * 1e6)
        written.append((time.process_time() - middle) / count * 1e6)
    ledger.stop()
    return {"take_us": sorted(taken)[30], "write_us": sorted(written)[30]}


def packing(folder: Path, form: str, count: int) -> dict[str, float]:
    """CPU seconds and megabytes of packing rows and of reading them, in a process of its own for the sake of its memory."""
    metrics = Metrics(list)
    out = RowFiles(folder, "w", 64 << 20, SystemClock(), metrics.costs)
    base = dict(row_of(MISS, costed(MISS, PriceBook(), CostPolicy())))
    for turn in range(count // 1000):
        out.write([dumped({**base, **_some(turn)}) for _ in range(1000)])
    out.close()
    told = {"lines_mib": _size(folder), "memory_before_mib": _peak()}
    begin = time.process_time()
    Keeper(folder, KeepRules(form), SystemClock(), metrics.costs).tidy()
    told |= {"pack_s": time.process_time() - begin, "packed_mib": _size(folder)}
    begin = time.process_time()
    read = sum(1 for _ in read_rows(folder))
    told |= {"read_s": time.process_time() - begin, "rows": read, "memory_after_mib": _peak()}
    return told


def _some(turn: int) -> dict[str, object]:
    name = f"req_{random.getrandbits(96):024x}"
    return {"id": name, "at": NOW + turn, "input": random.randrange(5000), "cost": random.randrange(5000)}


def _size(folder: Path) -> float:
    return sum(file.size for file in files(folder)) / 2**20


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(folder: Path, form: str, count: int) -> dict[str, float]:
    """Run `packing` in a child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, json.dumps(packing(folder, form, count)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        found: dict[str, float] = json.loads(told.read())
    os.waitpid(child, 0)
    return found


async def booking(days: int, keys: int) -> dict[str, float]:
    """Seconds of booking and of reading a tenant's days."""
    sums = CostSums(*range(10**6, 10**6 + 22))
    today = int(NOW) // DAY
    with tempfile.TemporaryDirectory() as home:
        child = ValkeyChild(Path(home), ChildRules())
        await child.start()
        try:
            book = RedisCostBook(child.url, LinkRules(deadline=10.0))
            for day in range(days):
                await book.add(f"w.{day}", dict.fromkeys(_keys(today - day, keys), sums))
            again = []
            for turn in range(20):
                begin = time.perf_counter()
                await book.add(f"w.{days + turn}", dict.fromkeys(_keys(today, keys), sums))
                again.append(time.perf_counter() - begin)
            begin, cpu = time.perf_counter(), time.process_time()
            read = await book.read(TenantId("acme"), today - days, today)
            told = {
                "read_wall_s": time.perf_counter() - begin,
                "read_s": time.process_time() - cpu,
                "sums": len(read),
                "batch_wall_ms": sorted(again)[10] * 1e3,
            }
            await book.aclose()
        finally:
            await child.stop()
    return told


def _keys(day: int, count: int) -> Iterator[CostKey]:
    for turn in range(count):
        yield CostKey(
            "acme",
            day,
            f"model-{turn % 10}",
            "openai",
            "miss",
            "k",
            f"p-{turn % 25}",
            "prod",
            "",
            f"t-{turn}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 300_000), ("days", 90), ("keys", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        told = {
            "jsonl": apart(Path(home) / "j", "jsonl", chosen.rows),
            "parquet": apart(Path(home) / "p", "parquet", chosen.rows),
            "counting_alone": taking(Path(home) / "a", whole=False),
            "whole": taking(Path(home) / "w", whole=True),
            "book": asyncio.run(booking(chosen.days, chosen.keys)),
        }
    print(json.dumps(told, indent=1, default=float))


if __name__ == "__main__":
    main()
