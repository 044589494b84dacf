"""What a behaviour of the scripted upstream sees of a request, and the connection it answers on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakes.upstream_server import UpstreamServer

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
