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
import gzip
import json
import socket
import struct
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Headers = Sequence[tuple[str, str]]
JSON_TYPE = ("content-type", "application/json")
SSE_TYPE = ("content-type", "text/event-stream; charset=utf-8")


@dataclass
class Seen:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes = b""
    complete: bool = False
    """True once the body was read to its end."""
    closed_early: bool = False
    """True when the client went away before the answer was written."""
    connection: int = 0
    """Number of the connection it came on, from 1."""

    def header(self, name: str) -> str | None:
        wanted = name.lower().encode()
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == wanted), None)

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Exchange:
    """A behaviour's view of one request and its connection."""

    request: Seen
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: UpstreamServer

    async def read_body(self) -> bytes:
        async for part in self.body_parts():
            self.request.body += part
        self.request.complete = True
        return self.request.body

    async def body_parts(self):
        """Yield the request body as it arrives (content-length or chunked)."""
        if self.request.complete:
            return
        if "chunked" in (self.request.header("transfer-encoding") or ""):
            while size := int((await self.reader.readline()).split(b";")[0], 16):
                yield await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            while (await self.reader.readline()).strip():
                pass
            return
        left = int(self.request.header("content-length") or 0)
        while left:
            part = await self.reader.read(min(left, 65536))
            if not part:
                raise ConnectionResetError
            left -= len(part)
            yield part

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, headers: Headers, reason: str = "X") -> None:
        lines = [f"HTTP/1.1 {status} {reason}"] + [f"{name}: {value}" for name, value in headers]
        await self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def chunk(self, data: bytes) -> None:
        if data:
            await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self, trailers: bytes = b"") -> None:
        await self.send(b"0\r\n" + trailers + b"\r\n")

    def reset(self) -> None:
        """Abort with a TCP reset instead of an orderly close."""
        sock = self.writer.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def close(self) -> None:
        self.writer.close()

    async def hang(self) -> None:
        """Say nothing until the client goes away or the server stops."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass
        self.request.closed_early = True


Behaviour = Callable[[Exchange], Awaitable[None]]
Script = Behaviour | Sequence[Behaviour] | Callable[[Seen], Behaviour]


@dataclass(frozen=True)
class ByRequest:
    """Choose the behaviour by looking at the whole request."""

    choose: Callable[[Seen], Behaviour]


@dataclass(frozen=True)
class Early:
    """Run the behaviour before the request body was read (it may read the body itself)."""

    behaviour: Behaviour

    async def __call__(self, exchange: Exchange) -> None:
        await self.behaviour(exchange)


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
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
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


# ---------------------------------------------------------------------------------------- answers


def chat_body(text: str | None = "Paris.", **changes: Any) -> dict[str, Any]:
    """Build a complete chat.completion object; `message`, `finish_reason` and top-level fields by name."""
    message = {"role": "assistant", "content": text, "refusal": None, **changes.pop("message", {})}
    finish = changes.pop("finish_reason", "stop")
    return {
        "id": "chatcmpl-upstream",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m-2026",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 5,
            "total_tokens": 17,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
        "system_fingerprint": "fp_1",
        **changes,
    }


def chat_chunks(
    texts: Sequence[str] = ("Pa", "ris", "."), *, usage: bool = True, finish: str | None = "stop"
) -> list[dict[str, Any]]:
    """Build the chunk objects of a streamed chat answer."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-upstream",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "m-2026",
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
        }

    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in texts)]
    if finish is not None:
        chunks.append(chunk({}, finish))
    if usage:
        tokens = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
        chunks.append({**chunk({}), "choices": [], "usage": tokens})
    return chunks


def sse_bytes(chunks: Sequence[Any], *, done: bool = True, newline: str = "\n") -> bytes:
    """Encode chunk objects (or ready data strings) as an event stream."""
    lines = [c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in chunks]
    if done:
        lines.append("[DONE]")
    return "".join(f"data: {line}{newline}{newline}" for line in lines).encode()


def compress(data: bytes, coding: str) -> bytes:
    """Encode with `gzip`, `deflate` (zlib) or `raw-deflate`; anything else stays as it is."""
    if coding == "gzip":
        return gzip.compress(data)
    if coding == "deflate":
        return zlib.compress(data)
    if coding == "raw-deflate":
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(data) + packer.flush()
    return data


# ------------------------------------------------------------------------------------- behaviours


def reply(
    body: bytes,
    *,
    status: int = 200,
    headers: Headers = (JSON_TYPE,),
    delay: float = 0.0,
    coding: str = "identity",
    close: bool = False,
) -> Behaviour:
    """Answer with a content-length body after `delay` seconds."""
    encoded = compress(body, coding)
    extra = [] if coding == "identity" else [("content-encoding", coding.removeprefix("raw-"))]

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(delay)
        await exchange.head(status, [*headers, *extra, ("content-length", str(len(encoded)))])
        await exchange.send(encoded)
        if close:
            exchange.close()

    return behave


def json_reply(value: Any, **options: Any) -> Behaviour:
    """Answer with a JSON document; options as for `reply`."""
    return reply(json.dumps(value, ensure_ascii=False).encode(), **options)


