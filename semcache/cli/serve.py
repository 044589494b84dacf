"""`semcache serve`: from settings to a listening proxy, with its children.

This process starts the embedded Valkey and the local engine, keeps them alive, and serves
(one worker in this very process, several as children that share the listening socket).
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from typing import Annotated

import typer
import uvloop

from semcache.app import Wiring
from semcache.cli.files import raise_file_limit
from semcache.cli.household import Household
from semcache.cli.listening import run_here, serve_worker
from semcache.cli.logs import configure_logs
from semcache.cli.models import fetch_needed
from semcache.cli.options import Config, Data, Policies, settings_from
from semcache.cli.screen import Screen
from semcache.cli.workers import WorkerOrder, read_order, run_workers
from semcache.errors import PolicyError
from semcache.parts import upstreams_known
from semcache.policy.loader import load_default, load_directory
from semcache.settings import Settings, key_of

_ENDED_AT_START = 128 + signal.SIGTERM


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one. [default: 8080]")] = None,
    data: Data = None,
    policies: Policies = None,
    upstream: Annotated[
        str | None,
        typer.Option(help="OpenAI-shaped base URL ending in /v1; without it the local engine answers."),
    ] = None,
    config: Config = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes. [default: 1]")] = None,
    admin_port: Annotated[
        int | None, typer.Option(help="Port of the review pages; 0 takes a free one. [default: 8081]")
    ] = None,
) -> None:
    """Start the proxy."""
    configure_logs()
    raise_file_limit()
    settings = settings_from(
        config,
        host=host,
        port=port,
        data=data,
        policies=policies,
        upstream=upstream,
        workers=workers,
        admin=None if admin_port is None else {"port": admin_port},
    )
    refuse_exposed(settings)
    for name, told in settings.all_upstreams.items():
        if told.api_key is not None:
            # A key that is not there ends here, in one line.
            key_of(name, told.api_key)
    screen = Screen()
    fetch_needed(settings, screen)
    with uvloop_runner() as runner:
        try:
            runner.run(_serve(settings, screen))
        except asyncio.CancelledError:
            raise typer.Exit(_ENDED_AT_START) from None


def worker() -> None:
    """Serve as one of several workers (started by `serve`, which says how in the environment)."""
    configure_logs()
    order = read_order()
    with uvloop_runner() as runner:
        runner.run(serve_worker(order.settings(), order.wiring, order.listener(), order.ready_fd))


def uvloop_runner() -> asyncio.Runner:
    """Give a runner on uvloop."""
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def refuse_exposed(settings: Settings) -> None:
    """Load the policies once, so that mistakes end here, and refuse to be open to the network without keys.

    Raises:
        PolicyError: with what to do next.
    """
    snapshot = load_directory(settings.policies) if settings.policies else load_default()
    upstreams_known(settings)(snapshot)
    if not settings.is_loopback and not snapshot.has_keys:
        raise PolicyError(
            f"refusing to listen on {settings.host}: no tenant has a key, so anybody could use it. "
            "Make one with `semcache keys new`, put its hash into a policy file, "
            "and start with --policies DIR; or listen on 127.0.0.1"
        )


async def _serve(settings: Settings, screen: Screen) -> None:
    starting = asyncio.current_task()
    if starting is not None:
        # Until requests are taken; then whoever serves says what a signal does.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, starting.cancel)
    listener = listen(settings)
    household = Household(settings, screen)
    async with household:
        wiring = Wiring(household.store_url, household.engine_socket)
        port = listener.getsockname()[1]

        def ready() -> None:
            screen.ready(settings, port)
            household.announce()

        if settings.workers == 1:
            await run_here(settings, wiring, listener, ready)
        else:
            order = WorkerOrder.of(settings, wiring, listener)
            await run_workers(order, settings, ready)


def listen(settings: Settings) -> socket.socket:
    """Bind the listening socket before anything else is started.

    Raises:
        PolicyError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise PolicyError(
            f"cannot listen on {settings.host}:{settings.port}: {reason}; choose another with --port"
        ) from None
    listener.listen(2048)
    listener.setblocking(False)
    return listener
