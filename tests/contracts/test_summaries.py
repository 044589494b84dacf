"""What all shelves of summaries do, the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from semcache.core import TenantId
from semcache.ports import Selector
from semcache.shortening.shortening import SummaryShelf
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.summaries import RedisSummaries
from tests.fakes.summaries import FakeSummaries
from tests.store.servers import ACME, WallClock, cluster, valkey

__all__ = ["cluster", "valkey"]

OTHER = TenantId("other {tenant}: \ud800 名")


@dataclass
class Subject:
    shelf: SummaryShelf
    flush: Callable[[TenantId], Awaitable[None]]


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def subject(
    request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[Subject]:
    if request.param == "fake":
        fake = FakeSummaries()

        async def flush(tenant: TenantId) -> None:
            fake.flush(tenant)

        yield Subject(fake, flush)
        return
    url = valkey.url if request.param == "valkey" else cluster
    prefix, rules = uuid.uuid4().hex, LinkRules(deadline=5.0)
    shelf = RedisSummaries(url, rules, prefix)
    store = RedisStore(url, WallClock(), StoreRules(link=rules, prefix=prefix))

    async def flushed(tenant: TenantId) -> None:
        await store.delete(Selector(tenant))

    yield Subject(shelf, flushed)
    await shelf.aclose()
    await store.aclose()


async def test_what_is_put_is_got_by_its_own_tenant(subject: Subject) -> None:
    shelf = subject.shelf
    assert await shelf.get(ACME, "a") is None
    assert await shelf.put(ACME, "a", "eins: 名 \x00") == "eins: 名 \x00"
    assert await shelf.get(ACME, "a") == "eins: 名 \x00"
    assert await shelf.get(ACME, "b") is None
    assert await shelf.get(OTHER, "a") is None


async def test_whoever_is_first_wins(subject: Subject) -> None:
    said = await asyncio.gather(*(subject.shelf.put(OTHER, "a", f"text {i}") for i in range(20)))
    assert len(set(said)) == 1
    assert await subject.shelf.get(OTHER, "a") == said[0]


async def test_a_flushed_tenant_has_none(subject: Subject) -> None:
    await subject.shelf.put(ACME, "a", "old")
    await subject.flush(ACME)
    assert await subject.shelf.get(ACME, "a") is None
    assert await subject.shelf.put(ACME, "a", "new") == "new"
    assert await subject.shelf.get(ACME, "a") == "new"


async def test_half_a_letter_is_kept_as_a_mark(subject: Subject) -> None:
    assert await subject.shelf.put(ACME, "half", "a\ud800b") == "a?b"


async def test_one_that_is_too_long_is_refused(subject: Subject) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - what matters is that nothing is kept
        await subject.shelf.put(ACME, "long", "x" * (1 << 19))
    assert await subject.shelf.get(ACME, "long") is None
