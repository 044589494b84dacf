"""A semcache as a user runs it, and the upstream, each in a process of its own; and their meters.

CPU time is what the kernel counted for a process with all its threads; memory is read from
`smaps_rollup`. Every process that is started here is ended here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[3]
_READY = re.compile(r"ready on http://[^/\s]+:(\d+)/v1")
_MIB = 2**20


def cores() -> tuple[int | None, int | None]:
    """Give a core for driver and upstream and one for the proxy; (None, None) on a single core."""
    usable = sorted(os.sched_getaffinity(0))
    return (usable[0], usable[1]) if len(usable) > 1 else (None, None)


def models_folder() -> Path:
    """Where fetched models are."""
    return Path(os.environ.get("SEMCACHE_TEST_MODELS", ROOT / "semcache-data" / "models"))


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, all threads, user and system."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


@dataclass(frozen=True)
class Memory:
    """MiB: resident (RSS), its proportional share (PSS), and the part that is no mapped file (anonymous)."""

    rss: float
    pss: float
    anonymous: float


def memory_of(pid: int) -> Memory:
    """Read the memory of a process now."""
    found = dict(
        re.findall(r"^(\w+):\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    )
    sizes = {name: int(value) * 1024 / _MIB for name, value in found.items()}
    return Memory(sizes["Rss"], sizes["Pss"], sizes["Anonymous"])


def _threads(pid: int) -> list[int]:
    return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]


def pin(pid: int, core: int | None) -> None:
    """Keep every thread of a process on one core."""
    if core is None:
        return
    for thread in _threads(pid):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(thread, {core})


@contextlib.contextmanager
def hurried(pids: Sequence[int], wanted: bool) -> Iterator[None]:
    """Run processes under round-robin real-time priority for a moment, so that neighbours do not disturb.

    Needs the right to do so (root). Nothing else gets these cores meanwhile: keep it to seconds.
    """
    if not wanted:
        yield
        return
    _schedule(pids, os.SCHED_RR, 1)
    try:
        yield
    finally:
        _schedule(pids, os.SCHED_OTHER, 0)


def _schedule(pids: Sequence[int], policy: int, priority: int) -> None:
    for pid in pids:
        for thread in _threads(pid):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread, policy, os.sched_param(priority))


@contextlib.contextmanager
def upstream(core: int | None) -> Iterator[tuple[int, int]]:
    """Run the upstream; gives its port and process id."""
    command = [sys.executable, str(Path(__file__).with_name("upstream.py"))]
    command += [] if core is None else ["--core", str(core)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process.pid
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@dataclass
class Semcache:
    """One running proxy; `marks` are (seconds since its start, line) of what it said on stderr."""

    data: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]
    core: int | None = None
    command: Sequence[str] = (sys.executable, "-m", "semcache", "serve")
    port: int = 0
    began: float = 0.0
    marks: list[tuple[float, str]] = field(default_factory=list)
    _process: subprocess.Popen[str] | None = None

    def start(self, patience: float) -> None:
        """Start it and wait for its ready line.

        Raises:
            RuntimeError: it ended or took too long; says what it said.
        """
        self.data.parent.mkdir(parents=True, exist_ok=True)
        # The log goes to a file, as it would in production; a pipe would have to be read by somebody.
        with (self.data.parent / "requests.log").open("ab") as log:
            self.began = time.perf_counter()
            self._process = subprocess.Popen(
                [*self.command, "--data", str(self.data), "--port", "0", *self.arguments],
                cwd=self.data.parent,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=subprocess.PIPE,
                text=True,
            )
        ready = threading.Event()
        threading.Thread(target=self._read, args=(ready,), daemon=True).start()
        if not ready.wait(patience) or not self.port:
            self.stop()
            raise RuntimeError("semcache did not get ready:\n" + "\n".join(line for _, line in self.marks))

    def _read(self, ready: threading.Event) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self.marks.append((time.perf_counter() - self.began, line.rstrip()))
                if found := _READY.search(line):
                    self.port = int(found[1])
                    ready.set()
        ready.set()

    @property
    def pid(self) -> int:
        """The serving process (one worker serves in the very process that was started)."""
        assert self._process is not None
        return self._process.pid

    def child(self, word: str) -> int | None:
        """Find a child process by a word in its command line."""
        for child in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if word in " ".join(child.cmdline()):
                    return child.pid
        return None

    def readiness(self) -> dict[str, Any]:
        """Give what /readyz says."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10) as reply:
                found = json.load(reply)
        except (urllib.error.URLError, TimeoutError):
            return {"status": "unreachable"}
        assert isinstance(found, dict)
        return found

    def wait_ready(self, patience: float = 60.0) -> None:
        """Wait until no part is degraded.

        Raises:
            RuntimeError: some part stays degraded.
        """
        until = time.perf_counter() + patience
        while (state := self.readiness())["status"] != "ready":
            if time.perf_counter() > until:
                raise RuntimeError(f"semcache stays degraded: {state}")
            time.sleep(0.05)

    def settle(self, core: int | None, core_of_store: int | None) -> None:
        """Put the proxy on its core and the store's server on that of the other helpers."""
        pin(self.pid, core)
        store = self.child("valkey-server")
        if store is not None:
            pin(store, core_of_store)

    def stop(self) -> None:
        """End it and its children."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.wait()


@contextlib.contextmanager
def semcache(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    models: bool = True,
    ready: bool = True,
    patience: float = 90.0,
) -> Iterator[Semcache]:
    """Run a proxy with its data below `folder`; with `models` the fetched ones are linked there.

    With `ready` it is handed over when nothing is degraded, else as soon as it listens.
    """
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    if models and not (data / "models").exists():
        (data / "models").symlink_to(models_folder(), target_is_directory=True)
    proxy = Semcache(data, arguments, environment or {})
    try:
        proxy.start(patience)
        if ready:
            proxy.wait_ready(patience)
        yield proxy
    finally:
        proxy.stop()
