"""Following the change stream through flushes, trims, restores, failures and other processes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import pytest

from semcache.core import EntryId, TenantId
from semcache.errors import StoreError
from semcache.ports import Change, EntriesDeleted, EntryPut, EpochBumped, Selector, StoreReset
from semcache.store.embedded import ValkeyChild
from semcache.store.follower import parse
from semcache.store.keys import Keys
from semcache.store.redis_store import RedisStore, StoreRules
from tests.store.servers import ACME, WallClock, command, entry

SHARED = Keys().shared


async def following(store: RedisStore) -> AsyncIterator[Change | None]:
    source = store.changes()
    assert await anext(source) == StoreReset()
    return source


async def news(source: AsyncIterator[Change | None]) -> Change:
    async with asyncio.timeout(3):
        while (change := await anext(source)) is None:
            pass
    return change


async def end(*sources: AsyncIterator[Change | None]) -> None:
    for source in sources:
        await source.aclose()  # type: ignore[attr-defined] # they are generators


async def test_two_follow_the_same(store: RedisStore, lone: ValkeyChild, clock: WallClock) -> None:
    second = RedisStore(lone.url, clock, StoreRules())
    sources = [await following(store), await following(second)]
    assert await second.put(entry())
    for source in sources:
        assert await news(source) == EntryPut(ACME, EntryId("e1"))
    await store.delete(Selector(ACME))
    for source in sources:
        assert await news(source) == EpochBumped(ACME, "", 1)
        assert await news(source) == EntriesDeleted(ACME, (EntryId("e1"),))
    await end(*sources)
    await second.aclose()


@pytest.mark.event(25)
async def test_a_flush_means_rebuild(store: RedisStore, lone: ValkeyChild) -> None:
    source = await following(store)
    await store.put(entry())
    assert await news(source) == EntryPut(ACME, EntryId("e1"))
    began = time.monotonic()
    await command(lone.url, "FLUSHALL")
    assert await news(source) == StoreReset()
    assert time.monotonic() - began < 1.0
    await store.put(entry("e2"))
    assert await news(source) == EntryPut(ACME, EntryId("e2"))
    await end(source)


async def test_a_flush_followed_at_once_by_more_is_seen(store: RedisStore, lone: ValkeyChild) -> None:
    source = await following(store)
    await command(lone.url, "FLUSHALL")
    for n in range(3):
        await store.put(entry(f"e{n}"))
    assert await news(source) == StoreReset()
    assert [e.id async for e in store.scan()] == ["e0", "e1", "e2"]
    await end(source)


async def test_a_trimmed_hole_means_rebuild(lone: ValkeyChild, clock: WallClock) -> None:
    store = RedisStore(lone.url, clock, StoreRules(stream_length=10))
    source = await following(store)
    for n in range(500):  # the follower reads nothing meanwhile
        await store.put(entry(f"e{n % 7}", prompt=str(n)))
    assert await command(lone.url, "XLEN", SHARED("changes")) < 500
    assert await news(source) == StoreReset()
    await store.put(entry("after"))
    assert await news(source) == EntryPut(ACME, EntryId("after"))
    await end(source)
    await store.aclose()


@pytest.mark.event(25)
async def test_a_restored_backup_means_rebuild(store: RedisStore, lone: ValkeyChild) -> None:
    await store.put(entry("e1"))
    backup = {name: await command(lone.url, "DUMP", name) for name in await command(lone.url, "KEYS", "*")}
    source = await following(store)
    identity = await command(lone.url, "GET", SHARED("identity"))
    for n in range(5):
        await store.put(entry(f"e{n}"))
        assert isinstance(await news(source), EntryPut)
    await command(lone.url, "DEL", SHARED("changes"), SHARED("seq"))
    for name in (SHARED("changes"), SHARED("seq")):
        await command(lone.url, "RESTORE", name, 0, backup[name])
    assert await command(lone.url, "GET", SHARED("identity")) == identity
    assert await news(source) == StoreReset()
    await end(source)


async def test_a_lost_stream_means_rebuild_and_never_stops_a_put(
    store: RedisStore, lone: ValkeyChild
) -> None:
    source = await following(store)
    await store.put(entry("e1"))
    await news(source)
    await store.put(entry("e2"))
    await command(lone.url, "DEL", SHARED("changes"))
    assert await news(source) in (StoreReset(), EntryPut(ACME, EntryId("e2")))
    await command(lone.url, "DEL", SHARED("seq"))
    assert await store.put(entry("e3"))
    await command(lone.url, "DEL", SHARED("seq"))
    assert await store.put(entry("e4")), "the numbers begin again below the stream's last"
    assert await store.put(entry("e5"))
    async with asyncio.timeout(3):
        while await news(source) != StoreReset():
            pass
    await end(source)


async def test_a_killed_server_ends_the_iteration(store: RedisStore, lone: ValkeyChild) -> None:
    source = await following(store)
    assert lone._process
    lone._process.kill()
    with pytest.raises(StoreError) as failed:
        await news(source)
    assert failed.value.kind == "down"


async def test_a_replica_can_be_followed(store: RedisStore, lone: ValkeyChild) -> None:
    await end(await following(store))
    await command(lone.url, "REPLICAOF", "127.0.0.1", 1)
    await end(await following(store))
    await command(lone.url, "REPLICAOF", "NO", "ONE")


async def test_leaving_closes_the_connection(store: RedisStore, lone: ValkeyChild) -> None:
    before = len((await command(lone.url, "CLIENT", "LIST")).splitlines())
    source = await following(store)
    reading = asyncio.create_task(anext(source))
    await asyncio.sleep(0.05)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await end(source)
    for _ in range(50):
        if len((await command(lone.url, "CLIENT", "LIST")).splitlines()) <= before:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("a connection was left")


WRITER = """
import asyncio, sys
from semcache.store.redis_store import RedisStore, StoreRules
from tests.store.servers import WallClock, entry
async def main():
    store = RedisStore(sys.argv[1], WallClock(), StoreRules())
    await store.ping()
    print("ready", flush=True)
    sys.stdin.readline()
    assert await store.put(entry("theirs"))
    await store.aclose()
asyncio.run(main())
"""


async def test_another_process_is_heard_within_a_second(store: RedisStore, lone: ValkeyChild) -> None:
    source = await following(store)
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, lone.url, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdin
    assert writer.stdout
    assert await writer.stdout.readline() == b"ready\n"
    writer.stdin.write(b"go\n")
    began = time.monotonic()
    assert await news(source) == EntryPut(ACME, EntryId("theirs"))
    assert time.monotonic() - began < 1.0
    assert await writer.wait() == 0
    assert await store.get_exact(ACME, entry("theirs").key)
    await end(source)


def test_reads_items_and_skips_words_it_does_not_know() -> None:
    fields = [
        b"t",
        b"a",
        b"D",
        b"1",
        b"D",
        b"2",
        b"Z",
        b"?",
        b"P",
        b"3",
        b"E",
        b"tag:x",
        b"V",
        b"7",
        b"D",
        b"4",
    ]
    a = TenantId("a")
    assert list(parse(fields)) == [
        EntriesDeleted(a, (EntryId("1"), EntryId("2"))),
        EntryPut(a, EntryId("3")),
        EpochBumped(a, "tag:x", 7),
        EntriesDeleted(a, (EntryId("4"),)),
    ]
    assert list(parse([b"t", b"\xff", b"P"])) == []
