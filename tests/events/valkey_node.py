"""A Valkey of one's own on a port that stays the same, to be killed, frozen, filled, flushed and restored."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from semcache.store.embedded import server_binary
from tests.store.servers import free_port

KEPT = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")


@dataclass
class ValkeyNode:
    """One server in `home`, with the options given; `start` and `kill` as often as wanted."""

    home: Path
    options: tuple[str, ...] = KEPT
    preload: str = ""
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def start(self, *more: str) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        place = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.home), "--logfile", "log")
        environment = {**os.environ, **({"LD_PRELOAD": self.preload} if self.preload else {})}
        words = [str(server_binary()), *place, *self.options, *more]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment)
        until = time.monotonic() + 20
        while not self._answers():
            assert time.monotonic() < until, (self.home / "log").read_text()[-2000:]
            time.sleep(0.02)

    def _answers(self) -> bool:
        with contextlib.suppress(redis.RedisError, OSError):
            return bool(self.client().ping())
        return False

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def client(self, **options: Any) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=10, **options)

    def do(self, *words: Any) -> Any:
        """Run one command on a connection of its own."""
        with self.client() as client:
            return client.execute_command(*words)

    def keys(self) -> dict[bytes, str]:
        """Give every key with its type."""
        with self.client() as client:
            return {name: client.type(name).decode() for name in client.scan_iter(count=1000)}


@contextlib.contextmanager
def valkey_node(home: Path, *options: str) -> Iterator[ValkeyNode]:
    node = ValkeyNode(home, options or KEPT)
    node.start()
    try:
        yield node
    finally:
        node.kill()
