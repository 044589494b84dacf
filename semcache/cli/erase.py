"""`semcache erase`: everything that is kept of one end user goes, and a receipt says what went where.

Talks to the store that a proxy uses, and to the files of this machine's data directory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from semcache.archive import receipts
from semcache.archive.errors import ArchiveError
from semcache.cli.archive_parts import Opened, run
from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.core import TenantId

BY = "cli"
_PLACES = {
    "entries": "entries (and their vectors, in every process)",
    "derived": "entries revised from theirs",
    "public": "copies that were made public",
    "versions": "earlier versions",
    "questions": "questions they asked of others' entries",
    "notes": "notes of their feedback",
    "hits": "hits that they got",
    "confirmations": "confirmations",
    "summaries": "summaries of their conversations",
    "heads": "heads of prompts of the tenant (learned again)",
    "sums": "sums of costs under their name (kept without it)",
    "findings": "findings of lint under their name (kept without it)",
    "rows": "raw rows under their name, here (kept without it)",
}


def erase(
    tenant: Annotated[str, typer.Option(help="The tenant.")] = "default",
    subject: Annotated[
        str,
        typer.Option(help="The end user, as callers name them (user, Semcache-User); - reads it from stdin."),
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")
    ] = False,
    note: Annotated[str, typer.Option(help="A word for the audit log (a ticket, not a name).")] = "",
    receipt: Annotated[str, typer.Option(help="Show the receipt with this id instead.")] = "",
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Erase an end user: entries, index, queue, evidence, costs; with a receipt. Doing it again finds nothing."""
    settings = settings_from(config, data=data)
    if receipt:
        _show(receipts.read(settings.data, receipt), as_json=as_json)
        return
    name = sys.stdin.readline().rstrip("\n") if subject == "-" else subject
    if not name:
        raise typer.BadParameter("say who: --subject NAME, or --receipt ID to see what was done")
    if len(note) > 1000:
        raise ArchiveError("a note has at most 1000 characters")
    if dry_run:
        plan = run(settings, lambda parts: parts.eraser.plan(TenantId(tenant), name))
        told: dict[str, Any] = {
            "dry_run": True, "tenant": tenant, "subject": plan.whom.subject,
            "removed": plan.found, "digest": plan.digest,
        }  # fmt: skip
        _show(told, as_json=as_json)
        return

    async def work(parts: Opened) -> dict[str, Any]:
        return await parts.eraser.erase(TenantId(tenant), name, BY, note)

    _show(run(settings, work), as_json=as_json)


def _show(told: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("what", overflow="fold")
    table.add_column("would go" if told.get("dry_run") else "gone", justify="right")
    for place, count in told["removed"].items():
        table.add_row(_PLACES.get(place, place), str(count))
    console = wide_console()
    console.print(f"tenant {escape(told['tenant'])}, subject {told['subject']} (a digest of the name)")
    console.print(table)
    if told.get("dry_run"):
        return
    for word in ("announced", "kept", "unreached"):
        for line in told[word]:
            console.print(f"{word}: {line}", markup=False)
    console.print(f"receipt {told['id']}, audit log line {told['line']['number']}")
