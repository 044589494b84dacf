"""Calls that are only forwarded, through a running proxy: bytes pass as they are, and the log says what was used."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from tests.e2e.running import Proxy
from tests.fakes.upstream_server import Exchange, UpstreamServer, compress, json_reply, reply

JSON = {"content-type": "application/json"}
START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"claude-sonnet-4-5","usage":'
    b'{"input_tokens":25,"cache_read_input_tokens":1000,"cache_creation_input_tokens":10,"output_tokens":1}}}\n\n'
)
DELTA = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
)
END = b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":12}}\n\n'
ASKED = json.dumps(
    {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hello"}]}
).encode()


def record(proxy: Proxy, count: int) -> dict[str, Any]:
    """The newest record, once there are this many more than there were."""
    proxy.wait_until(lambda: len(proxy.records(0.05)) >= count)
    return proxy.records(0)[-1]


def part_of(found: dict[str, Any], **expected: Any) -> bool:
    return {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("coding", ["", "gzip", "deflate"])
def test_a_stream_of_messages_is_counted(proxy: Proxy, upstream: UpstreamServer, coding: str) -> None:
    before = len(proxy.records(0.3))
    body = START + DELTA + END
    packed = compress(body, coding) if coding else body
    headers = [("content-type", "text/event-stream"), *([("content-encoding", coding)] if coding else [])]
    upstream.script = reply(packed, headers=headers)
    got = proxy.request(
        "POST",
        "/vendor/v1/messages",
        ASKED,
        {**JSON, "accept-encoding": "br, gzip, deflate", "semcache-labels": "project=a"},
    )
    assert got.body == packed
    found = record(proxy, before + 1)
    assert part_of(
        found, route="messages", model="claude-sonnet-4-5", stream=True, outcome="bypass", reason="path"
    )
    assert part_of(
        found["usage"], prompt_tokens=1035, cached_tokens=1000, written_tokens=10, completion_tokens=12
    )
    assert found["backend"] == "upstream"
    assert found["labels"] == {"project": "a"}
    assert "estimated" not in found


def test_a_client_that_leaves_is_counted_and_guessed(proxy: Proxy, upstream: UpstreamServer) -> None:
    before = len(proxy.records(0.3))

    async def dawdles(exchange: Exchange) -> None:
        await exchange.read_body()
        await exchange.head(200, [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
        await exchange.chunk(START)
        await exchange.chunk(DELTA)
        await exchange.hang()

    upstream.script = dawdles
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        head = f"POST /vendor/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {len(ASKED)}\r\n\r\n"
        connection.sendall(head.encode() + ASKED)
        got = b""
        while b"text_delta" not in got:
            got += connection.recv(65536)
    found = record(proxy, before + 1)
    assert part_of(found, status=499, reason="client-gone", outcome="error", estimated=True)
    assert part_of(found["usage"], prompt_tokens=1035, cached_tokens=1000, completion_tokens=1)


def test_metrics_count_forwarded_tokens(proxy: Proxy, upstream: UpstreamServer) -> None:
    before = proxy.metric("semcache_tokens_total"), proxy.metric("semcache_usage_inconsistent_total")
    upstream.script = json_reply(
        {
            "model": "gpt-4o",
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 99},
            },
        }
    )
    proxy.request("POST", "/vendor/v1/completions", b'{"model": "gpt-4o", "prompt": "x"}', JSON)
    proxy.wait_until(lambda: proxy.metric("semcache_usage_inconsistent_total") == before[1] + 1)
    assert proxy.metric("semcache_tokens_total") == before[0] + 10 + 10 + 5


def test_labels_that_are_none_are_refused(proxy: Proxy, upstream: UpstreamServer) -> None:
    got = proxy.request("POST", "/vendor/v1/messages", ASKED, {**JSON, "semcache-labels": "==="})
    assert (got.status, got.json()["error"]["param"]) == (400, "Semcache-Labels")
    assert upstream.calls == 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1beta/models/m:countTokens"),
        ("POST", "/v1alpha/models/m:embedContent"),
        ("POST", "/v1/models/m:countTokens"),
        ("POST", "/upload/v1beta/files"),
        ("GET", "/v1beta/files/x"),
        ("GET", "/v1beta/openai/models"),
    ],
)
def test_a_key_in_a_query_goes_on_in_a_header_whoever_answers(
    proxy: Proxy, upstream: UpstreamServer, method: str, path: str
) -> None:
    """What lets a client in here may be a key of this proxy: no upstream's logs may show it."""
    upstream.script = json_reply({"ok": True})
    body = b"{}" if method == "POST" else None
    for headers in (JSON, {**JSON, "anthropic-version": "2023-06-01"}):
        upstream.requests.clear()
        got = proxy.request(method, f"{path}?k%65y=sk-test&pageSize=3&access_token=sk-other", body, headers)
        assert got.status == 200
        [seen] = upstream.requests
        assert seen.target == f"{path}?pageSize=3"
        assert seen.header("authorization") == "Bearer sk-test"
        assert b"sk-other" not in b"".join(value for _, value in seen.headers)


def test_other_apis_may_have_a_field_named_key(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = json_reply({"ok": True})
    proxy.request("GET", "/vendor/items?key=a%20b")
    assert upstream.requests[0].target == "/vendor/items?key=a%20b"
