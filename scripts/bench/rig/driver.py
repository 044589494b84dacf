"""The load driver: a process of its own with raw protocol clients on uvloop.

It is handed whole requests as bytes, keeps a number of connections busy for a while, and gives the
times, the outcomes that the proxy reported, and how many answers were not the expected ones. A
client library would cost more than what is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import re
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import cast

import orjson
import uvloop

from rig.upstream import tag_of

_OUTCOME = re.compile(rb"semcache-outcome: ([a-z-]+)")
_REASON = re.compile(rb"semcache-reason: ([^\r]+)")
_PATIENCE = 30.0
"""Seconds a window may take beyond its own length."""


@dataclass(frozen=True)
class Ask:
    """One request as bytes, and the tags of which its answer must carry one."""

    request: bytes
    tags: tuple[bytes, ...]


@dataclass(frozen=True)
class Window:
    """What the driver does once: `asks` in turn over `connections` for `seconds` (or all of them once)."""

    port: int
    asks: Sequence[Ask]
    connections: int
    seconds: float
    cycle: bool


@dataclass
class Seen:
    """What came back. Times are seconds; `whole` until the last byte, `first` until the first."""

    whole: array[float] = field(default_factory=lambda: array("d"))
    first: array[float] = field(default_factory=lambda: array("d"))
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    by_outcome: dict[str, array[float]] = field(default_factory=dict)
    failed: int = 0
    wrong: int = 0
    wall: float = 0.0

    @property
    def count(self) -> int:
        """Requests answered."""
        return len(self.whole)


def ask(question: str, *, stream: bool = False, path: str = "/v1/chat/completions", headers: str = "") -> Ask:
    """Lay out one request for `question`; `headers` are whole lines ending in CRLF."""
    if path.endswith("/embeddings"):
        document: dict[str, object] = {"model": "m", "input": question}
    else:
        document = {"model": "m", "messages": [{"role": "user", "content": question}], "temperature": 0}
        if stream:
            document["stream"] = True
    body = orjson.dumps(document)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{headers}"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return Ask(head.encode() + body, (tag_of(question).encode(),))


class _Run:
    """The state that all connections of a window share."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._next = 0
        self._left = window.connections
        self._until = 0.0
        self.seen = Seen()
        self.done = asyncio.get_running_loop().create_future()

    def begin(self) -> None:
        self._until = time.perf_counter() + self._window.seconds

    def take(self) -> Ask | None:
        """Give the next request, or None when the window is over."""
        asks = self._window.asks
        if time.perf_counter() >= self._until or (self._next >= len(asks) and not self._window.cycle):
            return None
        self._next += 1
        return asks[(self._next - 1) % len(asks)]

    def leave(self) -> None:
        self._left -= 1
        if self._left == 0 and not self.done.done():
            self.done.set_result(None)


class _Client(asyncio.Protocol):
    """One connection: sends, waits for the whole reply, sends again."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._buffer = bytearray()
        self._ask = Ask(b"", ())
        self._sent = self._first = 0.0
        self._need = 0
        self._over = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is a WriteTransport without being registered as one.
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if not self._over:
            self._run.seen.failed += 1
            self._end()

    def send(self) -> None:
        asked = self._run.take()
        if asked is None:
            self._end()
            return
        self._ask = asked
        self._first = 0.0
        self._need = 0
        self._buffer.clear()
        self._sent = time.perf_counter()
        assert self.transport is not None
        self.transport.write(asked.request)

    def data_received(self, data: bytes) -> None:
        if not self._first:
            self._first = time.perf_counter()
        self._buffer += data
        if not self._need:
            self._read_head()
        if self._need > 0:
            if len(self._buffer) >= self._need:
                self._whole()
        elif self._need < 0 and self._buffer.endswith(b"\r\n0\r\n\r\n"):
            self._whole()

    def _read_head(self) -> None:
        """Find how the body ends: at a length (positive) or at the last chunk (-1)."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        _, found, rest = head.partition(b"content-length:")
        self._need = end + 4 + int(rest.split(b"\r\n", 1)[0]) if found else -1

    def _whole(self) -> None:
        now = time.perf_counter()
        seen = self._run.seen
        seen.whole.append(now - self._sent)
        seen.first.append(self._first - self._sent)
        outcome = _OUTCOME.search(self._buffer)
        name = outcome[1].decode() if outcome else "none"
        seen.outcomes[name] += 1
        if reason := _REASON.search(self._buffer):
            seen.reasons[f"{name}: {reason[1].decode()}"] += 1
        seen.by_outcome.setdefault(name, array("d")).append(now - self._sent)
        if not self._buffer.startswith(b"HTTP/1.1 200"):
            seen.failed += 1
        elif not any(tag in self._buffer for tag in self._ask.tags):
            seen.wrong += 1
        self.send()

    def _end(self) -> None:
        self._over = True
        self._run.leave()


async def _drive(window: Window) -> Seen:
    run = _Run(window)
    loop = asyncio.get_running_loop()
    clients = []
    for _ in range(window.connections):
        _, client = await loop.create_connection(lambda: _Client(run), "127.0.0.1", window.port)
        clients.append(client)
    run.begin()
    began = time.perf_counter()
    for client in clients:
        client.send()
    async with asyncio.timeout(min(window.seconds, 3600) + _PATIENCE):
        await run.done
    run.seen.wall = time.perf_counter() - began
    for client in clients:
        if client.transport is not None:
            client.transport.close()
    return run.seen


def _work(pipe: Connection, core: int | None) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})
    while (window := pipe.recv()) is not None:
        pipe.send(uvloop.run(_drive(window)))


class Driver:
    """The driver's process, seen from the benchmark. Use as a context manager."""

    def __init__(self, core: int | None) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(theirs, core), daemon=True)

    def __enter__(self) -> Driver:
        self._process.start()
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send(None)
            self._process.join(5)
        self._process.kill()
        self._process.join()

    @property
    def pid(self) -> int:
        """The driver's process id."""
        assert self._process.pid is not None
        return self._process.pid

    def run(self, window: Window) -> Seen:
        """Do one window.

        Raises:
            RuntimeError: the driver died or hangs.
        """
        self._pipe.send(window)
        if not self._pipe.poll(min(window.seconds, 3600) + 2 * _PATIENCE):
            raise RuntimeError("the driver does not answer")
        try:
            seen = self._pipe.recv()
        except EOFError:
            raise RuntimeError("the driver died; its error stands above") from None
        assert isinstance(seen, Seen)
        return seen
