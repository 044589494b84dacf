"""One engine process from options to exit: socket, loading, uvicorn, signals, the parent's death."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from semcache.engine.chat import ChatTemplate
from semcache.engine.hosting import EngineHost
from semcache.engine.limits import TenantLimit
from semcache.engine.listening import port_listener, unix_listener
from semcache.engine.modes import Mode, Precision
from semcache.engine.server import create_app
from semcache.engine.service import Defaults, Engine

_log = logging.getLogger(__name__)

GRACE_SECONDS = 5
"""How long running answers may go on after a request to end."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What the command line says. Either `socket`, or `host` and `port`. Sizes in tokens and bytes."""

    model: str | Path
    name: str = "local"
    aliases: tuple[str, ...] = ()
    socket: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    threads: int = 1
    max_context: int | None = None
    max_queue: int = 64
    max_active: int = 16
    max_tokens: int = 512
    temperature: float = 1.0
    precision: str = "auto"
    mode: str = "exact"
    kv_bytes: int = 1 << 30
    host_bytes: int = 0
    chunk: int = 64
    max_body: int = 2 << 20
    exit_with_stdin: bool = False
    limits: tuple[TenantLimit, ...] = ()


def serve(options: EngineOptions) -> int:
    """Serve until told to end; gives the exit status: 0, or 1 when the engine failed.

    Raises:
        EngineError: the socket or port cannot be had.
    """
    if options.exit_with_stdin:
        threading.Thread(target=_end_with_parent, name="parent-watch", daemon=True).start()
    with _listener(options) as listener:
        host = EngineHost(lambda stage: load_engine(options, stage))
        failed = threading.Event()

        def on_failure() -> None:
            failed.set()
            server.should_exit = True

        app = create_app(
            host, (options.name, *options.aliases), max_body=options.max_body, on_failure=on_failure
        )
        server = uvicorn.Server(_uvicorn_config(app))
        # uvicorn hands a signal on after its own orderly end; this way the socket is removed, too.
        signal.signal(signal.SIGTERM, _leave)
        server.run(sockets=[listener])
        return 1 if failed.is_set() else 0


def load_engine(options: EngineOptions, stage: Callable[[str], None]) -> Engine:
    """Import torch, load the model and start its runner.

    Raises:
        EngineError: the model cannot be loaded, or tenants' floors promise more than its memory.
    """
    stage("importing torch")
    # Here and not above, so that the socket listens seconds earlier.
    from semcache.engine.constrain import Forms  # noqa: PLC0415 - heavy
    from semcache.engine.model.loading import Settings, load_model  # noqa: PLC0415 - heavy
    from semcache.engine.prefix.shares import Share, Shares  # noqa: PLC0415 - heavy
    from semcache.engine.scheduling.planning import Limits  # noqa: PLC0415 - heavy
    from semcache.engine.scheduling.pool import Keeping  # noqa: PLC0415 - heavy
    from semcache.engine.scheduling.runner import PagedRunner  # noqa: PLC0415 - heavy

    settings = Settings(
        threads=options.threads,
        max_context=options.max_context,
        kv_bytes=options.kv_bytes,
        precision=Precision(options.precision),
        mode=Mode(options.mode),
    )
    model = load_model(options.model, settings, stage)
    tenants = {limit.tenant: Share(limit.floor, limit.ceiling) for limit in options.limits}
    runner = PagedRunner(
        model,
        limits=Limits(active=options.max_active, chunk=options.chunk, budget=options.chunk),
        keeping=Keeping(
            shares=Shares(model.network.slots, tenants=tenants) if tenants else None,
            host_bytes=options.host_bytes,
        ),
        max_queue=options.max_queue,
    )
    return Engine(
        template=ChatTemplate(model.tokenizer),
        runner=runner,
        context=model.context,
        vocabulary_size=model.vocabulary_size,
        fingerprint=model.fingerprint,
        defaults=Defaults(temperature=options.temperature, max_tokens=options.max_tokens),
        forms=Forms(model.tokenizer, model.vocabulary_size, model.ends),
    )


@contextlib.contextmanager
def _listener(options: EngineOptions) -> Iterator[socket.socket]:
    if options.socket is not None:
        with unix_listener(options.socket) as listener:
            _log.info("listening on %s", options.socket)
            yield listener
        return
    with port_listener(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        _log.info("listening on http://%s:%d/v1", host, port)
        if host not in ("127.0.0.1", "::1"):
            _log.warning("this server asks nobody for a key: keep it inside a trusted network")
        yield listener


def _uvicorn_config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # an ASGI application by construction
        loop="asyncio",  # uvloop does not take a unix socket that is bound already
        http="httptools",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=120,  # longer than clients keep idle connections, so that they close first
    )


def _leave(_signal: int, _frame: object) -> None:
    raise SystemExit(0)


def _end_with_parent() -> None:
    """End this process when its standard input closes: the parent holds the other end and is gone."""
    with contextlib.suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    _log.info("the parent is gone")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(2 * GRACE_SECONDS)
    os._exit(1)  # the orderly way is stuck; nobody is left who could do it from outside
