"""Clients that are slow on purpose: heads and bodies that do not end, answers that nobody reads."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from tests.e2e.running import Proxy
from tests.events.answers import CHAT, MESSAGES, OLLAMA, chat_whole
from tests.events.conftest import WRITE
from tests.events.raw import connected, drained, memory, post, replies
from tests.events.test_01_requests import question, told
from tests.fakes.upstream_server import (
    SSE_TYPE,
    ByRequest,
    Exchange,
    UpstreamServer,
    chat_chunks,
    huge,
    json_reply,
    sse_bytes,
)

MIB = 1 << 20
PIECE = sse_bytes([chat_chunks(["word " * 3000], finish=None)[1]], done=False)


async def endless(exchange: Exchange) -> None:
    """Stream for ever, as fast as it is taken."""
    await exchange.head(200, [SSE_TYPE, ("transfer-encoding", "chunked")])
    while True:
        await exchange.chunk(PIECE)


@contextlib.contextmanager
def reader(proxy: Proxy, data: bytes) -> Iterator[socket.socket]:
    """Ask, with room for a few kilobytes of the answer only."""
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect((host, int(port)))
        connection.sendall(data)
        yield connection


def read_on(connection: socket.socket, most: int = 1 << 30, pause: float = 0.0) -> tuple[int, bool]:
    """Read up to the connection's end; gives how much, and whether it was broken off."""
    size = 0
    try:
        while size < most and (part := connection.recv(MIB // 8)):
            size += len(part)
            time.sleep(pause)
    except ConnectionError:
        return size, True
    return size, False


@pytest.mark.event(7)
def test_a_head_in_drops_is_cut_off(proxy: Proxy) -> None:
    began = time.monotonic()
    with connected(proxy) as connection, contextlib.suppress(ConnectionError):
        for byte in post(CHAT, b"{}"):
            connection.sendall(bytes((byte,)))
            time.sleep(0.05)
        assert drained(connection, 6.0, 6.0) == (b"", True)
    assert time.monotonic() - began < 6


@pytest.mark.event(7)
def test_a_second_head_has_its_time_too(proxy: Proxy) -> None:
    with connected(proxy) as connection:
        connection.sendall(post(CHAT, question("The first of two?")) + b"GET /livez HTTP/1.1\r\nx-")
        got, closed = drained(connection, 6.0, 4.0)
    assert ([reply.status for reply in replies(got)], closed) == ([200], True)


@pytest.mark.event(7)
def test_a_body_in_drops_is_cut_off(proxy: Proxy, upstream: UpstreamServer) -> None:
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        slow = {path: stack.enter_context(connected(proxy)) for path in (CHAT, MESSAGES, OLLAMA)}
        for path, connection in slow.items():
            connection.sendall(post(path, b"{", "content-length: 1000", length=False))
        for _ in range(4):
            time.sleep(0.2)
            for connection in slow.values():
                connection.sendall(b" ")
        for path, connection in slow.items():
            got, closed = drained(connection, 5.0, 1.0)
            assert (replies(got)[0].status, closed) == (408, True)
            assert told(path, replies(got)[0].body)
    assert time.monotonic() - began < 6
    assert upstream.calls == 0


@pytest.mark.event(7)
def test_a_head_without_end_is_refused(proxy: Proxy) -> None:
    before = memory(proxy)
    lines = b"".join(b"x-%d: %b\r\n" % (number, b"v" * 100) for number in range(10_000))
    heads = {
        "many lines": b"GET /livez HTTP/1.1\r\nhost: x\r\n" + lines,
        "one line": b"GET /livez HTTP/1.1\r\nhost: x\r\nx: " + b"v" * MIB,
        "a target": b"GET /" + b"v" * MIB,
        "a whole one": b"GET /livez HTTP/1.1\r\nhost: x\r\nx: " + b"v" * 70_000 + b"\r\n\r\n",
        "blank lines": b"\r\n" * MIB,
        "trailers": post("/v1/x", b"", "transfer-encoding: chunked", length=False)
        + b"2\r\n{}\r\n0\r\n"
        + lines,
        "an extension": post("/v1/x", b"", "transfer-encoding: chunked", length=False) + b"2;" + b"v" * MIB,
    }
    for name, data in heads.items():
        with connected(proxy) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
            got, closed = drained(connection, 5.0, 2.0)
        # What was still on its way may cost the reply, never the refusal.
        assert closed, name
        assert {reply.status for reply in replies(got)} <= {431, 400}, (name, got)
    assert memory(proxy) - before < 20


@pytest.mark.event(7)
@pytest.mark.parametrize("path", ["stream", pytest.param("forwarded stream", marks=pytest.mark.slow)])
def test_a_stream_that_nobody_reads_is_given_up(proxy: Proxy, upstream: UpstreamServer, path: str) -> None:
    upstream.script = endless if path == "stream" else huge(1 << 40)
    body = question("Who reads this?").replace(b'"stream": false', b'"stream": true')
    before = memory(proxy)
    with contextlib.ExitStack() as stack:
        readers = []
        for number in range(8):
            own = post(CHAT if path == "stream" else "/v1/other", body, f"semcache-namespace: r{number}")
            readers.append(stack.enter_context(reader(proxy, own)))
        for one in readers:
            assert one.recv(1000)
        until = time.monotonic() + WRITE * 2 + 8
        while sum(seen.closed_early for seen in upstream.requests) < 8:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert memory(proxy) - before < 8 * 12, "what waits for a reader has a bound"
        assert all(read_on(one)[1] for one in readers)


@pytest.mark.event(7)
def test_an_answer_that_nobody_reads_is_given_up(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = json_reply(chat_whole("word " * (2 * MIB)))
    with reader(proxy, post(CHAT, question("Who reads ten megabytes?"))) as connection:
        assert connection.recv(1000)
        time.sleep(WRITE * 2)
        size, broken = read_on(connection)
    assert broken
    assert size < 10 * MIB


@pytest.mark.slow
@pytest.mark.event(7)
def test_who_reads_slowly_gets_all_of_it(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = json_reply(chat_whole("word " * (7 * MIB // 5)))
    with reader(proxy, post(CHAT, question("Who reads seven megabytes in a while?"))) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 << 10)
        began = time.monotonic()
        size, broken = read_on(connection, 7 * MIB - 9, pause=0.025)
        assert time.monotonic() - began > WRITE * 1.5, "long enough to be taken for one that does not read"
    assert (size >= 7 * MIB - 9, broken) == (True, False)


@pytest.mark.event(7)
def test_a_reader_that_stops_holds_nobody_else_up(proxy: Proxy, upstream: UpstreamServer) -> None:
    """Two on one call: the other one gets its answer when the first has been cut."""
    words = [sse_bytes([chunk], done=False) for chunk in chat_chunks(["word " * 20_000] * 80)]

    async def long(exchange: Exchange) -> None:
        await exchange.head(200, [SSE_TYPE, ("transfer-encoding", "chunked")])
        for word in [*words, b"data: [DONE]\n\n"]:
            await exchange.chunk(word)
            await asyncio.sleep(0.001)
        await exchange.end()

    upstream.script = ByRequest(lambda seen: long)
    body = question("Who reads this together?").replace(b'"stream": false', b'"stream": true')
    with reader(proxy, post(CHAT, body)) as stopped:
        assert stopped.recv(10)
        began = time.monotonic()
        with connected(proxy) as other:
            other.sendall(post(CHAT, body, "connection: close"))
            got, _ = drained(other, 30.0, 10.0)
        assert b"[DONE]" in got
        assert time.monotonic() - began < 15
