"""Bodies of requests are bounded together, and counted as long as their requests last."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from semcache.errors import RequestError
from semcache.proxy.body import read_body
from semcache.proxy.held import HeldBytes, Holding


class Client:
    """Sends a body in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._left = list(pieces)

    async def __call__(self) -> MutableMapping[str, Any]:
        if not self._left:
            return {"type": "http.disconnect"}
        body = self._left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(self._left)}


async def test_what_came_is_counted_until_its_request_is_over() -> None:
    held = HeldBytes(100)
    one, two = Holding(Client(b"x" * 30, b"y" * 30), held), Holding(Client(b"z" * 40), held)
    assert await read_body(one.receive, None, 1000, 5) == b"x" * 30 + b"y" * 30
    assert await read_body(two.receive, None, 1000, 5) == b"z" * 40
    assert held.used == 100
    assert (await one.receive())["type"] == "http.disconnect"
    one.leave()
    one.leave()
    assert held.used == 40
    two.leave()
    assert held.used == 0


async def test_what_only_passes_is_not_held() -> None:
    held = HeldBytes(100)
    upload = Holding(Client(b"x" * 60, *[b"y" * 90] * 5), held)
    assert len((await upload.receive())["body"]) == 60
    upload.let_pass()
    for _ in range(5):
        assert len((await upload.receive())["body"]) == 90
    assert held.used == 60, "what was read before is held to the end"
    upload.leave()
    assert held.used == 0


async def test_one_too_many_is_told_to_come_again() -> None:
    held = HeldBytes(100)
    first = Holding(Client(b"x" * 90), held)
    await read_body(first.receive, None, 1000, 5)
    late = Holding(Client(b"y" * 5, b"y" * 5, b"y" * 5), held)
    with pytest.raises(RequestError) as caught:
        await read_body(late.receive, None, 1000, 5)
    error = caught.value
    assert (error.status, error.code) == (503, "overloaded")
    assert dict(error.headers) == {"retry-after": "1", "connection": "close"}
    assert held.used == 100, "what it had sent counts until it has gone"
    late.leave()
    assert held.used == 90
    again = Holding(Client(b"y" * 10), held)
    assert await read_body(again.receive, None, 1000, 5) == b"y" * 10
