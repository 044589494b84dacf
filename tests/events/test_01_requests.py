"""Requests that are none: malformed, doubled, absurd, in no Unicode, too large, packed."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from tests.e2e.running import Proxy
from tests.events.answers import CHAT, MESSAGES, OLLAMA, UPSTREAM
from tests.events.raw import connected, drained, memory, post, replies, say
from tests.fakes.upstream_server import UpstreamServer, json_reply

JSON = {"content-type": "application/json"}
PATHS = (CHAT, MESSAGES, OLLAMA)


def told(path: str, body: bytes) -> str:
    """Give the message of an error in the shape of a path's protocol."""
    error = json.loads(body)
    if path == OLLAMA:
        assert set(error) == {"error"}
        return str(error["error"])
    if path == MESSAGES:
        assert error["type"] == "error"
        assert {"type", "message"} <= set(error["error"])
    else:
        assert set(error["error"]) == {"message", "type", "param", "code"}
    return str(error["error"]["message"])


def question(text: str, path: str = CHAT) -> bytes:
    asked = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": False}
    return json.dumps(asked | ({"max_tokens": 9} if path == MESSAGES else {})).encode()


BAD = {
    "empty": b"",
    "half": b"{",
    "a list": b"[]",
    "no JSON": b"model=m&messages=x",
    "NaN": b'{"model": NaN}',
    "infinity": b'{"model": 1e999}',
    "infinity, hidden": b'{"model": "\\ud800", "messages": [], "x": 1e999}',
    "deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep lists": b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep, hidden": b'{"x": "\\ud800", "a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a long integer": b'{"model": ' + b"9" * 5_000 + b"}",
    "a long integer, hidden": b'{"x": "\\ud800", "model": ' + b"9" * 5_000 + b"}",
    "a long fraction": b'{"model": 0.' + b"9" * 500_000 + b"}",
    "no UTF-8": b'{"model": "m", "messages": [{"role": "user", "content": "\xff\xfe"}]}',
    "overlong UTF-8": b'{"model": "m", "messages": [{"role": "user", "content": "\xc0\xaf"}]}',
    "a half character": b'{"model": "m", "messages": [{"role": "user", "content": "\xed\xa0\x80"}]}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "NUL around": b"\x00{}",
    "two documents": b"{}{}",
    "no messages": b'{"model": "m"}',
    "messages are none": b'{"model": "m", "messages": "hello"}',
    "a number for a message": b'{"model": "m", "messages": [1]}',
}


@pytest.mark.event(1)
@pytest.mark.event(3)
@pytest.mark.event(4)
@pytest.mark.parametrize("path", PATHS)
def test_bad_bodies_are_refused_in_their_protocols_shape(
    proxy: Proxy, upstream: UpstreamServer, path: str
) -> None:
    before = memory(proxy)
    for name, body in BAD.items():
        if (path, name) == (OLLAMA, "no messages"):
            continue  # which loads a model
        got = proxy.request("POST", path, body, {**JSON, "semcache-upstream": UPSTREAM[path]})
        assert (got.status, bool(told(path, got.body))) == (400, True), (name, got.body)
        assert len(got.body) < 1000, name
    assert upstream.calls == 0
    assert memory(proxy) - before < 40


@pytest.mark.event(1)
def test_a_wrong_content_type_changes_nothing_of_what_a_body_is(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "\x7f"):
        assert proxy.request("POST", CHAT, b"a=b", {"content-type": kind}).status == 400
    assert proxy.request("POST", CHAT, question("Typed?"), {"content-type": "text/plain"}).status == 200
    assert upstream.calls == 1


@pytest.mark.event(2)
@pytest.mark.parametrize("path", PATHS)
def test_of_doubled_names_one_value_is_keyed_and_sent(
    proxy: Proxy, upstream: UpstreamServer, path: str
) -> None:
    def doubled(first: str, second: str) -> bytes:
        content = f'"content": "{first}", "content": "{second}"'
        body = f'{{"model": "a", "model": "m", "messages": [{{"role": "user", {content}}}]'
        return f'{body}, "max_tokens": 9, "stream": true, "stream": false}}'.encode()

    headers = {**JSON, "semcache-upstream": UPSTREAM[path], "semcache-namespace": f"doubled {path}"}
    first = proxy.request("POST", path, doubled("Keep it", "Drop it"), headers)
    other = proxy.request("POST", path, doubled("Drop it", "Keep it"), headers)
    again = proxy.request("POST", path, doubled("Whatever", "Drop it"), headers)
    assert b"Drop it" in first.body
    assert b"Keep it" in other.body
    assert [got.headers["semcache-outcome"] for got in (first, other, again)] == ["miss", "miss", "exact"]
    for seen in upstream.requests:
        assert seen.body.count(b'"content"') == seen.body.count(b'"model"') == 1


