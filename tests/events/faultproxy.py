"""A TCP proxy that breaks what passes through it: in front of an upstream, of Valkey, of anything.

It runs on a loop in a thread of its own, so that synchronous tests can turn its faults on and off:

    with fault_proxy(("127.0.0.1", port)) as between:      # or a unix socket's path
        client = connect(*between.address)
        between.faults = Faults(delay=5)                   # from now on, on open connections too
        between.faults = Faults()                          # all well again
        between.faults = by_number(lambda n: Faults(cut_down=n, end="reset"))
        between.cut_all(); between.refuse(); between.accept()

`up` is what the client sends, `down` what it is sent. Byte numbers count from 0 on each connection and way.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Address = tuple[str, int] | Path
End = Literal["close", "reset", "hang"]
_PIECE = 65536


@dataclass(frozen=True)
class Faults:
    """What happens to bytes; each piece asks again, so a change reaches open connections.

    Attributes:
        delay: seconds that each piece waits, either way.
        rate: bytes a second, either way; 0: as fast as they come.
        hang_up, hang_down: nothing more passes this way, though the connection stays open (a black hole).
        cut_up, cut_down: so many bytes pass this way, then `end` happens.
        end: how a cut looks to both sides: closed in order, reset, or silence for ever.
        flip_up, flip_down: the byte of this number arrives with its lowest bit turned.
        rewrite_down: gets each piece that the client is sent, gives what it gets instead.
    """

    delay: float = 0.0
    rate: float = 0.0
    hang_up: bool = False
    hang_down: bool = False
    cut_up: int | None = None
    cut_down: int | None = None
    end: End = "close"
    flip_up: int | None = None
    flip_down: int | None = None
    rewrite_down: Callable[[bytes], bytes] | None = None


@dataclass(frozen=True)
class by_number:
    """Choose the faults of a connection by its number, from 1."""

    choose: Callable[[int], Faults]


@dataclass(eq=False)
class _Link:
    """One client's connection and its other half."""

    number: int
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, how: End) -> None:
        """Break both halves; silence leaves them open until everything is stopped."""
        if how == "hang":
            return
        for half in (self.client, self.server):
            if half is not None:
                _break(half, reset=how == "reset")
        self.stopped.set()


class FaultProxy:
    """See the module. Counts `connections` (ever), `bytes_up` and `bytes_down` (that passed)."""

    def __init__(self, target: Address) -> None:
        self.target = target
        self.faults: Faults | by_number = Faults()
        self.connections = 0
        self.bytes_up = 0
        self.bytes_down = 0
        self._port = 0
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return "127.0.0.1", self._port

    @property
    def open_connections(self) -> int:
        """Connections that are open now."""
        return len(self._links)

    def accept(self) -> None:
        """Listen (again), on the same port."""
        self._do(self._listen())

    def refuse(self) -> None:
        """Take no connection: the kernel refuses them. Open ones stay."""
        self._do(self._unlisten())

    def cut_all(self, end: End = "reset") -> None:
        """Break every open connection now."""

        async def cut() -> None:
            for link in list(self._links):
                link.end(end)

        self._do(cut())

    def start(self) -> None:
        self._thread.start()
        self.accept()

    def stop(self) -> None:
        self.refuse()
        self._do(self._cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    # -- on the loop --------------------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=2048)
            self._port = self._server.sockets[0].getsockname()[1]

    async def _unlisten(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _cancel(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        link = _Link(self.connections, writer)
        self._links.add(link)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._carry(link, reader)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            link.end("reset")
            self._links.discard(link)
            self._tasks.discard(task)

    async def _carry(self, link: _Link, client: asyncio.StreamReader) -> None:
        if isinstance(self.target, Path):
            server, link.server = await asyncio.open_unix_connection(str(self.target))
        else:
            server, link.server = await asyncio.open_connection(*self.target)
        ways = [
            asyncio.ensure_future(self._way(link, client, link.server, up=True)),
            asyncio.ensure_future(self._way(link, server, link.client, up=False)),
        ]
        stopped = asyncio.ensure_future(link.stopped.wait())
        try:
            both = asyncio.gather(*ways)
            await asyncio.wait([both, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in (*ways, stopped):
                part.cancel()
            await asyncio.gather(*ways, stopped, return_exceptions=True)

    async def _way(
        self, link: _Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, up: bool
    ) -> None:
        passed = 0
        while True:
            try:
                piece = await source.read(_PIECE)
            except ConnectionError:
                link.end("reset")
                return
            told = self.faults
            faults = told.choose(link.number) if isinstance(told, by_number) else told
            if faults.hang_up if up else faults.hang_down:
                await asyncio.Event().wait()
            await asyncio.sleep(faults.delay + (len(piece) / faults.rate if faults.rate else 0.0))
            if not piece:
                with contextlib.suppress(OSError):
                    sink.write_eof()
                return
            piece, last = _spoiled(piece, faults, passed, up=up)
            passed += len(piece)
            self._count(len(piece), up=up)
            with contextlib.suppress(ConnectionError):
                sink.write(piece)
                await sink.drain()
            if last:
                link.end(faults.end)
                await asyncio.Event().wait()

    def _count(self, size: int, *, up: bool) -> None:
        if up:
            self.bytes_up += size
        else:
            self.bytes_down += size


def _spoiled(piece: bytes, faults: Faults, passed: int, *, up: bool) -> tuple[bytes, bool]:
    """Give what becomes of a piece, and whether it is the last one."""
    flip, cut = (faults.flip_up, faults.cut_up) if up else (faults.flip_down, faults.cut_down)
    if flip is not None and passed <= flip < passed + len(piece):
        at = flip - passed
        piece = piece[:at] + bytes((piece[at] ^ 1,)) + piece[at + 1 :]
    last = cut is not None and passed + len(piece) >= cut
    if last and cut is not None:
        piece = piece[: max(0, cut - passed)]
    if not up and faults.rewrite_down is not None:
        piece = faults.rewrite_down(piece)
    return piece, last


def _break(half: asyncio.StreamWriter, *, reset: bool) -> None:
    if not reset:
        half.close()
        return
    sock = half.get_extra_info("socket")
    if sock is not None and sock.family != socket.AF_UNIX and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    half.transport.abort()


@contextlib.contextmanager
def fault_proxy(target: Address) -> Iterator[FaultProxy]:
    """Run a proxy in front of a TCP address or of a unix socket's path."""
    proxy = FaultProxy(target)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
