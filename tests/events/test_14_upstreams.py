"""Upstreams that misbehave: errors inside a 200, stalls, odd codings and heads, bombs, no connection at all."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.running import Proxy, Reply
from tests.events.answers import CHAT, MESSAGES, OLLAMA, STREAMED, UPSTREAM, chat_stream, chat_whole
from tests.events.conftest import HEAD, IDLE
from tests.events.faultproxy import FaultProxy, Faults
from tests.events.raw import memory, post, replies, say
from tests.events.test_01_requests import JSON, question, told
from tests.fakes.upstream_server import (
    JSON_TYPE,
    SSE_TYPE,
    Behaviour,
    ByRequest,
    Exchange,
    Seen,
    UpstreamServer,
    chat_json,
    error_reply,
    raw,
    reply,
    sse_events,
    stall,
    stream,
    trickle,
)

PATHS = (CHAT, MESSAGES, OLLAMA)
NDJSON = ("content-type", "application/x-ndjson")
MIB = 1 << 20


def ask(
    proxy: Proxy, text: str, path: str = CHAT, *, streaming: bool = False, upstream: str = "", **headers: str
) -> Reply:
    asked = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": streaming}
    limit = {"max_tokens": 9} if path == MESSAGES else {}
    own = {"semcache-upstream": upstream or UPSTREAM[path], "semcache-namespace": proxy.namespace[-90:]}
    return proxy.request("POST", path, json.dumps(asked | limit).encode(), {**JSON, **own, **headers})


def kept(proxy: Proxy, text: str, path: str = CHAT, **options: object) -> bool:
    """Tell whether anything would be replayed."""
    got = ask(proxy, text, path, **options, **{"cache-control": "only-if-cached"})  # type: ignore[arg-type]
    assert got.status in (200, 504)
    return got.status == 200


ERRORS = {
    CHAT: (b'data: {"error":{"message":"overloaded","type":"server_error"}}\n\ndata: [DONE]\n\n', SSE_TYPE),
    MESSAGES: (
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
        SSE_TYPE,
    ),
    OLLAMA: (b'{"error":"out of memory"}\n', NDJSON),
}


@pytest.mark.event(14)
@pytest.mark.parametrize("path", PATHS)
def test_an_error_inside_a_stream_is_passed_on_and_not_kept(
    proxy: Proxy, upstream: UpstreamServer, path: str
) -> None:
    error, kind = ERRORS[path]
    whole = STREAMED[path]("Half of it.")
    begun = whole[: whole.index(b"Half") + 60].rpartition(b"\n")[0] + b"\n" if path == OLLAMA else b""
    begun = begun or whole.partition(b"\n\n")[0] + b"\n\n"
    for number, body in enumerate((error, begun + error)):
        upstream.script = stream(body, headers=[kind])
        text = f"An error inside {number}?"
        got = ask(proxy, text, path, streaming=True)
        assert (got.status, got.body) == (200, body), "byte for byte, and told once"
        assert not kept(proxy, text, path, streaming=True)


@pytest.mark.event(13)
def test_an_end_mark_without_a_reason_is_an_error(proxy: Proxy, upstream: UpstreamServer) -> None:
    first = chat_stream("All of it, or not?").partition(b"\n\n")[0] + b"\n\n"
    upstream.script = sse_events([first, b"data: [DONE]\n\n"], pause=0.1)
    got = ask(proxy, "An end without a reason?", streaming=True)
    assert got.body.startswith(first)
    assert b"[DONE]" not in got.body
    assert json.loads(got.body.split(b"data: ")[-1])["error"]["code"] == "upstream_cut"
    assert not kept(proxy, "An end without a reason?", streaming=True)
    page = proxy.request("GET", "/metrics").body.decode()
    assert 'reason="upstream_cut"' in page


@pytest.mark.event(15)
def test_an_upstream_that_stalls_is_given_up_in_time(proxy: Proxy, upstream: UpstreamServer) -> None:
    def half(seen: Seen) -> Behaviour:
        body = STREAMED[seen.target]("Never all of it.")
        if not seen.json()["stream"]:
            return stall(b'{"id":', headers=[JSON_TYPE])
        return stall(body[: len(body) // 3], headers=[NDJSON if seen.target == OLLAMA else SSE_TYPE])

    upstream.script = ByRequest(half)
    began = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        streams = [pool.submit(ask, proxy, "When does it end?", path, streaming=True) for path in PATHS]
        wholes = [pool.submit(ask, proxy, "And whole?", path) for path in PATHS]
    assert IDLE <= time.monotonic() - began < IDLE + 3
    for path, stream_of, whole in zip(PATHS, streams, wholes, strict=True):
        last = stream_of.result().body.strip().split(b"\n")[-1].removeprefix(b"data: ")
        assert told(path, last)
        assert whole.result().status == 504
        assert not kept(proxy, "When does it end?", path, streaming=True)


@pytest.mark.event(15)
def test_an_upstream_that_says_nothing_is_given_up_in_time(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = stall()
    began = time.monotonic()
    got = ask(proxy, "Is anybody there?", upstream="hurried")
    assert (got.status, got.json()["error"]["code"]) == (504, "upstream_timeout")
    assert HEAD <= time.monotonic() - began < HEAD + 3
    assert upstream.calls == 1, "an answer that may have been made is not asked for twice"


@pytest.mark.event(15)
def test_an_upstream_that_trickles_is_waited_for(proxy: Proxy, upstream: UpstreamServer) -> None:
    body = chat_stream("In drops.")
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    upstream.script = trickle(head + body, 0.0005)
    assert ask(proxy, "In drops?", streaming=True).body == body
    proxy.wait_until(lambda: kept(proxy, "In drops?", streaming=True))


PASSED = {
    "429": (429, [("retry-after", "17"), ("x-ratelimit-remaining-requests", "0")]),
    "500": (500, []),
    "503": (503, [("retry-after", "3")]),
    "529": (529, [("retry-after", "5"), ("x-should-retry", "true")]),
    "418": (418, []),
    "599": (599, []),
}


@pytest.mark.event(16)
@pytest.mark.parametrize("streaming", [False, True])
def test_errors_of_the_upstream_pass_as_they_are(
    proxy: Proxy, upstream: UpstreamServer, streaming: bool
) -> None:
    for name, (status, headers) in PASSED.items():
        upstream.script = error_reply(status, f"reason {name}", headers)
        got = ask(proxy, f"What is {name}?", streaming=streaming)
        assert (got.status, got.json()["error"]["message"]) == (status, f"reason {name}")
        assert {name: got.headers.get(name) for name, _ in headers} == dict(headers)
        assert not kept(proxy, f"What is {name}?", streaming=streaming)
    assert upstream.calls == len(PASSED), "no retry of what was answered"


@pytest.mark.event(16)
@pytest.mark.event(17)
@pytest.mark.parametrize("status", [200, 502])
def test_a_page_for_people_passes_and_is_never_kept(
    proxy: Proxy, upstream: UpstreamServer, status: int
) -> None:
    page = b"<html><body>Bad Gateway</body></html>"
    for kind in ("text/html", "text/html; charset=utf-16", "application/json"):
        upstream.script = reply(page, status=status, headers=[("content-type", kind)])
        got = ask(proxy, f"Is it a page, {kind}?")
        assert (got.status, got.body) == (status, page)
        assert not kept(proxy, f"Is it a page, {kind}?")


def _bomb(coding: str) -> bytes:
    packer = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    zeros = b'{"x": "' + b" " * (4 * MIB - 7)
    return b"".join(
        [packer.compress(zeros), *(packer.compress(b" " * (4 * MIB)) for _ in range(15)), packer.flush()]
    )


@pytest.mark.event(6)
@pytest.mark.event(17)
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_bomb_of_the_upstream_is_stopped_early(proxy: Proxy, upstream: UpstreamServer, coding: str) -> None:
    before = memory(proxy)
    for kind in (JSON_TYPE, SSE_TYPE):
        upstream.script = reply(_bomb(coding), headers=[kind, ("content-encoding", coding)])
        got = ask(proxy, f"How much is it, {kind}?", streaming=kind == SSE_TYPE)
        if kind == JSON_TYPE:
            assert (got.status, got.json()["error"]["code"]) == (502, "upstream_invalid")
        else:
            assert b"upstream_invalid" in got.body[-300:]
        assert len(got.body) < 32 * MIB, "though 64 MiB were in it"
        assert not kept(proxy, f"How much is it, {kind}?", streaming=kind == SSE_TYPE)
    assert memory(proxy) - before < 60


CODED = {
    "br, which is not read": ("br", b"\x0b\x02\x80hello\x03"),
    "zstd, which is not read": ("zstd", b"\x28\xb5\x2f\xfd" + bytes(20)),
    "gzip twice": ("gzip, gzip", gzip.compress(gzip.compress(b"{}"))),
}


@pytest.mark.event(17)
def test_codings_that_cannot_be_read_pass_packed(proxy: Proxy, upstream: UpstreamServer) -> None:
    for name, (coding, body) in CODED.items():
        upstream.script = reply(body, headers=[JSON_TYPE, ("content-encoding", coding)])
        got = ask(proxy, f"In which coding, {name}?")
        assert (got.status, got.body, got.headers["content-encoding"]) == (200, body, coding)
        assert not kept(proxy, f"In which coding, {name}?")


@pytest.mark.event(17)
def test_what_is_not_coded_as_it_says_is_an_error(proxy: Proxy, upstream: UpstreamServer) -> None:
    whole = gzip.compress(json.dumps(chat_whole("Whole.")).encode())
    for name, body in {"noise": b"\xff" * 100, "half": whole[:-9], "a flipped bit": _flipped(whole)}.items():
        upstream.script = reply(body, headers=[JSON_TYPE, ("content-encoding", "gzip")])
        assert ask(proxy, f"Coded or not, {name}?").status == 502, name
        assert not kept(proxy, f"Coded or not, {name}?")


def _flipped(data: bytes) -> bytes:
    return data[:40] + bytes((data[40] ^ 4,)) + data[41:]


def _head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


BODY = json.dumps(chat_whole("Fine.")).encode()
LENGTH = f"content-length: {len(BODY)}"
OK = ("HTTP/1.1 200 OK", "content-type: application/json", LENGTH)


async def slow_interim(exchange: Exchange) -> None:
    for _ in range(3):
        await exchange.send(b"HTTP/1.1 102 Processing\r\n\r\n")
        await asyncio.sleep(0.1)
    await exchange.send(_head(*OK) + BODY)


FINE: dict[str, Behaviour] = {
    "100 first": raw(_head("HTTP/1.1 100 Continue") + _head(*OK) + BODY, close=False),
    "103 with links first": raw(
        _head("HTTP/1.1 103 Early Hints", "link: <x>") + _head(*OK) + BODY, close=False
    ),
    "102 again and again": slow_interim,
    "trailers": stream(BODY, headers=[JSON_TYPE], trailers=b"set-cookie: a=b\r\nx-sum: 1\r\n"),
    "chunk extensions": raw(
        _head("HTTP/1.1 200 OK", "content-type: application/json", "transfer-encoding: chunked")
        + b"%x;sig=abc\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
    ),
    "HTTP/1.0": raw(_head("HTTP/1.0 200 OK", "content-type: application/json") + BODY),
    "a charset that is none": reply(BODY, headers=[("content-type", "application/json; charset=klingon")]),
    "no reason": raw(_head("HTTP/1.1 200", *OK[1:]) + BODY),
    "a reason in no ASCII": raw("HTTP/1.1 200 Sch\u00f6n\r\n".encode() + _head(*OK[1:]) + BODY),
    "seven kilobytes of header": raw(_head(*OK, "x-long: " + "v" * 7_000) + BODY),
    "sixty headers": raw(_head(*OK, *(f"x-{number}: v" for number in range(60))) + BODY),
}


@pytest.mark.event(17)
@pytest.mark.parametrize("name", FINE)
def test_odd_replies_that_are_fine(proxy: Proxy, upstream: UpstreamServer, name: str) -> None:
    upstream.script = FINE[name]
    got = ask(proxy, f"Is it fine, {name}?")
    assert (got.status, got.text) == (200, "Fine."), got.body
    assert "set-cookie" not in got.headers
    assert kept(proxy, f"Is it fine, {name}?")


BAD: dict[str, Behaviour] = {
    "no HTTP": raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "noise": raw(bytes(range(256))),
    "a status that is none": raw(_head("HTTP/1.1 20 OK", *OK[1:]) + BODY),
    "a status of words": raw(_head("HTTP/1.1 abc OK", *OK[1:]) + BODY),
    "two lengths": raw(_head(*OK, "content-length: 5") + BODY),
    "a negative length": raw(
        _head("HTTP/1.1 200 OK", "content-type: application/json", "content-length: -5") + BODY
    ),
    "length and chunks": raw(_head(*OK, "transfer-encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n"),
    "a bad chunk size": raw(
        _head("HTTP/1.1 200 OK", "content-type: application/json", "transfer-encoding: chunked")
        + b"zz\r\n{}\r\n"
    ),
    "NUL in a header": raw(_head(*OK, "x-a: b\x00c") + BODY),
    "a header of a megabyte": raw(_head(*OK, "x-long: " + "v" * MIB) + BODY),
    "headers without end": raw(_head(*OK)[:-2] + b"x: y\r\n" * 100_000),
    "less than it says": raw(
        _head("HTTP/1.1 200 OK", "content-type: application/json", "content-length: 9999") + BODY
    ),
    "a switch of protocols": raw(
        _head("HTTP/1.1 101 Switching Protocols", "upgrade: x", "connection: upgrade")
    ),
}


@pytest.mark.event(17)
@pytest.mark.parametrize("name", BAD)
def test_odd_replies_that_are_none(proxy: Proxy, upstream: UpstreamServer, name: str) -> None:
    before = memory(proxy)
    upstream.script = BAD[name]
    got = ask(proxy, f"Is it a reply, {name}?")
    assert got.status in (502, 504), got.body
    assert told(CHAT, got.body)
    assert str(upstream.port) not in got.body.decode()
    assert not kept(proxy, f"Is it a reply, {name}?")
    assert memory(proxy) - before < 30


@pytest.mark.event(17)
def test_header_injection_does_not_pass(proxy: Proxy, upstream: UpstreamServer) -> None:
    """What an upstream says of itself opens nothing here: no cookie, no word in our name, no permission of a browser's."""
    upstream.script = chat_json(
        "Headed.",
        headers=[
            JSON_TYPE,
            ("set-cookie", "a=b"),
            ("semcache-outcome", "exact"),
            ("semcache-verified", "?1"),
            ("cache-status", "evil; hit"),
            ("age", "7"),
            ("access-control-allow-origin", "*"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("alt-svc", 'h3="evil:443"'),
        ],
    )
    got = ask(proxy, "What does it say of itself?")
    assert got.headers["semcache-outcome"] == "miss"
    assert "evil" not in got.headers["cache-status"]
    gone = ("set-cookie", "semcache-verified", "age", "access-control-allow-origin", "alt-svc")
    assert not set(gone) & set(got.headers)


@pytest.mark.event(17)
def test_one_line_without_end_is_passed_and_not_kept(proxy: Proxy, upstream: UpstreamServer) -> None:
    before = memory(proxy)
    line = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"'
    upstream.script = stream(line + b"x" * (24 * MIB) + b'"}}]}\n\n', piece=MIB)
    got = ask(proxy, "How long is a line?", streaming=True)
    assert len(got.body) > 24 * MIB
    assert not kept(proxy, "How long is a line?", streaming=True)
    assert memory(proxy) - before < 80


@pytest.mark.event(11)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(proxy: Proxy, upstream: UpstreamServer, status: int) -> None:
    where = f"{upstream.origin}/latest/meta-data/iam"
    upstream.script = reply(b"", status=status, headers=[("location", where)])
    for path in (CHAT, "/v1/other"):
        got, _ = say(proxy, post(path, question(f"Where to, {status}?")))
        assert replies(got)[0].status == status
        assert replies(got)[0].headers["location"] == where, "the client's to decide"
    assert not kept(proxy, f"Where to, {status}?")
    assert [seen.target for seen in upstream.requests] == [CHAT, "/v1/other"]


FIELDS = (
    "api_base",
    "base_url",
    "api_key",
    "upstream",
    "custom_llm_provider",
    "litellm_params",
    "extra_body",
)


@pytest.mark.event(11)
def test_no_url_of_a_client_is_ever_asked(proxy: Proxy, upstream: UpstreamServer) -> None:
    """Bodies and headers name upstreams of the configuration at most."""
    for url in (
        "http://169.254.169.254/",
        f"http://127.0.0.1:{upstream.port}/v1",
        "unix:/run/x",
        "file:///etc/passwd",
    ):
        got = ask(proxy, "Whose address?", upstream=url)
        assert (got.status, got.json()["error"]["code"]) == (400, "unknown_upstream")
    assert upstream.calls == 0
    for field in FIELDS:
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": "Whose field?"}],
            field: "http://evil.invalid/",
        }
        assert proxy.request("POST", CHAT, json.dumps(body).encode(), JSON).status == 200
    headers = {
        "x-api-base": "http://evil.invalid",
        "x-forwarded-host": "evil.invalid",
        "x-original-url": "/admin",
    }
    assert proxy.chat("Whose header?", headers).status == 200
    assert upstream.calls == len(FIELDS) + 1
    assert {seen.target for seen in upstream.requests} == {CHAT}


