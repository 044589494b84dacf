"""Hostile and odd HTTP: clear refusals in the protocol's shape, and pass-through byte for byte."""

from __future__ import annotations

import json
import socket
import time

import pytest

from tests.e2e.running import Proxy
from tests.fakes.upstream_server import UpstreamServer, echo, json_reply, reply

JSON = {"content-type": "application/json"}


def exchange(proxy: Proxy, data: bytes, patience: float = 5.0) -> bytes:
    """Send raw bytes, read until the connection closes or nothing comes any more."""
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=patience) as connection:
        connection.sendall(data)
        got = b""
        try:
            while part := connection.recv(65536):
                got += part
        except TimeoutError:
            pass
        return got


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"model": NaN}',
        b'{"a":' * 5000,
        b'{"a": "\xff"}',
        b'{"model": "m"}',
        b'{"messages": []}',
    ],
)
@pytest.mark.event(1)
@pytest.mark.event(3)
def test_bad_bodies_are_refused_in_shape(proxy: Proxy, upstream: UpstreamServer, body: bytes) -> None:
    got = proxy.request("POST", "/v1/chat/completions", body, JSON)
    assert got.status == 400
    error = got.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert upstream.calls == 0


@pytest.mark.event(4)
def test_lone_surrogates_pass_and_bypass(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = json_reply({"ok": True})
    body = b'{"model": "m", "messages": [{"role": "user", "content": "odd \\ud800 text"}]}'
    got = proxy.request("POST", "/v1/chat/completions", body, JSON)
    assert (got.status, got.headers["semcache-outcome"]) == (200, "bypass")
    assert upstream.requests[0].body == body


@pytest.mark.event(4)
def test_nul_and_bidi_and_zero_width_text_is_kept(proxy: Proxy, upstream: UpstreamServer) -> None:
    text = "a\x00b \u202e c \u200b d"
    proxy.chat(text)
    assert upstream.requests[0].json()["messages"][0]["content"] == text
    assert proxy.outcome(text) == "exact"


@pytest.mark.event(5)
def test_too_large_bodies(proxy: Proxy) -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n"
    got = exchange(proxy, head + b"x" * 1000)
    assert got.startswith(b"HTTP/1.1 413")
    assert b"request_too_large" in got


@pytest.mark.event(6)
def test_compressed_bodies_are_refused(proxy: Proxy) -> None:
    got = proxy.request("POST", "/v1/chat/completions", b"x", {**JSON, "content-encoding": "gzip"})
    assert got.status == 415


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
    ],
)
@pytest.mark.event(8)
def test_ambiguous_framing_is_refused(proxy: Proxy, head: bytes) -> None:
    assert exchange(proxy, head, 2.0).split(b"\r\n")[0].split(b" ")[1:2] in ([b"400"], [])


