"""`semcache review`: what reviewers see and decide, from the command line. Talks to the store, not to the admin API.

Who can reach the store is trusted with it, as `semcache entries` does; in the log stands `cli:<user name>`.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer
from rich.markup import escape
from rich.table import Table

from semcache.cli.admin_parts import open_service, store_url
from semcache.cli.options import Config, Data, Json, Policies, settings_from
from semcache.cli.screen import wide_console
from semcache.core import EntryId, TenantId
from semcache.decide.hidden import quoted, shown
from semcache.errors import SemcacheError, StoreError
from semcache.review import exporting as told
from semcache.review.access import EVERY, Reviewer, Role
from semcache.review.looking import etag_of
from semcache.review.service import ReviewService
from semcache.review.verdicts import Approve, Bar, Edit, Purge, Reject, Unbar, Verdict
from semcache.review.views import Filter
from semcache.review_rules import WHOLE
from semcache.settings import Settings

app = typer.Typer(help="Review: the queue, verdicts, and their log.", no_args_is_help=True)
Tenant = Annotated[str, typer.Option(help="The tenant.")]
Id = Annotated[str, typer.Argument(help="The entry's id (header Semcache-Entry).")]
Note = Annotated[str, typer.Option(help="Kept in the log.")]
Until = Annotated[str, typer.Option(help="Only until this day (2027-01-31, UTC).")]
Limit = Annotated[int, typer.Option(min=1, max=200, help="Rows a page.")]
Cursor = Annotated[str, typer.Option(help="Where the page before ended.")]
Asked = Annotated[
    str, typer.Option(help="The question's digest (see `review show`); `*` for every question.")
]
Result = TypeVar("Result")
_TEXT = 60


@app.command("queue")
def queue(
    tenant: Tenant = "default",
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    reason: Annotated[str, typer.Option(help="Only entries that wait for this reason.")] = "",
    limit: Limit = 20,
    cursor: Cursor = "",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show what waits for a human, heaviest first."""
    settings = settings_from(config, data=data, policies=policies)
    page = _run(
        settings,
        lambda service: service.queue(_me(), TenantId(tenant), cursor, limit, domain=domain, reason=reason),
    )
    if as_json:
        _print({"waiting": [told.row_json(row) for row in page.rows], "cursor": page.cursor})
        return
    table = _table("id", "weight", "seen", "question", "stored question", "reasons")
    for row in page.rows:
        asked = _short(row.question.text) if row.question else ""
        words = ", ".join(sorted(row.waiting.reasons))
        _row(
            table,
            row.entry.id,
            f"{row.waiting.weight:.2f}",
            str(row.waiting.sightings),
            asked,
            _short(row.entry.prompt),
            words,
        )
    wide_console().print(table if page.rows else "nothing waits")
    if page.cursor:
        wide_console().print(f"more: --cursor {page.cursor}", markup=False)


