"""The two servers as processes, and the meter of their CPU time.

CPU time is what the kernel counted for a process, all threads, user and system, read from the
process's own clock (the sum that /proc/PID/stat shows in steps of 10 ms, to the nanosecond).
Every process that is started here is ended here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from engine_rig.client import get

_LISTENING = re.compile(r"listening on http://[^/\s]+:(\d+)/v1")
_PATIENCE = 240.0
_STATES = ("capacity", "free", "tree", "running")
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}


@dataclass(frozen=True)
class LlamaOptions:
    """How the other side runs: `context` is in tokens for each slot, `chunk` its physical batch.

    `snapshots_mib` bounds the copies of idle slots that it keeps in host memory (0: none).
    """

    model: str
    slots: int = 4
    context: int = 1536
    unified: bool = False
    flash: str = "auto"
    snapshots_mib: int = 0
    chunk: int = 512
    threads: int = 1


@dataclass(frozen=True)
class Server:
    """A running server; `name` is what tables call it, `model` what requests must say."""

    name: str
    port: int
    pid: int
    version: str
    model: str = "local"
    is_ours: bool = False

    def cpu(self) -> float:
        """CPU seconds so far."""
        return cpu_seconds(self.pid)


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process so far, with all its threads, living and ended."""
    # Linux: a process's clock has the id (~pid << 3) | 2, as clock_getcpuclockid(3) gives it.
    return time.clock_gettime((~pid << 3) | 2)


@contextlib.contextmanager
def llama(options: LlamaOptions, name: str = "llama.cpp") -> Iterator[Server]:
    """Run llama.cpp's server."""
    script = Path(__file__).with_name("llama_server.py")
    with (
        tempfile.TemporaryFile("w+") as log,
        tempfile.TemporaryDirectory(prefix="semcache-slots-") as scratch,
    ):
        told = json.dumps(dataclasses.asdict(options) | {"scratch": scratch})
        process = subprocess.Popen(
            [sys.executable, str(script), told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **_ENVIRONMENT},
        )
        with _ended(process):
            assert process.stdout is not None
            version, port = process.stdout.readline().strip(), process.stdout.readline().strip()
            if not port:
                log.seek(0)
                raise RuntimeError(f"llama.cpp's server did not start:\n{log.read()[-2000:]}")
            yield Server(name, int(port), process.pid, version)


@contextlib.contextmanager
def ours(
    model: Path, *flags: str, name: str = "ours", launcher: tuple[str, ...] = ("-m", "semcache", "engine")
) -> Iterator[Server]:
    """Run our engine and wait until its model is loaded."""
    with tempfile.NamedTemporaryFile("w+", prefix="semcache-engine-", suffix=".log") as log:
        process = subprocess.Popen(
            [sys.executable, *launcher, "--model", str(model), "--port", "0", "--exit-with-stdin", *flags],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            text=True,
            env={**os.environ, **_ENVIRONMENT},
        )
        with _ended(process):
            port = _wait_ready(process, Path(log.name))
            yield Server(name, port, process.pid, _versions(), is_ours=True)


def _wait_ready(process: subprocess.Popen[str], log: Path) -> int:
    """Wait for the port and then for readiness.

    Raises:
        RuntimeError: it ended or took too long; says what it said.
    """
    until = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
        if found := _LISTENING.search(log.read_text()):
            with contextlib.suppress(OSError):
                if get(int(found[1]), "/readyz").status == 200:
                    return int(found[1])
    raise RuntimeError(f"the engine did not get ready:\n{log.read_text()[-2000:]}")


def _versions() -> str:
    return f"semcache {version('semcache-proxy')}, torch {version('torch')}"


@contextlib.contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a process that listens to its standard input."""
    try:
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def metrics(server: Server) -> dict[str, float]:
    """Give the plain samples of /metrics; those with labels are named with them."""
    found: dict[str, float] = {}
    for line in get(server.port, "/metrics").body.decode().splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def counts(server: Server) -> dict[str, float]:
    """Give our engine's slots: capacity, free, tree, running."""
    found = metrics(server)
    return {name: found[f"semcache_engine_{name}_tokens"] for name in _STATES}
