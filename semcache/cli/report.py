"""`semcache report`: its commands, and one of them, `quality`: how often hits are wrong, and how well that is known.

Reads what a proxy left; talks to the store, not to the proxy. The other reports stand in files of their own.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from semcache.cli.alarms import alarms
from semcache.cli.budgets import budgets
from semcache.cli.cost import cost
from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.prefixes import prefixes
from semcache.cli.quality import Findings, Quality, read_quality
from semcache.cli.screen import wide_console
from semcache.core import TenantId
from semcache.errors import SemcacheError, StoreError
from semcache.evidence_port import Label
from semcache.settings import Settings
from semcache.store.embedded import embedded_url
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules

app = typer.Typer(help="What the cache does: costs and savings, quality of its hits.", no_args_is_help=True)
app.command("cost")(cost)
app.command("alarms")(alarms)
app.command("budgets")(budgets)
app.command("prefixes")(prefixes)
_DAY = 86_400.0
_DEADLINE = 10.0


@app.callback()
def report() -> None:
    """Say what the cache does."""


@app.command("quality")
def quality(
    tenant: Annotated[str, typer.Option(help="Only this tenant. [default: all]")] = "",
    domain: Annotated[str, typer.Option(help="Only this domain. [default: all]")] = "",
    days: Annotated[int, typer.Option(min=1, max=90, help="Days looked back.")] = 30,
    listed: Annotated[int, typer.Option(min=0, max=2000, help="Newest findings to name, a tenant.")] = 0,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show wrong answers per hit, with their interval, and where that is known from."""
    settings = settings_from(config, data=data)
    since = time.time() - (days - 1) * _DAY
    findings = asyncio.run(_read(settings, TenantId(tenant), domain, since, listed))
    if as_json:
        typer.echo(json.dumps(_as_json(findings), ensure_ascii=False))
        return
    if not findings.rows:
        typer.echo("no evidence yet: hits, audits and feedback are written down while a proxy serves")
        return
    console = wide_console()
    console.print(_table(findings.rows))
    for label in findings.listed:
        console.print(_line(label), markup=False)
    for owner, entry, count in findings.flagged:
        console.print(f"{owner} entry {entry} was found wrong {count} times", markup=False)


async def _read(settings: Settings, tenant: TenantId, domain: str, since: float, listed: int) -> Findings:
    url = settings.store.url or embedded_url(settings.data)
    shelves = EvidenceShelves(url, LinkRules(deadline=_DEADLINE))
    try:
        return await read_quality(shelves.labels, tenant, domain, since, listed)
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: evidence is read where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None
    finally:
        await shelves.aclose()


def _table(rows: Sequence[Quality]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("tenant", "domain"):
        table.add_column(name, overflow="fold", min_width=6)
    for name in ("exact", "by meaning", "kept back", "checked", "right", "wrong", "unclear", "wrong per hit"):
        table.add_column(name, justify="right", min_width=5)
    table.add_column("callers say", justify="right")
    table.add_column("audits cost", justify="right")
    table.add_column("last alarm", overflow="fold")
    for row in rows:
        counts = (row.exact, row.semantic, row.shadow, row.checked, row.right, row.wrong, row.undecided)
        callers = f"{row.feedback_right} right, {row.feedback_wrong} wrong"
        table.add_row(
            *map(escape, (row.tenant, row.domain)),
            *map(str, counts),
            _interval(row),
            callers,
            f"${row.money / 1e6:.4f}",
            escape(f"{_time(row.alarm.at)} {row.alarm.reason}") if row.alarm else "none",
        )
    return table


def _interval(row: Quality) -> str:
    """Give the share with its interval in per cent; without labels nothing is known."""
    if row.share is None:
        return "unknown"
    low, high = row.interval
    return f"{row.share:.2%} ({low:.2%} to {high:.2%})"


def _line(label: Label) -> str:
    score = "" if label.score is None else f" score {label.score:.3f}"
    reasons = f" ({', '.join(label.reasons)})" if label.reasons else ""
    note = f" “{label.note}”" if label.note else ""
    where = f"{label.tenant} {label.domain} entry {label.entry} request {label.request}"
    return f"{_time(label.at)} {label.source} {label.finding}{reasons}{note}: {where}{score}"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%MZ")


def _as_json(findings: Findings) -> Mapping[str, Any]:
    return {
        "domains": [_row(row) for row in findings.rows],
        "findings": [_finding(label) for label in findings.listed],
        "flagged": [
            {"tenant": owner, "entry": entry, "wrong": count} for owner, entry, count in findings.flagged
        ],
    }


def _row(row: Quality) -> dict[str, Any]:
    low, high = row.interval
    fields = {name: getattr(row, name) for name in Quality.__slots__ if name not in ("alarm", "labels")}
    alarm = None if row.alarm is None else {"at": row.alarm.at, "reason": row.alarm.reason}
    return fields | {"wrong_per_hit": row.share, "low": low, "high": high, "alarm": alarm}


def _finding(label: Label) -> dict[str, Any]:
    names = ("tenant", "domain", "source", "finding", "at", "entry", "request", "score", "similarity", "note")
    return {name: getattr(label, name) for name in names} | {"reasons": list(label.reasons)}
