"""`semcache warm`: has the running engine compute prompts before they are asked, and shows what is remembered.

Talks to the engine and to the store (see `warm_jobs`), not to the proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from semcache.answer.warmbook import Remembered
from semcache.cli.options import Config, Data, Json, Policies, settings_from
from semcache.cli.screen import wide_console
from semcache.cli.warm_jobs import Result, compute, read_jobs, remembered
from semcache.core import TenantId

_TEXT = 100


def warm(
    file: Annotated[
        Path | None, typer.Option(help="Compute these: chat bodies as JSON, one a line ({messages: [...]}).")
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Compute what is remembered.")] = False,
    top: Annotated[
        bool, typer.Option("--top", help="List what is remembered, the most valuable first.")
    ] = False,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="With --top: how the prompts begin.")
    ] = False,
    tenant: Annotated[str, typer.Option(help="With --file: whose prompts these are.")] = "default",
    url: Annotated[
        str, typer.Option(help="The engine, as in http://host:port. [default: the data directory's own]")
    ] = "",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Compute prompts in the running engine before they are asked."""
    if sum((file is not None, now, top)) != 1:
        raise typer.BadParameter("say one of --file, --now and --top")
    settings = settings_from(config, data=data, policies=policies)
    if top:
        _list(asyncio.run(remembered(settings)), as_json=as_json, show_text=show_text)
        return
    jobs = read_jobs(file, TenantId(tenant)) if file is not None else None
    with _progress(quiet=as_json) as begins:
        results = asyncio.run(compute(settings, url, jobs, begins))
    _tell(results, as_json=as_json)
    if any(result.problem for result in results):
        raise typer.Exit(1)


@contextlib.contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """Give what hears of each job as it begins: a bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True, highlight=False)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("asking the engine", total=None)
        begun = 0

        def begins(name: str, total: int) -> None:
            nonlocal begun
            progress.update(task, description=escape(name), completed=begun, total=total)
            begun += 1

        yield begins


def _tell(results: list[Result], *, as_json: bool) -> None:
    if as_json:
        rows = [{name: getattr(result, name) for name in Result.__slots__} for result in results]
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    if not results:
        typer.echo("nothing is remembered yet: prompts are, when they come a second time")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("prompt", "tokens", "computed", "seconds", ""):
        table.add_column(name, justify="left" if name in ("prompt", "") else "right", overflow="fold")
    for r in results:
        numbers = ("", "", "") if r.problem else (str(r.tokens), str(r.computed), f"{r.seconds:.2f}")
        table.add_row(escape(r.name), *numbers, f"[red]{escape(r.problem)}[/red]" if r.problem else "ready")
    console = wide_console()
    console.print(table)
    failed = sum(bool(result.problem) for result in results)
    console.print(f"{len(results) - failed} ready, {failed} failed")


def _list(heads: Iterable[tuple[TenantId, Remembered]], *, as_json: bool, show_text: bool) -> None:
    rows = [_row(tenant, head, show_text) for tenant, head in heads]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    if not rows:
        typer.echo("nothing is remembered yet: prompts are, when they come a second time")
        return
    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        right = name in ("tokens", "frequency", "messages")
        table.add_column(
            "tokens (about)" if name == "tokens" else name,
            justify="right" if right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row.values()))
    wide_console().print(table)


def _row(tenant: TenantId, head: Remembered, show_text: bool) -> dict[str, Any]:
    body = json.loads(head.body)
    row = {
        "prompt": head.key[:8],
        "tenant": tenant,
        "for": "one key" if head.owner else "all",
        "messages": len(body["messages"]),
        "tokens": head.tokens,
        "frequency": round(head.frequency, 1),
    }
    if show_text:
        text = " ".join(json.dumps(body["messages"][0].get("content"), ensure_ascii=False).split())
        row["text"] = text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
    return row
