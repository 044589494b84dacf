"""A scripted HTTP/1.1 upstream on loopback, able to misbehave in every way a real one does.

Real sockets, so that what is tested is what runs. A *behaviour* is an async function that gets an
`Exchange` (the request, and the raw connection to answer on). The script says which behaviour
answers which request: one for all, a list (the last one repeats), or a function of the request.

    async with UpstreamServer(chat_json("Paris")) as upstream:
        ...  # upstream.url ends in /v1
        assert upstream.calls == 1
        assert upstream.requests[0].json()["model"] == "m"

For synchronous clients `in_thread(script)` runs the same server on a loop of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.fakes.upstream_answers import (
    chat_body,
    chat_chunks,
    chat_json,
    chat_sse,
    compress,
    cut,
    echo,
    error_reply,
    hang_up,
    huge,
    json_reply,
    raw,
    reply,
    reset,
    sse_bytes,
    sse_events,
    stall,
    stream,
    trickle,
)
from tests.fakes.upstream_wire import (
    JSON_TYPE,
    SSE_TYPE,
    Behaviour,
    ByRequest,
    Early,
    Exchange,
    Headers,
    Script,
    Seen,
)

__all__ = [
    "JSON_TYPE",
    "SSE_TYPE",
    "Behaviour",
    "ByRequest",
    "Early",
    "Exchange",
    "Headers",
    "Script",
    "Seen",
    "UpstreamServer",
    "chat_body",
    "chat_chunks",
    "chat_json",
    "chat_sse",
    "compress",
    "cut",
    "echo",
    "error_reply",
    "hang_up",
    "huge",
    "in_thread",
    "json_reply",
    "raw",
    "reply",
    "reset",
    "sse_bytes",
    "sse_events",
    "stall",
    "stream",
    "trickle",
]


class UpstreamServer:
    """See the module. `calls` counts requests, `requests` keeps them, `connections` counts sockets."""

    def __init__(
        self, script: Behaviour | Sequence[Behaviour] | ByRequest, *, uds: Path | None = None
    ) -> None:
        self.script = script
        self.requests: list[Seen] = []
        self.connections = 0
        self.open_connections = 0
        self.errors: list[BaseException] = []
        self._uds = uds
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def calls(self) -> int:
        return len(self.requests)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Base URL, ending in /v1."""
        return f"{self.origin}/v1"

    async def start(self) -> None:
        if self._uds is not None:
            self._server = await asyncio.start_unix_server(self._connection, str(self._uds))
            return
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the listener and every connection; `start` again listens on the same port."""
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._server = None

    async def __aenter__(self) -> UpstreamServer:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            await self.stop()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            while await self._one(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        except Exception as error:  # noqa: BLE001 - a broken script must show up in the test, not in a task
            self.errors.append(error)
        finally:
            self.open_connections -= 1
            self._tasks.discard(task)
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head[:-4].split(b"\r\n")
        method, target, _ = lines[0].split(b" ")
        pairs = tuple(
            (name, value.strip()) for name, _, value in (line.partition(b":") for line in lines[1:])
        )
        request = Seen(method.decode(), target.decode("latin-1"), pairs, connection=number)
        self.requests.append(request)
        exchange = Exchange(request, reader, writer, self)
        behaviour = await self._choose(exchange)
        if not isinstance(behaviour, Early):
            await exchange.read_body()
        try:
            await behaviour(exchange)
        except (ConnectionError, asyncio.CancelledError):
            request.closed_early = True
            raise
        return not writer.transport.is_closing()

    async def _choose(self, exchange: Exchange) -> Behaviour:
        match self.script:
            case ByRequest(choose):
                await exchange.read_body()
                return choose(exchange.request)
            case list() | tuple() as several:
                return several[min(self.calls, len(several)) - 1]
            case behaviour:
                return behaviour


@contextlib.contextmanager
def in_thread(script: Behaviour | Sequence[Behaviour] | ByRequest) -> Iterator[UpstreamServer]:
    """Run the server on a thread of its own, for synchronous clients."""
    server = UpstreamServer(script)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
