"""`semcache report alarms`: which alarms are raised, and which were.

Reads what the proxies wrote down; talks to the store, not to a proxy.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from semcache.alarming.naming import quiet
from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.core import TenantId
from semcache.cost_port import AlarmShelf, CostAlarm
from semcache.errors import SemcacheError, StoreError
from semcache.settings import Settings
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.embedded import embedded_url
from semcache.store.link import LinkRules

_DEADLINE = 10.0


def alarms(
    tenant: Annotated[str, typer.Option(help="Only this tenant. [default: all]")] = "",
    listed: Annotated[int, typer.Option(min=0, max=200, help="Past changes to list, a tenant.")] = 20,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show the alarms that are raised, then the last changes."""
    settings = settings_from(config, data=data)
    found = asyncio.run(_read(settings, tenant, listed))
    if as_json:
        rows = [as_row(alarm) for alarm in found]
        raised = sum(alarm.is_raised and standing for alarm, standing in found)
        typer.echo(json.dumps({"raised": raised, "alarms": rows}, ensure_ascii=True))
        return
    if not found:
        typer.echo("no alarm has been raised yet")
        return
    console = wide_console()
    console.print(_table(found))


async def _read(settings: Settings, tenant: str, listed: int) -> list[tuple[CostAlarm, bool]]:
    shelf = RedisAlarmShelf(settings.store.url or embedded_url(settings.data), LinkRules(deadline=_DEADLINE))
    try:
        return await read_alarms(shelf, tenant, listed)
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: alarms are read where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None
    finally:
        await shelf.aclose()


async def read_alarms(shelf: AlarmShelf, tenant: str, listed: int) -> list[tuple[CostAlarm, bool]]:
    """Read alarms, each with whether it stands: those of all tenants first, then past changes, newest first.

    Raises:
        StoreError: unreachable or late.
    """
    standing = [alarm for alarm in await shelf.raised() if tenant in ("", alarm.tenant)]
    names = {tenant} if tenant else set(await shelf.load()) | {alarm.tenant for alarm in standing}
    known = set(standing)
    past: list[CostAlarm] = []
    for name in sorted(names):
        past += [one for one in await shelf.alarms(TenantId(name)) if one not in known][:listed]
    past.sort(key=lambda alarm: -alarm.at)
    return [*((one, True) for one in standing), *((one, False) for one in past)]


def as_row(found: tuple[CostAlarm, bool]) -> dict[str, Any]:
    """Give one alarm as JSON values; times are Unix seconds."""
    alarm, standing = found
    return {
        "tenant": alarm.tenant,
        "kind": alarm.kind.value,
        "subject": alarm.subject,
        "state": "raised" if alarm.is_raised else "over",
        "stands": standing,
        "since": alarm.since,
        "at": alarm.at,
        "value": alarm.value,
        "limit": alarm.limit,
        "text": alarm.text,
    }


def _table(found: Sequence[tuple[CostAlarm, bool]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("now", "tenant", "alarm", "about", "changed", "since"):
        table.add_column(name, no_wrap=True)
    table.add_column("what", overflow="fold")
    for alarm, standing in found:
        state = "RAISED" if standing else "raised" if alarm.is_raised else "over"
        words = (state, quiet(alarm.tenant), alarm.kind.value, alarm.subject)
        what = alarm.text.partition(": ")[2].partition(": ")[2] or alarm.text
        table.add_row(*map(escape, (*words, _time(alarm.at), _time(alarm.since), what)))
    return table


def _time(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%MZ")
    except (ValueError, OverflowError, OSError):
        return "?"
