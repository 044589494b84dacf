"""What a request leaves behind is gone when it ends: nothing of it waits for the garbage collector, which seldom runs."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from semcache.proxy.body import ClientGone
from semcache.proxy.connection import ClientProtocol, client_protocol
from semcache.proxy.disconnect import until_disconnect

pytestmark = pytest.mark.usefixtures("uncollected")


async def silence() -> dict[str, Any]:
    await asyncio.Event().wait()
    return {}


async def hangs_up() -> dict[str, Any]:
    return {"type": "http.disconnect"}


async def works() -> None:
    await asyncio.sleep(0)


async def fails() -> None:
    await asyncio.sleep(0)
    raise ValueError


async def waits() -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize(("receive", "work"), [(silence, works), (silence, fails), (hangs_up, waits)])
async def test_the_watch_over_a_client(receive: Any, work: Any) -> None:
    async def block() -> weakref.ref[Any]:
        watch = until_disconnect(receive)
        with contextlib.suppress(ValueError, ClientGone):
            async with watch:
                await work()
        return weakref.ref(watch)

    seen = await asyncio.create_task(block())
    for _ in range(3):
        await asyncio.sleep(0)
    assert seen() is None


@pytest.mark.parametrize("sent", ["", "GET / HT", "GET / HTTP/1.1\r\nhost: a\r\n\r\n", "\x00\r\n\r\n"])
async def test_a_connection(sent: str) -> None:
    made: list[weakref.ref[ClientProtocol]] = []
    kind = client_protocol(head_seconds=9, head_bytes=9999, write_seconds=9)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    config = Config(app, log_config=None)
    config.load()
    state = ServerState()

    def protocol() -> ClientProtocol:
        one = kind(config, state, {})
        made.append(weakref.ref(one))
        return one

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    for _ in range(2):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent.encode())
        if sent.endswith("\r\n\r\n"):
            assert (await reader.read(8)).startswith(b"HTTP/1.1")
        writer.close()
        await writer.wait_closed()
    server.close()
    for _ in range(100):
        await asyncio.sleep(0.01)
        if all(one() is None for one in made):
            break
    assert [one() for one in made] == [None, None]
