"""Nothing is left: no file descriptor, no place, no connection to the upstream. Requests are refused, and all is well again."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from tests.e2e.running import Proxy, running
from tests.events.answers import CHAT
from tests.fakes.upstream_server import ByRequest, UpstreamServer, chat_json

PLACES = 150


@pytest.fixture(scope="module")
def tight(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("tight")
    options = {"SEMCACHE_LIMITS__CONCURRENT_REQUESTS": str(PLACES)}
    with running(folder / "data", "--upstream", upstream.url, **options) as proxy:
        yield proxy


def asking(text: str) -> dict[str, Any]:
    return {"model": "m", "temperature": 1.5, "messages": [{"role": "user", "content": text}]}


async def flood(proxy: Proxy, count: int, name: str, **headers: str) -> Counter[int]:
    """Ask so many at once; gives the statuses, 0 for a connection that was not taken or broke."""
    statuses: Counter[int] = Counter()

    async def one(session: aiohttp.ClientSession, number: int) -> None:
        try:
            async with session.post(
                proxy.url + CHAT, json=asking(f"{name} {number}?"), headers=headers
            ) as reply:
                await reply.read()
                statuses[reply.status] += 1
                if reply.status == 503:
                    assert int(reply.headers["retry-after"]) >= 1
        except aiohttp.ClientError:
            statuses[0] += 1

    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        await asyncio.gather(*(one(session, number) for number in range(count)))
    return statuses


@pytest.mark.event(44)
async def test_more_requests_than_places(tight: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = ByRequest(lambda seen: chat_json("slow", delay=1.5))
    statuses = await flood(tight, 2 * PLACES, "Places")
    assert set(statuses) == {200, 503}
    assert statuses[200] >= PLACES
    upstream.script = chat_json("fast")
    assert tight.chat("Is there a place again?").status == 200


@pytest.mark.event(44)
async def test_no_file_descriptors(tight: Proxy, upstream: UpstreamServer) -> None:
    assert tight.process is not None
    process = psutil.Process(tight.process.pid)
    before = process.rlimit(resource.RLIMIT_NOFILE)
    host, _, port = tight.url.removeprefix("http://").partition(":")
    held: list[socket.socket] = []
    upstream.script = chat_json("well")
    assert tight.chat("Before?").status == 200
    process.rlimit(resource.RLIMIT_NOFILE, (process.num_fds() + 30, before[1]))
    try:
        held += [socket.create_connection((host, int(port)), timeout=5) for _ in range(120)]
        await asyncio.sleep(0.3)
        spent = sum(process.cpu_times()[:2])
        await asyncio.sleep(1.5)
        assert sum(process.cpu_times()[:2]) - spent < 0.75, "waiting costs no time"
        assert process.is_running()
        for connection in held:
            connection.close()
        held.clear()
        await asyncio.sleep(0.3)
        # Half of the descriptors for clients, none for the way up: no upstream's fault.
        statuses = await flood(tight, 60, "Descriptors")
        assert set(statuses) <= {0, 200, 503}, statuses
        assert tight.chat("During?").status in (200, 503)
    finally:
        for connection in held:
            connection.close()
        process.rlimit(resource.RLIMIT_NOFILE, before)
    tight.wait_until(lambda: tight.chat("After?").status == 200, 5)
    assert set(await flood(tight, 60, "Descriptors again")) == {200}
    assert tight.ready_detail()["status"] in ("ready", "degraded")


@pytest.mark.event(44)
async def test_no_connection_to_the_upstream(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = ByRequest(lambda seen: chat_json("slow", delay=1.5))
    began = time.monotonic()
    statuses = await flood(proxy, 20, "Narrow", **{"semcache-upstream": "narrow"})
    assert set(statuses) == {200, 503}
    assert statuses[200] >= 2
    assert time.monotonic() - began < 8
    upstream.script = chat_json("well")
    again = json.dumps(asking("Narrow again?")).encode()
    got = proxy.request("POST", CHAT, again, {"semcache-upstream": "narrow"})
    assert got.status == 200


@pytest.mark.event(44)
async def test_names_that_do_not_resolve_take_nobody_elses_threads(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    lost = asyncio.create_task(flood(proxy, 100, "Nameless", **{"semcache-upstream": "nameless"}))
    await asyncio.sleep(0.05)
    began = time.monotonic()
    assert set(await flood(proxy, 10, "Named")) == {200}
    assert time.monotonic() - began < 4
    assert set(await lost) <= {502, 503}
