"""`semcache report budgets`: what each budget of the policies has spent, holds and has left, and when it begins anew.

Reads the policies and the store that proxies count in; talks to no proxy.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from semcache.cli.options import Config, Data, Json, Policies, settings_from
from semcache.cli.screen import wide_console
from semcache.core import TenantId
from semcache.cost_port import BudgetState
from semcache.errors import SemcacheError, StoreError
from semcache.parts import policies_of
from semcache.settings import Settings
from semcache.store.budgets import RedisBudgets
from semcache.store.embedded import embedded_url
from semcache.store.link import LinkRules

_DEADLINE = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """One budget of one tenant."""

    tenant: str
    state: BudgetState

    @property
    def used(self) -> float | None:
        """Share of the hard limit that is spent or held, else of the soft one, else of the requests; None without any."""
        state = self.state
        most = state.rule.hard if state.rule.hard is not None else state.rule.soft
        if most is None:
            return _share(state.requests, state.rule.requests)
        return _share(state.spent + state.held, most)


def budgets(
    tenant: Annotated[str, typer.Option(help="Only this tenant. [default: all]")] = "",
    policies: Policies = None,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show what each budget has spent, holds and has left."""
    settings = settings_from(config, data=data, policies=policies)
    rows = asyncio.run(_read(settings, tenant, time.time()))
    if as_json:
        typer.echo(json.dumps({"budgets": [_as_json(row) for row in rows]}, ensure_ascii=False))
        return
    if not rows:
        typer.echo(
            "no budgets: policy files state them under costs.budgets; name those of the proxy by --policies DIR"
        )
        return
    wide_console().print(_table(rows))


async def _read(settings: Settings, tenant: str, now: float) -> list[Row]:
    snapshot = policies_of(settings)
    counts = RedisBudgets(settings.store.url or embedded_url(settings.data), LinkRules(deadline=_DEADLINE))
    try:
        return [
            Row(name, state)
            for name in snapshot.tenants
            if tenant in ("", name)
            for state in await counts.states(TenantId(name), snapshot.costs(name).budgets, now)
        ]
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: budgets are read where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None
    finally:
        await counts.aclose()


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("tenant", "budget", "window"):
        table.add_column(name, overflow="fold", min_width=6)
    for name in ("spent", "held", "soft", "hard", "left", "used", "requests"):
        table.add_column(name, justify="right", min_width=5)
    table.add_column("begins anew")
    for row in rows:
        state, rule = row.state, row.state.rule
        money = (state.spent, state.held, rule.soft, rule.hard, state.left)
        table.add_row(
            *map(escape, (row.tenant, rule.name, rule.window)),
            *map(_usd, money),
            "-" if row.used is None else f"{row.used:.1%}",
            "-" if rule.requests is None else f"{state.requests} of {rule.requests}",
            _time(state.ends),
        )
    return table


def _as_json(row: Row) -> dict[str, Any]:
    state, rule = row.state, row.state.rule
    return {
        "tenant": row.tenant,
        "budget": rule.name,
        "window": rule.window,
        "labels": dict(rule.labels),
        "models": list(rule.models),
        "keys": list(rule.keys),
        "counts": rule.counts.value,
        "on_hard": rule.on_hard.value,
        "begins": _time(state.begins),
        "resets": _time(state.ends),
        "spent_micro_usd": state.spent,
        "held_micro_usd": state.held,
        "soft_micro_usd": rule.soft,
        "hard_micro_usd": rule.hard,
        "left_micro_usd": state.left,
        "requests": None if rule.requests is None else state.requests,
        "requests_limit": rule.requests,
        "used": row.used,
    }


def _share(count: int, most: int | None) -> float | None:
    if most is None:
        return None
    return count / most if most else 1.0


def _usd(money: int | None) -> str:
    return "-" if money is None else f"${money / 1e6:,.4f}"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
