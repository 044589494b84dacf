"""The way to the book of costs: each sum exactly once, whatever the network and the store do."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from semcache.core import TenantId
from semcache.cost.booking import Booking
from semcache.cost.cells import Cells
from semcache.cost_port import DAY, CostBook, CostKey, CostSums
from semcache.errors import StoreError
from semcache.store.breaker import BreakerRules
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.fakes.cost_book import FakeCostBook
from tests.store.servers import ACME, command, running, valkey

__all__ = ["valkey"]

TODAY = int(time.time()) // DAY
KEY = CostKey(ACME, TODAY, "gpt-5", "openai", "miss")
ONE = CostSums(requests=1, cost=7, by_provider=-2)


@dataclass
class Faulty:
    """A book whose calls fail before or after they did their work."""

    book: CostBook
    random: random.Random
    rate: float
    sent: list[str] = field(default_factory=list)

    async def add(self, batch: str, sums: Mapping[CostKey, CostSums]) -> None:
        self.sent.append(batch)
        if self.random.random() < self.rate:
            raise StoreError("lost on the way", kind="late")
        await self.book.add(batch, dict(sums))
        if self.random.random() < self.rate:
            raise StoreError("the reply was lost", kind="late")

    async def read(self, tenant: TenantId, first: int, last: int) -> Mapping[CostKey, CostSums]:
        return await self.book.read(tenant, first, last)


@dataclass
class Rig:
    book: CostBook
    told: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.cells = Cells(lambda _: None)
        self.booking = Booking(self.cells, self.book, "w1", self.hear, every=0.01)

    def hear(self, word: str) -> None:
        self.told[word] += 1


@pytest.fixture(params=["fake", "valkey"])
async def book(request: pytest.FixtureRequest, valkey: ValkeyChild) -> AsyncIterator[CostBook]:
    if request.param == "fake":
        yield FakeCostBook()
        return
    book = RedisCostBook(valkey.url, LinkRules(deadline=5.0), uuid.uuid4().hex)
    yield book
    await book.aclose()


async def test_what_was_added_up_is_booked(book: CostBook) -> None:
    rig = Rig(book)
    assert await rig.booking.flush()
    rig.cells.add(KEY, ONE)
    assert rig.booking.waiting == 1
    assert await rig.booking.flush()
    rig.cells.add(KEY, ONE)
    await rig.booking.end()
    assert rig.booking.waiting == 0
    assert await book.read(ACME, TODAY, TODAY) == {KEY: CostSums(requests=2, cost=14, by_provider=-4)}
    assert rig.told == {"booked": 2}


async def test_each_sum_counts_once_through_hundreds_of_faults(book: CostBook) -> None:
    faulty = Faulty(book, random.Random(7), 0.4)
    rig = Rig(faulty)
    keys = [
        replace(KEY, tenant=f"t{turn % 3}", day=TODAY - turn % 2, task=f"{turn % 11}") for turn in range(66)
    ]
    wanted: dict[CostKey, CostSums] = {}
    for turn in range(400):
        for key in keys[turn % 60 : turn % 60 + 6]:
            rig.cells.add(key, ONE)
            wanted.setdefault(key, CostSums()).add(ONE)
        await rig.booking.flush()
    faulty.rate = 0.0
    assert await rig.booking.flush()
    assert rig.told["failed"] > 200
    read = [await book.read(TenantId(f"t{turn}"), TODAY - 1, TODAY) for turn in range(3)]
    assert {key: sums for found in read for key, sums in found.items()} == wanted


async def test_the_next_batch_waits_for_the_one_under_way(book: CostBook) -> None:
    faulty = Faulty(book, random.Random(1), 1.0)
    rig = Rig(faulty)
    for _ in range(5):
        rig.cells.add(KEY, ONE)
        assert not await rig.booking.flush()
    assert set(faulty.sent) == {"w1.1"}
    faulty.rate = 0.0
    assert await rig.booking.flush()
    assert faulty.sent[-2:] == ["w1.1", "w1.2"]
    assert (await book.read(ACME, TODAY, TODAY))[KEY].requests == 5


async def test_cancelled_in_the_middle_it_counts_once(book: CostBook) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Faulty):
        async def add(self, batch: str, sums: Mapping[CostKey, CostSums]) -> None:
            await self.book.add(batch, sums)
            reached.set()
            await go_on.wait()

    rig = Rig(Slow(book, random.Random(1), 0.0))
    rig.cells.add(KEY, ONE)
    running_ = asyncio.create_task(rig.booking.run())
    await reached.wait()
    running_.cancel()
    await asyncio.gather(running_, return_exceptions=True)
    go_on.set()
    await rig.booking.end()
    assert await book.read(ACME, TODAY, TODAY) == {KEY: ONE}


async def test_a_store_that_is_away_at_the_end_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(FakeCostBook(away=True))
    rig.cells.add(KEY, ONE)
    await rig.booking.end()
    assert "not booked" in capsys.readouterr().out
    assert rig.booking.waiting == 1


async def test_it_books_by_itself(book: CostBook) -> None:
    rig = Rig(book)
    task = asyncio.create_task(rig.booking.run())
    rig.cells.add(KEY, ONE)
    for _ in range(500):
        await asyncio.sleep(0.01)
        if not rig.booking.waiting:
            break
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await book.read(ACME, TODAY, TODAY) == {KEY: ONE}


async def test_a_flushed_store_begins_anew(valkey: ValkeyChild) -> None:
    prefix = uuid.uuid4().hex
    book = RedisCostBook(valkey.url, LinkRules(deadline=5.0), prefix)
    rig = Rig(book)
    rig.cells.add(KEY, ONE)
    await rig.booking.flush()
    for key in await command(valkey.url, "KEYS", f"{prefix}*"):
        await command(valkey.url, "DEL", key)
    rig.cells.add(KEY, ONE)
    await rig.booking.flush()
    assert await book.read(ACME, TODAY, TODAY) == {KEY: ONE}
    assert await book.tenants() == (ACME,)
    await book.aclose()


async def test_a_server_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    options = ["--port", "0", "--dir", str(tmp_path), "--appendonly", "yes", "--appendfsync", "always"]
    rules = LinkRules(deadline=2.0, breaker=BreakerRules(first_pause=0.01, longest_pause=0.02))
    book = RedisCostBook(f"unix://{tmp_path}/s", rules)
    rig = Rig(book)
    for _ in range(3):
        with ExitStack() as stack:
            await asyncio.to_thread(stack.enter_context, running(options, f"{tmp_path}/s"))
            rig.cells.add(KEY, ONE)
            await booked(rig)
        rig.cells.add(KEY, ONE)
        assert not await rig.booking.flush()
    with ExitStack() as stack:
        await asyncio.to_thread(stack.enter_context, running(options, f"{tmp_path}/s"))
        await booked(rig)
        assert (await book.read(ACME, TODAY, TODAY))[KEY].requests == 6
    await book.aclose()


async def booked(rig: Rig) -> None:
    for _ in range(500):
        if await rig.booking.flush():
            return
        await asyncio.sleep(0.02)
    pytest.fail("the store did not come back")
