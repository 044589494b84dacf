"""Serving HTTP from a bound socket until told to stop, then draining what is open."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import uvicorn

from semcache.app import App, Wiring
from semcache.errors import SemcacheError
from semcache.proxy.connection import client_protocol
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
            _calm_collector()
            self.on_ready()

    def stop(self) -> None:
        """Stop accepting and drain; the second call cuts what is open."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _calm_collector() -> None:
    """Keep what the start made out of Python's garbage collections, and make whole ones rare.

    A collection of all objects stops every request for its length: 60 ms for what the start makes,
    200 ms with ten thousand entries in memory. Requests leave few cycles behind.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 200)


def make_server(settings: Settings, app: App, on_ready: Callable[[], None]) -> Server:
    """Build the server of one worker."""
    limits = settings.limits
    protocol = client_protocol(
        head_seconds=limits.header_seconds, head_bytes=limits.header_bytes, write_seconds=limits.write_seconds
    )
    config = uvicorn.Config(
        app,
        http=protocol,
        loop="none",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Whom a proxy header speaks for is decided at admission; nothing may rewrite the peer's address.
        proxy_headers=False,
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
    app = App(settings, wiring)
    server = make_server(settings, app, ready)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, server.stop)
    loop.add_signal_handler(signal.SIGHUP, _hung_up(server.stop, app.reload_policies))
    await server.serve(sockets=[listener])
    if not server.started:
        raise SemcacheError("the proxy could not start; the lines above say why")


async def serve_worker(settings: Settings, wiring: Wiring, listener: socket.socket, ready_fd: int) -> None:
    """Serve as one of several workers: say on `ready_fd` when requests are taken, end with the parent.

    The parent holds the other end of standard input; it closes when the parent is gone, however
    that went, and a worker without a parent would hold the port for ever.
    """
    serving = asyncio.ensure_future(run_here(settings, wiring, listener, lambda: _say_ready(ready_fd)))
    loop = asyncio.get_running_loop()

    def orphaned() -> None:
        loop.remove_reader(0)
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(0, orphaned)
    await serving


def _say_ready(fd: int) -> None:
    with contextlib.suppress(OSError):  # the parent is gone, and its end is told by standard input
        os.write(fd, b"1")
        os.close(fd)


def _hung_up(stop: Callable[[], None], reload: Callable[[], None]) -> Callable[[], None]:
    """Give what SIGHUP does: read the policies again, unless it says that our terminal was closed."""
    on_terminal = sys.stderr.isatty()

    def hung_up() -> None:
        if on_terminal and not sys.stderr.isatty():
            stop()
        else:
            reload()

    return hung_up
