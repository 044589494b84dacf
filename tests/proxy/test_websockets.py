"""Websockets that a server has announced as such."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.proxy.websockets import refuse_websocket


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [
        ({"websocket.http.response": {}}, ["websocket.http.response.start", "websocket.http.response.body"]),
        ({}, ["websocket.close"]),
    ],
)
async def test_they_are_refused_as_the_server_can(extensions: dict[str, Any], expected: list[str]) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await refuse_websocket({"type": "websocket", "extensions": extensions}, receive, send)
    assert [message["type"] for message in sent] == expected
    assert sent[0].get("status", sent[0].get("code")) in (501, 1008)
