"""Errors both ways, by the table that clients know."""

from __future__ import annotations

import json

import pytest

from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.dialect import ErrorWords

WAYS = [
    (400, "invalid_request_error", "invalid_request_error", None),
    (401, "authentication_error", "authentication_error", "invalid_api_key"),
    (402, "billing_error", "insufficient_quota", "billing_error"),
    (403, "permission_error", "permission_error", None),
    (404, "not_found_error", "not_found_error", None),
    (413, "request_too_large", "invalid_request_error", "request_too_large"),
    (422, "invalid_request_error", "invalid_request_error", None),
    (429, "rate_limit_error", "rate_limit_error", "rate_limited"),
    (500, "api_error", "server_error", None),
    (502, "api_error", "server_error", None),
    (503, "overloaded_error", "server_error", "overloaded"),
    (504, "api_error", "server_error", None),
    (529, "overloaded_error", "server_error", "overloaded"),
]


@pytest.mark.parametrize(("status", "native", "type", "code"), WAYS)
def test_both_ways(status: int, native: str, type: str, code: str | None) -> None:
    body = MESSAGES.write_error(ErrorWords("no", status, "whatever", "code", "param"))
    assert json.loads(body) == {"type": "error", "error": {"type": native, "message": "no"}}
    assert MESSAGES.read_error(status, body) == ErrorWords("no", status, type, code)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>502</html>",
        b"[]",
        b"null",
        b'{"error":null}',
        b'{"error":{"type":["x"],"message":5}}',
        b'{"error":{"type":"x","message":""}}',
        b"\xff\xfe",
    ],
)
def test_other_shapes_become_words(body: bytes) -> None:
    read = MESSAGES.read_error(502, body)
    assert read.message
    assert (read.status, read.type) == (502, "server_error")


def test_a_type_nobody_knows_is_read_by_its_status() -> None:
    read = MESSAGES.read_error(409, b'{"error":{"type":["conflict"],"message":"no"}}')
    assert read == ErrorWords("no", 409, "invalid_request_error")


def test_an_event_has_its_name() -> None:
    event = MESSAGES.write_error_event(ErrorWords("cut", 502, "upstream_error"))
    assert event.startswith(b"event: error\ndata: {")
    assert event.endswith(b"}\n\n")


@pytest.mark.parametrize(
    ("type", "native"),
    [
        ("overloaded_error", "overloaded_error"),
        ("invalid_request_error", "invalid_request_error"),
        ("server_error", "api_error"),
        ("", "api_error"),
    ],
)
def test_an_error_inside_a_chat_stream(type: str, native: str) -> None:
    from semcache.dialects.dialect import Wanted

    writer = MESSAGES.live_writer(Wanted(stream=True, include_usage=True), "1", 0)
    event = writer.feed({"error": {"message": "no", "type": type}})
    told = json.loads(event.partition(b"data: ")[2])
    assert told == {"type": "error", "error": {"type": native, "message": "no"}}
    assert writer.feed({"choices": []}) == b""
    assert writer.finish() == b""
