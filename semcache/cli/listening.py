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
    """uvicorn's server with the signals left to us: children are to be stopped after the drain."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def stop(self) -> None:
        """Stop accepting and drain; the second call cuts what is open."""
        self.force_exit = self.should_exit
        self.should_exit = True


def make_server(settings: Settings, wiring: Wiring) -> Server:
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
    return Server(config)


async def run_here(
    settings: Settings, wiring: Wiring, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve in this process; `ready` is called once requests are taken.

    Raises:
        SemcacheError: the worker could not start.
    """
    server = make_server(settings, wiring)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, server.stop)
    announcing = asyncio.ensure_future(_announce(server, ready))
    try:
        await server.serve(sockets=[listener])
    finally:
        announcing.cancel()
    if not server.started:
        raise SemcacheError("the proxy could not start; the lines above say why")


async def serve_worker(settings: Settings, wiring: Wiring, listener: socket.socket) -> None:
    """Serve as one of several workers."""
    await run_here(settings, wiring, listener, lambda: None)


async def _announce(server: Server, ready: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(0.02)
    ready()
