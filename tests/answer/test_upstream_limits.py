"""What one upstream is spared: more calls than it may have, and calls after it failed too often."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator

import pytest

from semcache.answer.limits import Limits
from semcache.errors import UpstreamError
from tests.answer.eventually import eventually
from tests.answer.test_upstream import client, failure, fetch, post
from tests.fakes import upstream_server as fake
from tests.fakes.upstream_server import UpstreamServer


async def test_no_more_calls_at_once_than_places() -> None:
    async with (
        UpstreamServer(fake.chat_json(delay=0.05)) as server,
        client(server.url, Limits(concurrent=2)) as upstream,
    ):
        calls = [asyncio.create_task(fetch(upstream, post())) for _ in range(6)]
        await eventually(lambda: upstream.waiting == 4)
        assert upstream.active == 6, "those that wait are load too"
        await eventually(lambda: server.calls == 2)
        assert server.open_connections == 2
        assert {status for status, _ in await asyncio.gather(*calls)} == {200}
        assert server.connections == 2


async def test_a_place_is_kept_until_the_answer_is_read() -> None:
    async with (
        UpstreamServer(fake.chat_json()) as server,
        client(server.url, Limits(concurrent=1, patience=0.1)) as upstream,
    ):
        reply = await upstream.open(post())
        assert await failure(upstream) == (503, "overloaded")
        await reply.aclose()
        await reply.aclose()
        assert (await fetch(upstream, post()))[0] == 200
        assert server.calls == 2


@pytest.mark.parametrize("behaviour", [fake.reset(), fake.stall()])
async def test_a_call_that_fails_gives_its_place_back(behaviour: fake.Behaviour) -> None:
    limits = Limits(head=0.1, concurrent=1, patience=0.1)
    async with UpstreamServer(behaviour) as server, client(server.url, limits) as upstream:
        for _ in range(3):
            assert (await failure(upstream))[1] != "overloaded"


async def test_a_caller_that_leaves_gives_its_place_back() -> None:
    async with (
        UpstreamServer(fake.stall()) as server,
        client(server.url, Limits(concurrent=1, patience=5)) as upstream,
    ):
        inside = asyncio.create_task(fetch(upstream, post()))
        await eventually(lambda: server.calls == 1)
        waits = asyncio.create_task(fetch(upstream, post()))
        await eventually(lambda: upstream.waiting == 1)
        waits.cancel()
        inside.cancel()
        await asyncio.gather(inside, waits, return_exceptions=True)
        assert upstream.active == 0
        server.script = fake.chat_json()
        assert (await fetch(upstream, post()))[0] == 200


async def test_statuses_open_the_breaker_where_they_are_to() -> None:
    limits = Limits(breaker_threshold=2, breaker_pause=0.2, breaker_statuses=frozenset({503}))
    async with UpstreamServer(fake.error_reply(503)) as server, client(server.url, limits) as upstream:
        assert [(await fetch(upstream, post()))[0] for _ in range(2)] == [503, 503]
        assert upstream.refuses
        with pytest.raises(UpstreamError) as caught:
            await upstream.open(post())
        assert (caught.value.code, caught.value.untouched) == ("upstream_unavailable", True)
        assert caught.value.headers == (("retry-after", "1"),)
        assert server.calls == 2
        await asyncio.sleep(0.25)
        assert not upstream.refuses
        assert (await fetch(upstream, post()))[0] == 503
        assert upstream.refuses, "one probe that fails is enough"
        server.script = fake.chat_json()
        await asyncio.sleep(0.25)
        assert (await fetch(upstream, post()))[0] == 200
        assert not upstream.refuses


async def test_by_default_statuses_do_not() -> None:
    async with (
        UpstreamServer(fake.error_reply(503)) as server,
        client(server.url, Limits(breaker_threshold=1)) as upstream,
    ):
        assert [(await fetch(upstream, post()))[0] for _ in range(3)] == [503, 503, 503]


async def test_one_success_forgets_the_failures() -> None:
    limits = Limits(breaker_threshold=2, breaker_pause=60, breaker_statuses=frozenset({503}))
    script = [fake.error_reply(503), fake.chat_json()] * 3
    async with UpstreamServer(script) as server, client(server.url, limits) as upstream:
        assert [(await fetch(upstream, post()))[0] for _ in range(6)] == [503, 200] * 3


async def test_a_hanging_upstream_opens_it_too() -> None:
    late = frozenset({"upstream_timeout"})
    limits = Limits(head=0.1, breaker_threshold=1, breaker_pause=60, breaker_codes=late)
    async with UpstreamServer(fake.stall()) as server, client(server.url, limits) as upstream:
        assert await failure(upstream) == (504, "upstream_timeout")
        assert await failure(upstream) == (503, "upstream_unavailable")
        assert server.calls == 1


async def test_while_the_probe_is_under_way_nobody_else_is_let_through() -> None:
    limits = Limits(breaker_threshold=1, breaker_pause=0.05, breaker_statuses=frozenset({503}))
    async with UpstreamServer(fake.error_reply(503)) as server, client(server.url, limits) as upstream:
        await fetch(upstream, post())
        server.script = fake.chat_json(delay=0.1)
        await asyncio.sleep(0.06)
        assert not upstream.refuses
        probe = asyncio.create_task(fetch(upstream, post()))
        await eventually(lambda: server.calls == 2)
        assert upstream.refuses
        assert await failure(upstream) == (503, "upstream_unavailable")
        assert (await probe)[0] == 200
        assert not upstream.refuses


async def test_what_was_never_sent_says_so() -> None:
    async with UpstreamServer(fake.chat_json()) as server:
        url = server.url
    async with client(url) as upstream:
        with pytest.raises(UpstreamError) as caught:
            await upstream.open(post())
        assert caught.value.untouched
    async with UpstreamServer(fake.hang_up()) as server, client(server.url) as upstream:
        with pytest.raises(UpstreamError) as caught:
            await upstream.open(post())
        assert not caught.value.untouched


@pytest.fixture
def no_more_files() -> Iterator[None]:
    """No descriptor is left in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_files_that_we_lack_are_no_fault_of_the_upstream(request: pytest.FixtureRequest) -> None:
    async with (
        UpstreamServer(fake.chat_json()) as server,
        client(server.url, Limits(breaker_threshold=1, breaker_pause=60)) as upstream,
    ):
        assert (await fetch(upstream, post()))[0] == 200
        server.script = fake.chat_json(delay=0.3)
        busy = asyncio.create_task(fetch(upstream, post()))
        await eventually(lambda: server.calls == 2)
        request.getfixturevalue("no_more_files")
        assert await failure(upstream) == (503, "overloaded")
        assert await busy
        assert not upstream.refuses
