"""Crowds: a thousand who ask the same, hundreds who ask nearly the same, many whose answers end at one moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.e2e.running import Proxy
from tests.fakes.upstream_server import ByRequest, Seen, UpstreamServer, chat_json

CHAT = "/v1/chat/completions"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as opened:
        yield opened


def body(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


@pytest.mark.event(12)
@pytest.mark.event(19)
async def test_a_thousand_ask_the_same_and_most_of_them_leave(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession
) -> None:
    """One call; who stays gets the answer, though the one who made the call is among those who went."""
    upstream.script = chat_json("The one answer.", delay=1.5)
    headers = {"semcache-namespace": "thousand"}

    async def ask() -> str:
        async with session.post(proxy.url + CHAT, json=body("All the same?"), headers=headers) as reply:
            assert reply.status == 200, await reply.text()
            return str((await reply.json())["choices"][0]["message"]["content"])

    first = asyncio.ensure_future(ask())
    await asyncio.sleep(0.3)
    others = [asyncio.ensure_future(ask()) for _ in range(999)]
    await asyncio.sleep(0.7)
    for leaving in [first, *others[:600]]:
        leaving.cancel()
    assert set(await asyncio.gather(*others[600:])) == {"The one answer."}
    # One where the machine keeps up. Those whom the store could not answer in time do not know what was deleted meanwhile:
    # they share a call of their own; so do those who looked before the answer was stored and ask when the call has ended.
    assert upstream.calls <= 3
    assert not all(seen.closed_early for seen in upstream.requests)


@pytest.mark.event(20)
async def test_many_that_are_nearly_the_same_all_get_their_own_answers(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession
) -> None:
    """As many upstream calls as there are questions at most; nobody gets another's numbers, none fails."""

    def slowly(seen: Seen) -> object:
        return chat_json(f"Answer to: {json.loads(seen.body)['messages'][-1]['content']}", delay=0.2)

    upstream.script = ByRequest(slowly)
    headers = {"semcache-namespace": "nearly"}

    async def ask(number: int) -> tuple[int, bool]:
        text = f"How much is the postage for parcel number {number}?"
        async with session.post(proxy.url + CHAT, json=body(text), headers=headers) as reply:
            told = await reply.json()
            return reply.status, told["choices"][0]["message"]["content"] == f"Answer to: {text}"

    assert set(await asyncio.gather(*(ask(number) for number in range(500)))) == {(200, True)}
    assert upstream.calls == 500
    assert proxy.ready_detail()["status"] in ("ready", "degraded")
    proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready")


@pytest.mark.event(20)
async def test_when_many_lives_end_at_once_there_is_one_call_each(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession
) -> None:
    headers = {"semcache-namespace": "expiring", "semcache-ttl": "1"}

    async def ask(number: int) -> int:
        async with session.post(proxy.url + CHAT, json=body(f"Expiring {number}?"), headers=headers) as reply:
            await reply.read()
            return reply.status

    await asyncio.gather(*(ask(number) for number in range(5)))
    await asyncio.sleep(1.3)
    before = upstream.calls
    upstream.script = chat_json("fresh", delay=0.5)
    assert set(await asyncio.gather(*(ask(number % 5) for number in range(200)))) == {200}
    # As above: a store that was late makes one more of each.
    assert 5 <= upstream.calls - before <= 10
