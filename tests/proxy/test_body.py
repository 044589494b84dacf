"""Bodies: limits, deadlines, and JSON that is none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from semcache.errors import RequestError
from semcache.proxy.body import ClientGone, parse_object, read_body
from semcache.proxy.types import Receive


def script(messages: Iterable[dict[str, Any]]) -> Receive:
    left = list(messages)

    async def receive() -> dict[str, Any]:
        if not left:
            await asyncio.sleep(60)
        return left.pop(0)

    return receive


def part(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_in_parts() -> None:
    assert await read_body(script([part(b"a"), part(b"b", False)]), None, 10, 1) == b"ab"


@pytest.mark.parametrize(
    ("declared", "messages", "status"),
    [
        (b"11", [], 413),
        (None, [part(b"x" * 11)], 413),
        (b"2", [part(b"x" * 6), part(b"x" * 6)], 413),
        (None, [], 408),
        (None, [part(b"x")], 408),
    ],
)
async def test_too_much_or_too_slow(
    declared: bytes | None, messages: list[dict[str, Any]], status: int
) -> None:
    with pytest.raises(RequestError) as caught:
        await read_body(script(messages), declared, 10, 0.05)
    assert caught.value.status == status
    assert ("connection", "close") in caught.value.headers


@pytest.mark.parametrize("messages", [[], [part(b"x")]])
async def test_a_client_that_leaves(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(ClientGone):
        await read_body(script([*messages, {"type": "http.disconnect"}]), None, 10, 1)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"\\ud800": NaN}',
        b'{"\\ud800": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        parse_object(body)
    assert (caught.value.status, caught.value.code) == (400, "invalid_json")


def test_lone_surrogates_are_legal_json_that_cannot_be_keyed() -> None:
    value, whole = parse_object(b'{"a": "\\ud800"}')
    assert value == {"a": "\ud800"}
    assert not whole


def test_the_last_of_two_equal_names_wins_here_and_upstream() -> None:
    assert parse_object(b'{"a": 1, "a": 2}') == ({"a": 2}, True)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_nesting_that_could_not_be_written_again_is_refused(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"

    def nested(depth: int) -> bytes:
        return b'{"x":' + opening * (depth - 1) + b"1" + closing * (depth - 1) + b"}"

    value, _ = parse_object(nested(200))
    assert orjson.dumps({"a": {"b": value}})
    for depth in (201, 254, 400, 1000):
        with pytest.raises(RequestError, match="nested") as caught:
            parse_object(nested(depth))
        assert (caught.value.status, caught.value.code) == (400, "invalid_json")
