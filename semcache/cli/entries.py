"""`semcache entries`: what is stored, and how to make it go away. Talks to the store, not to the proxy.

Deletions reach every running proxy through the change stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from semcache.cli.options import Config, Data, Json, settings_from
from semcache.core import Entry, EntryId, TenantId
from semcache.errors import SemcacheError
from semcache.parts import open_store
from semcache.ports import Selector
from semcache.settings import Settings
from semcache.store.redis_store import RedisStore

app = typer.Typer(help="Stored answers: list, show, delete.", no_args_is_help=True)
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

    async def read(store: RedisStore) -> Any:
        return await store.list_entries(selector, cursor, limit), await store.counts(TenantId(tenant))

    page, counts = _run(settings_from(config, data=data), read)
    if as_json:
        rows = [_summary(entry) for entry in page.entries]
        typer.echo(
            json.dumps({"entries": rows, "cursor": page.cursor, "total": counts.entries}, ensure_ascii=False)
        )
        return
    table = Table(box=None)
    for name in ("id", "domain", "model", "status", "stored", "expires", "vector", "question"):
        table.add_column(name, no_wrap=name != "question")
    for entry in page.entries:
        row = _summary(entry)
        table.add_row(
            *(str(row[name]) for name in ("id", "domain", "model", "status", "stored", "expires", "vector")),
            row["question"],
        )
    console = Console()
    console.print(table)
    console.print(f"{counts.entries} entries, {counts.bytes / 1024:.0f} KiB in tenant {tenant}")
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
        raise SemcacheError(f"tenant {tenant} has no entry {entry_id}")
    shown = _summary(entry) | {
        "prompt": entry.prompt,
        "namespace": entry.namespace,
        "key": entry.key,
        "tags": entry.tags,
        "encoder": entry.embedding.encoder if entry.embedding else None,
        "version": entry.version,
        "answer": json.loads(entry.completion.body),
    }
    typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))


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
) -> None:
    """Invalidate entries by id, tag, namespace, model, or all of a tenant; nothing of it comes back."""
    if not (ids or tag or namespace or model or everything):
        raise typer.BadParameter("say what: ids, --tag, --namespace, --model, or --all")
    if everything and (ids or tag or namespace or model):
        raise typer.BadParameter("--all goes alone")
    chosen = tuple(EntryId(name) for name in ids or ())
    selector = Selector(TenantId(tenant), chosen, tag, namespace, model)
    count = _run(settings_from(config, data=data), lambda store: store.delete(selector))
    typer.echo(f"{count} entries invalidated")


def _summary(entry: Entry) -> dict[str, Any]:
    question = entry.prompt if len(entry.prompt) <= _PROMPT else entry.prompt[: _PROMPT - 1] + "…"
    return {
        "id": entry.id,
        "domain": entry.domain,
        "model": entry.model,
        "status": entry.status.value,
        "stored": _time(entry.created_at),
        "expires": _time(entry.expires_at),
        "vector": "yes" if entry.embedding else "no",
        "question": question,
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _run(settings: Settings, work: Callable[[RedisStore], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        store = open_store(settings)
        try:
            return await work(store)
        finally:
            await store.aclose()

    return asyncio.run(run())
