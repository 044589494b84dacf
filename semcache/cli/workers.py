"""Several workers on one listening socket: started, restarted when they die, stopped together."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from semcache.app import Wiring
from semcache.settings import Settings, load_settings

_log = structlog.get_logger()
_VARIABLE = "SEMCACHE_WORKER_ORDER"
_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """What a worker is told: the flags its parent was given, addresses, and the listening socket."""

    flags: dict[str, Any]
    wiring: Wiring
    fd: int

    @classmethod
    def of(cls, settings: Settings, wiring: Wiring, listener: socket.socket) -> WorkerOrder:
        """Write an order for workers of these settings."""
        os.set_inheritable(listener.fileno(), True)
        return cls(settings.model_dump(mode="json"), wiring, listener.fileno())

    def dumps(self) -> str:
        """Give the order as text for the environment."""
        wiring = {"store_url": self.wiring.store_url, "engine_socket": self.wiring.engine_socket}
        return json.dumps({"flags": self.flags, "wiring": wiring, "fd": self.fd})

    def settings(self) -> Settings:
        """Give the settings the parent has."""
        return load_settings(self.flags)

    def listener(self) -> socket.socket:
        """Give the shared listening socket."""
        return socket.socket(fileno=self.fd)


def read_order() -> WorkerOrder:
    """Read the order this process was started with."""
    told = json.loads(os.environ[_VARIABLE])
    return WorkerOrder(told["flags"], Wiring(**told["wiring"]), told["fd"])


async def run_workers(order: WorkerOrder, settings: Settings, ready: Callable[[], None]) -> None:
    """Keep the workers running until a signal ends them all."""
    metrics = settings.data / "metrics"
    shutil.rmtree(metrics, ignore_errors=True)
    metrics.mkdir(parents=True)
    environment = {
        **os.environ,
        _VARIABLE: order.dumps(),
        "PROMETHEUS_MULTIPROC_DIR": str(metrics.absolute()),
    }
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    keepers = [asyncio.ensure_future(_keep(order, environment, stopping)) for _ in range(settings.workers)]
    ready()
    await stopping.wait()
    await asyncio.gather(*keepers)


async def _keep(order: WorkerOrder, environment: dict[str, str], stopping: asyncio.Event) -> None:
    """Run one worker again and again; a short pause keeps a crash from becoming a storm."""
    while not stopping.is_set():
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "semcache", "worker", env=environment, pass_fds=(order.fd,)
        )
        ended = asyncio.ensure_future(process.wait())
        stopped = asyncio.ensure_future(stopping.wait())
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if stopping.is_set():
            await _end(process)
            return
        _log.error("a worker ended and is started again", status=process.returncode)
        await asyncio.sleep(_PAUSE)


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    await process.wait()
