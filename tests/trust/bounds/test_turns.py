"""One tenant's flood: its own calls wait or are refused, others take turns with it, and stored answers come at once."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.e2e.running import Proxy, running
from tests.e2e.tenants import bearer, policy
from tests.fakes.upstream_server import (
    Behaviour,
    ByRequest,
    Seen,
    UpstreamServer,
    chat_json,
    chat_sse,
    in_thread,
)

LOUD, QUIET, NARROW = "sk-loud", "sk-quiet", "sk-narrow"
SERVICE = 0.1
"""Seconds that the upstream takes for an answer."""


def answering(seen: Seen) -> Behaviour:
    body = seen.json()
    question = body["messages"][-1]["content"]
    if isinstance(question, list):
        question = question[0]["text"]
    if body.get("stream"):
        return chat_sse([f"{question} ", *["on "] * 8, "end"], pause=SERVICE)
    return chat_json(f"Answer to {question}", delay=SERVICE)


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    with in_thread(ByRequest(answering)) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("turns")
    policies = folder / "policies"
    policies.mkdir()
    for name, key, more in (
        ("loud", LOUD, ""),
        ("quiet", QUIET, ""),
        ("narrow", NARROW, "limits: {concurrent_calls: 2, queue: 1, queue_seconds: 2}\nupstream: wide\n"),
    ):
        (policies / f"{name}.yaml").write_text(policy(name, key, more=more))
    shared = {"base_url": upstream.url, "max_concurrent": 2, "max_queue": 40, "queue_seconds": 20}
    config = folder / "config.yaml"
    upstreams = {"shared": shared, "wide": {"base_url": upstream.url}}
    told = {
        "upstreams": upstreams,
        "policies": str(policies),
        "limits": {"held_bytes": 200_000, "concurrent_requests": 80},
    }
    config.write_text(json.dumps(told))
    with running(folder / "data", "--config", str(config)) as started:
        yield started


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as opened:
        yield opened


async def ask(
    session: aiohttp.ClientSession, proxy: Proxy, key: str, question: str, **fields: Any
) -> tuple[int, dict[str, str], bytes, float]:
    begun = time.perf_counter()
    body = {"model": "m", "messages": [{"role": "user", "content": question}], **fields}
    path = f"{proxy.url}/v1/chat/completions"
    async with session.post(path, json=body, headers=bearer(key)) as reply:
        data = await reply.read()
    return reply.status, {k.lower(): v for k, v in reply.headers.items()}, data, time.perf_counter() - begun


async def metric(proxy: Proxy, name: str) -> float:
    """Read a metric without holding up the calls that this test has under way."""
    return await asyncio.to_thread(proxy.metric, name)


async def until(proxy: Proxy, name: str, least: float, most: float = 1e9) -> None:
    for _ in range(200):
        if least <= await metric(proxy, name) <= most:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{name} is {await metric(proxy, name)}")


async def test_a_flood_costs_a_quiet_tenant_a_turn_and_no_more(
    proxy: Proxy, session: aiohttp.ClientSession
) -> None:
    flood = [asyncio.ensure_future(ask(session, proxy, LOUD, f"Loud {n} of many")) for n in range(60)]
    await until(proxy, "semcache_upstream_waiting", 35)
    waited = []
    for n in range(8):
        status, _, _, seconds = await ask(session, proxy, QUIET, f"Quiet {n} of few")
        assert status == 200
        waited.append(seconds)
    assert sum(not task.done() for task in flood) > 5, "the flood was on all the time"
    # In one line for all it would have been refused at first, and have waited two seconds then.
    assert max(waited) < 12 * SERVICE
    replies = await asyncio.gather(*flood)
    refused = [(status, headers, data) for status, headers, data, _ in replies if status != 200]
    assert 10 <= len(refused) <= 25, "two inside, forty wait; some gave way to the quiet one"
    for status, headers, data in refused:
        assert (status, json.loads(data)["error"]["code"]) == (503, "overloaded")
        assert int(headers["retry-after"]) == 20


async def test_a_tenant_has_so_many_calls_under_way_and_hits_beside_them(
    proxy: Proxy, session: aiohttp.ClientSession
) -> None:
    assert (await ask(session, proxy, NARROW, "Known before"))[0] == 200
    streams = [
        asyncio.ensure_future(ask(session, proxy, NARROW, f"Stream {n}", stream=True)) for n in range(2)
    ]
    await asyncio.sleep(2 * SERVICE)
    followers = [
        asyncio.ensure_future(ask(session, proxy, NARROW, "Stream 0", stream=True)) for _ in range(5)
    ]
    waits = asyncio.ensure_future(ask(session, proxy, NARROW, "Waits for a place"))
    await asyncio.sleep(SERVICE)
    await until(proxy, "semcache_tenant_waiting", 1)
    assert await metric(proxy, "semcache_tenant_calls") == 2, "who shares a call takes no place"
    before = await metric(proxy, "semcache_tenant_refusals_total")
    status, headers, data, seconds = await ask(session, proxy, NARROW, "One too many")
    assert (status, json.loads(data)["error"]["code"]) == (429, "tenant_busy")
    assert json.loads(data)["error"]["type"] == "rate_limit_error"
    assert int(headers["retry-after"]) == 2
    assert seconds < 1
    assert await metric(proxy, "semcache_tenant_refusals_total") == before + 1
    status, headers, _, _ = await ask(session, proxy, NARROW, "Known before")
    assert (status, headers["semcache-outcome"]) == (200, "exact")
    assert not any(task.done() for task in streams), "a stream holds its place to its end"
    assert {reply[0] for reply in await asyncio.gather(*streams, *followers, waits)} == {200}
    await until(proxy, "semcache_tenant_calls", 0, 0)


async def test_it_is_refused_in_the_words_of_the_client(proxy: Proxy, session: aiohttp.ClientSession) -> None:
    streams = [asyncio.ensure_future(ask(session, proxy, NARROW, f"Held {n}", stream=True)) for n in range(3)]
    await asyncio.sleep(2 * SERVICE)
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "In other words"}]}
    headers = {"x-api-key": NARROW, "anthropic-version": "2023-06-01"}
    async with session.post(f"{proxy.url}/v1/messages", json=body, headers=headers) as reply:
        said = await reply.json()
    assert reply.status == 429
    assert (said["type"], said["error"]["type"]) == ("error", "rate_limit_error")
    assert reply.headers["retry-after"] == "2"
    await asyncio.gather(*streams)


async def test_who_leaves_the_line_takes_no_place(proxy: Proxy, session: aiohttp.ClientSession) -> None:
    streams = [
        asyncio.ensure_future(ask(session, proxy, NARROW, f"Again {n}", stream=True)) for n in range(2)
    ]
    await asyncio.sleep(2 * SERVICE)
    leaves = asyncio.ensure_future(ask(session, proxy, NARROW, "Gone before its turn"))
    await asyncio.sleep(SERVICE)
    leaves.cancel()
    await asyncio.sleep(SERVICE)
    stays = asyncio.ensure_future(ask(session, proxy, NARROW, "Has the place in the line"))
    assert {reply[0] for reply in await asyncio.gather(*streams, stays)} == {200}
    await until(proxy, "semcache_tenant_calls", 0, 0)
    assert await metric(proxy, "semcache_tenant_waiting") == 0


async def test_bodies_are_bounded_together(proxy: Proxy, session: aiohttp.ClientSession) -> None:
    status, headers, data, _ = await ask(session, proxy, QUIET, "x" * 300_000)
    assert (status, json.loads(data)["error"]["code"]) == (503, "overloaded")
    assert headers["retry-after"] == "1"
    large = [asyncio.ensure_future(ask(session, proxy, QUIET, f"{n} " + "y" * 150_000)) for n in range(3)]
    assert sorted(reply[0] for reply in await asyncio.gather(*large)) in ([200, 200, 503], [200, 503, 503])
    await until(proxy, "semcache_held_bytes", 0, 0)
    assert (await ask(session, proxy, QUIET, "z" * 150_000))[0] == 200


async def is_refused(reader: asyncio.StreamReader) -> bool:
    try:
        return b" 429 " in await asyncio.wait_for(reader.readline(), 0.5)
    except TimeoutError:
        return False


async def test_a_tenant_that_holds_half_of_all_places_gets_none_of_the_last(
    proxy: Proxy, session: aiohttp.ClientSession
) -> None:
    host, port = proxy.url.removeprefix("http://").split(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {LOUD}\r\ncontent-length: 99\r\n\r\n"
    held: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    for _ in range(100):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode() + b"{")
        held.append((reader, writer))
    await until(proxy, "semcache_inflight", 55)
    for _ in range(5):
        status, *_ = await ask(session, proxy, QUIET, "There is a place for this")
        assert status == 200
    refused = sum(await asyncio.gather(*(is_refused(reader) for reader, _ in held)))
    for _, writer in held:
        writer.close()
    assert refused >= 30, "sixty of eighty are held; the others were told to come again"
    await until(proxy, "semcache_inflight", 0, 0)
