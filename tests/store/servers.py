"""Real servers for the tests: one embedded Valkey a run, and $SEMCACHE_TEST_REDIS_URL if set."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket as socket_module
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semcache.core import Completion, Embedding, EncoderId, Entry, EntryId, ExactKey, TenantId, Usage
from semcache.errors import StoreError
from semcache.store.embedded import ChildRules, ValkeyChild, server_binary
from semcache.store.link import Link, LinkRules, Reply

ACME = TenantId("acme")
_CLUSTER: list[str] = []
EXTERNAL = os.environ.get("SEMCACHE_TEST_REDIS_URL", "")


class WallClock:
    """The machine's time, with a hand to move it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic()


@pytest.fixture(scope="session")
def valkey() -> Iterator[ValkeyChild]:
    """An embedded server that all tests of a run share; each uses its own key prefix."""
    with tempfile.TemporaryDirectory(prefix="store-") as data:
        child = ValkeyChild(Path(data), ChildRules())
        asyncio.run(child.start())
        try:
            yield child
        finally:
            asyncio.run(child.stop())


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """A cluster of three nodes, a third of the slots each; gives the URL of one.

    Each file that imports this has a fixture of its own; all of a process share one cluster, which takes seconds to form.
    """
    if _CLUSTER:
        yield _CLUSTER[0]
        return
    with contextlib.ExitStack() as stack:
        ports = [free_port() for _ in range(3)]
        for port in ports:
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="store-"))
            options = ["--port", str(port), "--cluster-port", str(free_port()), "--bind", "127.0.0.1"]
            options += ["--cluster-enabled", "yes", "--save", "", "--dir", home]
            stack.enter_context(running(options, f"{home}/s"))
        urls = [f"redis://127.0.0.1:{port}" for port in ports]
        asyncio.run(join(urls))
        _CLUSTER.append(urls[0].replace("redis", "redis+cluster"))
        yield _CLUSTER[0]
        _CLUSTER.clear()


async def join(urls: list[str]) -> None:
    """Make one cluster of these servers."""
    for turn, url in enumerate(urls):
        await command(url, "CLUSTER", "SET-CONFIG-EPOCH", turn + 1)
        await command(
            url, "CLUSTER", "ADDSLOTSRANGE", turn * 5461, 16383 if turn == 2 else turn * 5461 + 5460
        )
        bus = int((await command(url, "CONFIG", "GET", "cluster-port"))[1])
        host, port = url.removeprefix("redis://").split(":")
        await command(urls[0], "CLUSTER", "MEET", host, port, bus)
    until = time.monotonic() + 20
    while not all([b"cluster_state:ok" in await command(url, "CLUSTER", "INFO") for url in urls]):
        assert time.monotonic() < until
        await asyncio.sleep(0.05)


@contextlib.contextmanager
def running(options: list[str], socket: str) -> Iterator[str]:
    """Run a plain server with these options; gives the URL of its socket."""
    with subprocess.Popen(
        [str(server_binary()), *options, "--unixsocket", socket], stdout=subprocess.DEVNULL
    ) as process:
        try:
            url = f"unix://{socket}"
            for _ in range(500):
                with contextlib.suppress(StoreError):
                    asyncio.run(command(url, "PING"))
                    break
                time.sleep(0.01)
            yield url
        finally:
            process.kill()


async def command(url: str, *words: bytes | str | int) -> Reply:
    """Send one command on a connection of its own."""
    link = Link(url, LinkRules(deadline=5.0))
    try:
        return await link.call(*words)
    finally:
        await link.aclose()


def free_port() -> int:
    with socket_module.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def unit(seed: int, size: int = 384) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=size).astype(np.float32)
    return vector / np.linalg.norm(vector)


def entry(name: str = "e1", **changes: object) -> Entry:
    now = time.time()
    fields: dict[str, object] = {
        "id": EntryId(name),
        "tenant": ACME,
        "namespace": "aa" * 32,
        "key": ExactKey(f"key-of-{name}"),
        "domain": "chat",
        "model": "small",
        "prompt": f"what is {name}?",
        "completion": Completion(f'{{"text":"answer to {name}"}}'.encode(), Usage(3, 5)),
        "created_at": now,
        "expires_at": now + 600,
        "embedding": Embedding(unit(sum(name.encode())), EncoderId("minilm")),
    }
    return Entry(**{**fields, **changes})  # type: ignore[arg-type] # a table of any fields


def same(one: Entry | None, other: Entry | None) -> bool:
    """Compare all fields; vectors up to what float16 moves them."""
    if one is None or other is None:
        return one is other
    flat = [
        (
            *(getattr(e, name) for name in e.__slots__ if name != "embedding"),
            e.embedding and e.embedding.encoder,
        )
        for e in (one, other)
    ]
    vectors = [e.embedding.vector for e in (one, other) if e.embedding]
    return flat[0] == flat[1] and (not vectors or bool(np.allclose(*vectors, atol=2e-4)))
