"""Clients that leave: before the head, in the middle of a stream, with and without others who wait for the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.e2e.running import Proxy
from tests.events.answers import CHAT, MESSAGES, OLLAMA, UPSTREAM
from tests.fakes.upstream_server import UpstreamServer, chat_sse, stall

PATHS = (CHAT, MESSAGES, OLLAMA)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as opened:
        yield opened


def body(text: str, path: str = CHAT, **fields: object) -> dict[str, object]:
    limit = {"max_tokens": 9} if path == MESSAGES else {}
    return {"model": "m", "messages": [{"role": "user", "content": text}], **limit, **fields}


async def until(check: object, patience: float = 5.0) -> None:
    for _ in range(int(patience / 0.02)):
        if check():  # type: ignore[operator]
            return
        await asyncio.sleep(0.02)
    raise AssertionError("waited in vain")


@pytest.mark.event(12)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("streaming", [False, True])
async def test_one_that_leaves_before_the_answer_ends_the_call(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession, path: str, streaming: bool
) -> None:
    upstream.script = stall()
    question = body("Before the answer?", path, stream=streaming)
    headers = {"semcache-upstream": UPSTREAM[path], "semcache-namespace": f"leave {path} {streaming}"}
    asked = asyncio.ensure_future(session.post(proxy.url + path, json=question, headers=headers))
    await until(lambda: upstream.calls == 1)
    asked.cancel()
    await until(lambda: upstream.requests[0].closed_early)
    async with session.post(
        proxy.url + path, json=question, headers={**headers, "cache-control": "only-if-cached"}
    ) as reply:
        assert reply.status == 504
    last = proxy.records(0.2)
    gone = [record for record in last if record["status"] == 499]
    assert gone[-1]["reason"] == "client-gone"
    assert gone[-1]["usage"]["prompt_tokens"] > 0, "what was sent is billed all the same"


@pytest.mark.event(12)
async def test_one_that_leaves_in_the_middle_pays_and_leaves_nothing_behind(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession
) -> None:
    upstream.script = chat_sse(["word "] * 1000, pause=0.01)
    question = body("In the middle?", stream=True)
    headers = {"semcache-namespace": "middle"}
    async with session.post(proxy.url + CHAT, json=question, headers=headers) as reply:
        await reply.content.readany()
        await reply.content.readany()
    await until(lambda: upstream.requests[0].closed_early)
    again = {**headers, "cache-control": "only-if-cached"}
    async with session.post(proxy.url + CHAT, json=question, headers=again) as reply:
        assert reply.status == 504
    record = next(one for one in reversed(proxy.records(0.2)) if one.get("stream") and one.get("estimated"))
    assert 0 < record["usage"]["completion_tokens"] < 900