@pytest.mark.parametrize(
    "path",
    ["/v1//chat/completions", "/v1/../admin", "/v1/%2e%2e/x", "/v1/a;b", "/v1/x%2fy", "/v1/a%00b", "/v1/./x"],
)
@pytest.mark.event(8)
def test_paths_without_a_normal_form_are_refused(proxy: Proxy, upstream: UpstreamServer, path: str) -> None:
    got = exchange(proxy, f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 400")
    assert upstream.calls == 0


@pytest.mark.event(8)
def test_a_host_header_routes_nothing(proxy: Proxy) -> None:
    got = exchange(proxy, b"GET /livez HTTP/1.1\r\nhost: evil/../v1\r\nconnection: close\r\n\r\n")
    assert got.startswith((b"HTTP/1.1 200", b"HTTP/1.1 400"))


@pytest.mark.event(7)
def test_slow_heads_are_cut_off(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.e2e.running import running

    folder = tmp_path_factory.mktemp("slow")
    limits = {"SEMCACHE_LIMITS__HEADER_SECONDS": "1", "SEMCACHE_LIMITS__BODY_SECONDS": "1"}
    with running(folder / "data", "--upstream", upstream.url, **limits) as proxy:
        began = time.monotonic()
        assert exchange(proxy, b"POST /v1/chat/completions HTTP/1.1\r\nhost", 10) == b""
        assert time.monotonic() - began < 5
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"
        assert b" 408 " in exchange(proxy, head, 10)


@pytest.mark.event(1)
def test_other_paths_are_forwarded_byte_for_byte(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = echo()
    body = b'{ "input" :  "x",\n "encoding_format": "base64" }' + bytes(range(256)) * 40
    got = proxy.request("POST", "/vendor/embeddings?a=%20b&c", body, {"content-type": "x/y", "x-vendor": "v"})
    assert got.body == body
    assert upstream.requests[0].target == "/vendor/embeddings?a=%20b&c"
    assert upstream.requests[0].header("x-vendor") == "v"
    assert proxy.request("GET", "/anything/else").status == 200
    assert upstream.requests[1].target == "/anything/else"


def test_pass_through_keeps_compressed_replies_as_they_are(proxy: Proxy, upstream: UpstreamServer) -> None:
    from tests.fakes.upstream_server import compress

    packed = compress(b"x" * 1000, "gzip")
    upstream.script = reply(packed, headers=[("content-encoding", "gzip"), ("set-cookie", "a=b")])
    got = proxy.request("GET", "/v1/files", headers={"accept-encoding": "gzip"})
    assert got.body == packed
    assert got.headers["content-encoding"] == "gzip"
    assert "set-cookie" not in got.headers


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.event(17)
def test_compressed_answers_are_stored_plain(proxy: Proxy, upstream: UpstreamServer, coding: str) -> None:
    from tests.fakes.upstream_server import chat_body, compress

    packed = compress(json.dumps(chat_body("unpacked")).encode(), coding)
    upstream.script = reply(
        packed, headers=[("content-type", "application/json"), ("content-encoding", coding)]
    )
    first = proxy.chat(f"Packed with {coding}?")
    again = proxy.chat(f"Packed with {coding}?")
    assert (first.text, again.text, again.headers["semcache-outcome"]) == ("unpacked", "unpacked", "exact")
    assert "content-encoding" not in first.headers
    assert "content-encoding" not in again.headers


@pytest.mark.event(17)
def test_an_answer_in_a_coding_we_cannot_read_passes_as_it_is_and_is_not_stored(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    from tests.fakes.upstream_server import chat_json

    packed = b"\x0b\x02\x80not really brotli"
    headers = [("content-type", "application/json"), ("content-encoding", "br")]
    upstream.script = [reply(packed, headers=headers), chat_json("plain")]
    first = proxy.chat("In which coding?")
    assert (first.body, first.headers["content-encoding"]) == (packed, "br")
    assert proxy.chat("In which coding?").text == "plain"


def test_nothing_of_the_first_reply_s_headers_is_replayed(proxy: Proxy, upstream: UpstreamServer) -> None:
    from tests.fakes.upstream_server import chat_json

    headers = [
        ("content-type", "application/json"),
        ("x-ratelimit-remaining", "3"),
        ("openai-organization", "o"),
        ("set-cookie", "a=b"),
        ("x-request-id", "r1"),
    ]
    upstream.script = chat_json("headers", headers=headers)
    first = proxy.chat("Whose headers?")
    again = proxy.chat("Whose headers?")
    assert first.headers["x-ratelimit-remaining"] == "3"
    assert first.headers["x-request-id"] == "r1"
    assert "set-cookie" not in first.headers
    for name in ("x-ratelimit-remaining", "openai-organization", "set-cookie"):
        assert name not in again.headers
    assert again.headers["x-request-id"] != "r1"


@pytest.mark.event(18)
def test_the_upstream_is_away(proxy: Proxy, upstream: UpstreamServer) -> None:
    from tests.fakes.upstream_server import reset

    upstream.script = reset()
    got = proxy.chat("Is anybody there?")
    assert got.status == 502
    assert got.json()["error"]["type"] == "upstream_error"
    assert "127.0.0.1" not in got.body.decode()
    assert proxy.request("GET", "/v1/models").status == 502


@pytest.mark.event(11)
def test_unknown_upstreams_and_own_paths(proxy: Proxy) -> None:
    got = proxy.chat("Where to?", {"semcache-upstream": "http://169.254.169.254/"})
    assert (got.status, got.json()["error"]["code"]) == (400, "unknown_upstream")
    missing = proxy.request("GET", "/semcache/nothing")
    assert (missing.status, "error" in missing.json()) == (404, True)
    assert proxy.request("GET", "/").json()["name"] == "semcache"


@pytest.mark.event(2)
def test_duplicate_names_reach_the_upstream_once(proxy: Proxy, upstream: UpstreamServer) -> None:
    body = b'{"model": "a", "model": "b", "messages": [{"role": "user", "content": "Which model?"}]}'
    proxy.request("POST", "/v1/chat/completions", body, JSON)
    assert upstream.requests[0].body.count(b'"model"') == 1
    assert upstream.requests[0].json()["model"] == "b"


def test_metrics_and_logs_hold_no_prompt_text(proxy: Proxy) -> None:
    proxy.chat("A very secret question about xyzzy?")
    page = proxy.request("GET", "/metrics").body.decode()
    assert "semcache_requests_total{" in page
    assert "xyzzy" not in page
    records = proxy.records()
    assert records[-1]["event"] == "request"
    assert not any("xyzzy" in line for line in [*proxy.stdout, *proxy.stderr])


def test_callers_from_elsewhere_see_only_whether_we_live(proxy: Proxy) -> None:
    away = {"x-forwarded-for": "1.2.3.4"}
    assert proxy.request("GET", "/livez", headers=away).status == 200
    assert set(proxy.request("GET", "/readyz", headers=away).json()) == {"status"}
    refused = proxy.request("GET", "/metrics", headers=away)
    assert (refused.status, refused.json()["error"]["code"]) == (401, "no_metrics_token")
    wrong = proxy.request("GET", "/metrics", headers={**away, "authorization": "Bearer x"})
    assert wrong.status == 401


def test_explain_tells_why(proxy: Proxy) -> None:
    proxy.chat("How do I explain this?")
    body = json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": "How can I explain this?"}]}
    ).encode()
    told = proxy.request(
        "POST", "/semcache/explain", body, {**JSON, "semcache-namespace": proxy.namespace}
    ).json()
    assert told["decision"] in ("hit", "draft", "miss")
    assert told["domain"] == "chat"
    assert told["threshold"] == 0.9
    assert told["score"] is None or 0 <= told["score"] <= 1
    assert -1 <= told["similarity"] <= 1
    away = proxy.request("POST", "/semcache/explain", body, {**JSON, "x-forwarded-for": "1.2.3.4"})
    assert away.status == 403


def test_websockets_are_refused_in_http(proxy: Proxy, upstream: UpstreamServer) -> None:
    handshake = (
        b"GET /v1/realtime?model=m HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    before = len(proxy.records(0.3))
    got = exchange(proxy, handshake, 1.0)
    assert got.startswith(b"HTTP/1.1 501 ")
    assert b'"code":"websockets_unsupported"' in got
    assert upstream.calls == 0
    assert proxy.records(0.3)[before]["reason"] == "websockets_unsupported"
    assert "WebSocket library" not in "".join(proxy.stderr)