@app.command("show")
def show(
    entry_id: Id,
    tenant: Tenant = "default",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show an entry with the questions it met, and why it would be served."""
    settings = settings_from(config, data=data, policies=policies)
    view = _run(settings, lambda service: service.view(_me(), TenantId(tenant), EntryId(entry_id)))
    if as_json:
        _print(told.view_json(view))
        return
    console = wide_console()
    entry = view.entry
    flag = "verified" if view.is_vouched else entry.status.value
    console.print(f"{entry.id}  version {entry.version}  {flag}  domain {entry.domain}", markup=False)
    answer = shown(view.answer or "(more than a text)")
    console.print(f"asked:  {shown(entry.prompt)}\nanswer: {answer}", markup=False)
    table = _table("question", "digest", "times", "similarity", "score", "reasons")
    for one in view.questions:
        barred = "barred" if one.asked in entry.barred else ", ".join(one.reasons)
        _row(
            table,
            _short(one.text),
            one.asked,
            str(one.times),
            _figure(one.similarity),
            _figure(one.score),
            barred,
        )
    console.print(table)
    if view.why is not None:
        console.print(
            f"why:    {', '.join(o.word for o in view.why.objections) or 'no objection of the gate'}",
            markup=False,
        )


@app.command("approve")
def approve(
    entry_id: Id,
    tenant: Tenant = "default",
    until: Until = "",
    note: Note = "",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Say that an answer is right."""
    verdict = Approve(_day(until) if until else None)
    _settle(
        settings_from(config, data=data, policies=policies), tenant, entry_id, verdict, note, as_json=as_json
    )


@app.command("edit")
def edit(
    entry_id: Id,
    text: Annotated[str, typer.Option(help="The right answer; - reads standard input.")] = "-",
    tenant: Tenant = "default",
    until: Until = "",
    note: Note = "",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Put the right answer in the place of a stored one."""
    verdict = Edit(sys.stdin.read() if text == "-" else text, _day(until) if until else None)
    _settle(
        settings_from(config, data=data, policies=policies), tenant, entry_id, verdict, note, as_json=as_json
    )


@app.command("reject")
def reject(
    entry_id: Id,
    tenant: Tenant = "default",
    purge: Annotated[bool, typer.Option("--purge", help="Remove it for good, versions and all.")] = False,
    note: Note = "",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Say that an answer is wrong: it is kept for the record, and never served."""
    verdict = Purge() if purge else Reject()
    _settle(
        settings_from(config, data=data, policies=policies), tenant, entry_id, verdict, note, as_json=as_json
    )


@app.command("bar")
def bar(
    entry_id: Id,
    asked: Asked = WHOLE,
    tenant: Tenant = "default",
    note: Note = "",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Never again answer a question by this entry."""
    _settle(
        settings_from(config, data=data, policies=policies),
        tenant,
        entry_id,
        Bar(asked),
        note,
        as_json=as_json,
    )


@app.command("unbar")
def unbar(
    entry_id: Id,
    asked: Asked = WHOLE,
    tenant: Tenant = "default",
    note: Note = "",
    data: Data = None,
    policies: Policies = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Take back that a question is barred."""
    _settle(
        settings_from(config, data=data, policies=policies),
        tenant,
        entry_id,
        Unbar(asked),
        note,
        as_json=as_json,
    )


@app.command("log")
def log(
    tenant: Tenant = "default",
    limit: Limit = 20,
    cursor: Cursor = "",
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show who decided what, newest first."""
    page = _run(
        settings_from(config, data=data), lambda service: service.log(_me(), TenantId(tenant), cursor, limit)
    )
    if as_json:
        _print({"lines": [told.line_json(line) for line in page.lines], "cursor": page.cursor})
        return
    table = _table("number", "when (UTC)", "who", "what", "entry", "note")
    for line in page.lines:
        when = datetime.fromtimestamp(line.act.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        _row(table, str(line.number), when, line.act.who, line.act.what, line.act.entry or "", line.act.note)
    wide_console().print(table)
    if page.cursor:
        wide_console().print(f"more: --cursor {page.cursor}", markup=False)


@app.command("check")
def check(
    tenant: Tenant = "default", data: Data = None, config: Config = None, as_json: Json = False
) -> None:
    """Work the chain of the log out anew; exit code 1 where a line does not fit."""
    broken = _run(settings_from(config, data=data), lambda service: service.broken(_me(), TenantId(tenant)))
    if as_json:
        _print({"whole": broken is None, "first_broken": broken})
    else:
        typer.echo("the log is whole" if broken is None else f"line {broken} does not fit the one before it")
    if broken is not None:
        raise typer.Exit(1)


@app.command("export")
def export(
    what: Annotated[str, typer.Argument(help="entries, or log.")] = "entries",
    tenant: Tenant = "default",
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors of entries.")] = False,
    data: Data = None,
    config: Config = None,
) -> None:
    """Write entries with what was settled about them, or the log, as JSON, one a line."""
    if what not in ("entries", "log"):
        raise typer.BadParameter("entries, or log")

    async def write(service: ReviewService) -> None:
        who, name = _me(), TenantId(tenant)
        if what == "log":
            lines = await told.log_lines(service, who, name)
        else:
            lines = await told.entry_lines(service, who, name, Filter(), vectors=vectors)
        async for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    _run(settings_from(config, data=data), write)


def _me() -> Reviewer:
    return Reviewer(f"cli:{getpass.getuser()}", Role.OPERATOR, frozenset((EVERY,)))


def _settle(
    settings: Settings, tenant: str, entry_id: str, verdict: Verdict, note: str, *, as_json: bool
) -> None:
    async def settle(service: ReviewService) -> dict[str, Any]:
        entry = await service.entry(_me(), TenantId(tenant), EntryId(entry_id))
        done = await service.settle(_me(), TenantId(tenant), entry.id, etag_of(entry), verdict, note)
        return told.settled_json(done)

    done = _run(settings, settle)
    if as_json:
        _print(done)
    else:
        typer.echo(f"{done['line']['what']}: {entry_id}, line {done['line']['number']} of the log")


def _run(settings: Settings, work: Callable[[ReviewService], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with open_service(settings, store_url(settings), scores=False) as opening:
            return await work(opening.service)

    try:
        return asyncio.run(run())
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: review works where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None


def _day(text: str) -> float:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise typer.BadParameter("a day such as 2027-01-31") from None


def _print(value: object) -> None:
    typer.echo(quoted(json.dumps(json.loads(told.dumped(value)), ensure_ascii=False)))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _row(table: Table, *cells: str) -> None:
    # Markup would read brackets in questions as styles.
    table.add_row(*(escape(shown(cell)) for cell in cells))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "…"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
