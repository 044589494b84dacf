"""`semcache backup`: a data directory with all that cannot be made again is copied, checked, and brought back.

For an embedded store. Who runs a Redis of their own backs it up with its own tools, and calls `replay-erasures` after restoring it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

import semcache
from semcache.archive import backup as making
from semcache.archive import journal, manifest, restoring
from semcache.archive.erasing import Eraser
from semcache.archive.errors import ArchiveError
from semcache.archive.journal import Erasure
from semcache.archive.manifest import Manifest
from semcache.cli.archive_parts import Opened, opened, run
from semcache.cli.options import Config, Data, Json, Policies, settings_from
from semcache.cli.screen import Screen
from semcache.errors import SemcacheError
from semcache.prefix_parts import OWNERS_FILE
from semcache.process import SystemClock
from semcache.review.access import TOKEN_FILE
from semcache.settings import Settings

app = typer.Typer(help="Back a data directory up, check a backup, bring it back.", no_args_is_help=True)
Backup = Annotated[Path, typer.Argument(help="The backup's directory.")]
Journals = Annotated[
    list[Path] | None,
    typer.Option("--journal", help="A journal of erasures (erasures.jsonl); may come again."),
]
SECRETS = (OWNERS_FILE, TOKEN_FILE)
Result = TypeVar("Result")


@app.command("create")
def create(
    target: Backup,
    no_secrets: Annotated[
        bool, typer.Option("--no-secrets", help=f"Leave {' and '.join(SECRETS)} out.")
    ] = False,
    policies: Policies = None,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Back up the store, raw rows, policies and secrets of a data directory, whether or not a proxy runs on it."""
    settings = _embedded(settings_from(config, data=data, policies=policies))
    wanted = making.Wanted(
        settings.data, settings.policies, () if no_secrets else SECRETS, semcache.__version__
    )
    with Screen().waiting(f"backing {settings.data} up"):
        made = _run(making.create(wanted, target, SystemClock().now()))
    _show(made, target, "made", as_json=as_json)


@app.command("verify")
def verify(target: Backup, as_json: Json = False) -> None:
    """Check that everything in a backup is there as it was written."""
    try:
        found = manifest.verified(target)
    except OSError as error:
        raise _unreadable(error) from None
    _show(found, target, "sound", as_json=as_json)


@app.command("restore")
def restore(
    target: Backup,
    data: Annotated[Path, typer.Option(help="The data directory that it becomes: new, or empty.")],
    journals: Journals = None,
    as_json: Json = False,
) -> None:
    """Make a data directory of a backup. Whoever was erased since is erased from it before anything can be served."""
    with Screen().waiting(f"restoring {target}"):
        done = _run(restoring.restore(target, data, journals or (), _replay))
    if as_json:
        typer.echo(json.dumps({"data": str(data), "erasures": done.erasures, "removed": done.removed}))
        return
    typer.echo(
        f"{data} is what {target} was on {_day(done.backup.made_at)}; start it: semcache serve --data {data}"
    )
    if any(name.startswith("policies/") for name in done.backup.parts):
        typer.echo(f"its policies are in {data / 'policies'}: --policies {data / 'policies'}")
    if done.erasures:
        typer.echo(f"{done.erasures} erasures done again; {sum(done.removed.values())} things went")


@app.command("replay-erasures")
def replay_erasures(
    journals: Journals = None, data: Data = None, config: Config = None, as_json: Json = False
) -> None:
    """Erase again, here, whom the journals and the store itself know to be erased.

    For a Redis restored by its own tools, and for the data directories of other machines.
    """
    settings = settings_from(config, data=data)
    for path in journals or ():
        if not path.is_file():
            raise ArchiveError(f"there is no journal {path}")

    async def work(parts: Opened) -> tuple[int, dict[str, int]]:
        own = parts.eraser.site.journal
        named = await asyncio.to_thread(lambda: [journal.read(path) for path in (own, *(journals or ()))])
        known = [await parts.eraser.known(tenant) for tenant in await parts.eraser.tenants()]
        all_of_them = journal.merged([*named, *known])
        for erasure in journal.unknown(all_of_them, named[0]):
            await asyncio.to_thread(journal.append, own, erasure)
        return len(all_of_them), await parts.eraser.replay(all_of_them)

    count, removed = run(settings, work)
    if as_json:
        typer.echo(json.dumps({"erasures": count, "removed": removed}))
        return
    typer.echo(f"{count} erasures done again; {sum(removed.values())} things went")


async def _replay(data: Path, url: str, erasures: Sequence[Erasure]) -> dict[str, int]:
    settings = Settings(data=data)
    async with opened(settings, url) as parts:
        eraser: Eraser = parts.eraser
        return await eraser.replay(erasures)


def _embedded(settings: Settings) -> Settings:
    if settings.store.url is not None:
        raise SemcacheError(
            "the store is a Redis of yours: back it up with its own tools (and the data directory's files beside it), and"
            " after restoring it run `semcache backup replay-erasures`"
        )
    return settings


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    try:
        return asyncio.run(work)
    except OSError as error:
        raise _unreadable(error) from None


def _unreadable(error: OSError) -> SemcacheError:
    return SemcacheError(f"{error.filename or 'a file'}: {error.strerror or error}")


def _show(found: Manifest, target: Path, word: str, *, as_json: bool) -> None:
    size = sum(part.size for part in found.parts.values())
    if as_json:
        told = {"backup": str(target), "made_at": found.made_at, "parts": len(found.parts), "bytes": size}
        typer.echo(json.dumps(told | {"secrets": found.secrets, "version": found.version}))
        return
    secrets = "with secrets: keep it as you keep passwords" if found.secrets else "without secrets"
    typer.echo(
        f"{target}: {word}, {len(found.parts)} parts, {size / 2**20:.1f} MiB, of {_day(found.made_at)}, {secrets}"
    )


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
