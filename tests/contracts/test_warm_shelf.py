"""What every shelf of prewarming does, the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from semcache.answer.warming import Shelf
from semcache.core import TenantId
from semcache.ports import Selector
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.warm_shelf import WarmShelf
from tests.fakes.warm_shelf import FakeWarmShelf
from tests.store.servers import ACME, WallClock, cluster, valkey

__all__ = ["cluster", "valkey"]

OTHER = TenantId("other {tenant}: \ud800 名")


@dataclass
class Subject:
    shelf: Shelf
    flush: Callable[[TenantId], Awaitable[None]]
    drop: Callable[[TenantId], Awaitable[None]]


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def subject(
    request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[Subject]:
    if request.param == "fake":
        fake = FakeWarmShelf(WallClock())

        async def flush(tenant: TenantId) -> None:
            fake.flush(tenant)

        yield Subject(fake, flush, fake.drop)
        return
    url = valkey.url if request.param == "valkey" else cluster
    prefix, rules = uuid.uuid4().hex, LinkRules(deadline=5.0)
    shelf = WarmShelf(url, rules, prefix)
    store = RedisStore(url, WallClock(), StoreRules(link=rules, prefix=prefix))

    async def flushed(tenant: TenantId) -> None:
        await store.delete(Selector(tenant))

    yield Subject(shelf, flushed, shelf.drop)
    await shelf.aclose()
    await store.aclose()


async def test_what_is_written_is_read_by_tenant(subject: Subject) -> None:
    shelf = subject.shelf
    assert await shelf.tenants() == []
    assert await shelf.read(ACME) is None
    assert await shelf.write(ACME, 0, b"one:\x00\xff\r\n")
    assert await shelf.write(OTHER, 0, b"")
    assert await shelf.write(ACME, 0, b"2:two")
    assert await shelf.tenants() == [ACME, OTHER]
    assert await shelf.read(ACME) == b"2:two"
    assert await shelf.read(OTHER) == b""


async def test_a_flushed_tenant_has_nothing_and_nothing_counted_before_comes_back(subject: Subject) -> None:
    shelf = subject.shelf
    assert await shelf.epoch(ACME) == 0
    assert await shelf.write(ACME, 0, b"old")
    assert await shelf.write(OTHER, 0, b"theirs")
    await subject.flush(ACME)
    assert await shelf.epoch(ACME) == 1
    assert await shelf.read(ACME) is None
    assert not await shelf.write(ACME, 0, b"counted before")
    assert await shelf.read(ACME) is None
    assert await shelf.write(ACME, 1, b"new")
    assert await shelf.read(ACME) == b"new"
    assert await shelf.read(OTHER) == b"theirs"


async def test_dropping(subject: Subject) -> None:
    await subject.shelf.write(ACME, 0, b"x")
    await subject.drop(ACME)
    await subject.drop(ACME)
    assert await subject.shelf.read(ACME) is None
    assert await subject.shelf.tenants() == []


async def test_values_are_bounded(subject: Subject) -> None:
    assert await subject.shelf.write(ACME, 0, b"x" * (1 << 20))
    with pytest.raises(ValueError):  # noqa: PT011 - the caller's mistake, whatever the words
        await subject.shelf.write(ACME, 0, b"x" * ((1 << 20) + 1))


async def test_one_holder_at_a_time(subject: Subject) -> None:
    shelf = subject.shelf
    assert await shelf.lease("a", 30)
    assert not await shelf.lease("b", 30)
    assert await shelf.lease("a", 30)
    assert not await shelf.lease("b", 0)
    assert not await shelf.lease("b", 30)
    assert await shelf.lease("a", 0)
    assert await shelf.lease("b", 0.05)
    await asyncio.sleep(0.1)
    assert await shelf.lease("a", 30)
    assert await shelf.lease("a", 0)
