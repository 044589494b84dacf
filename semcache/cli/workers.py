"""Several workers on one listening socket: started, restarted when they die, stopped together.

Each worker tells on a pipe when it takes requests, and ends when its standard input closes: no
worker outlives the process that started it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import structlog

from semcache.app import Wiring
from semcache.errors import SemcacheError
from semcache.settings import Settings, load_settings

_log = structlog.get_logger()
_VARIABLE = "SEMCACHE_WORKER_ORDER"
_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """What a worker is told: the flags its parent was given, addresses, listening socket, where to say ready."""

    flags: dict[str, Any]
    wiring: Wiring
    fd: int
    ready_fd: int = -1

    @classmethod
    def of(cls, settings: Settings, wiring: Wiring, listener: socket.socket) -> WorkerOrder:
        """Write an order for workers of these settings."""
        os.set_inheritable(listener.fileno(), True)
        return cls(settings.model_dump(mode="json"), wiring, listener.fileno())

    def dumps(self) -> str:
        """Give the order as text for the environment."""
        wiring = {"store_url": self.wiring.store_url, "engine_socket": self.wiring.engine_socket}
        return json.dumps({"flags": self.flags, "wiring": wiring, "fd": self.fd, "ready_fd": self.ready_fd})

    def settings(self) -> Settings:
        """Give the settings the parent has."""
        return load_settings(self.flags)

    def listener(self) -> socket.socket:
        """Give the shared listening socket."""
        return socket.socket(fileno=self.fd)


def read_order() -> WorkerOrder:
    """Read the order this process was started with.

    Raises:
        SemcacheError: it was not started by `semcache serve`.
    """
    text = os.environ.get(_VARIABLE)
    if text is None:
        raise SemcacheError("workers are started by: semcache serve --workers N")
    told = json.loads(text)
    return WorkerOrder(told["flags"], Wiring(**told["wiring"]), told["fd"], told["ready_fd"])


async def run_workers(order: WorkerOrder, settings: Settings, ready: Callable[[], None]) -> None:
    """Keep the workers running until a signal ends them all; `ready` is called once all take requests.

    Raises:
        SemcacheError: a worker could not start.
    """
    metrics = settings.data / "metrics"
    shutil.rmtree(metrics, ignore_errors=True)
    metrics.mkdir(parents=True)
    crew = _Crew(order, {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(metrics.absolute())})
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, crew.stop)
    loop.add_signal_handler(signal.SIGHUP, crew.reload)
    keepers = [asyncio.ensure_future(crew.keep()) for _ in range(settings.workers)]
    try:
        if await crew.all_ready(settings.workers):
            ready()
        await asyncio.gather(*keepers)
    finally:
        crew.stop()
        await asyncio.gather(*keepers, return_exceptions=True)


class _Crew:
    """The workers of one parent, one `keep` task each.

    Args:
        order: what each of them is told.
        environment: their environment.
    """

    def __init__(self, order: WorkerOrder, environment: dict[str, str]) -> None:
        self._order = order
        self._environment = environment
        self._running: set[Process] = set()
        self._hearing: set[Process] = set()
        self._reloads = 0
        self._stopping = asyncio.Event()
        self._ready = 0
        self._changed = asyncio.Event()

    def stop(self) -> None:
        """End all; said twice, at once and without draining."""
        self._stopping.set()
        self._changed.set()
        _signal(self._running, signal.SIGTERM)

    def reload(self) -> None:
        """Have all read their policies again; one that is still starting would end of the signal, and gets it later."""
        self._reloads += 1
        _signal(self._hearing, signal.SIGHUP)

    async def all_ready(self, count: int) -> bool:
        """Wait until so many workers take requests; False when they are to stop before."""
        while self._ready < count and not self._stopping.is_set():
            self._changed.clear()
            await self._changed.wait()
        return not self._stopping.is_set()

    async def keep(self) -> None:
        """Run one worker again and again; a short pause keeps a crash from becoming a storm.

        Raises:
            SemcacheError: the first one ended before it took requests.
        """
        was_ready = False
        while not self._stopping.is_set():
            reloads = self._reloads
            process, is_ready = await self._start()
            self._running.add(process)
            if self._stopping.is_set():
                process.terminate()
            if await is_ready:
                was_ready = True
                self._hearing.add(process)
                if self._reloads != reloads:
                    _signal((process,), signal.SIGHUP)
            await process.wait()
            self._running.discard(process)
            self._hearing.discard(process)
            if self._stopping.is_set():
                return
            if not was_ready:
                self.stop()
                raise SemcacheError("a worker could not start; the lines above say why")
            _log.error("a worker ended and is started again", status=process.returncode)
            await asyncio.sleep(_PAUSE)

    async def _start(self) -> tuple[Process, asyncio.Task[bool]]:
        """Start one; the task tells whether it came to take requests."""
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "semcache",
                "worker",
                stdin=PIPE,
                env={**self._environment, _VARIABLE: replace(self._order, ready_fd=writing).dumps()},
                pass_fds=(self._order.fd, writing),
                start_new_session=True,  # Ctrl-C is the parent's to handle, which asks them to drain
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return process, asyncio.ensure_future(self._heard(reading))

    async def _heard(self, fd: int) -> bool:
        """Wait for the word on a pipe that closes when its worker ends."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(fd, readable.set)
        try:
            await readable.wait()
            is_ready = bool(os.read(fd, 1))
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        self._ready += is_ready
        self._changed.set()
        return is_ready


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    """Send a signal to those that live."""
    for process in processes:
        if process.returncode is None:
            process.send_signal(number)
