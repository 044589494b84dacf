"""Serving HTTP from a bound socket until told to stop, then draining what is open."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from semcache.app import App, Wiring
from semcache.errors import SemcacheError
from semcache.proxy.deadlines import HeadDeadlineProtocol
from semcache.settings import Settings

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """uvicorn's server with the signals left to us: children are to be stopped after the drain.

    Args:
        config: uvicorn's configuration.
        on_ready: called once requests are taken.
    """

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so once requests are taken."""
        await super().startup(sockets)
        if self.started:
            self.on_ready()

    def stop(self) -> None:
        """Stop accepting and drain; the second call cuts what is open."""
        self.force_exit = self.should_exit
        self.should_exit = True


def make_server(settings: Settings, wiring: Wiring, on_ready: Callable[[], None]) -> Server:
    """Build the server of one worker."""
    protocol = type("Protocol", (HeadDeadlineProtocol,), {"head_deadline": settings.limits.header_seconds})
    config = uvicorn.Config(
        App(settings, wiring),
        http=protocol,
        loop="none",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.limits.drain_seconds),
    )
    return Server(config, on_ready)


async def run_here(
    settings: Settings, wiring: Wiring, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve in this process; `ready` is called once requests are taken.

    Raises:
        SemcacheError: the worker could not start.
    """
    server = make_server(settings, wiring, ready)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, server.stop)
    await server.serve(sockets=[listener])
    if not server.started:
        raise SemcacheError("the proxy could not start; the lines above say why")


async def serve_worker(settings: Settings, wiring: Wiring, listener: socket.socket) -> None:
    """Serve as one of several workers."""
    await run_here(settings, wiring, listener, lambda: None)
