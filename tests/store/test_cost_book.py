"""The book of costs on a real server: lifetimes, names of keys, damage, and all or nothing."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from semcache.core import TenantId
from semcache.cost_port import DAY, CostKey, CostSums
from semcache.errors import StoreError
from semcache.store.cost_book import COUNTERS, CostRules, RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules, Reply
from tests.store.servers import ACME, command, running, valkey

__all__ = ["valkey"]

TODAY = int(time.time()) // DAY
KEY = CostKey(ACME, TODAY, "gpt-5", "openai", "miss")
ONE = CostSums(requests=1, cost=7)


@dataclass
class Shelf:
    url: str
    prefix: str
    book: RedisCostBook

    async def call(self, *words: bytes | str | int) -> Reply:
        return await command(self.url, *words)

    def key(self, name: str, tenant: str = "acme") -> str:
        return f"{self.prefix}:{{{tenant}}}:{name}"


@pytest.fixture
async def shelf(valkey: ValkeyChild) -> AsyncIterator[Shelf]:
    prefix = uuid.uuid4().hex
    book = RedisCostBook(valkey.url, LinkRules(deadline=5.0), prefix, CostRules(keep=10))
    yield Shelf(valkey.url, prefix, book)
    await book.aclose()


async def test_days_fade(shelf: Shelf) -> None:
    await shelf.book.add("w.1", {KEY: ONE, replace(KEY, day=TODAY - 3): ONE})
    ends = [int(await shelf.call("EXPIRETIME", shelf.key(f"cost:{day}"))) for day in (TODAY, TODAY - 3)]
    assert ends == [(TODAY + 11) * DAY, (TODAY + 8) * DAY]
    # The list of days lives as long as the last of them; the writer's number for a week after it wrote.
    assert await shelf.call("EXPIRETIME", shelf.key("cost-days")) == (TODAY + 11) * DAY
    assert 6.9 * DAY < int(await shelf.call("TTL", shelf.key("cost-by:w"))) <= 7 * DAY


async def test_a_day_that_is_over_already_is_not_kept(shelf: Shelf) -> None:
    old = replace(KEY, day=TODAY - 11)
    await shelf.book.add("w.1", {old: ONE})
    assert await shelf.book.read(ACME, 0, TODAY) == {}
    assert await shelf.book.tenants() == ()
    await shelf.book.add("w.2", {KEY: ONE, old: ONE})
    assert await shelf.book.read(ACME, 0, TODAY) == {KEY: ONE}
    assert await shelf.book.tenants() == (ACME,)


async def test_a_tenant_owns_its_keys(shelf: Shelf) -> None:
    await shelf.book.add("w.1", {KEY: ONE, replace(KEY, tenant="a {b}"): ONE})
    names = sorted(name.decode() for name in await shelf.call("KEYS", f"{shelf.prefix}*"))
    assert names == sorted(
        [
            shelf.key(name, tenant)
            for name in (f"cost:{TODAY}", "cost-days", "cost-by:w")
            for tenant in ("acme", "a%20%7Bb%7D")
        ]
        + [shelf.key("cost-tenants", "!")]
    )
    assert await shelf.book.forget(TenantId("a {b}")) == 1
    assert await shelf.book.forget(ACME) == 1
    left = sorted(name.decode() for name in await shelf.call("KEYS", f"{shelf.prefix}*"))
    # The numbers stay, so that what is on its way is not counted anew.
    assert left == sorted([shelf.key("cost-by:w"), shelf.key("cost-by:w", "a%20%7Bb%7D")])


@pytest.mark.parametrize("name", ["cost", "days", "by"])
async def test_all_or_nothing(shelf: Shelf, name: str) -> None:
    broken = {"cost": f"cost:{TODAY}", "days": "cost-days", "by": "cost-by:w"}[name]
    await shelf.call("SET", shelf.key(broken), "not what it should be")
    with pytest.raises(StoreError):
        await shelf.book.add("w.1", {KEY: ONE})
    assert [key.decode() for key in await shelf.call("KEYS", f"{shelf.prefix}*")] == [shelf.key(broken)]
    await shelf.call("DEL", shelf.key(broken))
    await shelf.book.add("w.1", {KEY: ONE})
    assert await shelf.book.read(ACME, TODAY, TODAY) == {KEY: ONE}


async def test_a_full_server_takes_a_batch_whole_or_not_at_all(tmp_path: Path) -> None:
    import asyncio
    from contextlib import ExitStack

    options = [
        "--port",
        "0",
        "--save",
        "",
        "--dir",
        str(tmp_path),
        "--maxmemory",
        "2mb",
        "--maxmemory-policy",
        "noeviction",
    ]
    with ExitStack() as stack:
        url = await asyncio.to_thread(stack.enter_context, running(options, f"{tmp_path}/s"))
        book = RedisCostBook(url, LinkRules(deadline=5.0))
        await command(url, "CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(StoreError) as caught:
            await book.add("w.1", {KEY: ONE})
        assert caught.value.kind == "full"
        assert await command(url, "DBSIZE") == 0
        await command(url, "CONFIG", "SET", "maxmemory", "0")
        await book.add("w.1", {KEY: ONE})
        await command(url, "CONFIG", "SET", "maxmemory", "1")
        # A full server is read, and forgets.
        assert await book.read(ACME, TODAY, TODAY) == {KEY: ONE}
        assert await book.tenants() == (ACME,)
        assert await book.forget(ACME) == 1
        await book.aclose()


async def test_damage_is_said(shelf: Shelf) -> None:
    for field, value in ((b"no key", b"1 2"), (b"a\x1fb\x1fc\x1fd\x1fe\x1ff\x1fg\x1fh\x1f", b"1 x")):
        await shelf.book.add("w.1", {KEY: ONE})
        await shelf.call("HSET", shelf.key(f"cost:{TODAY}"), field, value)
        with pytest.raises(StoreError) as caught:
            await shelf.book.read(ACME, TODAY, TODAY)
        assert caught.value.kind == "corrupt"
        await shelf.call("DEL", shelf.key(f"cost:{TODAY}"))


async def test_counters_of_another_release_are_carried_on(shelf: Shelf) -> None:
    await shelf.book.add("w.1", {KEY: ONE})
    name = shelf.key(f"cost:{TODAY}")
    field = (await shelf.call("HKEYS", name))[0]
    # One counter more than we know, and a value of a release that knew fewer.
    await shelf.call("HSET", name, field, " ".join(["5"] * (len(COUNTERS) + 1)))
    await shelf.book.add("w.2", {KEY: ONE})
    assert (await shelf.call("HGET", name, field)).split()[-1] == b"5"
    assert (await shelf.book.read(ACME, TODAY, TODAY))[KEY].requests == 6
    await shelf.call("HSET", name, field, "3 4")
    await shelf.book.add("w.3", {KEY: ONE})
    assert await shelf.book.read(ACME, TODAY, TODAY) == {KEY: CostSums(requests=4, input=4, cost=7)}


async def test_a_store_that_is_not_there() -> None:
    book = RedisCostBook("unix:///nowhere/s", LinkRules(deadline=0.5))
    for call in (book.add("w.1", {KEY: ONE}), book.read(ACME, 0, 1), book.tenants(), book.forget(ACME)):
        with pytest.raises(StoreError):
            await call
    await book.aclose()
