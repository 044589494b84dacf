"""A tenant's room on a real server: held exactly whoever writes at once, kept over restarts, entered by old entries, cheap."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from semcache.core import Embedding, EncoderId, EntryId, ReviewStatus
from semcache.ports import Selector
from semcache.renewing_parts import vector_shelf
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.keys import Keys
from semcache.store.link import LinkRules
from semcache.store.packing import OVERHEAD
from semcache.store.redis_store import Quota, RedisStore, StoreRules
from tests.store.servers import ACME, WallClock, command, entry, unit, valkey

__all__ = ["valkey"]  # a fixture, used by name

PATIENT = LinkRules(deadline=10.0)


def rules(quota: Quota, prefix: str = "") -> StoreRules:
    return StoreRules(PATIENT, prefix or f"room-{uuid.uuid4().hex}", quota_of=lambda _: quota)


@pytest.fixture
async def other() -> AsyncIterator[ValkeyChild]:
    """A server that a test may stop and start."""
    with tempfile.TemporaryDirectory(prefix="room-") as data:
        child = ValkeyChild(Path(data), ChildRules())
        await child.start()
        yield child
        await child.stop()


async def held(store: RedisStore) -> set[str]:
    return {e.id async for e in store.scan(ACME)}


async def test_quotas_hold_exactly_whoever_writes_at_once(valkey: ValkeyChild) -> None:
    quota = Quota(entries=25, bytes=30_000, share=0.5)
    shared = rules(quota)
    writers = [RedisStore(valkey.url, WallClock(), shared) for _ in range(4)]

    async def write(number: int, store: RedisStore) -> None:
        for n in range(60):
            made = entry(f"w{number}-{n}", worth=1.0 + n, holder="abcd"[number] * 2, subject=f"{n % 3:02}")
            await store.put(made)
            await store.use(ACME, {EntryId(f"w{(number + 1) % 4}-{n}"): 500.0})

    async def look() -> None:
        for _ in range(60):
            counts = await writers[0].counts(ACME)
            assert counts.entries <= quota.entries
            assert counts.bytes <= quota.bytes
            await asyncio.sleep(0)

    await asyncio.gather(look(), *(write(number, store) for number, store in enumerate(writers)))
    counts = await writers[0].counts(ACME)
    assert counts.entries == len(await held(writers[0]))
    assert counts.entries == quota.entries or counts.bytes > quota.bytes - 3 * OVERHEAD, "and no tighter"
    for store in writers:
        await store.aclose()


async def test_what_is_worth_keeping_is_known_after_a_restart(other: ValkeyChild) -> None:
    shared = rules(Quota(entries=10))
    store = RedisStore(other.url, WallClock(), shared)
    for n in range(10):
        assert await store.put(entry(f"e{n}", worth=10.0))
    await store.use(ACME, {EntryId("e0"): 1000.0})
    await store.aclose()
    await other.stop()
    await other.start()
    store = RedisStore(other.url, WallClock(), shared)
    for n in range(30):
        assert await store.put(entry(f"n{n}", worth=10.0))
    assert await held(store) == {"e0", *(f"n{n}" for n in range(21, 30))}
    await store.aclose()


async def test_entries_of_a_version_without_worth_get_one(valkey: ValkeyChild) -> None:
    shared = rules(Quota(entries=200))
    store = RedisStore(valkey.url, WallClock(), shared)
    base = Keys(shared.prefix).base(ACME)
    for n in range(150):
        await store.put(
            entry(f"e{n:03}", status=ReviewStatus.APPROVED if n == 3 else ReviewStatus.UNREVIEWED)
        )
    for name in (b"val", b"own"):
        await command(valkey.url, "DEL", base + name)
    await command(valkey.url, "HDEL", base + b"meta", "#v")
    assert await store.tidy(ACME) == 0
    assert len(await command(valkey.url, "ZRANGE", base + b"val", 0, -1)) == 150
    small = RedisStore(valkey.url, WallClock(), rules(Quota(entries=20), shared.prefix))
    assert await small.put(entry("new", worth=5000.0))
    assert await held(small) == {"e003", "new", *(f"e{n}" for n in range(132, 150))}
    # And where nobody tidied up: by whoever stores next.
    await command(valkey.url, "DEL", base + b"val")
    assert await small.put(entry("newer", worth=5000.0))
    assert {"e003", "newer"} <= await held(small)
    assert len(await held(small)) == 20
    for one in (store, small):
        await one.aclose()


async def test_what_another_version_dropped_or_verified_is_seen(valkey: ValkeyChild) -> None:
    shared = rules(Quota(entries=4))
    store = RedisStore(valkey.url, WallClock(), shared)
    base = Keys(shared.prefix).base(ACME)
    for n in range(4):
        assert await store.put(entry(f"e{n}", holder="aa"))
    # It knows neither score nor share.
    await command(valkey.url, "ZADD", base + b"val", "-5", "ghost")
    approved = entry("e0", status=ReviewStatus.APPROVED, version=2)
    assert await store.put(approved)
    score = float((await command(valkey.url, "ZSCORE", base + b"val", "e0")).decode())
    await command(valkey.url, "ZADD", base + b"val", score - 2**40, "e0")
    for n in range(4, 9):
        assert await store.put(entry(f"e{n}"))
    assert await held(store) == {"e0", "e6", "e7", "e8"}
    assert await command(valkey.url, "ZSCORE", base + b"val", "ghost") is None
    await store.aclose()


async def test_a_holders_share_is_right_again_after_another_version_dropped_some(other: ValkeyChild) -> None:
    store = RedisStore(
        other.url, WallClock(), StoreRules(PATIENT, quota_of=lambda _: Quota(entries=10, share=0.2))
    )
    base = Keys().base(ACME)
    for n in range(10):
        assert await store.put(entry(f"e{n}", holder="aa"))
    size = (await store.counts(ACME)).bytes // 10
    for n in range(5):
        name = f"e{n}"
        await command(other.url, "DEL", base + b"e:" + name.encode())
        for ordered in (b"age", b"exp"):
            await command(other.url, "ZREM", base + ordered, name)
        await command(other.url, "HDEL", base + b"meta", name)
        await command(other.url, "HINCRBY", base + b"meta", "#b", -size)
    for n in range(10):
        assert await store.put(entry(f"n{n}", holder="bb"))
    left = await held(store)
    told = await command(other.url, "ZRANGE", base + b"hbk", 0, -1, "WITHSCORES")
    counts = sorted(sum(name.startswith(letter) for name in left) for letter in "en")
    assert sum(counts) == 10
    # They differ by a byte or two.
    assert [float(number) for number in told[1::2]] == pytest.approx(
        [n * size for n in counts if n], rel=0.01
    )
    await store.aclose()


async def test_another_vector_changes_what_its_holder_takes(other: ValkeyChild) -> None:
    store = RedisStore(other.url, WallClock(), StoreRules(PATIENT, quota_of=lambda _: Quota(share=0.5)))
    shelf, base = vector_shelf(other.url), Keys().base(ACME)
    assert await store.put(entry("e1", holder="aa"))
    (stored,) = await store.get_many(ACME, [EntryId("e1")])
    assert stored is not None
    before = (await store.counts(ACME)).bytes
    assert await shelf.swap(stored, Embedding(unit(7, 1024), EncoderId("next@2")))
    after = (await store.counts(ACME)).bytes
    assert after > before + 1000
    (_, held) = await command(other.url, "ZRANGE", base + b"hbk", 0, -1, "WITHSCORES")
    assert float(held) == after
    await store.tidy(ACME)
    await store.delete(Selector(ACME, ids=(EntryId("e1"),)))
    assert await command(other.url, "EXISTS", base + b"hbk", base + b"hnk", base + b"own", base + b"val") == 0
    for one in (store, shelf):
        await one.aclose()


async def test_making_room_costs_no_more_in_a_large_room(other: ValkeyChild) -> None:
    """Fifty times as many entries: a few steps more in sorted sets, not fifty times the work."""

    async def seconds(entries: int) -> float:
        store = RedisStore(other.url, WallClock(), rules(Quota(entries=entries, share=0.5)))
        made = [entry(f"e{n}", worth=1.0 + n % 7, holder="aa", subject=f"{n % 9:02}") for n in range(entries)]
        for start in range(0, entries, 64):
            await asyncio.gather(*map(store.put, made[start : start + 64]))
        await command(other.url, "CONFIG", "RESETSTAT")
        for n in range(300):
            assert await store.put(entry(f"n{n}", worth=3.0, holder="bb"))
        stats = (await command(other.url, "INFO", "commandstats")).decode()
        assert (await store.counts(ACME)).entries == entries
        await store.aclose()
        line = next(line for line in stats.splitlines() if line.startswith("cmdstat_evalsha"))
        return float(line.split("usec_per_call=")[1].split(",")[0])

    small, large = await seconds(50), await seconds(2_500)
    assert large < 5 * small, f"{small:.0f} and {large:.0f} microseconds"


async def test_what_an_entry_costs_beside_its_value_is_counted(other: ValkeyChild) -> None:
    """With key, user, three tags: names, sets, scores and shares of it all, by the server's own count."""
    store = RedisStore(other.url, WallClock(), rules(Quota(entries=100_000, share=0.5)))
    sizes = []
    for start in (0, 1500):
        made = [
            entry(
                f"ent_{n:026}",
                key=f"{n:064x}",
                tags=("a", f"b{n % 50}", f"c{n % 9}"),
                holder="aa",
                subject=f"{n % 40:024x}",
            )
            for n in range(start, start + 1500)
        ]
        for at in range(0, 1500, 64):
            await asyncio.gather(*map(store.put, made[at : at + 64]))
        told = (await command(other.url, "INFO", "memory")).decode()
        used = int(told.split("used_memory:")[1].split("\r")[0])
        sizes.append((used, (await store.counts(ACME)).bytes))
    (used, counted), (later, more) = sizes
    assert 0.7 * (more - counted) < later - used <= more - counted
    await store.aclose()
