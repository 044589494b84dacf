"""From a record to disk and store: rows and sums tell the same, in order and after a kill."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from semcache.core import Outcome, RequestRecord, TenantId, Usage
from semcache.cost.booking import Booking
from semcache.cost.cells import Cells
from semcache.cost.keeping import Keeper, KeepRules
from semcache.cost.ledger import Ledger, Pricing
from semcache.cost.metrics import Metrics
from semcache.cost.prices import PriceBook
from semcache.cost.row_fields import Row
from semcache.cost.row_reader import read_rows
from semcache.cost.rows import RowFiles
from semcache.cost_port import DAY, CostSums
from semcache.cost_rules import CostPolicy
from semcache.records import SideKind, SideRecord
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.cost.told import MISS, HandClock
from tests.store.servers import valkey

__all__ = ["valkey"]

NOW = float(int(time.time()) // DAY * DAY + DAY // 2)
_PAIRS = (
    ("input", "input"),
    ("cached", "cached"),
    ("output", "output"),
    ("saved_input", "saved_input"),
    ("by_response", "by_response"),
    ("by_provider", "by_provider"),
    ("charged", "charged"),
)


def made(count: int) -> Iterable[RequestRecord | SideRecord]:
    coin = random.Random(3)
    for turn in range(count):
        tenant, model = f"t{turn % 3}", coin.choice(("gpt-4o-mini", "claude-sonnet-4-5", "nobody-knows-me"))
        usage = Usage(coin.randrange(5000), coin.randrange(500), 0, coin.randrange(9))
        base = replace(MISS, request_id=f"r{turn}", at=NOW, tenant=tenant, model=model, usage=usage)
        match coin.randrange(4):
            case 0:
                yield SideRecord(
                    SideKind.AUDIT, NOW, tenant, "chat", model, "openai", usage, f"r{turn}", MISS.labels
                )
            case 1:
                yield replace(base, outcome=Outcome.EXACT, usage=None, saved=usage)
            case _:
                yield base


def added(rows: Iterable[Row]) -> dict[str, CostSums]:
    """Add rows up by tenant, as far as rows tell."""
    sums: dict[str, CostSums] = {}
    for row in rows:
        kept = sums.setdefault(str(row["tenant"]), CostSums())
        is_request = row["kind"] == "request"
        money = ("cost" if is_request else "side", row["cost"] or 0)
        told = {one: row[other] or 0 for one, other in _PAIRS} | {
            money[0]: money[1],
            "requests": int(is_request),
        }
        kept.add(
            CostSums(
                **told, unpriced=int(row["cost"] is None or (row["without_caches"] is None and is_request))
            )
        )  # type: ignore[arg-type]
    return sums


def plain(sums: CostSums) -> CostSums:
    return replace(sums, written=0, saved_output=0, milliseconds=0)


async def test_rows_and_sums_tell_the_same(valkey: ValkeyChild, tmp_path: Path) -> None:
    metrics = Metrics(list)
    cells = Cells(metrics.costs.folded)
    book = RedisCostBook(valkey.url, LinkRules(deadline=5.0), uuid.uuid4().hex)
    booking = Booking(cells, book, "w1", metrics.costs.batch, every=0.05)
    clock = HandClock(NOW)
    keeper = Keeper(tmp_path, KeepRules("parquet"), clock, metrics.costs)
    ledger = Ledger(
        metrics,
        None,
        pricing=Pricing(PriceBook(), lambda _: CostPolicy()),
        rows=RowFiles(tmp_path, "w1", 200_000, clock, metrics.costs, keeper.wake),
        sums=cells,
    )
    keeper.start()
    ledger.start()
    running = asyncio.create_task(booking.run())
    for turn, record in enumerate(made(3000)):
        if isinstance(record, SideRecord):
            ledger.note(record)
        else:
            ledger.emit(record)
        if turn % 300 == 0:
            clock.at += 0.1
            await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await asyncio.to_thread(ledger.stop)
    await booking.end()
    await asyncio.to_thread(keeper.stop)
    keeper.tidy()
    rows = list(read_rows(tmp_path))
    assert len(rows) == 3000
    today = int(NOW) // DAY
    booked: dict[str, CostSums] = {}
    for tenant in await book.tenants():
        whole = booked[tenant] = CostSums()
        for sums in (await book.read(TenantId(tenant), today, today)).values():
            whole.add(sums)
    assert {tenant: plain(sums) for tenant, sums in booked.items()} == added(rows)
    assert sum(sums.requests for sums in booked.values()) == sum(
        not isinstance(record, SideRecord) for record in made(3000)
    )
    await book.aclose()


def test_a_killed_process_loses_a_moment_and_no_more(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from dataclasses import replace\n"
        "from pathlib import Path\n"
        "from semcache.cost.ledger import Ledger\n"
        "from semcache.cost.metrics import Metrics\n"
        "from semcache.cost.rows import RowFiles\n"
        "from tests.cost.told import MISS, HandClock\n"
        "metrics = Metrics(list)\n"
        "ledger = Ledger(metrics, None, rows=RowFiles(Path(sys.argv[1]), 'w', 1 << 20, HandClock(), metrics.costs))\n"
        "ledger.start()\n"
        "for turn in range(10**9):\n"
        "    ledger.emit(replace(MISS, trimmed=turn + 1))\n"
        "    if turn % 10 == 9: time.sleep(0.001)\n"
        "    if turn % 100 == 99: print(turn, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        seen: list[tuple[float, int]] = []
        while not seen or seen[-1][1] < 3000:
            seen.append((time.monotonic(), int(process.stdout.readline())))
        process.kill()
        killed = time.monotonic()
    written = [row["trimmed"] for row in read_rows(tmp_path)]
    assert written == list(range(1, len(written) + 1))
    # What was taken a second before is there (the writer looks ten times a second).
    assert len(written) >= max((turn for at, turn in seen if at < killed - 1.0), default=0)
    assert len(written) > 0
