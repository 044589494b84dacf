"""What a parent hears from whatever listens on a socket."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from semcache.engine.probe import Readiness, read_readiness


async def hear(path: Path, reply: bytes) -> Readiness | None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readline()).startswith(b"GET /readyz ")
        writer.write(reply)
        writer.close()

    async with await asyncio.start_unix_server(serve, path):
        return await read_readiness(path)


@pytest.mark.parametrize(
    ("reply", "heard"),
    [
        (b'HTTP/1.1 200 OK\r\n\r\n{"pid": 5, "stage": "x"}', Readiness(True, "x", 5)),
        (b'HTTP/1.1 503 No\r\na: b\r\n\r\n{"pid": 5, "stage": "x"}', Readiness(False, "x", 5)),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", None),
        (b'HTTP/1.1 200 OK\r\n\r\n{"pid": "many", "stage": "x"}', None),
        (b"HTTP/1.1 200 OK\r\n\r\n[]", None),
        (b"", None),
        (b"x" * 200_000, None),
    ],
)
async def test_only_an_engines_words_count(tmp_path: Path, reply: bytes, heard: Readiness | None) -> None:
    assert await hear(tmp_path / "s", reply) == heard


async def test_nobody_there(tmp_path: Path) -> None:
    assert await read_readiness(tmp_path / "s") is None


async def test_one_that_says_nothing_is_not_waited_for_long(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("semcache.engine.probe.PATIENCE", 0.1)

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the other side gives up
        writer.close()

    async with await asyncio.start_unix_server(hold, tmp_path / "s"):
        assert await asyncio.wait_for(read_readiness(tmp_path / "s"), 5) is None