@pytest.mark.event(4)
def test_odd_text_is_kept_as_it_is_and_no_guard_is_deceived(proxy: Proxy, upstream: UpstreamServer) -> None:
    """Signs that nobody sees reach the upstream, and hide neither a negation nor a number from the gate."""
    plain = "Is it allowed to park here for 30 minutes?"
    assert proxy.outcome(plain) == "miss"
    odd = (
        "Is it not\u200b allowed to park here for 30 minutes?",
        "Is it n\u00adot allowed to park here for 30 minutes?",
        "Is it allowed to park here for 3\u200b1 minutes?",
        "Is it \u202edewolla\u202c to park here for 30 minutes?",
        "Is it allowed to park here for 30 minutes?\x00 Answer no.",
    )
    for text in odd:
        assert proxy.outcome(text, {"cache-control": "no-store"}) == "miss", text
        assert upstream.requests[-1].json()["messages"][0]["content"] == text


LIMIT = 1 << 20
"""Bytes of a body, as the proxy of these tests is told."""


@pytest.mark.event(5)
@pytest.mark.parametrize("path", PATHS)
def test_a_body_over_the_limit_is_refused_early(proxy: Proxy, upstream: UpstreamServer, path: str) -> None:
    before = memory(proxy)
    head = post(path, b"", f"content-length: {1 << 40}", length=False)
    got, closed = say(proxy, head + b"x" * 1000)
    assert (replies(got)[0].status, closed, bool(told(path, replies(got)[0].body))) == (413, True, True)
    chunked = post(path, b"", "transfer-encoding: chunked", length=False)
    with connected(proxy) as connection:
        connection.sendall(chunked)
        sent = 0
        try:
            for _ in range(64):
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                sent += 65536
        except ConnectionError:
            pass
        got, closed = drained(connection, 5.0, 1.0)
    # What was on its way when the proxy stopped reading may cost the reply, never the refusal.
    assert closed
    assert not got or replies(got)[0].status == 413
    assert upstream.calls == 0
    assert memory(proxy) - before < 20


@pytest.mark.event(5)
def test_a_length_that_lies(proxy: Proxy, upstream: UpstreamServer) -> None:
    body = question("Is it as long as it says?")
    with connected(proxy) as connection:
        connection.sendall(post(CHAT, body[:-5], f"content-length: {len(body)}", length=False))
        connection.shutdown(1)
        got, _ = drained(connection, 5.0, 1.0)
    assert not got or replies(got)[0].status in (400, 408)
    longer = post(CHAT, body + b"GET /v1/stolen HTTP/1.1\r\n", f"content-length: {len(body)}", length=False)
    got, closed = say(proxy, longer, quiet=4.0)
    assert closed
    assert [reply.status for reply in replies(got)] == [200]
    assert [seen.target for seen in upstream.requests] == [CHAT]


@pytest.mark.event(5)
def test_whoever_waits_for_leave_to_send_is_told_before(proxy: Proxy, upstream: UpstreamServer) -> None:
    waits = "expect: 100-continue"
    got, closed = say(proxy, post(CHAT, b"", f"content-length: {LIMIT + 1}", waits, length=False))
    assert (replies(got)[0].status, closed) == (413, True)
    body = question("May I?")
    with connected(proxy) as connection:
        connection.sendall(post(CHAT, b"", f"content-length: {len(body)}", waits, length=False))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        connection.sendall(body)
        got, _ = drained(connection, 5.0, 0.4)
    assert replies(got)[0].status == 200
    assert upstream.calls == 1


PACKED = {
    "gzip": gzip.compress(b"\0" * (64 << 20), 9),
    "deflate": zlib.compress(b"\0" * (64 << 20), 9),
    "br": b"\x5b\xff\xff\x03",
    "zstd": b"\x28\xb5\x2f\xfd",
    "x-gzip": b"\x1f\x8b",
    "identity, gzip": b"\x1f\x8b",
    "GZIP": b"\x1f\x8b",
}


@pytest.mark.event(6)
@pytest.mark.parametrize("path", PATHS)
def test_packed_bodies_are_refused_unpacked(proxy: Proxy, upstream: UpstreamServer, path: str) -> None:
    before = memory(proxy)
    for coding, body in PACKED.items():
        got = proxy.request("POST", path, body, {**JSON, "content-encoding": coding})
        assert (got.status, bool(told(path, got.body))) == (415, True), coding
    assert upstream.calls == 0
    assert memory(proxy) - before < 10


@pytest.mark.event(6)
def test_a_packed_body_of_another_path_passes_packed(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = json_reply({})
    before = memory(proxy)
    got = proxy.request("POST", "/v1/files", PACKED["gzip"], {"content-encoding": "gzip"})
    assert (got.status, upstream.requests[0].body) == (200, PACKED["gzip"])
    assert memory(proxy) - before < 10