def _refused(between: FaultProxy) -> None:
    between.refuse()


def _nothing(between: FaultProxy) -> None:
    # Whoever wants a handshake gets an answer in plain text, as of a server without TLS.
    between.faults = Faults(cut_up=0)


AWAY: dict[str, tuple[str, Callable[[FaultProxy], None], tuple[int, str]]] = {
    "no name": ("nameless", _nothing, (502, "upstream_unreachable")),
    "refused": ("broken", _refused, (502, "upstream_unreachable")),
    "no TLS": ("secure", _nothing, (502, "upstream_unreachable")),
}


@pytest.mark.event(18)
@pytest.mark.parametrize("name", AWAY)
def test_without_a_connection_there_is_an_error_in_time_and_then_at_once(
    proxy: Proxy, upstream: UpstreamServer, between: FaultProxy, name: str
) -> None:
    which, breaking, code = AWAY[name]
    breaking(between)
    try:
        began = time.monotonic()
        got = ask(proxy, f"Where are you, {name}?", upstream=which)
        assert (got.status, got.json()["error"]["code"]) == code
        assert time.monotonic() - began < 6
        for number in range(6):
            got = ask(proxy, f"Where are you, {name} {number}?", upstream=which)
        assert (got.status, got.json()["error"]["code"]) == (503, "upstream_unavailable")
        assert int(got.headers["retry-after"]) >= 1
        began = time.monotonic()
        assert ask(proxy, f"Where are you, {name}, at once?", upstream=which).status == 503
        assert time.monotonic() - began < 0.5
        assert proxy.chat("And the others?").status == 200
        assert proxy.ready_detail()["status"] in ("ready", "degraded")
    finally:
        between.accept()
    if which == "broken":
        proxy.wait_until(lambda: ask(proxy, "Are you back?", upstream=which).status == 200, 6)
    assert "no-such-host" not in got.body.decode()


