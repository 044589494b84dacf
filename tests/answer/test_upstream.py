"""The real client against a real, misbehaving server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from semcache.answer.limits import Limits
from semcache.answer.upstream import HttpUpstream
from semcache.errors import PolicyError, RequestError, UpstreamError
from semcache.ports import UpstreamCall
from tests.answer.eventually import eventually
from tests.fakes import upstream_server as fake
from tests.fakes.upstream_server import UpstreamServer

FAST = Limits(connect=0.5, queue=0.5, head=0.4, idle=0.3, breaker_pause=0.2)


def post(
    body: bytes | AsyncIterator[bytes] = b"{}", path: str = "/chat/completions", **options: Any
) -> UpstreamCall:
    return UpstreamCall(
        "POST", path, options.pop("headers", ((b"Content-Type", b"application/json"),)), body, **options
    )


@asynccontextmanager
async def client(url: str, limits: Limits = FAST) -> AsyncIterator[HttpUpstream]:
    upstream = HttpUpstream("main", url, limits)
    try:
        yield upstream
    finally:
        await upstream.aclose()
        assert upstream.active == 0


async def fetch(upstream: HttpUpstream, call: UpstreamCall) -> tuple[int, bytes]:
    reply = await upstream.open(call)
    try:
        return reply.status, b"".join([part async for part in reply.body()])
    finally:
        await reply.aclose()


async def failure(upstream: HttpUpstream, call: UpstreamCall | None = None) -> tuple[int, str]:
    with pytest.raises(UpstreamError) as caught:
        await fetch(upstream, call or post())
    assert "127.0.0.1" not in str(caught.value)
    assert "main" in str(caught.value)
    return caught.value.status, caught.value.code


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def test_what_is_given_is_sent_and_nothing_else() -> None:
    headers = (
        (b"Content-Type", b"application/json"),
        (b"X-Twice", b"1"),
        (b"x-twice", b"2"),
        (b"Authorization", b"Bearer k"),
        (b"X-Odd", "naïve 雪".encode()),
        (b"Host", b"evil.example"),
        (b"Connection", b"close"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Expect", b"100-continue"),
        (b"Content-Length", b"999"),
    )
    async with UpstreamServer(fake.chat_json()) as server, client(server.url) as upstream:
        await fetch(upstream, post(b'{"a":1}', headers=headers))
    seen = server.requests[0]
    assert seen.body == b'{"a":1}'
    assert list(seen.headers) == [
        (b"Host", f"127.0.0.1:{server.port}".encode()),
        *((name.lower(), value) for name, value in headers[:5]),
        (b"content-length", b"7"),
    ]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/models/a%2Fb%7E", b""),
        ("/x", b"q=a%20b+c&d=%e4"),
        ("/a//b", b""),
        ("/a;v=1", b"a?b/c"),
        ("/files", b"%7Ex=~"),
    ],
)
async def test_the_target_is_sent_byte_for_byte(path: str, query: bytes) -> None:
    async with UpstreamServer(fake.echo()) as server, client(server.url) as upstream:
        await fetch(upstream, UpstreamCall("GET", path, (), b"", query))
    assert server.requests[0].target == "/v1" + path + (f"?{query.decode()}" if query else "")


@pytest.mark.parametrize(
    "path",
    ["models", "/a b", "/a\r\nX: y", "/é", "/a#b", "/a?b", "/../x", "/a/%2e%2E/b", "/a/..;x", "/a/.", ""],
)
async def test_a_path_that_cannot_be_sent_is_refused(path: str) -> None:
    async with client("http://127.0.0.1:1/v1") as upstream:
        with pytest.raises(RequestError) as caught:
            await upstream.open(post(path=path))
    assert (caught.value.status, caught.value.code) == (400, "invalid_path")


async def test_a_header_that_cannot_be_sent_is_refused() -> None:
    async with UpstreamServer(fake.chat_json()) as server, client(server.url) as upstream:
        with pytest.raises(RequestError) as caught:
            await upstream.open(post(headers=((b"X-A", b"1\r\nX-B: 2"),)))
    assert caught.value.code == "invalid_header"
    assert "X-B" not in str(caught.value)


async def test_the_reply_comes_raw_and_in_order() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-b: \xff\r\nX-A: 2\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    async with UpstreamServer(fake.raw(head + b"\x1f\x8babc"[:4])) as server, client(server.url) as upstream:
        reply = await upstream.open(post())
        assert list(reply.headers) == [
            (b"X-A", b"1"),
            (b"x-b", b"\xff"),
            (b"X-A", b"2"),
            (b"Content-Encoding", b"gzip"),
            (b"Content-Length", b"4"),
        ]
        assert b"".join([part async for part in reply.body()]) == b"\x1f\x8bab"
        await reply.aclose()
        await reply.aclose()


async def test_informational_heads_and_trailers_are_tolerated() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    whole = early + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"
    async with UpstreamServer(fake.raw(whole, close=False)) as server, client(server.url) as upstream:
        assert await fetch(upstream, post()) == (200, b"ok")
        assert await fetch(upstream, post()) == (200, b"ok")
    assert server.connections == 1


async def test_bodies_without_a_length_and_replies_without_bodies() -> None:
    until_close = fake.raw(b"HTTP/1.1 200 OK\r\n\r\nall of it")
    empty = fake.raw(b"HTTP/1.1 204 No Content\r\n\r\n", close=False)
    async with UpstreamServer([until_close, empty]) as server, client(server.url) as upstream:
        assert await fetch(upstream, post()) == (200, b"all of it")
        assert await fetch(upstream, UpstreamCall("DELETE", "/files/1", (), b"")) == (204, b"")
        assert server.requests[1].header("content-length") == "0"


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503, 529, 302])
async def test_any_status_comes_through_with_its_body_and_no_redirect_is_followed(status: int) -> None:
    headers = [("retry-after", "7"), ("location", "http://169.254.169.254/")]
    async with (
        UpstreamServer(fake.error_reply(status, headers=headers)) as server,
        client(server.url) as upstream,
    ):
        reply = await upstream.open(post())
        assert reply.status == status
        assert (b"retry-after", b"7") in reply.headers
        assert b"slow down" in b"".join([part async for part in reply.body()])
        await reply.aclose()
    assert server.calls == 1


async def test_streams_arrive_as_they_are_sent() -> None:
    events = [b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n"]
    async with UpstreamServer(fake.sse_events(events, pause=0.05)) as server, client(server.url) as upstream:
        reply = await upstream.open(post())
        assert [part async for part in reply.body()] == events
        await reply.aclose()


async def test_uploads_pass_through_without_being_collected() -> None:
    seen: list[int] = []

    async def parts() -> AsyncIterator[bytes]:
        for n in range(40):
            seen.append(sum(len(r.body) for r in server.requests))
            yield bytes([n]) * 100_000
            await asyncio.sleep(0)

    async with UpstreamServer(fake.echo()) as server, client(server.url) as upstream:
        status, body = await fetch(upstream, post(parts(), headers=((b"content-type", b"audio/wav"),)))
    assert (status, len(body)) == (200, 4_000_000)
    assert server.requests[0].header("transfer-encoding") == "chunked"
    assert seen[-1] > 0, "nothing had arrived before the upload's end"


async def test_an_upload_keeps_its_content_length() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"
        yield b"def"

    async with UpstreamServer(fake.echo()) as server, client(server.url) as upstream:
        assert await fetch(upstream, post(parts(), headers=((b"content-length", b"6"),))) == (200, b"abcdef")
    assert server.requests[0].header("content-length") == "6"


async def test_large_bodies_are_sent_whole() -> None:
    body = bytes(range(256)) * 20_000
    async with UpstreamServer(fake.echo()) as server, client(server.url) as upstream:
        assert await fetch(upstream, post(body)) == (200, body)
    assert server.requests[0].header("content-length") == str(len(body))


async def test_the_clients_own_fault_in_an_upload_is_not_the_upstreams() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"
        raise RequestError("too large", status=413, code="request_too_large")

    async with UpstreamServer(fake.Early(fake.stall())) as server, client(server.url) as upstream:
        with pytest.raises(RequestError) as caught:
            await fetch(upstream, post(parts()))
    assert caught.value.status == 413


async def test_an_upload_that_stalls_runs_into_the_idle_deadline() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"
        await asyncio.sleep(30)

    async with UpstreamServer(fake.chat_json()) as server, client(server.url) as upstream:
        call = post(parts(), headers=((b"content-length", b"6"),))
        assert await failure(upstream, call) == (504, "upstream_timeout")


FAULTS: list[tuple[str, Callable[[], fake.Behaviour], int, str]] = [
    ("no head", fake.stall, 504, "upstream_timeout"),
    (
        "a head that trickles",
        lambda: fake.trickle(b"HTTP/1.1 200 OK\r\nX-A: aaaaaaaaaaaaaaaaaaaa", 0.05),
        504,
        "upstream_timeout",
    ),
    ("a body that stalls", lambda: fake.stall(b"data: 1\n\n"), 504, "upstream_timeout"),
    ("an empty body that stalls", lambda: fake.stall(b""), 504, "upstream_timeout"),
    ("a body cut", lambda: fake.cut(b"data: 1\n\n"), 502, "upstream_cut"),
    ("a body reset", lambda: fake.cut(b"data: 1\n\n", reset=True), 502, "upstream_cut"),
    (
        "a body shorter than its length",
        lambda: fake.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
        502,
        "upstream_cut",
    ),
    (
        "chunked framing broken",
        lambda: fake.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab"),
        502,
        "upstream_invalid",
    ),
    ("reset", fake.reset, 502, "upstream_disconnected"),
    ("hung up", fake.hang_up, 502, "upstream_disconnected"),
    ("half a head", lambda: fake.raw(b"HTTP/1.1 200 OK\r\nX-A"), 502, "upstream_disconnected"),
    ("not HTTP", lambda: fake.raw(b"SSH-2.0-OpenSSH\r\n\r\n"), 502, "upstream_invalid"),
    (
        "a giant header",
        lambda: fake.raw(b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n"),
        502,
        "upstream_invalid",
    ),
    (
        "too many headers",
        lambda: fake.raw(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 5_000 + b"\r\n"),
        502,
        "upstream_invalid",
    ),
]


@pytest.mark.parametrize(("name", "behaviour", "status", "code"), FAULTS)
async def test_faults_have_names(name: str, behaviour: Any, status: int, code: str) -> None:
    async with UpstreamServer(behaviour()) as server, client(server.url) as upstream:
        async with asyncio.timeout(3):
            assert await failure(upstream) == (status, code)
        # A fault of one call harms no other.
        server.script = fake.chat_json()
        assert (await fetch(upstream, post()))[0] == 200
    assert server.calls == 2
    assert not server.errors


async def test_trickling_bodies_live_as_long_as_they_move() -> None:
    events = [b"data: %d\n\n" % n for n in range(6)]
    async with UpstreamServer(fake.sse_events(events, pause=0.15)) as server, client(server.url) as upstream:
        assert (await fetch(upstream, post()))[1] == b"".join(events)


async def test_a_kept_alive_connection_found_closed_is_tried_again_once() -> None:
    async with (
        UpstreamServer([fake.chat_json(), fake.hang_up(), fake.chat_json()]) as server,
        client(server.url) as upstream,
    ):
        await fetch(upstream, post())
        assert (await fetch(upstream, post()))[0] == 200
    assert [seen.connection for seen in server.requests] == [1, 1, 2]


async def test_a_fresh_connection_that_hangs_up_is_not_tried_again() -> None:
    async with UpstreamServer([fake.hang_up(), fake.chat_json()]) as server, client(server.url) as upstream:
        assert await failure(upstream) == (502, "upstream_disconnected")
    assert server.calls == 1


async def test_an_upload_that_was_begun_is_not_tried_again() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"

    async with (
        UpstreamServer([fake.chat_json(), fake.hang_up(), fake.chat_json()]) as server,
        client(server.url) as upstream,
    ):
        await fetch(upstream, post())
        assert await failure(upstream, post(parts())) == (502, "upstream_disconnected")
    assert server.calls == 2


async def test_nothing_is_tried_again_after_a_byte_of_a_reply() -> None:
    half = fake.raw(b"HTTP/1.1 200 OK\r\nX-A: 1\r\n")
    async with (
        UpstreamServer([fake.chat_json(), half, fake.chat_json()]) as server,
        client(server.url) as upstream,
    ):
        await fetch(upstream, post())
        assert await failure(upstream) == (502, "upstream_disconnected")
    assert server.calls == 2


async def test_a_refused_connection_is_tried_again_once() -> None:
    server = UpstreamServer(fake.chat_json())
    server.port = free_port()
    async with client(server.url) as upstream:
        call = asyncio.create_task(fetch(upstream, post()))
        await asyncio.sleep(0.02)
        await server.start()
        assert (await call)[0] == 200
        await server.stop()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/v1", "http://no-such-host.invalid/v1", "unix:/tmp/no-such-dir/x.sock"]
)
async def test_what_cannot_be_reached_has_a_name_and_soon_fails_at_once(url: str) -> None:
    limits = Limits(connect=1, queue=2, breaker_threshold=2, breaker_pause=0.2)
    async with client(url.format(port=free_port()), limits) as upstream:
        assert await failure(upstream) == (502, "upstream_unreachable")
        assert await failure(upstream) == (502, "upstream_unreachable")
        begun = asyncio.get_running_loop().time()
        assert await failure(upstream) == (503, "upstream_unavailable")
        assert asyncio.get_running_loop().time() - begun < 0.02
        await asyncio.sleep(0.25)
        assert await failure(upstream) == (502, "upstream_unreachable")
        assert await failure(upstream) == (503, "upstream_unavailable")


async def test_the_breaker_closes_when_the_upstream_is_back() -> None:
    server = UpstreamServer(fake.chat_json())
    server.port = free_port()
    async with client(server.url, Limits(breaker_threshold=1, breaker_pause=0.1)) as upstream:
        assert await failure(upstream) == (502, "upstream_unreachable")
        await server.start()
        assert await failure(upstream) == (503, "upstream_unavailable")
        await asyncio.sleep(0.15)
        assert (await fetch(upstream, post()))[0] == 200
        assert (await fetch(upstream, post()))[0] == 200
        await server.stop()


async def test_a_probe_whose_caller_leaves_does_not_block_the_next() -> None:
    server = UpstreamServer([fake.stall(), fake.chat_json()])
    server.port = free_port()
    async with client(server.url, Limits(breaker_threshold=1, breaker_pause=0.1)) as upstream:
        assert await failure(upstream) == (502, "upstream_unreachable")
        await server.start()
        await asyncio.sleep(0.15)
        probe = asyncio.create_task(fetch(upstream, post()))
        await asyncio.sleep(0.05)
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
        assert (await fetch(upstream, post()))[0] == 200
        await server.stop()


async def test_tls_trouble_has_a_name() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client(f"https://127.0.0.1:{port}/v1") as upstream:
            assert await failure(upstream) == (502, "upstream_unreachable")


async def test_a_connect_that_hangs_is_too_late() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        fillers = []
        for _ in range(4):  # the queue of the listener is full: further connects hang
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
            fillers.append(filler)
        async with client(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1") as upstream:
            assert await failure(upstream) == (504, "upstream_timeout")
        for filler in fillers:
            filler.close()


async def test_when_all_connections_are_in_use_the_caller_is_told() -> None:
    limits = Limits(connections=2, queue=0.2, breaker_threshold=1)
    async with UpstreamServer(fake.stall(b"x")) as server, client(server.url, limits) as upstream:
        held = [await upstream.open(post()) for _ in range(2)]
        assert upstream.active == 2
        assert await failure(upstream) == (503, "upstream_busy")
        await held[0].aclose()
        held.append(await upstream.open(post()))
        for reply in held:
            await reply.aclose()


async def test_closing_a_reply_early_hangs_up_on_the_upstream_at_once() -> None:
    async with UpstreamServer(fake.huge(1 << 30)) as server, client(server.url) as upstream:
        reply = await upstream.open(post())
        await anext(reply.body())
        await reply.aclose()
        await eventually(lambda: not server.open_connections)


async def test_a_peer_that_takes_nothing_cannot_keep_the_socket() -> None:
    async def deaf(exchange: fake.Exchange) -> None:
        exchange.reader._transport.pause_reading()  # type: ignore[attr-defined]  # no public way to be deaf
        await exchange.head(200, [("transfer-encoding", "chunked")])
        await asyncio.sleep(30)

    async with UpstreamServer(fake.Early(deaf)) as server, client(server.url, Limits()) as upstream:

        def sockets() -> int:
            found = psutil.Process().net_connections("tcp")
            return sum(bool(c.raddr) and c.raddr.port == server.port for c in found)

        reply = await upstream.open(post(bytes(30_000_000)))
        assert sockets() == 1
        await reply.aclose()
        await eventually(lambda: not sockets())


async def test_the_idle_deadline_begins_with_the_head() -> None:
    limits = Limits(head=30, idle=0.2)
    async with UpstreamServer(fake.stall(b"")) as server, client(server.url, limits) as upstream:
        async with asyncio.timeout(2):
            assert await failure(upstream) == (504, "upstream_timeout")


async def test_a_caller_that_is_cancelled_hangs_up_too() -> None:
    async with UpstreamServer(fake.stall()) as server, client(server.url, Limits()) as upstream:
        call = asyncio.create_task(fetch(upstream, post()))
        await eventually(lambda: server.calls)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await eventually(lambda: not server.open_connections)


async def test_connections_are_reused_and_closed() -> None:
    async with UpstreamServer(fake.chat_json()) as server:
        async with client(server.url) as upstream:
            for _ in range(5):
                await fetch(upstream, post())
            assert server.connections == 1
        await asyncio.sleep(0.05)
        assert server.open_connections == 0


async def test_an_engine_on_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    async with UpstreamServer(fake.chat_json("hi"), uds=path) as server, client(f"unix:{path}") as upstream:
        assert (await fetch(upstream, post()))[0] == 200
    assert server.requests[0].target == "/chat/completions"


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with UpstreamServer(fake.chat_json()) as server, client(server.url) as upstream:
        assert (await fetch(upstream, post()))[0] == 200


async def test_cookies_are_neither_kept_nor_sent() -> None:
    cookie = fake.chat_json(headers=[fake.JSON_TYPE, ("set-cookie", "a=b")])
    async with UpstreamServer(cookie) as server, client(server.url) as upstream:
        await fetch(upstream, post())
        await fetch(upstream, post())
    assert server.requests[1].header("cookie") is None


async def test_a_closed_client_says_so() -> None:
    upstream = HttpUpstream("main", "http://127.0.0.1:1/v1")
    await upstream.aclose()
    await upstream.aclose()
    assert await failure(upstream) == (503, "upstream_unavailable")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/v1",
        "http://",
        "h/v1",
        "http://u:p@h/v1",
        "http://h/v1?x=1",
        "http://h/v1#f",
        "unix:rel",
        "http://h /v1",
    ],
)
def test_a_useless_base_url_is_refused(url: str) -> None:
    with pytest.raises(PolicyError):
        HttpUpstream("main", url)


async def test_odd_replies_while_the_upload_goes_on_do_no_harm() -> None:
    """A server may answer (and refuse) before it has read the request."""

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 65536
            await asyncio.sleep(0.005)

    refusal = fake.Early(fake.error_reply(413, close=True))
    async with (
        UpstreamServer([refusal, fake.chat_json()]) as server,
        client(server.url, Limits()) as upstream,
    ):
        assert (await fetch(upstream, post(parts())))[0] == 413
        assert (await fetch(upstream, post()))[0] == 200
