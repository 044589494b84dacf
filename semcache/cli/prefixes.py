"""`semcache report prefixes`: what keeps the beginnings of prompts from being reused, what it costs, and what to do.

Reads what the proxies found; talks to the store, not to a proxy.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.core import TenantId
from semcache.cost_port import DAY, LintFinding, LintShelf
from semcache.errors import SemcacheError, StoreError
from semcache.settings import Settings
from semcache.store.embedded import embedded_url
from semcache.store.link import LinkRules
from semcache.store.lint_shelf import RedisLintShelf

_DEADLINE = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """One cause in one group of prompts over the days it was seen on; tokens and micro-USD are a day's, on average.

    `share` of the prompts broke there; `newest` is the finding of its last day.
    """

    newest: LintFinding
    days: int
    prompts: int
    seen: int
    tokens: int
    money: int | None

    @property
    def share(self) -> float:
        """Prompts that broke there, of all in the group."""
        return self.seen / self.prompts if self.prompts else 0.0


def prefixes(
    tenant: Annotated[str, typer.Option(help="Only this tenant. [default: all]")] = "",
    days: Annotated[int, typer.Option(min=1, max=90, help="Days looked back.")] = 7,
    listed: Annotated[int, typer.Option(min=1, max=2000, help="Causes to list, those that cost most.")] = 30,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show what keeps prompts from being reused, by what it costs."""
    settings = settings_from(config, data=data)
    today = int(time.time() // DAY)
    rows = asyncio.run(_read(settings, tenant, today - days + 1, today))[:listed]
    if as_json:
        typer.echo(json.dumps({"prefixes": [as_row(row) for row in rows]}, ensure_ascii=True))
        return
    if not rows:
        typer.echo("nothing found yet: prompts are compared while a proxy serves (see docs/prefix-lint.md)")
        return
    console = wide_console()
    console.print(_table(rows))
    for number, row in enumerate(rows, 1):
        console.print(f"{number}. {row.newest.fix}", markup=False, highlight=False)


async def _read(settings: Settings, tenant: str, first: int, last: int) -> list[Row]:
    shelf = RedisLintShelf(settings.store.url or embedded_url(settings.data), LinkRules(deadline=_DEADLINE))
    try:
        return await read_rows(shelf, tenant, first, last)
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: findings are read where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None
    finally:
        await shelf.aclose()


async def read_rows(shelf: LintShelf, tenant: str, first: int, last: int) -> list[Row]:
    """Read what was found from one day to another, those that cost most (then lost most tokens) first.

    Raises:
        StoreError: unreachable, late or damaged.
    """
    names = (TenantId(tenant),) if tenant else await shelf.tenants()
    return rows_of([one for name in names for one in await shelf.findings(name, first, last)])


def rows_of(findings: Iterable[LintFinding]) -> list[Row]:
    """Put the days of each cause together."""
    groups: dict[tuple[str, ...], list[LintFinding]] = {}
    for one in findings:
        groups.setdefault((one.tenant, one.group, one.cause, one.where, one.model), []).append(one)
    rows = [_row(found) for found in groups.values()]
    return sorted(rows, key=lambda row: (-(row.money or 0), -row.tokens, row.newest.tenant, row.newest.group))


def _row(found: Sequence[LintFinding]) -> Row:
    days = len({one.day for one in found})
    known = [one.money for one in found if one.money is not None]
    return Row(
        newest=max(found, key=lambda one: one.day),
        days=days,
        prompts=sum(one.prompts for one in found),
        seen=sum(one.seen for one in found),
        tokens=sum(one.tokens for one in found) // days,
        money=sum(known) // days if len(known) == len(found) else None,
    )


def as_row(row: Row) -> dict[str, Any]:
    """Give a row as JSON values; `money` is micro-USD a day, null where a price is not known."""
    newest = row.newest
    return {
        "tenant": newest.tenant,
        "group": newest.group,
        "model": newest.model,
        "labels": dict(newest.labels),
        "cause": newest.cause.value,
        "where": newest.where,
        "byte": newest.byte,
        "token": newest.token,
        "sample": newest.sample,
        "days": row.days,
        "prompts": row.prompts,
        "broken": row.seen,
        "share": row.share,
        "tokens_a_day": row.tokens,
        "money_a_day": row.money,
        "fix": newest.fix,
    }


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right")
    for name in ("tenant", "model", "cause", "where"):
        table.add_column(name, overflow="fold")
    for name in ("byte", "token", "broken", "tokens a day", "money a day"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("looks like", overflow="fold")
    for number, row in enumerate(rows, 1):
        newest = row.newest
        words = (newest.tenant, newest.model, newest.cause.value, newest.where)
        money = "unknown" if row.money is None else f"${row.money / 1e6:.2f}"
        figures = (f"{newest.byte:,}", f"{newest.token:,}", f"{row.share:.0%} of {row.prompts:,}")
        table.add_row(
            str(number), *map(escape, words), *figures, f"{row.tokens:,}", money, escape(newest.sample)
        )
    return table
