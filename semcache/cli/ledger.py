"""`semcache ledger`: the raw rows that a proxy on this machine wrote, for other tools and other eyes.

Reads files in the data directory; talks to no store and no proxy. Memory stays flat, however many rows there are.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.cost.plain import dumped
from semcache.cost.row_fields import Row
from semcache.cost.row_reader import Skipped, read_rows
from semcache.cost.segments import Segment, segments
from semcache.errors import SemcacheError

app = typer.Typer(help="Raw rows of requests and their costs.", no_args_is_help=True)
_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
_FOREVER = float("inf")


@app.command("rows")
def rows(
    tenant: Annotated[str, typer.Option(help="Only this tenant. [default: all]")] = "",
    since: Annotated[datetime | None, typer.Option(formats=_FORMATS, help="From here on (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(formats=_FORMATS, help="Before this (UTC).")] = None,
    entry: Annotated[
        list[str] | None,
        typer.Option(help="Only requests that this stored answer had part in: whom it was served to."),
    ] = None,
    data: Data = None,
    config: Config = None,
) -> None:
    """Print raw rows as lines of JSON, every column in each."""
    wanted = frozenset(entry or ())
    folder = folder_of(settings_from(config, data=data).data)
    left: Counter[str] = Counter()

    def skipped(path: Path, count: int) -> None:
        left[path.name] += max(1, count)

    try:
        for row in _rows(folder, since, until, tenant, skipped):
            if not wanted or row["entry"] in wanted:
                sys.stdout.buffer.write(dumped(row))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Whoever read has seen enough; what is still held goes nowhere, and nothing is said about it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for name, count in left.items():
        typer.echo(
            f"{name}: {count} lines are no rows (or the file ends in damage) and were left away", err=True
        )


@app.command("files")
def files(data: Data = None, config: Config = None, as_json: Json = False) -> None:
    """List the files that raw rows stand in."""
    folder = folder_of(settings_from(config, data=data).data)
    try:
        found = segments(folder)
    except OSError as error:
        raise SemcacheError(f"{folder} cannot be read: {error.strerror}") from None
    if as_json:
        typer.echo(json.dumps([_file(segment) for segment in found]))
        return
    if not found:
        typer.echo(f"no rows in {folder}: they are written while a proxy serves (ledger.rows)")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("file", "begun", "bytes"):
        table.add_column(name, justify="right" if name == "bytes" else "left", overflow="fold")
    for segment in found:
        table.add_row(segment.path.name, _time(segment.begins), f"{segment.size:,}")
    table.add_row("all", "", f"{sum(segment.size for segment in found):,}")
    wide_console().print(table)


def folder_of(data: Path) -> Path:
    """Give the folder that rows stand in, of a data directory."""
    return data / "ledger"


def _rows(
    folder: Path, since: datetime | None, until: datetime | None, tenant: str, skipped: Skipped
) -> Iterator[Row]:
    begin = -_FOREVER if since is None else since.replace(tzinfo=UTC).timestamp()
    end = _FOREVER if until is None else until.replace(tzinfo=UTC).timestamp()
    try:
        yield from read_rows(folder, begin, end, skipped, tenant or None)
    except OSError as error:
        raise SemcacheError(f"{folder} cannot be read: {error.strerror}") from None


def _file(segment: Segment) -> dict[str, object]:
    return {"file": segment.path.name, "begun": segment.begins, "bytes": segment.size}


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
