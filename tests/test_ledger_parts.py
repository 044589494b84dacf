"""The ledger put together as a worker has it: rows on disk, sums in the store, whatever is away."""

from __future__ import annotations

import asyncio
import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semcache.core import TenantId
from semcache.cost.metrics import Metrics
from semcache.cost.prices import PriceBook
from semcache.cost.row_reader import read_rows
from semcache.cost_port import DAY
from semcache.ledger_parts import LedgerParts
from semcache.policy.loader import load_default
from semcache.settings import LedgerSettings, Settings
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.cost.told import MISS
from tests.store.servers import WallClock, command, valkey

__all__ = ["valkey"]

NOW = time.time()


def parts(data: Path, url: str, **ledger: Any) -> tuple[LedgerParts, io.BytesIO]:
    out = io.BytesIO()
    settings = Settings(data=data, ledger=LedgerSettings(**ledger))
    snapshot = load_default()
    made = LedgerParts(settings, url, Metrics(list), PriceBook(), lambda: snapshot, WallClock(), out)
    return made, out


async def served(made: LedgerParts, count: int = 10) -> None:
    tasks: list[asyncio.Task[Any]] = []

    def spawn(work: Any) -> asyncio.Task[Any]:
        tasks.append(asyncio.get_running_loop().create_task(work))
        return tasks[-1]

    made.start(spawn)
    for _ in range(count):
        made.ledger.emit(replace(MISS, at=NOW))
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await made.aclose()
    await made.aclose()


async def test_what_was_taken_is_written_and_booked_at_the_end(valkey: ValkeyChild, tmp_path: Path) -> None:
    await command(valkey.url, "FLUSHALL")
    for _ in range(2):
        made, out = parts(tmp_path, valkey.url)
        await served(made)
        assert len(out.getvalue().splitlines()) == 10
    assert len(list(read_rows(tmp_path / "ledger"))) == 20
    book = RedisCostBook(valkey.url, LinkRules(deadline=5.0))
    day = int(NOW) // DAY
    (sums,) = (await book.read(TenantId("acme"), day, day)).values()
    assert (sums.requests, sums.cost) == (20, 20 * 210)
    await book.aclose()


async def test_without_rows_nothing_is_written(valkey: ValkeyChild, tmp_path: Path) -> None:
    made, out = parts(tmp_path, valkey.url, rows="off")
    await served(made)
    assert not (tmp_path / "ledger").exists()
    assert len(out.getvalue().splitlines()) == 10


async def test_without_a_store_rows_are_written_and_the_end_comes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, _ = parts(tmp_path, "unix:///nowhere/s", rows="parquet")
    await served(made)
    assert len(list(read_rows(tmp_path / "ledger"))) == 10
    assert "not booked" in capsys.readouterr().out
    assert made.booking.waiting == 1
