"""The parent's handle on an engine that runs as a child process.

Starts `semcache engine` on a unix socket in the data directory, waits until the model is
loaded, starts it anew when it dies, and ends it. Imports neither torch nor the server. The
child holds one end of a pipe and ends by itself when the parent is gone, however that went.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import stat
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from semcache.engine.probe import Readiness, read_readiness
from semcache.errors import EngineError

_log = logging.getLogger(__name__)

MAX_SOCKET_PATH = 100
"""Bytes; the kernel takes 107 on Linux and 103 on macOS."""

MAX_LOG_BYTES = 8 << 20
PATIENCE_AFTER_TERM = 12.0
FIRST_BACKOFF, LAST_BACKOFF = 0.5, 30.0
CHECK_SECONDS = 10.0
MAX_SILENT_CHECKS = 4
"""A child that runs but leaves so many checks in a row unanswered is taken for hung, and ended."""

HEALTHY_AFTER = 60.0
"""A child that ran this long is started again without delay growing further."""

DEFAULT_COMMAND = (sys.executable, "-m", "semcache", "engine")


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """What to run. `model` is a folder; `data` takes the socket and the log. Lengths in tokens."""

    model: Path
    data: Path
    name: str = "local"
    threads: int = 1
    max_context: int | None = None
    max_queue: int = 64
    max_active: int = 8
    max_tokens: int = 512
    temperature: float = 1.0

    def arguments(self, socket: Path) -> list[str]:
        """Give the options for `semcache engine`."""
        options: dict[str, object] = {
            "model": self.model,
            "name": self.name,
            "socket": socket,
            "threads": self.threads,
            "max-queue": self.max_queue,
            "max-active": self.max_active,
            "max-tokens": self.max_tokens,
            "temperature": self.temperature,
        }
        if self.max_context is not None:
            options["max-context"] = self.max_context
        return [f"--{key}={value}" for key, value in options.items()] + ["--exit-with-stdin"]


@dataclass(frozen=True, slots=True)
class EngineProgress:
    """What a starting child is busy with, in a few words, and seconds since it was started."""

    stage: str
    seconds: float


Progress = Callable[[EngineProgress], None]


class EngineChild:
    """One engine process and its successors.

    Use: `await start()`, then `supervise()` in a task of the owner's task group, and `stop()` at
    the end. `socket` is the unix socket to talk HTTP to, base path `/v1`; it stays the same over
    restarts. `log` is the file that the child writes to.
    """

    def __init__(
        self, spec: EngineSpec, *, command: tuple[str, ...] = DEFAULT_COMMAND, start_timeout: float = 180.0
    ) -> None:
        self._spec = spec
        self._command = command
        self._start_timeout = start_timeout
        self._process: Process | None = None
        self._stopping = False
        self._ready = False
        self.socket = socket_path(spec.data)
        self.log = spec.data / "engine.log"
        self.restarts = 0

    @property
    def is_ready(self) -> bool:
        """True while the child runs and its model was loaded."""
        return self._ready and self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """Give the process id of the running child."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self, progress: Progress | None = None) -> None:
        """Start the child and wait until it would answer; on failure nothing is left running.

        Raises:
            EngineError: it ended, or did not get ready in time; says what its log says last.
        """
        self._stopping = False
        await self._launch(progress)

    async def _launch(self, progress: Progress | None) -> None:
        await self._end()
        self._ready = False
        began = time.monotonic()
        if progress is not None:
            progress(EngineProgress("starting the process", 0.0))
        self._process = await self._spawn()
        try:
            if self._stopping:  # asked to end while the process came up
                raise EngineError("the engine was stopped while starting")
            async with asyncio.timeout(self._start_timeout):
                await self._until_ready(self._process, began, progress)
        except TimeoutError:
            raise EngineError(
                f"the engine was not ready in {self._start_timeout:.0f} s; see {self.log}"
            ) from None
        finally:
            if not self._ready:
                await self._end()

    async def supervise(self, progress: Progress | None = None) -> None:
        """Start the child again whenever it ends, until `stop` or cancellation; never raises EngineError."""
        backoff = FIRST_BACKOFF
        while not self._stopping:
            began = time.monotonic()
            if self._process is not None:
                await self._until_over(self._process)
            self._ready = False
            if self._stopping:
                return
            backoff = FIRST_BACKOFF if time.monotonic() - began > HEALTHY_AFTER else backoff
            _log.warning("the engine ended with status %s; next start in %.1f s", self._status(), backoff)
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, LAST_BACKOFF)
            if not self._stopping:
                await self._restart(progress)

    async def _until_over(self, process: Process) -> None:
        """Wait for the end of a child; bring it about when the child does not react any more."""
        silent = 0
        while silent < MAX_SILENT_CHECKS:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await process.wait()
                return
            silent = 0 if await read_readiness(self.socket) else silent + 1
        _log.warning("the engine does not react; ending it")
        with contextlib.suppress(ProcessLookupError):
            process.kill()  # a hung process does not hear a polite request
        await process.wait()

    async def stop(self) -> None:
        """End the child: politely, after a while by force. Idempotent."""
        self._stopping = True
        self._ready = False
        await self._end()

    async def _restart(self, progress: Progress | None) -> None:
        self.restarts += 1
        try:
            await self._launch(progress)
        except EngineError as error:
            _log.warning("%s", error)

    def _status(self) -> int | None:
        return None if self._process is None else self._process.returncode

    async def _spawn(self) -> Process:
        try:
            self._spec.data.mkdir(parents=True, exist_ok=True)
            _private_folder(self.socket.parent, self._spec.data)
            with _open_log(self.log) as log:
                return await asyncio.create_subprocess_exec(
                    *self._command,
                    *self._spec.arguments(self.socket),
                    stdin=PIPE,
                    stdout=log,
                    stderr=log,
                    env=_environment(os.environ, self._spec.threads),
                    start_new_session=True,  # Ctrl-C is the parent's to handle; it ends the child in order
                )
        except OSError as error:
            raise EngineError(f"cannot start the engine: {error}") from error

    async def _until_ready(self, process: Process, began: float, progress: Progress | None) -> None:
        stage = ""
        while process.returncode is None:
            found = await read_readiness(self.socket)
            # Another pid: the child of a killed parent, which is on its way out.
            if found is not None and found.pid == process.pid:
                stage = _tell(progress, found, stage, began)
                if found.is_ready:
                    self._ready = True
                    return
            await asyncio.sleep(0.1)
        raise EngineError(f"the engine ended while starting: {_last_line(self.log)} (see {self.log})")

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            if process.returncode is None:
                await _terminate(process)
        finally:
            # Last, since a closed pipe is a request to end as well, and one at a time is enough.
            if process.stdin is not None:
                process.stdin.close()


