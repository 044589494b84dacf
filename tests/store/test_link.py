"""The connections: bounded, on time, and never a reply for another call."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from semcache.core import EntryId, ExactKey
from semcache.errors import StoreError
from semcache.store.breaker import BreakerRules
from semcache.store.embedded import ValkeyChild
from semcache.store.link import Link, LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from tests.store.servers import ACME, WallClock, entry

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def fault(call: Awaitable[object]) -> str:
    with pytest.raises(StoreError) as failed:
        await call
    return failed.value.kind


@contextlib.asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[str]:
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Relay:
    """Passes bytes on to a server; replies come late."""

    def __init__(self, socket: str, delay: float) -> None:
        self.socket, self.delay, self.requests = socket, delay, 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inward, outward = await asyncio.open_unix_connection(self.socket)
        back = asyncio.create_task(self._replies(inward, writer))
        try:
            while data := await reader.read(65536):
                self.requests += 1
                outward.write(data)
        finally:
            back.cancel()
            outward.close()

    async def _replies(self, inward: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await inward.read(65536):
            await asyncio.sleep(self.delay)
            writer.write(data)


async def test_a_cancelled_call_never_leaves_its_reply_to_another(
    valkey: ValkeyChild, clock: WallClock
) -> None:
    relay = Relay(valkey.url.removeprefix("unix://"), 0.005)
    async with listening(relay) as url:
        rules = StoreRules(prefix="cancel", link=LinkRules(deadline=5.0, connections=8))
        store = RedisStore(url, clock, rules)
        made = [entry(f"e{n}") for n in range(200)]
        assert all(await asyncio.gather(*map(store.put, made)))
        calls = [asyncio.create_task(store.get_exact(ACME, one.key)) for one in made]
        for turn, call in enumerate(calls[::2]):
            await asyncio.sleep(0.001 if turn % 4 == 0 else 0)
            call.cancel()
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(one, asyncio.CancelledError) for one in done) > 50
        found = await asyncio.gather(*(store.get_exact(ACME, one.key) for one in made))
        assert [one.id for one in found if one] == [one.id for one in made]
        assert store.corrupt == 0
        await store.aclose()


async def test_a_late_reply_is_never_read_by_the_next_call(valkey: ValkeyChild, clock: WallClock) -> None:
    relay = Relay(valkey.url.removeprefix("unix://"), 0.0)
    async with listening(relay) as url:
        rules = StoreRules(prefix="late", link=LinkRules(deadline=0.1, connections=2))
        store = RedisStore(url, clock, rules)
        for n in range(10):
            assert await store.put(entry(f"e{n}"))
        for n in range(4):
            relay.delay = 0.15
            assert await fault(store.get_exact(ACME, ExactKey(f"key-of-e{n}"))) == "late"
            relay.delay = 0.0
            found = await store.get_exact(ACME, ExactKey(f"key-of-e{n + 4}"))
            assert found
            assert found.id == f"e{n + 4}"
        await store.aclose()


async def test_the_way_of_a_request_costs_one_round_trip(valkey: ValkeyChild, clock: WallClock) -> None:
    relay = Relay(valkey.url.removeprefix("unix://"), 0.0)
    async with listening(relay) as url:
        store = RedisStore(url, clock, StoreRules(prefix="trips"))
        made = [entry(f"e{n}") for n in range(8)]
        for warm in range(2):
            for one in made:
                before = relay.requests
                assert await store.put(one)
                assert warm == 0 or relay.requests == before + 1
            before = relay.requests
            assert await store.get_exact(ACME, made[0].key)
            assert all(await store.get_many(ACME, [one.id for one in made]))
            await store.lookup(ACME, ExactKey("none"), ["", "model:small", "key:none"])
            await store.epochs(ACME, ["", "tag:x"])
            assert warm == 0 or relay.requests == before + 4
        await store.aclose()


NOISE = {
    "closes": b"",
    "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "zeros": bytes(100),
    "half": b"$100\r\nabc",
    "wrong shape": b"+OK\r\n",
    "integer": b":1\r\n",
    "nil": b"$-1\r\n",
    "short list": b"*1\r\n:1\r\n",
    "deep": b"*1\r\n" * 5000,
    "huge": b"$99999999999999999999\r\n",
    "error": b"-ERR whatever\r\n",
    "moved": b"-MOVED 1 10.0.0.1:6379\r\n",
    "two replies": b"$-1\r\n$-1\r\n",
}


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE.keys())
async def test_a_server_that_talks_nonsense_is_a_named_fault(noise: bytes, clock: WallClock) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            if not noise:
                return
            writer.write(noise)

    async with listening(handler) as url:
        rules = StoreRules(link=LinkRules(deadline=0.05, breaker=BreakerRules(faults=99)))
        store = RedisStore(url, clock, rules)
        for call in (
            lambda: store.get_exact(ACME, ExactKey("k")),
            lambda: store.get_many(ACME, [EntryId("a"), EntryId("b")]),
            lambda: store.epochs(ACME, ["", "tag:x"]),
            lambda: store.put(entry()),
            lambda: store.counts(ACME),
            store.tenants,
            lambda: anext(store.scan(ACME)),
            lambda: anext(store.changes()),
        ):
            assert await fault(call()) in ("down", "late", "error", "moved")
        await store.aclose()


async def test_a_connection_closed_while_idle_is_replaced(valkey: ValkeyChild, clock: WallClock) -> None:
    store = RedisStore(valkey.url, clock, StoreRules(prefix="stale"))
    assert await store.put(entry())
    link = Link(valkey.url, LinkRules())
    for _ in range(3):
        await link.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert await store.get_exact(ACME, ExactKey("key-of-e1"))
    await link.aclose()
    await store.aclose()


@pytest.mark.event(22)
async def test_a_frozen_server_is_late_then_open_then_back(lone: ValkeyChild, clock: WallClock) -> None:
    rules = LinkRules(deadline=0.1, connections=2, breaker=BreakerRules(faults=3, first_pause=0.2))
    store = RedisStore(lone.url, clock, StoreRules(link=rules))
    assert await store.put(entry())
    assert lone.pid
    os.kill(lone.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        kinds = await asyncio.gather(*(fault(store.get_exact(ACME, ExactKey("k"))) for _ in range(20)))
        assert set(kinds) <= {"late", "open"}
        assert time.monotonic() - began < 0.4
        assert store.is_open
        began = time.monotonic()
        assert await fault(store.put(entry())) == "open"
        assert time.monotonic() - began < 0.02
        await asyncio.sleep(0.25)
        assert await fault(store.ping()) == "late", "the probe"
        assert await fault(store.ping()) == "open"
    finally:
        os.kill(lone.pid, signal.SIGCONT)
    for _ in range(40):
        await asyncio.sleep(0.05)
        with contextlib.suppress(StoreError):
            assert await store.get_exact(ACME, ExactKey("key-of-e1"))
            break
    assert not store.is_open
    await store.aclose()


@pytest.mark.event(22)
async def test_callers_do_not_pile_up(lone: ValkeyChild) -> None:
    link = Link(lone.url, LinkRules(deadline=0.3, connections=1, waiting=5))
    await link.call("PING")
    assert lone.pid
    os.kill(lone.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        calls = [asyncio.create_task(fault(link.call("PING"))) for _ in range(50)]
        done, _ = await asyncio.wait(calls, timeout=0.1)
        assert [call.result() for call in done] == ["busy"] * 45
        assert [await call for call in calls if call not in done] == ["late"] * 5
        assert time.monotonic() - began < 0.6
    finally:
        os.kill(lone.pid, signal.SIGCONT)
    await link.aclose()


@pytest.mark.event(21)
async def test_connections_are_bounded(valkey: ValkeyChild) -> None:
    link = Link(valkey.url, LinkRules(connections=3, deadline=5.0))

    async def own() -> int:
        return int(await link.call("CLIENT", "ID"))

    assert len(set(await asyncio.gather(*(own() for _ in range(60))))) <= 3
    await link.aclose()
    assert await fault(link.call("PING")) == "down"


@pytest.mark.parametrize("url", ["", "http://x", "redis://host:port", "redis://h?db=x", "unix"])
async def test_an_unusable_url_is_refused_without_its_secrets(url: str, clock: WallClock) -> None:
    with pytest.raises(StoreError) as refused:
        RedisStore(url.replace("//", "//user:hunter2@"), clock, StoreRules())
    assert refused.value.kind == "config"
    assert "hunter2" not in str(refused.value)


async def test_nobody_there_is_down(clock: WallClock) -> None:
    for url in ("redis://127.0.0.1:1", "unix:///nowhere/s"):
        store = RedisStore(url, clock, StoreRules())
        assert await fault(store.ping()) == "down"
        assert await fault(anext(store.changes())) == "down"
        await store.aclose()
