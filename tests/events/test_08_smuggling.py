"""Requests that two programs in a row would read in two ways: refused, and nothing behind them is read as another one."""

from __future__ import annotations

import json

import pytest

from tests.e2e.running import Proxy
from tests.events.answers import CHAT, MESSAGES, OLLAMA
from tests.events.raw import connected, drained, post, replies, say
from tests.events.test_01_requests import question, told
from tests.fakes.upstream_server import UpstreamServer, chat_json, echo

SECOND = b"GET /v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
CHUNKS = b"2\r\n{}\r\n0\r\n\r\n"


def head(*lines: str, method: str = "POST", target: str = CHAT, version: str = "HTTP/1.1") -> bytes:
    return "\r\n".join((f"{method} {target} {version}", *lines)).encode("latin-1") + b"\r\n\r\n"


CHUNKED = head("host: x", "transfer-encoding: chunked")
SHAPES = {
    "length and chunks": head("host: x", "content-length: 6", "transfer-encoding: chunked")
    + b"0\r\n\r\n"
    + SECOND,
    "chunks and length": head("host: x", "transfer-encoding: chunked", "content-length: 6")
    + b"0\r\n\r\n"
    + SECOND,
    "two lengths": head("host: x", "content-length: 0", f"content-length: {len(SECOND)}") + SECOND,
    "two equal lengths": head("host: x", "content-length: 0", "content-length: 0") + SECOND,
    "a list of lengths": head("host: x", "content-length: 0, 0") + SECOND,
    "a length with a sign": head("host: x", "content-length: +0") + SECOND,
    "a negative length": head("host: x", "content-length: -1") + SECOND,
    "a length in hex": head("host: x", "content-length: 0x0") + SECOND,
    "an endless length": head("host: x", f"content-length: {'9' * 30}") + SECOND,
    "identity": head("host: x", "transfer-encoding: identity") + SECOND,
    "chunked, identity": head("host: x", "transfer-encoding: chunked, identity") + CHUNKS + SECOND,
    "gzip, chunked": head("host: x", "transfer-encoding: gzip, chunked") + CHUNKS + SECOND,
    "xchunked": head("host: x", "transfer-encoding: xchunked") + CHUNKS + SECOND,
    "chunked behind a tab": head("host: x", "transfer-encoding: \x0bchunked") + CHUNKS + SECOND,
    "chunked twice": head("host: x", "transfer-encoding: chunked", "transfer-encoding: chunked")
    + CHUNKS
    + SECOND,
    "chunked in 1.0": head("host: x", "transfer-encoding: chunked", version="HTTP/1.0") + CHUNKS + SECOND,
    "a space before the colon": head("host: x", "content-length : 0") + SECOND,
    "a folded line": head("host: x", "x-a: b", " c: d") + SECOND,
    "a folded first line": head(" host: x") + SECOND,
    "a bare CR": head("host: x\rcontent-length: 0") + SECOND,
    "a bare LF": head("host: x\ncontent-length: 0") + SECOND,
    "bare LFs": b"GET /v1/models HTTP/1.1\nhost: x\n\n" + SECOND,
    "NUL in a value": head("host: x", "x-a: b\x00c") + SECOND,
    "NUL in a name": head("host: x", "x\x00a: b") + SECOND,
    "no name": head("host: x", ": b") + SECOND,
    "a name in no ASCII": head("host: x", "x-\xe9: b") + SECOND,
    "no chunk size": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n" + SECOND,
    "a chunk size in 0x": CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n" + SECOND,
    "a negative chunk size": CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n" + SECOND,
    "an endless chunk size": CHUNKED + b"fffffffffffffffff\r\n{}" + SECOND,
    "a chunk size and a space": CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n" + SECOND,
    "a chunk behind LF": CHUNKED + b"2\n{}\n0\n\n" + SECOND,
    "a longer chunk than said": CHUNKED + b"2\r\n{}}}\r\n0\r\n\r\n" + SECOND,
    "an extension behind LF": CHUNKED + b"2;a\n{}\r\n0\r\n\r\n" + SECOND,
    "no host": head("content-length: 0") + SECOND,
    "two hosts": head("host: x", "host: y", "content-length: 0") + SECOND,
    "a host with a path": head("host: x/../admin", "content-length: 0") + SECOND,
    "a host with a user": head("host: a@b", "content-length: 0") + SECOND,
    "a host with a space": head("host: x y", "content-length: 0") + SECOND,
    "an absolute target": head("host: x", method="GET", target="http://evil/v1/models") + SECOND,
    "a target of another scheme": head("host: x", method="GET", target="ftp://x/v1/models") + SECOND,
    "an authority": head("host: x", method="CONNECT", target="evil:80") + SECOND,
    "a star": head("host: x", method="OPTIONS", target="*") + SECOND,
    "a fragment": head("host: x", method="GET", target="/v1/models#/admin") + SECOND,
    "a query alone": head("host: x", method="GET", target="?x") + SECOND,
    "a space in the target": head("host: x", method="GET", target="/v1/mod els") + SECOND,
    "a target in no ASCII": head("host: x", method="GET", target="/v1/\xe9") + SECOND,
    "HTTP/0.9": b"GET /v1/models\r\n\r\n" + SECOND,
    "HTTP/2.0": head("host: x", method="GET", version="HTTP/2.0") + SECOND,
    "HTTP/9.9": head("host: x", method="GET", version="HTTP/9.9") + SECOND,
    "no method": head("host: x", method="G@T") + SECOND,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50),
    "noise": bytes(range(256)),
}


