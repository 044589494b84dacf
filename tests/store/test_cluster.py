"""Routing inside a cluster: every tenant on its node, and slots that move."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator

import pytest
from redis.crc import key_slot

from semcache.core import TenantId
from semcache.errors import StoreError
from semcache.store.cluster import ClusterLink, open_link
from semcache.store.keys import Keys
from semcache.store.link import Link, LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from tests.store.servers import WallClock, command, entry, same


@contextlib.asynccontextmanager
async def opened(url: str, prefix: str) -> AsyncIterator[RedisStore]:
    store = RedisStore(url, WallClock(), StoreRules(prefix=prefix))
    try:
        yield store
    finally:
        await store.aclose()


def plain(url: str) -> str:
    return url.replace("+cluster", "")


async def test_tenants_live_on_all_nodes(cluster: str) -> None:
    async with opened(cluster, uuid.uuid4().hex) as store:
        made = [entry(tenant=TenantId(f"t{n}")) for n in range(30)]
        for one in made:
            assert await store.put(one)
        for one in made:
            assert same(await store.get_exact(one.tenant, one.key), one)
        assert len([e async for e in store.scan()]) == 30
        link = store._link
        assert isinstance(link, ClusterLink)
        homes = {link._map.url_of(key_slot(Keys().base(one.tenant))) for one in made}
        assert len(homes) == 3


async def test_follows_a_slot_that_moves(cluster: str) -> None:
    tenant = TenantId(uuid.uuid4().hex)
    slot = key_slot(Keys("move").base(tenant))
    names = {}
    for row in await command(plain(cluster), "CLUSTER", "SLOTS"):
        host, port, name = row[2][:3]
        names[f"redis://{host.decode()}:{port}"] = (name, row[0] <= slot <= row[1])
    old = next(url for url, (_, holds) in names.items() if holds)
    new = next(url for url, (_, holds) in names.items() if not holds)

    async def move(source: str, target: str) -> None:
        for key in await command(source, "KEYS", "move:*"):
            if key_slot(key) == slot:
                await command(source, "DEL", key)
        for url in (target, source, *names):
            await command(url, "CLUSTER", "SETSLOT", slot, "NODE", names[target][0])

    async with opened(cluster, "move") as store:
        made = entry(tenant=tenant)
        assert await store.put(made)
        for source, target in ((old, new), (new, old)):
            await move(source, target)
            assert await store.get_exact(tenant, made.key) is None, "asked at the new node"
            assert await store.put(made)
            assert await store.get_exact(tenant, made.key)
            assert await command(target, "EXISTS", Keys("move").base(tenant) + b"age") == 1


async def test_no_cluster_at_the_address_is_a_named_fault(cluster: str) -> None:
    for url in ("redis+cluster://127.0.0.1:1", "rediss+cluster://127.0.0.1:1"):
        async with opened(url, "x") as store:
            with pytest.raises(StoreError) as failed:
                await store.ping()
            assert failed.value.kind == "down"
    async with opened(plain(cluster), "x") as single:
        kinds = set()
        for n in range(30):
            try:
                await single.counts(TenantId(f"t{n}"))
            except StoreError as error:
                kinds.add(error.kind)
        assert kinds == {"moved"}


def test_the_address_says_which_kind() -> None:
    assert isinstance(open_link("redis+cluster://h", LinkRules()), ClusterLink)
    assert isinstance(open_link("redis://h", LinkRules()), Link)
    link = ClusterLink("rediss+cluster://user:p%40ss@h:1/0?ssl_cert_reqs=none", LinkRules())
    assert link._node_url(b"10.0.0.2", 7000) == "rediss://user:p%40ss@10.0.0.2:7000/0?ssl_cert_reqs=none"
    assert link._node_url(b"::1", 7000).startswith("rediss://user:p%40ss@[::1]:7000")
    assert link._node_url(b"", 7000).startswith("rediss://user:p%40ss@h:7000")
