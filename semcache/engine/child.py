"""The parent's handle on an engine that runs as a child process.

Starts `semcache engine` on a unix socket in the data directory, waits until the model is
loaded, starts it anew when it dies, and ends it. Imports neither torch nor the server. The
child holds one end of a pipe and ends by itself when the parent is gone, however that went.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass

from semcache.engine.launch import EngineSpec, last_line, socket_path, spawn
from semcache.engine.probe import Readiness, read_readiness
from semcache.errors import EngineError

__all__ = ["EngineChild", "EngineProgress", "EngineSpec"]

_log = logging.getLogger(__name__)

PATIENCE_AFTER_TERM = 12.0
FIRST_BACKOFF, LAST_BACKOFF = 0.5, 30.0
CHECK_SECONDS = 10.0
MAX_SILENT_CHECKS = 4
"""A child that runs but leaves so many checks in a row unanswered is taken for hung, and ended."""

HEALTHY_AFTER = 60.0
"""A child that ran this long is started again without delay growing further."""

DEFAULT_COMMAND = (sys.executable, "-m", "semcache", "engine")


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
        self._process = await spawn(self._command, self._spec, self.socket, self.log)
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
        raise EngineError(f"the engine ended while starting: {last_line(self.log)} (see {self.log})")

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


def _tell(progress: Progress | None, found: Readiness, former: str, began: float) -> str:
    if progress is not None and found.stage != former:
        progress(EngineProgress(found.stage, time.monotonic() - began))
    return found.stage
