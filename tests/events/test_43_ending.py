"""The end: SIGTERM under two hundred open streams, a second one, and a start afterwards as if nothing had been."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Iterator

import aiohttp
import psutil
import pytest

from tests.e2e.running import Proxy, running
from tests.events.answers import CHAT, asked, chat_stream
from tests.fakes.upstream_server import (
    SSE_TYPE,
    Behaviour,
    ByRequest,
    Exchange,
    Seen,
    UpstreamServer,
    chat_json,
    in_thread,
)

DRAIN = 2
STREAMS = 200


@pytest.fixture(scope="module")
def server() -> Iterator[UpstreamServer]:
    """Streams that begin at once, and end after a second or never."""

    def behave(seen: Seen) -> Behaviour:
        body = seen.json()
        if not body.get("stream"):
            return chat_json(f"Answer to: {asked(body)}")
        return short if "short" in asked(body) else endless

    with in_thread(ByRequest(behave)) as started:
        yield started


WHOLE = chat_stream("All of it.")
FIRST = WHOLE.partition(b"\n\n")[0] + b"\n\n"


async def short(exchange: Exchange) -> None:
    await exchange.head(200, [SSE_TYPE, ("transfer-encoding", "chunked")])
    await exchange.chunk(FIRST)
    await asyncio.sleep(1.2)
    await exchange.chunk(WHOLE.removeprefix(FIRST))
    await exchange.end()


async def endless(exchange: Exchange) -> None:
    await exchange.head(200, [SSE_TYPE, ("transfer-encoding", "chunked")])
    while True:
        await exchange.chunk(FIRST)
        await asyncio.sleep(0.2)


class Crowd:
    """Clients that read what comes."""

    def __init__(self, proxy: Proxy, mark: str = "") -> None:
        self.mark = mark
        self.url = proxy.url + CHAT
        self.begun = 0
        self.bodies: dict[str, tuple[bytes, bool]] = {}

    async def read(self, session: aiohttp.ClientSession, name: str) -> None:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": name}]}
        got, whole = b"", False
        try:
            async with session.post(self.url, json=body, headers={"semcache-namespace": name}) as reply:
                async for part, _ in reply.content.iter_chunks():
                    self.begun += not got
                    got += part
                whole = True
        except aiohttp.ClientError:
            pass
        self.bodies[name] = got, whole

    async def open(self, session: aiohttp.ClientSession) -> list[asyncio.Task[None]]:
        """Open the streams, give them when each has begun."""
        names = [f"{'short' if number % 2 else 'endless'} {number}{self.mark}" for number in range(STREAMS)]
        tasks = [asyncio.create_task(self.read(session, name)) for name in names]
        until = time.monotonic() + 30
        while self.begun < STREAMS:
            assert time.monotonic() < until, self.begun
            await asyncio.sleep(0.02)
        return tasks


@pytest.fixture(scope="module")
def ending(server: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy that each of these tests ends and starts again."""
    options = {"SEMCACHE_LIMITS__DRAIN_SECONDS": str(DRAIN)}
    with running(tmp_path_factory.mktemp("ending") / "data", "--upstream", server.url, **options) as proxy:
        yield proxy


def again(proxy: Proxy) -> None:
    proxy.stderr.clear()
    proxy.namespace = ""
    proxy.start()
    proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready", 30)


@pytest.mark.event(43)
async def test_open_streams_are_drained_to_the_deadline(ending: Proxy, server: UpstreamServer) -> None:
    assert ending.chat("Stored before?").status == 200
    await asyncio.to_thread(ending.wait_until, lambda: ending.outcome("Stored before?") == "exact")
    assert ending.process is not None
    children = psutil.Process(ending.process.pid).children(recursive=True)
    crowd = Crowd(ending)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        tasks = await crowd.open(session)
        began = time.monotonic()
        ending.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.5)
        with pytest.raises(aiohttp.ClientError):
            await session.post(crowd.url, json={}, timeout=aiohttp.ClientTimeout(total=2))
        await asyncio.gather(*tasks)
    assert await asyncio.to_thread(ending.process.wait, 20) == 0
    assert DRAIN <= time.monotonic() - began < DRAIN + 6
    for name, (body, whole) in crowd.bodies.items():
        if name.startswith("short"):
            assert (body, whole) == (WHOLE, True)
        else:
            assert b"[DONE]" not in body
            assert b"shutting down" in body[-200:], "nobody takes it for an answer"
    assert not any(child.is_running() for child in children)
    assert "Traceback" not in "".join(ending.stderr)

    again(ending)
    assert ending.outcome("Stored before?") == "exact"
    kept = {"cache-control": "only-if-cached"}
    for name in ("endless 0", "endless 198"):
        ending.namespace = name
        assert ending.chat(name, kept, stream=True).status == 504


@pytest.mark.slow
@pytest.mark.event(43)
async def test_a_second_signal_cuts_what_is_open(ending: Proxy, server: UpstreamServer) -> None:
    assert ending.process is not None
    crowd = Crowd(ending, " once more")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        tasks = await crowd.open(session)
        began = time.monotonic()
        ending.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        ending.process.send_signal(signal.SIGTERM)
        await asyncio.gather(*tasks)
        assert time.monotonic() - began < DRAIN
    await asyncio.to_thread(ending.process.wait, 20)
    for body, whole in crowd.bodies.values():
        # Opening so many takes a while: some of the short ones were through.
        assert body == WHOLE or (b"[DONE]" not in body and (not whole or b"shutting down" in body))
    assert "Traceback" not in "".join(ending.stderr)
    again(ending)
    assert json.loads(ending.chat("Does it start again?").body)["choices"]