async def _terminate(process: Process) -> None:
    """Ask a process to end; force it after a while."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(PATIENCE_AFTER_TERM):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def socket_path(data: Path) -> Path:
    """Give the engine's socket in a data directory, or a short stand-in when that path is too long."""
    path = data.absolute() / "engine.sock"
    if len(os.fsencode(path)) < MAX_SOCKET_PATH:
        return path
    digest = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"semcache-{os.getuid()}-{digest}" / "engine.sock"


def _private_folder(folder: Path, data: Path) -> None:
    """Make the stand-in folder, and refuse one that somebody else laid out.

    Raises:
        EngineError: it is a link, another user's, or open to others.
    """
    if folder == data.absolute():
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise EngineError(f"{folder} is not a private folder of this user")


def _environment(own: Mapping[str, str], threads: int) -> dict[str, str]:
    """Give the child's environment: the parent's, with native libraries held to `threads`, and no network."""
    count = str(threads)
    return dict(own) | {
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _open_log(path: Path) -> BinaryIO:
    """Open the log for appending; a long one is set aside first, replacing the one before."""
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _last_line(path: Path) -> str:
    """Give the last line of the log, cut to a readable length."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return "no log"
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "no word in its log")


def _tell(progress: Progress | None, found: Readiness, former: str, began: float) -> str:
    if progress is not None and found.stage != former:
        progress(EngineProgress(found.stage, time.monotonic() - began))
    return found.stage