def chat_json(text: str = "Paris.", **options: Any) -> Behaviour:
    """Answer with a complete chat.completion."""
    return json_reply(chat_body(text), **options)


def error_reply(
    status: int = 429, message: str = "slow down", headers: Headers = (), **options: Any
) -> Behaviour:
    """Answer with an OpenAI-shaped error."""
    body = {"error": {"message": message, "type": "upstream", "code": None, "param": None}}
    return json_reply(body, status=status, headers=[JSON_TYPE, *headers], **options)


def stream(
    body: bytes,
    *,
    piece: int = 0,
    pause: float = 0.0,
    delay: float = 0.0,
    status: int = 200,
    headers: Headers = (SSE_TYPE,),
    coding: str = "identity",
    trailers: bytes = b"",
) -> Behaviour:
    """Answer chunked, `piece` bytes a chunk (0: all in one) with `pause` seconds between chunks."""
    encoded = compress(body, coding)
    size = piece or max(1, len(encoded))
    extra = [] if coding == "identity" else [("content-encoding", coding.removeprefix("raw-"))]

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(delay)
        await exchange.head(status, [*headers, *extra, ("transfer-encoding", "chunked")])
        for start in range(0, len(encoded), size):
            await exchange.chunk(encoded[start : start + size])
            if pause:
                await asyncio.sleep(pause)
        await exchange.end(trailers)

    return behave


def chat_sse(texts: Sequence[str] = ("Pa", "ris", "."), **options: Any) -> Behaviour:
    """Answer with a complete streamed chat answer, one event a chunk unless `piece` says otherwise."""
    chunks = chat_chunks(texts, usage=options.pop("usage", True))
    if options.get("piece"):
        return stream(sse_bytes(chunks), **options)
    return sse_events([sse_bytes([c], done=False) for c in chunks] + [b"data: [DONE]\n\n"], **options)


def sse_events(events: Sequence[bytes], *, pause: float = 0.0, delay: float = 0.0) -> Behaviour:
    """Write each of `events` as one HTTP chunk, `pause` seconds apart."""

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(delay)
        await exchange.head(200, [SSE_TYPE, ("transfer-encoding", "chunked")])
        for event in events:
            await exchange.chunk(event)
            if pause:
                await asyncio.sleep(pause)
        await exchange.end()

    return behave


def cut(body: bytes, *, headers: Headers = (SSE_TYPE,), reset: bool = False) -> Behaviour:
    """Send `body` of a chunked answer, then close (or reset) without its end."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head(200, [*headers, ("transfer-encoding", "chunked")])
        await exchange.chunk(body)
        await asyncio.sleep(0.02)
        exchange.reset() if reset else exchange.close()

    return behave


def stall(body: bytes | None = None, *, headers: Headers = (SSE_TYPE,)) -> Behaviour:
    """Send nothing (body None), or a head and `body`, then hang until the client leaves."""

    async def behave(exchange: Exchange) -> None:
        if body is not None:
            await exchange.head(200, [*headers, ("transfer-encoding", "chunked")])
            await exchange.chunk(body)
        await exchange.hang()

    return behave


def trickle(data: bytes, pause: float) -> Behaviour:
    """Send raw bytes of a reply one at a time."""

    async def behave(exchange: Exchange) -> None:
        for i in range(len(data)):
            await exchange.send(data[i : i + 1])
            await asyncio.sleep(pause)

    return behave


def raw(data: bytes, *, close: bool = True) -> Behaviour:
    """Send exactly these bytes, head and all."""

    async def behave(exchange: Exchange) -> None:
        await exchange.send(data)
        if close:
            exchange.close()

    return behave


def reset() -> Behaviour:
    """Reset the connection instead of answering."""

    async def behave(exchange: Exchange) -> None:
        exchange.reset()

    return behave


def hang_up() -> Behaviour:
    """Close the connection in order instead of answering (what a stale keep-alive looks like)."""

    async def behave(exchange: Exchange) -> None:
        exchange.close()

    return behave


def huge(
    size: int, *, piece: int = 65536, headers: Headers = (("content-type", "application/octet-stream"),)
) -> Behaviour:
    """Send `size` bytes chunked as fast as they are taken."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head(200, [*headers, ("transfer-encoding", "chunked")])
        for start in range(0, size, piece):
            await exchange.chunk(b"x" * min(piece, size - start))
        await exchange.end()

    return behave


def echo() -> Behaviour:
    """Answer with the request's own body as it arrives; its head comes back in `x-echo-*` headers."""

    async def behave(exchange: Exchange) -> None:
        request = exchange.request
        kind = request.header("content-type") or "application/octet-stream"
        await exchange.head(
            200,
            [
                ("content-type", kind),
                ("x-echo-method", request.method),
                ("x-echo-target", request.target),
                ("transfer-encoding", "chunked"),
            ],
        )
        if request.complete:
            await exchange.chunk(request.body)
        async for part in exchange.body_parts():
            request.body += part
            await exchange.chunk(part)
        request.complete = True
        await exchange.end()

    return Early(behave)
