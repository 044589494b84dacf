"""`semcache entries export` and `import`: entries leave for a file, and come back to the tenant that they were made of."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.table import Table

from semcache.archive.exporting import Wanted, export_lines
from semcache.archive.files import whole
from semcache.archive.importing import Doors, Report, Terms, check_tenant, import_entries
from semcache.archive.journal import Erasure, read
from semcache.archive.reading import Checked, checked, open_export
from semcache.cli.archive_parts import DEADLINE, Opened, run
from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import Screen, wide_console
from semcache.core import EncoderId, TenantId
from semcache.embed.open import has_cuda_device, model_source
from semcache.errors import EncoderError, SemcacheError
from semcache.models.catalogue import resolve
from semcache.ports import Selector
from semcache.process import SystemClock
from semcache.review_port import Act
from semcache.settings import Settings
from semcache.store.link import LinkRules
from semcache.store.standing import StandingShelf

Tenant = Annotated[str, typer.Option(help="The tenant.")]
_REASONS = {
    "present": "stand there already, in this version or a later one",
    "newer": "a newer answer to the same question stands there",
    "decided": "a human has decided about the answer that stands there",
    "expired": "their lifetime is over",
    "erased": "their user was erased since",
    "deleted": "deleted, or rejected and gone, since",
    "invalidated": "invalidated since (tenant, namespace, model, tag or user)",
    "rejected": "rejected by a human (come with --keep-review)",
    "malformed": "do not follow the format",
    "times": "times that cannot be",
    "vector": "a vector that is none",
    "invalid": "cannot be stored as they are",
    "quota": "larger than the tenant's quota",
    "refused": "changed while they were imported, or no room is left",
}


def export(
    tenant: Tenant = "default",
    output: Annotated[Path, typer.Option("-o", "--output", help="The file; - for stdout.")] = Path("-"),
    tag: Annotated[str, typer.Option(help="Only entries with this tag.")] = "",
    namespace: Annotated[str, typer.Option(help="Only entries of this namespace (its digest).")] = "",
    model: Annotated[str, typer.Option(help="Only entries of this model.")] = "",
    verified: Annotated[
        bool, typer.Option("--verified", help="Only those that a human vouches for.")
    ] = False,
    data: Data = None,
    config: Config = None,
) -> None:
    """Write entries with all that belongs to them to a file, one JSON object a line, with checksums."""
    settings = settings_from(config, data=data)
    wanted = Wanted(Selector(TenantId(tenant), tag=tag, namespace=namespace, model=model), verified)

    async def work(parts: Opened) -> None:
        now = SystemClock().now()
        named = {"tag": tag, "namespace": namespace, "model": model, "verified": verified}
        after = {"what": "archive"} | {name: value for name, value in named.items() if value}
        await parts.verdicts.write(TenantId(tenant), Act("cli", now, "export", after=after))
        lines = export_lines(parts.store, wanted, now, list(encoders_of(settings) or ()), _told)
        if str(output) == "-":
            await _pour(lines, sys.stdout.buffer)
            return
        with whole(output) as file:
            await _pour(lines, file)

    try:
        run(settings, work)
    except BrokenPipeError:
        # Whoever read has seen enough; what is still held goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def import_(
    file: Annotated[Path, typer.Argument(help="What `entries export` wrote.")],
    tenant: Tenant = "default",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would come in, and change nothing.")
    ] = False,
    keep_review: Annotated[
        bool, typer.Option("--keep-review", help="Believe the file's verdicts and confirmations.")
    ] = False,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Take an export in. The whole file is checked first; what was deleted, rejected or erased since stays away."""
    settings = settings_from(config, data=data)
    try:
        opened = open_export(file)
    except OSError as error:
        raise SemcacheError(f"{file} cannot be read: {error.strerror}") from None
    with closing(opened):
        found = checked(opened)
        check_tenant(found.head, TenantId(tenant))
        terms = Terms(TenantId(tenant), keep_review, dry_run, "cli", encoders_of(settings))
        report = run(settings, lambda parts: _import(parts, found, terms))
    if as_json:
        told = {
            "dry_run": dry_run, "imported": report.imported, "verified": report.verified,
            "without_vector": report.without_vector, "skipped": dict(report.skipped),
        }  # fmt: skip
        typer.echo(json.dumps(told))
        return
    _show(report, dry_run=dry_run)


async def _import(parts: Opened, found: Checked, terms: Terms) -> Report:
    url = parts.eraser.site.url
    shelf = StandingShelf(url, LinkRules(deadline=DEADLINE))
    try:
        journal = await asyncio.to_thread(read, parts.eraser.site.journal)
        known = await parts.eraser.known(terms.tenant)
        erasures: tuple[Erasure, ...] = (*journal, *known)
        doors = Doors(parts.store, shelf, parts.verdicts, SystemClock(), erasures)
        return await import_entries(
            found, doors, terms, lambda report: _told(report.imported, report.skipped.total())
        )
    finally:
        await shelf.aclose()


def encoders_of(settings: Settings) -> Mapping[EncoderId, int] | None:
    """Give the encoders in service with their dimensions; None where that takes loading them, or there are none."""
    if settings.encoder.device == "cuda" or (settings.encoder.device == "auto" and has_cuda_device()):
        return None
    found: dict[EncoderId, int] = {}
    for model in (settings.encoder.latin, settings.encoder.multilingual):
        try:
            source = model_source(str(resolve(model, settings.data)), None, "cpu")
        except (EncoderError, SemcacheError):
            return None
        if source is None or source.spec is None:
            return None
        found[source.spec.id] = source.spec.dim
    return found


async def _pour(lines: AsyncIterator[bytes], file: BinaryIO) -> None:
    async for line in lines:
        file.write(line)
    file.flush()


def _told(done: int, left: int) -> None:
    console = Screen().console
    if console.is_terminal:
        console.print(f"[bold]semcache[/bold]  {done} entries, {left} left out", end="\r")


def _show(report: Report, *, dry_run: bool) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("would be" if dry_run else "", overflow="fold")
    table.add_column("entries", justify="right")
    table.add_row("imported", str(report.imported))
    if report.verified:
        table.add_row("  vouched for by a human", str(report.verified))
    if report.without_vector:
        table.add_row("  exact repeats only: their vector is of another encoder", str(report.without_vector))
    for reason, count in sorted(report.skipped.items()):
        table.add_row(f"passed over: {_REASONS.get(reason, reason)}", str(count))
    wide_console().print(table)
