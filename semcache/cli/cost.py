"""`semcache report cost`: what was paid, what reuse saved, and what it would have cost without.

Reads the book of costs where a proxy left it; talks to the store, not to the proxy.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from semcache.cli.cost_plots import draw_costs
from semcache.cli.cost_table import print_costs
from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.core import TenantId
from semcache.cost.focus import Out, write_focus
from semcache.cost.report import Book, By, day_of, day_text, parse_by, reduced
from semcache.cost.report_json import report_json
from semcache.cost_port import CostBook, CostKey, CostSums
from semcache.errors import SemcacheError, StoreError
from semcache.evaluate.plot import check_target
from semcache.settings import Settings
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import embedded_url
from semcache.store.link import LinkRules

_DEADLINE = 30.0
_ALL = "all tenants"
_STDOUT = "-"
_AT_ONCE = 7
"""Days that are read and held at once."""


def cost(
    tenant: Annotated[str, typer.Option(help="Only this tenant. [default: all]")] = "",
    days: Annotated[int, typer.Option(min=1, max=400, help="Days looked back, today among them.")] = 30,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Group by day, model, backend, project, environment, business_line, task, key, outcome or tenant; "
            "again, or with commas, for several. [default: model]"
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="Write a CSV file in FOCUS columns, one row for each key of the book; - for stdout."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw into a .svg or .png file.")] = None,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show what was paid, what reuse saved (three savings apart), and what it would have cost without."""
    chosen = _by(by or ["model"])
    if plot is not None:
        check_target(plot)
    settings = settings_from(config, data=data)
    last = day_of(time.time())
    first = last - days + 1
    label = _label(chosen)
    with _file(csv) as out:
        book, tenants = asyncio.run(
            _read(settings, Asked(TenantId(tenant), first, last, {*chosen, label}), out)
        )
    if plot is not None:
        draw_costs(plot, book, first, last, label)
    if csv is not None and str(csv) == _STDOUT:
        return
    if as_json:
        typer.echo(json.dumps(report_json(book, chosen, first, last), ensure_ascii=False))
        return
    if not book:
        typer.echo(_nothing(tenant, days, tenants))
        return
    several = not tenant and len(tenants) > 1 and By.TENANT not in chosen
    shown = (By.TENANT, *chosen) if several else chosen
    head = f"{day_text(first)} to {day_text(last)}, {tenant or (tenants[0] if len(tenants) == 1 else _ALL)}"
    print_costs(wide_console(), book, shown, head)


@dataclass(frozen=True, slots=True)
class Asked:
    """The days `first` to `last` of a tenant (of all: ""), as far as they are grouped by `by`."""

    tenant: TenantId
    first: int
    last: int
    by: Collection[By]


async def _read(settings: Settings, asked: Asked, out: Out | None) -> tuple[Book, tuple[TenantId, ...]]:
    url = settings.store.url or embedded_url(settings.data)
    book = RedisCostBook(url, LinkRules(deadline=_DEADLINE))
    try:
        return await read_books(book, asked, out)
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: costs are read where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None
    finally:
        await book.aclose()


async def read_books(book: CostBook, asked: Asked, out: Out | None) -> tuple[Book, tuple[TenantId, ...]]:
    """Read the days a few at a time, so that no more is held than is grouped by; gives sums, and who has any.

    Args:
        book: where they are.
        asked: which.
        out: takes everything, ungrouped, as CSV; None: nothing does.

    Raises:
        StoreError: unreachable or late.
    """
    known = await book.tenants()
    found: dict[CostKey, CostSums] = {}
    if out is not None:
        write_focus({}, out)
    for name in (asked.tenant,) if asked.tenant else known:
        for first in range(asked.first, asked.last + 1, _AT_ONCE):
            some = await book.read(name, first, min(first + _AT_ONCE - 1, asked.last))
            if out is not None:
                write_focus(some, out, header=False)
            found.update(reduced(some, asked.by))
    return found, known


@contextmanager
def _file(path: Path | None) -> Iterator[Out | None]:
    """Give where CSV goes; a file takes its name once all of it is written."""
    if path is None or str(path) == _STDOUT:
        yield None if path is None else sys.stdout
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            yield file
        draft.replace(path)
    except OSError as error:
        raise SemcacheError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            draft.unlink()


def _by(words: Sequence[str]) -> tuple[By, ...]:
    try:
        return parse_by(words)
    except ValueError as error:
        raise SemcacheError(f"--by: {error}") from None


def _label(by: Sequence[By]) -> By:
    """Give what the last diagram tells apart: days have diagrams of their own."""
    return next((one for one in by if one is not By.DAY), By.PROJECT)


def _nothing(tenant: str, days: int, tenants: Sequence[str]) -> str:
    whose = f" for the tenant {tenant}" if tenant else ""
    lines = [f"nothing was counted{whose} in the last {days} days"]
    if tenant and tenants and tenant not in tenants:
        lines.append(f"there are costs of: {', '.join(tenants)}")
    lines.append(
        "costs are written down while a proxy serves (semcache serve): send requests through it, or look further back by --days"
    )
    lines.append("what a cache would save can be seen before that, from a log: semcache analyze FILE")
    return "\n".join(lines)