@pytest.mark.event(8)
def test_what_could_be_read_in_two_ways_is_refused(proxy: Proxy, upstream: UpstreamServer) -> None:
    for name, data in SHAPES.items():
        got, closed = say(proxy, data)
        assert closed, name
        assert [reply.status for reply in replies(got)] in ([400], []), (name, got)
        for reply in replies(got):
            assert told(CHAT, reply.body), name
    assert upstream.requests == []


@pytest.mark.event(8)
@pytest.mark.parametrize("path", [CHAT, MESSAGES, OLLAMA])
def test_a_refusal_is_in_the_shape_of_its_path(proxy: Proxy, path: str) -> None:
    got, _ = say(proxy, post(path, b"{}", "transfer-encoding: chunked"))
    assert told(path, replies(got)[0].body)
    assert b"date: " in got.lower()


PATHS = (
    "/v1//chat/completions",
    "//v1/chat/completions",
    "/v1/../admin",
    "/v1/%2e%2e/x",
    "/v1/%2E%2E/x",
    "/v1/.%2e/x",
    "/v1/a;b",
    "/v1/x%2fy",
    "/v1/x%5cy",
    "/v1/x\\y",
    "/v1/a%00b",
    "/v1/./x",
    "/v1/x/.",
    "/v1/chat/completions/../../models",
    "/semcache/../v1/models",
    "/%2e/semcache/explain",
    "/v1/chat/completions;x=/../",
)


@pytest.mark.event(8)
def test_a_path_without_one_normal_form_reaches_nothing(proxy: Proxy, upstream: UpstreamServer) -> None:
    body = question("Which path is it?")
    for path in PATHS:
        got, _ = say(proxy, post(path, body, "connection: close"))
        assert replies(got)[0].status in (400, 404), (path, got)
    assert upstream.requests == []


@pytest.mark.event(8)
def test_twice_encoded_is_another_path_and_stays_one(proxy: Proxy, upstream: UpstreamServer) -> None:
    """What an upstream gets is what was looked at, not what a second decoding makes of it."""
    say(proxy, head("host: x", "connection: close", method="GET", target="/v1/%252e%252e/x"))
    assert [seen.target for seen in upstream.requests] == ["/v1/%252e%252e/x"]


@pytest.mark.event(8)
def test_a_host_chooses_nothing(proxy: Proxy, upstream: UpstreamServer) -> None:
    for host in ("169.254.169.254", "metadata.google.internal", "localhost:6379", "[::1]", "evil.example"):
        body = question(f"Whose host is {host}?")
        got, _ = say(proxy, post(CHAT, body).replace(b"host: x", b"host: " + host.encode()))
        assert replies(got)[0].status == 200
    assert upstream.calls == 5
    assert {seen.header("host") for seen in upstream.requests} == {f"127.0.0.1:{upstream.port}"}


