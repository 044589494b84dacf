"""Two processes' worth of indexes on one real store: what one stores or deletes, the other follows."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable

from semcache.core import Embedding, EncoderId, EntryId, Namespace, TenantId
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower, FollowerTuning
from semcache.ports import Selector
from semcache.store.embedded import ValkeyChild
from semcache.store.redis_store import RedisStore, StoreRules
from tests.fakes.entry_store import FakeEntryStore
from tests.lookup.test_follower import Generations, until
from tests.store.servers import ACME, WallClock, entry, unit, valkey

__all__ = ["valkey"]

MINILM = EncoderId("minilm")
HOME = Namespace(ACME, "aa" * 32)
TUNING = FollowerTuning(tick=0.05)


@contextlib.asynccontextmanager
async def replica(store: RedisStore | FakeEntryStore) -> AsyncIterator[tuple[FaissIndex, Follower]]:
    index = FaissIndex()
    follower = Follower(store, index, Generations(MINILM), tuning=TUNING)
    task = asyncio.create_task(follower.run())
    await until(lambda: follower.is_synced)
    yield index, follower
    task.cancel()
    await asyncio.wait([task])


async def within_a_second(true: Callable[[], bool]) -> float:
    began = time.monotonic()
    await until(true, 1.0)
    return time.monotonic() - began


async def test_another_process_follows_within_a_second(valkey: ValkeyChild) -> None:
    mine, theirs = (RedisStore(valkey.url, WallClock(), StoreRules()) for _ in range(2))
    async with replica(theirs) as (index, _):
        held = index.sizes()[0]
        assert await mine.put(entry("shared", tags=("news",)))
        await within_a_second(lambda: index.count(HOME) == held + 1)
        (near,) = await index.search(HOME, Embedding(unit(sum(b"shared")), MINILM), 1)
        assert near.entry_id == "shared"
        assert await mine.delete(Selector(ACME, ids=(EntryId("shared"),))) == 1
        await within_a_second(lambda: index.count(HOME) == held)

        assert await mine.put(entry("tagged", tags=("news",)))
        await within_a_second(lambda: index.count(HOME) == held + 1)
        assert await mine.delete(Selector(ACME, tag="news")) == 1
        await within_a_second(lambda: index.count(HOME) == held)
    await mine.aclose()
    await theirs.aclose()


async def test_random_histories_end_in_equal_sets() -> None:
    for seed in range(8):
        rng = random.Random(seed)
        store = FakeEntryStore(WallClock())
        await store.put(entry("before"))
        async with replica(store) as (index, follower):
            for step in range(60):
                await _step(store, rng, f"e{step}")
            present: set[EntryId] = set()
            for tenant in await store.tenants():
                present |= {one.id async for one in store.scan(tenant)}
            await until(lambda present=present: set(index.entry_ids()) == present)  # type: ignore[misc]  # bound on purpose
            await until(lambda: follower.is_synced and not follower.state.pending)
            assert set(index.entry_ids()) == present
            index.check_integrity()


async def _step(store: FakeEntryStore, rng: random.Random, name: str) -> None:
    tenant = TenantId(rng.choice(["acme", "other"]))
    match rng.choice(["put"] * 6 + ["id", "tag", "namespace", "model", "tenant", "flush", "wait"]):
        case "put":
            tags = tuple(rng.sample(["a", "b"], rng.randint(0, 2)))
            keys = [f"tag:{tag}" for tag in tags]
            namespace = rng.choice(["aa" * 32, "bb" * 32])
            keys += ["", f"ns:{namespace}", "model:small"]
            born = await store.epochs(tenant, keys)
            await store.put(entry(name, tenant=tenant, tags=tags, namespace=namespace, epochs=born))
        case "id":
            ids = tuple(EntryId(f"e{rng.randint(0, 60)}") for _ in range(3))
            await store.delete(Selector(tenant, ids=ids))
        case "tag":
            await store.delete(Selector(tenant, tag=rng.choice(["a", "b"])))
        case "namespace":
            await store.delete(Selector(tenant, namespace="aa" * 32))
        case "model":
            await store.delete(Selector(tenant, model="small"))
        case "tenant":
            await store.delete(Selector(tenant))
        case "flush":
            store.flush()
        case _:
            await asyncio.sleep(rng.choice([0, 0.001, 0.02]))
