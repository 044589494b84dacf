"""Asks an engine on a unix socket how far it is: one GET /readyz, spoken by hand.

A whole HTTP client is not needed for a fixed question to a known server.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import orjson

_QUESTION = b"GET /readyz HTTP/1.1\r\nhost: engine\r\nconnection: close\r\n\r\n"
_LIMIT = 64 << 10

PATIENCE = 5.0
"""Seconds to wait for the whole answer."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What the server said of itself."""

    is_ready: bool
    stage: str
    pid: int


async def read_readiness(socket: Path) -> Readiness | None:
    """Ask once; None when nobody listens, or the answer is late or no answer of an engine."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(str(socket), limit=_LIMIT)
            try:
                writer.write(_QUESTION)
                reply = await _read(reader)
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None
    return _parse(reply)


async def _read(reader: asyncio.StreamReader) -> bytes:
    whole = b""
    while len(whole) < _LIMIT and (piece := await reader.read(_LIMIT)):
        whole += piece
    return whole


def _parse(reply: bytes) -> Readiness | None:
    head, _, body = reply.partition(b"\r\n\r\n")
    try:
        report = orjson.loads(body)
        return Readiness(head.startswith(b"HTTP/1.1 200"), str(report["stage"]), int(report["pid"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