@pytest.mark.event(18)
def test_a_connection_that_breaks_is_tried_again_only_where_nothing_can_have_been_asked(
    proxy: Proxy, upstream: UpstreamServer, between: FaultProxy
) -> None:
    assert ask(proxy, "Before it breaks?", upstream="broken").status == 200
    between.cut_all()  # a kept connection that is found dead
    assert ask(proxy, "After it broke?", upstream="broken").status == 200
    upstream.requests.clear()
    between.cut_all()
    between.faults = Faults(cut_down=0, end="reset")
    assert ask(proxy, "While it breaks?", upstream="broken").status == 502
    assert upstream.calls <= 1, "what was asked may have been answered"
    between.faults = Faults(cut_up=300, end="reset")
    assert ask(proxy, "While asking? " + "x" * 2000, upstream="broken").status == 502
    between.faults = Faults()
    proxy.wait_until(lambda: ask(proxy, "And now?", upstream="broken").status == 200, 6)


@pytest.mark.event(18)
def test_a_connection_that_is_a_black_hole(
    proxy: Proxy, upstream: UpstreamServer, between: FaultProxy
) -> None:
    between.cut_all()
    between.faults = Faults(hang_up=True)
    began = time.monotonic()
    got = ask(proxy, "Does it fall in?", upstream="broken")
    assert (got.status, got.json()["error"]["code"]) == (504, "upstream_timeout")
    assert time.monotonic() - began < 2 * HEAD + 2
    between.cut_all()


@pytest.mark.event(18)
def test_flipped_bytes_on_the_way_are_never_kept_as_half_an_answer(
    proxy: Proxy, upstream: UpstreamServer, between: FaultProxy
) -> None:
    """TCP's sums let some errors pass; framing that is broken by one is an error, and no answer lacks its end."""
    for at in range(20, 120, 14):
        between.cut_all()
        between.faults = Faults(flip_down=at)
        got = ask(proxy, f"Flipped at {at}?", upstream="broken", streaming=True)
        assert got.status in (200, 502, 504)
        whole = b"[DONE]" in got.body and b"error" not in got.body
        assert whole or b"error" in got.body or got.headers["content-type"] != "text/event-stream", got.body
        if not whole:
            between.faults = Faults()
            assert not kept(proxy, f"Flipped at {at}?", upstream="broken", streaming=True)
