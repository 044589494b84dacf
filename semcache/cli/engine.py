"""`semcache engine`: serve a local model over an OpenAI-shaped API.

Only reads its options and hands over; torch is imported when the model loads.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from semcache.engine.limits import TenantLimit, read_limit
from semcache.engine.modes import Mode, Precision
from semcache.errors import EngineError


def engine(
    *,
    model: Annotated[
        str, typer.Option(help="Folder with safetensors weights, GGUF file, or owner/name on the hub.")
    ],
    name: Annotated[str, typer.Option(help="Model name that requests give.")] = "local",
    alias: Annotated[
        list[str] | None, typer.Option(help="Another name for the model; all names share what was computed.")
    ] = None,
    socket: Annotated[Path | None, typer.Option(help="Listen on this unix socket.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Listen on this port; 0 takes a free one.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address for --port. There are no keys: keep it private.")
    ] = "127.0.0.1",
    threads: Annotated[int, typer.Option(min=1, help="Processor threads of a forward pass.")] = 1,
    max_context: Annotated[
        int | None,
        typer.Option(min=16, help="Tokens of prompt and answer together; at most the model's own."),
    ] = None,
    max_queue: Annotated[int, typer.Option(min=1, help="Requests that may wait; more are told 503.")] = 64,
    max_active: Annotated[int, typer.Option(min=1, help="Answers that are written at one time.")] = 16,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Length of an answer when a request says none.")
    ] = 512,
    temperature: Annotated[
        float, typer.Option(min=0, max=2, help="Temperature when a request says none.")
    ] = 1.0,
    precision: Annotated[
        Precision, typer.Option(help="Of weights and sums; auto is bf16 on a GPU and fp32 elsewhere.")
    ] = Precision.AUTO,
    mode: Annotated[
        Mode, typer.Option(help="exact: the same answer whatever is cached and batched. fast: no promise.")
    ] = Mode.EXACT,
    kv_bytes: Annotated[
        int, typer.Option(min=1 << 20, help="Memory for computed prompts and answers, in bytes.")
    ] = 1 << 30,
    host_bytes: Annotated[
        int, typer.Option(min=0, help="Host memory for what had to leave a GPU's, in bytes.")
    ] = 0,
    chunk: Annotated[
        int,
        typer.Option(min=8, max=4096, help="Prompt tokens of one pass: what another answer may wait for."),
    ] = 64,
    share: Annotated[
        list[str] | None,
        typer.Option(
            help="TENANT=FLOOR:CEILING: tokens of a tenant that others cannot push out, and that it may hold at most."
        ),
    ] = None,
    exit_with_stdin: Annotated[
        bool, typer.Option("--exit-with-stdin", hidden=True, help="End when standard input closes.")
    ] = False,
) -> None:
    """Serve a local model over an OpenAI-shaped API, on a unix socket or a port."""
    if (socket is None) == (port is None):
        raise typer.BadParameter("give either --socket or --port")
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    # Read once by the native libraries when torch is imported, which has not happened yet.
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(threads)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if Path(model).exists():
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from semcache.engine.serve import EngineOptions, serve  # noqa: PLC0415 - pulls in the web server

    options = EngineOptions(
        model=model,
        name=name,
        aliases=tuple(alias or ()),
        socket=socket,
        host=host,
        port=port or 0,
        threads=threads,
        max_context=max_context,
        max_queue=max_queue,
        max_active=max_active,
        max_tokens=max_tokens,
        temperature=temperature,
        precision=precision,
        mode=mode,
        kv_bytes=kv_bytes,
        host_bytes=host_bytes,
        chunk=chunk,
        exit_with_stdin=exit_with_stdin,
        limits=_limits(share or []),
    )
    try:
        status = serve(options)
    except EngineError as error:
        typer.echo(f"semcache engine: {error}", err=True)
        status = 1
    raise typer.Exit(status)


def _limits(texts: list[str]) -> tuple[TenantLimit, ...]:
    try:
        limits = tuple(read_limit(text) for text in texts)
    except ValueError as error:
        raise typer.BadParameter(f"--share: {error}") from None
    if len({limit.tenant for limit in limits}) < len(limits):
        raise typer.BadParameter("--share: a tenant stands here twice")
    return limits
