"""`semcache entries`: what is stored, and how to make it go away. Talks to the store, not to the proxy.

Deletions reach every running proxy through the change stream.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer
from rich.markup import escape
from rich.table import Table

from semcache.cli.entries_archive import export, import_
from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.core import Entry, EntryId, ReviewStatus, TenantId
from semcache.decide.confirming import counted
from semcache.decide.hidden import quoted, shown
from semcache.errors import SemcacheError, StoreError
from semcache.parts import open_store
from semcache.ports import Selector
from semcache.review.answers import is_vectors
from semcache.settings import Settings
from semcache.store.browse import Counts, Page
from semcache.store.redis_store import RedisStore

app = typer.Typer(help="Stored answers: list, show, delete, export, import.", no_args_is_help=True)
app.command("export")(export)
app.command("import")(import_)
Tenant = Annotated[str, typer.Option(help="The tenant.")]
Tag = Annotated[str, typer.Option(help="Only entries with this tag.")]
Namespace = Annotated[str, typer.Option(help="Only entries of this namespace (its digest).")]
Model = Annotated[str, typer.Option(help="Only entries of this model.")]
Result = TypeVar("Result")
_PROMPT = 60


@app.command("list")
def list_entries(
    tenant: Tenant = "default",
    tag: Tag = "",
    namespace: Namespace = "",
    model: Model = "",
    limit: Annotated[int, typer.Option(min=1, max=500, help="Entries a page.")] = 20,
    cursor: Annotated[str, typer.Option(help="Where the page before ended.")] = "",
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List entries, newest first."""
    selector = Selector(TenantId(tenant), tag=tag, namespace=namespace, model=model)

    async def read(store: RedisStore) -> tuple[Page, Counts, list[TenantId]]:
        page = await store.list_entries(selector, cursor, limit)
        return page, await store.counts(TenantId(tenant)), await store.tenants()

    page, counts, tenants = _run(settings_from(config, data=data), read)
    if as_json:
        rows = [_summary(entry) for entry in page.entries]
        typer.echo(
            json.dumps({"entries": rows, "cursor": page.cursor, "total": counts.entries}, ensure_ascii=False)
        )
        return
    console = wide_console()
    console.print(_table(page.entries, time.time()))
    console.print(f"{counts.entries} entries, {counts.bytes / 1024:.0f} KiB in tenant {tenant}")
    if tenant not in tenants and tenants:
        console.print(f"tenants with entries: {', '.join(tenants)}")
    if page.cursor:
        console.print(f"more: --cursor {page.cursor}")


@app.command("show")
def show(
    entry_id: Annotated[str, typer.Argument(help="The entry's id (header Semcache-Entry).")],
    tenant: Tenant = "default",
    data: Data = None,
    config: Config = None,
) -> None:
    """Show one entry whole, as JSON, also when it is expired or rejected."""
    entry = _run(
        settings_from(config, data=data), lambda store: store.show(TenantId(tenant), EntryId(entry_id))
    )
    if entry is None:
        raise SemcacheError(
            f"tenant {tenant} has no entry {entry_id}; see: semcache entries list --tenant {tenant}"
        )
    told = _summary(entry) | {
        "prompt": entry.prompt,
        "namespace": entry.namespace,
        "key": entry.key,
        "encoder": entry.embedding.encoder if entry.embedding else None,
        "version": entry.version,
        "answer": json.loads(entry.completion.body),
    }
    if entry.completion.native is not None:
        # What chat's words do not say all of, as the client's own protocol has it.
        told["native"] = json.loads(entry.completion.native)
    if entry.completion.chunks is not None:
        told["chunks"] = json.loads(entry.completion.chunks)
    typer.echo(quoted(json.dumps(told, ensure_ascii=False, indent=2)))


@app.command("delete")
def delete(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of entries.")] = None,
    tenant: Tenant = "default",
    tag: Tag = "",
    namespace: Namespace = "",
    model: Model = "",
    everything: Annotated[bool, typer.Option("--all", help="All entries of the tenant.")] = False,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Invalidate entries by id, tag, namespace, model, or all of a tenant; nothing of it comes back."""
    if not (ids or tag or namespace or model or everything):
        raise typer.BadParameter("say what: ids, --tag, --namespace, --model, or --all")
    if everything and (ids or tag or namespace or model):
        raise typer.BadParameter("--all goes alone")
    chosen = tuple(EntryId(name) for name in ids or ())
    selector = Selector(TenantId(tenant), chosen, tag, namespace, model)
    count = _run(settings_from(config, data=data), lambda store: store.delete(selector))
    typer.echo(json.dumps({"invalidated": count}) if as_json else f"{count} entries invalidated")


def _table(entries: Sequence[Entry], now: float) -> Table:
    """Lay entries out so that ids stay whole: what does not fit is folded, never cut."""
    table = Table(box=None, pad_edge=False)
    width = max((len(entry.id) for entry in entries), default=2)
    table.add_column("id", no_wrap=True, min_width=width)
    table.add_column("question", overflow="fold", min_width=12)
    table.add_column("domain", overflow="fold", min_width=6)
    table.add_column("model", overflow="fold", min_width=5)
    table.add_column("stored (UTC)", no_wrap=True, min_width=12)
    table.add_column("left", no_wrap=True, min_width=5)
    table.add_column("notes", overflow="fold")
    for entry in entries:
        row = _summary(entry)
        stored, left = _day(entry.created_at), _span(entry.expires_at - now)
        # Markup would read brackets in questions as styles.
        cells = (entry.id, row["question"], entry.domain, entry.model, stored, left, _notes(entry))
        table.add_row(*(escape(shown(cell)) for cell in cells))
    return table


def _notes(entry: Entry) -> str:
    notes = [] if entry.status is ReviewStatus.UNREVIEWED else [entry.status.value]
    if is_vectors(entry.completion):
        return ", ".join([*notes, "embeddings"])
    return ", ".join(notes if entry.embedding else [*notes, "no vector"])


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%m-%d %H:%M")


def _span(seconds: float) -> str:
    """Give a span in its largest whole unit."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "over"


def _summary(entry: Entry) -> dict[str, Any]:
    prompt = " ".join(entry.prompt.split())
    question = prompt if len(prompt) <= _PROMPT else prompt[: _PROMPT - 1] + "…"
    return {
        "id": entry.id,
        "domain": entry.domain,
        "model": entry.model,
        "status": entry.status.value,
        "stored": _time(entry.created_at),
        "expires": _time(entry.expires_at),
        "vector": entry.embedding is not None,
        "confirmed": counted(entry),
        "tags": entry.tags,
        "question": question,
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _run(settings: Settings, work: Callable[[RedisStore], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        store = open_store(settings)
        try:
            return await work(store)
        finally:
            await store.aclose()

    try:
        return asyncio.run(run())
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: entries are read where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None
