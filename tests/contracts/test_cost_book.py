"""What every book of costs does: the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import fields, replace

import pytest

from semcache.core import TenantId
from semcache.cost_port import DAY, CostBook, CostKey, CostSums
from semcache.store.cost_book import COUNTERS, CostRules, RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.fakes.cost_book import FakeCostBook
from tests.store.servers import ACME, cluster, valkey

__all__ = ["cluster", "valkey"]

TODAY = int(time.time()) // DAY
OTHER = TenantId("other {tenant}: \ud800 名")
KEY = CostKey(ACME, TODAY, "gpt-5", "openai", "miss", "k1", "search", "prod", "retail", "sum up")
ROOM = 6


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def book(request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str) -> AsyncIterator[CostBook]:
    if request.param == "fake":
        yield FakeCostBook(room=ROOM)
        return
    url = valkey.url if request.param == "valkey" else cluster
    book = RedisCostBook(url, LinkRules(deadline=5.0), uuid.uuid4().hex, CostRules(keys=ROOM))
    yield book
    await book.aclose()


def sums(start: int = 1) -> CostSums:
    """Another number in every counter, so that none can stand for another."""
    return CostSums(*[start * (place + 1) for place in range(len(fields(CostSums)))])


def test_counters_stand_in_the_order_of_the_sums() -> None:
    # Their order is what is stored: a new one goes to the end, in both.
    assert tuple(field.name for field in fields(CostSums)) == COUNTERS


async def test_what_is_added_is_read_and_added_up(book: CostBook) -> None:
    hit = replace(KEY, outcome="exact", is_local=True)
    await book.add("w.1", {KEY: sums(), hit: sums(100)})
    await book.add("w.2", {KEY: sums(10)})
    await book.add("v.1", {KEY: sums(1000)})
    assert await book.read(ACME, TODAY, TODAY) == {KEY: sums(1011), hit: sums(100)}


async def test_a_batch_counts_once_however_often_it_is_sent(book: CostBook) -> None:
    for _ in range(3):
        await book.add("w.7", {KEY: sums()})
    await book.add("w.8", {KEY: sums()})
    await book.add("w.7", {KEY: sums()})
    assert await book.read(ACME, TODAY, TODAY) == {KEY: sums(2)}


async def test_a_batch_has_a_part_for_each_tenant_and_day(book: CostBook) -> None:
    yesterday = replace(KEY, day=TODAY - 1)
    theirs = replace(KEY, tenant=OTHER)
    for _ in range(2):
        await book.add("w.1", {KEY: sums(1), yesterday: sums(2), theirs: sums(3)})
    assert await book.read(ACME, TODAY - 5, TODAY + 5) == {KEY: sums(1), yesterday: sums(2)}
    assert await book.read(ACME, TODAY - 1, TODAY - 1) == {yesterday: sums(2)}
    assert await book.read(ACME, TODAY - 5, TODAY - 2) == {}
    assert await book.read(OTHER, TODAY, TODAY) == {theirs: sums(3)}


async def test_tenants_are_those_that_have_any(book: CostBook) -> None:
    assert await book.tenants() == ()
    await book.add("w.1", {KEY: sums(), replace(KEY, tenant=OTHER): sums()})
    await book.add("w.2", {KEY: sums(), replace(KEY, tenant=""): sums()})
    assert await book.tenants() == ("", ACME, OTHER)


async def test_a_tenant_is_forgotten_with_all_days(book: CostBook) -> None:
    theirs = replace(KEY, tenant=OTHER)
    await book.add("w.1", {KEY: sums(), replace(KEY, day=TODAY - 1): sums(), theirs: sums()})
    assert await book.forget(ACME) == 2
    assert await book.forget(ACME) == 0
    assert await book.read(ACME, 0, TODAY) == {}
    assert await book.tenants() == (OTHER,)
    assert await book.read(OTHER, 0, TODAY) == {theirs: sums()}
    # What was on its way is not new, what comes is.
    await book.add("w.1", {KEY: sums()})
    assert await book.read(ACME, 0, TODAY) == {}
    await book.add("w.2", {KEY: sums()})
    assert await book.read(ACME, 0, TODAY) == {KEY: sums()}
    assert await book.tenants() == (ACME, OTHER)


async def test_savings_may_be_negative(book: CostBook) -> None:
    await book.add("w.1", {KEY: CostSums(by_provider=-500, by_response=3)})
    await book.add("w.2", {KEY: CostSums(by_provider=-1, by_response=-5)})
    assert await book.read(ACME, TODAY, TODAY) == {KEY: CostSums(by_provider=-501, by_response=-2)}


async def test_large_sums_are_exact_and_never_turn_over(book: CostBook) -> None:
    large, most = 9_007_199_254_740_000, (1 << 53) - 1
    await book.add("w.1", {KEY: CostSums(cost=large, by_local=-large)})
    await book.add("w.2", {KEY: CostSums(cost=990, by_local=-990)})
    assert await book.read(ACME, TODAY, TODAY) == {KEY: CostSums(cost=large + 990, by_local=-large - 990)}
    await book.add("w.3", {KEY: CostSums(cost=1 << 80, by_local=-(1 << 80))})
    assert await book.read(ACME, TODAY, TODAY) == {KEY: CostSums(cost=most, by_local=-most)}


async def test_names_come_back_as_they_were(book: CostBook) -> None:
    odd = ["a\x1fb", "%1F", "%", "%25", "\x1f", "\ud800", "名", "", " ", "\x00\r\n", "x" * 300]
    keys = [
        replace(KEY, tenant=f"t{turn}", model=name, backend=name, key_name=name, project=name, task=name)
        for turn, name in enumerate(odd)
    ]
    await book.add("w.1", {key: sums(turn) for turn, key in enumerate(keys)})
    for turn, key in enumerate(keys):
        assert await book.read(TenantId(key.tenant), TODAY, TODAY) == {key: sums(turn)}


async def test_a_day_has_a_bounded_number_of_keys_and_loses_nothing(book: CostBook) -> None:
    keys = [replace(KEY, model=f"m{turn}", project=f"p{turn}") for turn in range(20)]
    for turn, key in enumerate(keys):
        await book.add(f"w.{turn}", {key: sums()})
    await book.add("w.20", {key: sums() for key in keys})
    read = await book.read(ACME, TODAY, TODAY)
    assert len(read) == ROOM + 1
    other = "~other"
    rest = CostKey(ACME, TODAY, other, "openai", "miss", other, other, other, other, other)
    assert read[rest] == sums(2 * (20 - ROOM))
    assert all(read[key] == sums(2) for key in keys[:ROOM])


async def test_many_keys_at_once(book: CostBook) -> None:
    keys = [replace(KEY, tenant=f"t{turn % 50}", task=f"task {turn}") for turn in range(50 * ROOM)]
    for _ in range(2):
        await book.add("w.1", dict.fromkeys(keys, sums()))
    for turn in range(50):
        assert len(await book.read(TenantId(f"t{turn}"), TODAY, TODAY)) == ROOM
    assert len(await book.tenants()) == 50


@pytest.mark.parametrize("name", ["", "w", "w.", ".1", "w.x", "w.-1", "w.1.", "w.１"])
async def test_batches_are_numbered(book: CostBook, name: str) -> None:
    with pytest.raises(ValueError, match="batch"):
        await book.add(name, {KEY: sums()})


async def test_days_beyond_all_calendars_are_the_callers_mistake(book: CostBook) -> None:
    for day in (-1, 2_932_897):
        with pytest.raises(ValueError, match="day"):
            await book.add("w.1", {replace(KEY, day=day): sums()})
