"""What every `Generator` does: the real client against a real server, a route over one, and the fake alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from semcache.answer.limits import Limits
from semcache.answer.upstream import HttpUpstream
from semcache.errors import UpstreamError
from semcache.ports import Generator, UpstreamCall, UpstreamReply
from semcache.routing.balance import Balance
from semcache.routing.route import Route
from semcache.routing.sharing import Sharing
from semcache.routing.target import Target
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.upstream_server import Behaviour, UpstreamServer, cut, hang_up, reply, stall

SSE = (b"content-type", b"text/event-stream")
CALL = UpstreamCall("POST", "/chat/completions", ((b"content-type", b"application/json"),), b'{"a":1}')
CUT = UpstreamError("upstream broke off", code="upstream_cut")
LATE = UpstreamError("upstream stopped", status=504, code="upstream_timeout")

CASES: dict[str, tuple[Behaviour, FakeReply | UpstreamError]] = {
    "good": (
        reply(b"hello", status=201, headers=(("X-A", "1"), ("x-a", "2"))),
        FakeReply(201, ((b"X-A", b"1"), (b"x-a", b"2"), (b"content-length", b"5")), (b"he", b"llo")),
    ),
    "coded": (
        reply(b"\x1f\x8b", headers=(("content-encoding", "gzip"),)),
        FakeReply(200, ((b"content-encoding", b"gzip"), (b"content-length", b"2")), (b"\x1f\x8b",)),
    ),
    "error": (reply(b"no", status=429), FakeReply(429, parts=(b"no",))),
    "cut": (cut(b"data: 1\n\n"), FakeReply(200, (SSE,), (b"data: 1\n\n", CUT))),
    "stall": (stall(b"data: 1\n\n"), FakeReply(200, (SSE,), (b"data: 1\n\n", LATE))),
    "no reply": (hang_up(), UpstreamError("upstream hung up", code="upstream_disconnected")),
}
Make = Callable[[str], Any]


@asynccontextmanager
async def real(case: str) -> AsyncIterator[Generator]:
    async with UpstreamServer(CASES[case][0]) as server:
        upstream = HttpUpstream("main", server.url, Limits(head=1, idle=0.1))
        yield upstream
        await upstream.aclose()


@asynccontextmanager
async def routed(case: str) -> AsyncIterator[Generator]:
    async with real(case) as upstream:
        assert isinstance(upstream, HttpUpstream)
        yield Route("pool", (Target(upstream, frozenset({"openai.chat"})),), Sharing(Balance()))


@asynccontextmanager
async def fake(case: str) -> AsyncIterator[Generator]:
    yield FakeGenerator(lambda _: CASES[case][1])


@pytest.fixture(params=[real, routed, fake])
def generator(request: pytest.FixtureRequest) -> Make:
    return request.param


async def read(reply: UpstreamReply) -> bytes:
    return b"".join([part async for part in reply.body()])


async def outcome(work: Awaitable[Any]) -> tuple[int, str]:
    with pytest.raises(UpstreamError) as caught:
        await work
    return caught.value.status, caught.value.code


async def test_a_reply_has_status_raw_headers_and_the_body_in_parts(generator: Make) -> None:
    async with generator("good") as upstream:
        got = await upstream.open(CALL)
        assert got.status == 201
        sent = [pair for pair in got.headers if not pair[0].endswith(b":")]
        assert sent == [(b"X-A", b"1"), (b"x-a", b"2"), (b"content-length", b"5")]
        assert await read(got) == b"hello"
        await got.aclose()


async def test_the_body_stays_encoded(generator: Make) -> None:
    async with generator("coded") as upstream:
        got = await upstream.open(CALL)
        assert (b"content-encoding", b"gzip") in got.headers
        assert await read(got) == b"\x1f\x8b"
        await got.aclose()


async def test_an_error_status_is_a_reply(generator: Make) -> None:
    async with generator("error") as upstream:
        got = await upstream.open(CALL)
        assert (got.status, await read(got)) == (429, b"no")
        await got.aclose()


@pytest.mark.parametrize(
    ("case", "status", "code"), [("cut", 502, "upstream_cut"), ("stall", 504, "upstream_timeout")]
)
async def test_a_broken_body_gives_what_came_and_then_raises(
    generator: Make, case: str, status: int, code: str
) -> None:
    async with generator(case) as upstream:
        got = await upstream.open(CALL)
        parts = got.body()
        assert await anext(parts) == b"data: 1\n\n"
        assert await outcome(anext(parts)) == (status, code)
        await got.aclose()


async def test_no_reply_is_a_named_error(generator: Make) -> None:
    async with generator("no reply") as upstream:
        assert await outcome(upstream.open(CALL)) == (502, "upstream_disconnected")


async def test_a_request_body_may_be_an_iterator(generator: Make) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"ab"
        yield b"c"

    async with generator("good") as upstream:
        got = await upstream.open(UpstreamCall("POST", "/files", (), parts()))
        assert await read(got) == b"hello"
        await got.aclose()


async def test_replies_may_be_closed_early_and_twice(generator: Make) -> None:
    async with generator("good") as upstream:
        got = await upstream.open(CALL)
        await got.aclose()
        await got.aclose()


async def test_a_closed_generator_refuses(generator: Make) -> None:
    async with generator("good") as upstream:
        await upstream.aclose()
        await upstream.aclose()
        assert await outcome(upstream.open(CALL)) == (503, "upstream_unavailable")
        assert upstream.name
