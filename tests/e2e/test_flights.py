"""Many ask the same at once: one upstream call, whoever hangs up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.e2e.running import Proxy
from tests.fakes.upstream_server import UpstreamServer, chat_json, chat_sse, error_reply

CALLERS = 100


async def ask(session: aiohttp.ClientSession, url: str, question: str, **fields: object) -> tuple[int, bytes]:
    body = {"model": "m", "messages": [{"role": "user", "content": question}], **fields}
    async with session.post(f"{url}/v1/chat/completions", json=body) as reply:
        return reply.status, await reply.read()


def text_of(body: bytes) -> str:
    if not body.startswith(b"data:"):
        return str(json.loads(body)["choices"][0]["message"]["content"])
    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"].get("content") or "" for event in events if event["choices"])


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as opened:
        yield opened


@pytest.mark.parametrize("streaming", ["no", "yes", "half"])
@pytest.mark.event(19)
async def test_equal_requests_make_one_call(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession, streaming: str
) -> None:
    upstream.script = (
        [chat_sse(["The ", "one ", "answer."], pause=0.2, delay=0.5)]
        if streaming == "yes"
        else [chat_json("The one answer.", delay=1.0)]
    )
    modes = {"no": [False], "yes": [True], "half": [False, True]}[streaming]
    faults = proxy.metric("semcache_cache_faults_total")
    replies = await asyncio.gather(
        *(
            ask(session, proxy.url, f"Same for all {streaming}", stream=modes[number % len(modes)])
            for number in range(CALLERS)
        )
    )
    assert {status for status, _ in replies} == {200}
    assert {text_of(body) for _, body in replies} == {"The one answer."}
    # Who was not told in time what is invalidated shares no call with those who were: on a busy machine that may be some.
    late = proxy.metric("semcache_cache_faults_total") > faults
    assert upstream.calls <= 1 + late


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.event(12)
@pytest.mark.event(19)
async def test_the_first_caller_may_hang_up(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession, streaming: bool
) -> None:
    upstream.script = (
        chat_sse(["Still ", "here."], pause=0.5, delay=0.5)
        if streaming
        else chat_json("Still here.", delay=1.0)
    )
    question = f"Leader leaves {streaming}"
    leader = asyncio.ensure_future(ask(session, proxy.url, question, stream=streaming))
    await asyncio.sleep(0.3)
    followers = [asyncio.ensure_future(ask(session, proxy.url, question, stream=streaming)) for _ in range(9)]
    await asyncio.sleep(0.1)
    leader.cancel()
    replies = await asyncio.gather(*followers)
    assert {text_of(body) for _, body in replies} == {"Still here."}
    assert upstream.calls == 1
    assert not upstream.requests[0].closed_early


@pytest.mark.event(12)
async def test_when_all_have_left_the_upstream_call_is_given_up(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession
) -> None:
    upstream.script = chat_sse(["word "] * 100, pause=0.1)
    alone = asyncio.ensure_future(ask(session, proxy.url, "Everybody leaves", stream=True))
    await asyncio.sleep(0.5)
    alone.cancel()
    for _ in range(20):
        await asyncio.sleep(0.1)
        if upstream.requests[0].closed_early:
            break
    assert upstream.requests[0].closed_early
    upstream.script = chat_json("whole")
    _, body = await ask(session, proxy.url, "Everybody leaves")
    assert text_of(body) == "whole"


@pytest.mark.event(19)
async def test_a_failure_is_not_shared_as_an_answer(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession
) -> None:
    upstream.script = [error_reply(500, delay=0.5), chat_json("better", delay=0.3)]
    replies = await asyncio.gather(*(ask(session, proxy.url, "Fails first") for _ in range(20)))
    statuses = sorted(status for status, _ in replies)
    assert statuses == [200] * 19 + [500]
    assert upstream.calls == 2


@pytest.mark.parametrize("fields", [{"temperature": 1.0}, {"cache": {"no-cache": True}}])
async def test_who_wants_an_answer_of_their_own_gets_one(
    proxy: Proxy, upstream: UpstreamServer, session: aiohttp.ClientSession, fields: dict[str, object]
) -> None:
    upstream.script = chat_json("own", delay=0.3)
    await asyncio.gather(*(ask(session, proxy.url, f"My own {fields}", **fields) for _ in range(10)))
    assert upstream.calls == 10


async def test_keys_never_share_a_call(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_json("mine", delay=0.4)
    body = {"model": "m", "messages": [{"role": "user", "content": "Same words"}]}

    async def with_key(key: str) -> None:
        headers = {"authorization": f"Bearer {key}"}
        async with (
            aiohttp.ClientSession() as own,
            own.post(f"{proxy.url}/v1/chat/completions", json=body, headers=headers) as reply,
        ):
            await reply.read()

    await asyncio.gather(*(with_key(f"sk-{number % 2}") for number in range(10)))
    assert upstream.calls == 2
