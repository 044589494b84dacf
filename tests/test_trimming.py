"""Memory that is free goes back to the system, where the C library keeps it otherwise."""

from __future__ import annotations

import asyncio
import ctypes
import subprocess
import sys

import pytest

from semcache import process
from semcache.process import trim, trimming

CHECK = """
import random
from semcache.process import trim

def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20

pieces = [bytes(random.randrange(600, 6000)) for _ in range(60_000)]
random.shuffle(pieces)
full = held()
del pieces[6_000:]
before = held()
assert trim()
assert full - held() > 60, (full, before, held())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library")
def test_what_is_free_is_given_back() -> None:
    subprocess.run([sys.executable, "-c", CHECK], check=True)


async def test_where_it_cannot_be_nobody_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.ctypes, "CDLL", lambda _: object())
    assert not trim()
    await asyncio.wait_for(trimming(), 5)


async def test_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(process, "trim", lambda: bool(calls.append(1)) or True)
    task = asyncio.create_task(trimming(0.01))
    async with asyncio.timeout(5):
        while len(calls) < 3:  # noqa: ASYNC110 - a thread counts
            await asyncio.sleep(0.01)
    task.cancel()
