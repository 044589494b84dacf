"""What forwarded calls are counted as: the bytes pass untouched, and the record says who was asked for how much."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from semcache.core import Caller, Outcome, RequestRecord, TenantId, Usage
from semcache.dialects.table import BY_FAMILY
from semcache.errors import RequestError, UpstreamError
from semcache.journey import Backend
from semcache.proxy.account import Account, Used
from semcache.proxy.edge import Edge, LoadGate
from semcache.proxy.model_lists import ModelLists
from tests.fakes.generator import FakeGenerator, FakeReply

START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"claude-sonnet-4-5","usage":'
    b'{"input_tokens":25,"cache_read_input_tokens":1000,"output_tokens":1}}}\n\n'
)
DELTA = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
)
END = b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":12}}\n\n'
SSE = ((b"content-type", b"text/event-stream; charset=utf-8"),)
CHAT = json.dumps(
    {"model": "gpt-4o-2024-08-06", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
).encode()


class Admission:
    """Lets everybody in under one key, but for a bad one."""

    def caller(self, scope: Any, headers: Any) -> Caller:
        if headers.authorization == "Bearer bad":
            raise RequestError("No.", status=401, code="invalid_api_key")
        return Caller(TenantId("acme"), key_name="team", labels=(("environment", "prod"),))


class Clock:
    """Time that stands still."""

    def now(self) -> float:
        return 1_000_000.0

    def monotonic(self) -> float:
        return 5.0


class Records(list[RequestRecord]):
    """Keeps records."""

    def emit(self, record: RequestRecord) -> None:
        self.append(record)


async def nobody(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("not for us")


class Wire:
    """One edge before one upstream."""

    def __init__(self, reply: FakeReply | UpstreamError) -> None:
        self.upstream = FakeGenerator(lambda call: reply, name="claude-api")
        self.records = Records()
        self.leaves_after: int | None = None
        self.sent: list[MutableMapping[str, Any]] = []
        self.edge = Edge(
            chat=nobody,
            own=nobody,
            admission=Admission(),  # type: ignore[arg-type]  # the one method that is asked
            backend_of=lambda tenant, name: Backend(self.upstream, "claude"),
            records=self.records,
            clock=Clock(),
            new_request_id=lambda: "r1",
            gate=LoadGate(10),
            models=ModelLists({}, 0, BY_FAMILY),
        )

    def post(self, path: str, body: bytes = b"{}", method: str = "POST", **headers: str) -> RequestRecord:
        """Send one request; gives its record."""
        names = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [*names.items(), *([(b"content-length", b"%d" % len(body))] if body else [])],
            "client": ("127.0.0.1", 1),
        }
        asyncio.run(self._exchange(scope, body))
        assert len(self.records) == 1, "one request, one record"
        return self.records[0]

    async def _exchange(self, scope: dict[str, Any], body: bytes) -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop(0)
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            self.sent.append(message)
            if self.leaves_after is not None and len(self.sent) > self.leaves_after:
                gone.set()
                await asyncio.sleep(0)

        try:
            await self.edge(scope, receive, send)
        except ConnectionAbortedError:
            self.sent.append({"type": "cut"})

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def test_a_reply_passes_untouched_and_is_counted() -> None:
    wire = Wire(FakeReply(parts=(CHAT[:20], CHAT[20:])))
    record = wire.post(
        "/vendor/v1/completions", b'{"model": "gpt-4o", "prompt": "x"}', semcache_labels="project=a, env=test"
    )
    assert wire.body == CHAT
    assert (record.route, record.model, record.stream) == ("completions", "gpt-4o", False)
    assert (record.usage, record.estimated, record.outcome) == (Usage(9, 2), False, Outcome.BYPASS)
    assert (record.tenant, record.key_name, record.backend, record.is_local) == (
        "acme",
        "team",
        "claude-api",
        False,
    )
    assert dict(record.labels) == {"project": "a", "environment": "prod"}, "the key's own labels hold"


def test_the_reply_names_the_model_where_the_request_does_not() -> None:
    assert Wire(FakeReply(parts=(CHAT,))).post("/vendor/v1/completions").model == "gpt-4o-2024-08-06"


def test_a_stream_is_counted() -> None:
    wire = Wire(FakeReply(headers=SSE, parts=(START, DELTA, END)))
    record = wire.post("/vendor/v1/messages", b'{"model": "claude-sonnet-4-5"}')
    assert wire.body == START + DELTA + END
    assert (record.usage, record.stream, record.estimated) == (Usage(1025, 12, 1000), True, False)


def test_a_packed_reply_passes_packed_and_is_counted() -> None:
    packed = gzip.compress(CHAT)
    wire = Wire(
        FakeReply(
            headers=((b"content-type", b"application/json"), (b"content-encoding", b"gzip")), parts=(packed,)
        )
    )
    record = wire.post("/vendor/v1/completions", accept_encoding="br, gzip, zstd")
    assert wire.body == packed
    assert record.usage == Usage(9, 2)
    assert (b"accept-encoding", b"gzip") in wire.upstream.calls[0].headers


def test_codings_are_the_client_s_own_choice_where_nothing_is_counted() -> None:
    wire = Wire(FakeReply(parts=(b"{}",)))
    wire.post("/v1/files", accept_encoding="br, gzip, zstd")
    assert (b"accept-encoding", b"br, gzip, zstd") in wire.upstream.calls[0].headers


def test_a_stream_that_the_upstream_cut_is_counted_and_guessed() -> None:
    wire = Wire(
        FakeReply(headers=SSE, parts=(START, DELTA, DELTA, UpstreamError("cut", code="upstream_cut")))
    )
    record = wire.post("/vendor/v1/messages", b'{"model": "claude-sonnet-4-5"}')
    assert wire.sent[-1] == {"type": "cut"}, "nobody takes it for whole"
    assert (record.outcome, record.reason) == (Outcome.ERROR, "upstream_cut")
    assert (record.usage, record.estimated) == (Usage(1025, 2, 1000), True)


def test_a_stream_that_the_client_left_is_counted_and_guessed() -> None:
    wire = Wire(FakeReply(headers=SSE, parts=(START, DELTA, 5.0, END)))
    wire.leaves_after = 2
    record = wire.post("/vendor/v1/messages", b'{"model": "claude-sonnet-4-5"}')
    assert (record.status, record.reason) == (499, "client-gone")
    assert (record.usage, record.estimated) == (Usage(1025, 1, 1000), True)


def test_an_uncounted_stream_is_guessed_from_what_was_sent_and_came() -> None:
    piece = b'data: {"model":"gpt-4o","choices":[{"delta":{"content":"Hi"}}]}\n\n'
    wire = Wire(FakeReply(headers=SSE, parts=(piece, piece, b"data: [DONE]\n\n")))
    body = json.dumps({"model": "gpt-4o", "prompt": "x" * 396, "stream": True}).encode()
    record = wire.post("/vendor/v1/completions", body)
    assert (record.usage, record.estimated) == (Usage(100, 2), True)


@pytest.mark.parametrize("path", ["/v1/images/generations", "/v1/audio/speech"])
def test_what_is_not_counted_in_tokens_is_not_guessed(path: str) -> None:
    record = Wire(FakeReply(parts=(b"{}",))).post(path, b'{"model": "gpt-image-1"}')
    assert (record.model, record.usage, record.estimated) == ("gpt-image-1", None, True)


def test_errors_of_an_upstream_used_nothing() -> None:
    wire = Wire(FakeReply(status=429, parts=(CHAT,)))
    record = wire.post("/vendor/v1/messages", b'{"model": "claude-sonnet-4-5"}')
    assert (record.status, record.usage, record.estimated) == (429, None, False)


def test_an_upstream_that_is_away_used_nothing() -> None:
    wire = Wire(UpstreamError("away", code="upstream_unavailable"))
    record = wire.post("/vendor/v1/messages", b'{"model": "claude-sonnet-4-5", "system": "x"}')
    assert (record.outcome, record.usage, record.estimated) == (Outcome.ERROR, None, False)


def test_other_paths_ask_no_model() -> None:
    record = Wire(FakeReply(parts=(CHAT,))).post("/v1/models", b"", "GET")
    assert (record.route, record.model, record.usage, record.estimated) == ("other", "", None, False)
    assert (record.outcome, record.reason) == (Outcome.BYPASS, "path")


def test_bad_labels_and_bad_keys_are_refused_before_anybody_is_asked() -> None:
    for headers in ({"semcache_labels": "==="}, {"authorization": "Bearer bad"}):
        wire = Wire(FakeReply(parts=(CHAT,)))
        record = wire.post("/vendor/v1/messages", **headers)
        assert record.status in (400, 401)
        assert record.usage is None
        assert not wire.upstream.calls


def test_the_request_reaches_the_upstream_as_it_came() -> None:
    body = b'{ "model" : "m",\n "input": "' + bytes(range(128, 256)) + b'" }'
    wire = Wire(FakeReply(parts=(CHAT,)))
    wire.post("/vendor/v1/embeddings", body)
    assert wire.upstream.bodies == [body]


@pytest.mark.parametrize(
    ("is_sent", "client_left", "expected"),
    [
        (True, True, Used("m", Usage(100, 0), is_estimated=True)),
        (False, True, Used("")),
        (True, False, Used("m")),
    ],
)
def test_a_client_that_left_before_the_reply_had_its_input_read(
    is_sent: bool, client_left: bool, expected: Used
) -> None:
    account = Account("POST", "/vendor/v1/messages")
    account.sending(b'{"model": "m", "system": "' + b"x" * 396 + b'"}')
    if is_sent:
        account.sent()
    assert account.used(client_left=client_left) == expected


def test_an_error_s_body_counts_nothing() -> None:
    account = Account("POST", "/vendor/v1/messages")
    account.sent()
    account.answered(500, ((b"content-type", b"application/json"),))
    account.passing(CHAT)
    assert account.used(client_left=True) == Used("")
