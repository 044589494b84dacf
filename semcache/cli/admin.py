"""`semcache admin`: the reviewers' listener, in a process of its own beside any number of proxies.

Started by people against a store that others use too, or by `semcache serve` as a child (see `admin_child`), which
then hands it the listening socket: whoever connects before it is up waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable
from typing import Annotated, Any

import typer
import uvicorn
import uvloop

from semcache.cli.admin_door import ORDER, AdminOrder, listen, ready_text, tokens_of
from semcache.cli.admin_parts import application, open_service, store_url
from semcache.cli.logs import configure_logs
from semcache.cli.options import Config, Data, Policies, settings_from
from semcache.cli.screen import Screen
from semcache.errors import SemcacheError
from semcache.proxy.connection import client_protocol
from semcache.settings import Settings, load_settings

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DRAIN = 5


def admin(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one. [default: 8081]")] = None,
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
) -> None:
    """Serve the review pages and the admin API, without a proxy."""
    configure_logs()
    if ORDER in os.environ:
        _as_child()
        return
    settings = settings_from(config, data=data, policies=policies, **_flags(host, port))
    tokens_of(settings)
    url = store_url(settings)
    screen = Screen()
    listener = listen(settings, screen.note)
    _run(settings, url, listener, lambda: screen.note(ready_text(settings, listener)))


def _flags(host: str | None, port: int | None) -> dict[str, Any]:
    """Give the options as settings; what is not given is left to environment and file."""
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    return {"admin": given} if given else {}


def _as_child() -> None:
    told = json.loads(os.environ.pop(ORDER))
    order = AdminOrder(told["flags"], told["store_url"], told["fd"])
    listener = socket.socket(fileno=order.fd)
    _run(load_settings(order.flags), order.store_url, listener, lambda: None, ends_with_parent=True)


def _run(
    settings: Settings,
    url: str,
    listener: socket.socket,
    ready: Callable[[], None],
    *,
    ends_with_parent: bool = False,
) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, url, listener, ready, ends_with_parent=ends_with_parent))


async def _serve(
    settings: Settings,
    url: str,
    listener: socket.socket,
    ready: Callable[[], None],
    *,
    ends_with_parent: bool,
) -> None:
    opened = tokens_of(settings)
    async with open_service(settings, url) as opening:
        server = _server(settings, application(settings, opening, opened), ready)
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, server.stop)
        loop.add_signal_handler(signal.SIGHUP, lambda: asyncio.ensure_future(opening.policies.reload()))
        if ends_with_parent:
            loop.add_reader(0, _orphaned(loop, server))
        await server.serve(sockets=[listener])
        if not server.started:
            raise SemcacheError("the review pages could not start; the lines above say why")


def _orphaned(loop: asyncio.AbstractEventLoop, server: _Server) -> Callable[[], None]:
    """Give what hears that the parent is gone: it held the other end of standard input."""

    def orphaned() -> None:
        loop.remove_reader(0)
        server.stop()

    return orphaned


class _Server(uvicorn.Server):
    """uvicorn's server with the signals left to us, that says once requests are taken."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    def stop(self) -> None:
        """Stop accepting and drain; the second call cuts what is open."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _server(settings: Settings, inner: Any, ready: Callable[[], None]) -> _Server:
    limits = settings.limits
    protocol = client_protocol(
        head_seconds=limits.header_seconds, head_bytes=limits.header_bytes, write_seconds=limits.write_seconds
    )
    config = uvicorn.Config(
        inner,
        http=protocol,
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=64,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_DRAIN,
    )
    return _Server(config, ready)