@pytest.mark.event(8)
def test_behind_a_refusal_its_body_is_no_request(proxy: Proxy, upstream: UpstreamServer) -> None:
    """The first of two pipelined requests is refused: what it brought along is its body, and never another request."""
    inner = post(CHAT, question("Smuggled in a body?"))
    refused = {
        "a path": post("/v1/../x", inner),
        "a coding": post(CHAT, inner, "content-encoding: gzip"),
        "an upstream": post(CHAT, inner, "semcache-upstream: nobody"),
        "no JSON": post(CHAT, inner),
        "no route": post("/semcache/nothing", inner),
        "GET with a body": post("/livez", inner).replace(b"POST", b"GET", 1),
    }
    for name, data in refused.items():
        got, _ = say(proxy, data + post(CHAT, question(f"Behind {name}?"), "semcache-mode: exact"))
        assert len(replies(got)) == 2, (name, got)
        first, second = replies(got)
        assert first.status in (200, 400, 404, 415), name
        assert second.json()["choices"][0]["message"]["content"] == f"Answer to: Behind {name}?"
    assert not any(b"Smuggled" in seen.body for seen in upstream.requests)


@pytest.mark.event(8)
def test_too_large_a_body_ends_the_connection(proxy: Proxy, upstream: UpstreamServer) -> None:
    inner = post(CHAT, question("Smuggled in too large a body?"))
    got, closed = say(proxy, post(CHAT, inner, "content-length: 99999999", length=False))
    assert ([reply.status for reply in replies(got)], closed) == ([413], True)
    assert upstream.requests == []


@pytest.mark.event(8)
def test_noise_behind_a_request_under_way_is_not_taken_for_its_answer(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    upstream.script = chat_json("late", delay=0.3)
    got, closed = say(proxy, post(CHAT, question("First?")) + b"\x00\x01\x02\r\n\r\n", quiet=1.0)
    assert (got, closed) == (b"", True)


@pytest.mark.event(8)
def test_pipelined_requests_are_answered_in_order(proxy: Proxy, upstream: UpstreamServer) -> None:
    bodies = [question(f"Number {number}?") for number in range(8)]
    got, _ = say(proxy, b"".join(post(CHAT, body, "semcache-mode: exact") for body in bodies), quiet=1.0)
    texts = [reply.json()["choices"][0]["message"]["content"] for reply in replies(got)]
    assert texts == [f"Answer to: Number {number}?" for number in range(8)]


@pytest.mark.event(8)
def test_trailers_are_no_headers(proxy: Proxy, upstream: UpstreamServer) -> None:
    body = question("Who am I at the end?")
    chunks = b"%x\r\n%b\r\n0\r\nsemcache-upstream: nobody\r\nauthorization: Bearer stolen\r\n\r\n" % (
        len(body),
        body,
    )
    got, _ = say(proxy, post(CHAT, b"", "transfer-encoding: chunked", length=False) + chunks)
    assert replies(got)[0].status == 200
    assert upstream.requests[0].header("authorization") is None
    upstream.script = echo()
    got, _ = say(proxy, post("/v1/other", b"", "transfer-encoding: chunked", length=False) + chunks)
    assert replies(got)[0].body == body
    assert upstream.requests[1].header("authorization") is None


@pytest.mark.event(8)
def test_chunks_with_extensions_are_the_same_body(proxy: Proxy, upstream: UpstreamServer) -> None:
    body = question("In chunks?")
    chunks = b"".join(b"%x;a=b\r\n%c\r\n" % (1, byte) for byte in body) + b"0;c\r\n\r\n"
    got, _ = say(proxy, post(CHAT, b"", "transfer-encoding: chunked", length=False) + chunks)
    assert replies(got)[0].status == 200
    assert upstream.requests[0].json() == json.loads(body)


@pytest.mark.event(8)
def test_http_1_0_gets_an_answer_and_its_end(proxy: Proxy, upstream: UpstreamServer) -> None:
    got, closed = say(proxy, post(CHAT, question("How old?"), version="1.0"))
    assert (replies(got)[0].status, closed) == (200, True)
    streamed = json.dumps({**json.loads(question("How old, in pieces?")), "stream": True}).encode()
    got, closed = say(proxy, post(CHAT, streamed, version="1.0"))
    assert closed
    assert b"[DONE]" in got


@pytest.mark.event(8)
def test_an_upgrade_that_is_not_taken_leaves_a_connection_that_works(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    """Clients that would rather speak HTTP/2 ask so in their first request, and send the next one all the same."""
    upgrade = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABk")
    with connected(proxy) as connection:
        for number in range(3):
            connection.sendall(post(CHAT, question(f"Upgraded {number}?"), *(upgrade if not number else ())))
            got, _ = drained(connection, 5.0, 0.3)
            assert replies(got)[0].status == 200, number
    assert upstream.calls == 3
