"""What a lease is on a real server and on a real cluster: one holder at a time, and none after its time."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from semcache.errors import StoreError
from semcache.store.cluster import open_link
from semcache.store.embedded import ValkeyChild
from semcache.store.lease import Lease
from semcache.store.link import Argument, Link, LinkRules, Reply
from semcache.store.scripts import Script
from tests.store.servers import cluster, command, valkey

__all__ = ["cluster", "valkey"]

Leases = Callable[[str], Lease]


@pytest.fixture(params=["valkey", "cluster"])
async def leases(request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str) -> AsyncIterator[Leases]:
    link = open_link(valkey.url if request.param == "valkey" else cluster, LinkRules(deadline=5.0))
    run = uuid.uuid4().hex
    yield lambda name: Lease(link, f"{run}:{{!}}:{name}".encode())
    await link.aclose()


async def test_one_holder_at_a_time(leases: Leases) -> None:
    lease = leases("one")
    assert await lease.take("a", 30)
    assert not await lease.take("b", 30)
    assert await lease.take("a", 30)
    assert not await lease.take("b", 0)
    assert not await lease.take("b", 30)
    assert await leases("other").take("b", 30)
    assert await lease.take("a", 0)
    assert await lease.take("a", 0)
    assert await lease.take("b", 30)


async def test_it_is_lost_by_itself(leases: Leases) -> None:
    lease = leases("short")
    assert await lease.take("a", 0.05)
    await asyncio.sleep(0.1)
    assert await lease.take("b", 30)
    assert not await lease.take("a", 30)


async def test_many_that_ask_at_once_are_one_holder(leases: Leases) -> None:
    lease = leases("rush")
    taken = await asyncio.gather(*(lease.take(f"w{at}", 30) for at in range(16)))
    assert sum(taken) == 1


async def test_the_time_is_rounded_up_and_only_none_is_giving_up(valkey: ValkeyChild) -> None:
    asked: list[Sequence[Argument]] = []

    class Watched(Link):
        async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Argument]) -> Reply:
            asked.append(arguments)
            return await super().run(script, keys, arguments)

    link = Watched(valkey.url, LinkRules(deadline=5.0))
    lease = Lease(link, uuid.uuid4().hex.encode())
    for seconds in (30, 0.0004, 1e-9, 0):
        assert await lease.take("a", seconds)
    assert [milliseconds for _, milliseconds in asked] == [30_000, 1, 1, 0]
    await link.aclose()


async def test_a_key_of_another_kind_is_a_fault_of_the_store(valkey: ValkeyChild) -> None:
    link = open_link(valkey.url, LinkRules(deadline=5.0))
    key = uuid.uuid4().hex
    await command(valkey.url, "LPUSH", key, "x")
    with pytest.raises(StoreError):
        await Lease(link, key.encode()).take("a", 1)
    await link.aclose()
