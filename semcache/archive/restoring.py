"""A backup becomes a data directory again: checked, built beside, and given its name when everything of it holds.

Before it is given its name, all whom the journals know to be erased (the backup's, that of the data directory it was made
of, and those handed in) are erased from it, and the store gets another identity: every process that knew the
old one rebuilds what it derived from it. Knows no command line.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from semcache.archive import journal, manifest
from semcache.archive.backup import check_free, running, take_name
from semcache.archive.errors import ArchiveError
from semcache.archive.journal import Erasure
from semcache.archive.manifest import Manifest
from semcache.store.keys import Keys
from semcache.store.link import Link, LinkRules

_BASE = "appendonly.aof.1.base.rdb"
_FILES = f"file {_BASE} seq 1 type b\n"
"""The server's own list of its files: one whole snapshot, and nothing after it."""

Replay = Callable[[Path, str, Sequence[Erasure]], Awaitable[dict[str, int]]]
"""Erases again, in a data directory whose store answers at a URL; gives what was removed."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of it: the backup, who was erased again, and what went of them."""

    backup: Manifest
    erasures: int
    removed: dict[str, int]


async def restore(backup: Path, data: Path, journals: Sequence[Path], replay: Replay) -> Restored:
    """Make a data directory of a backup.

    Args:
        backup: the backup.
        data: the directory that it becomes; must not be there, or be empty.
        journals: journals of erasures that the backup may not know of.
        replay: erases again.

    Raises:
        ArchiveError: the backup is damaged, the target in use, a journal was changed; nothing was made.
        StoreError: the store does not read its snapshot, or an erasure could not be done again; likewise.
        OSError: files cannot be read or written; likewise.
    """
    found = await asyncio.to_thread(manifest.verified, backup)
    check_free(data)
    erasures = journal.merged([journal.read(path) for path in _journals(backup, found, journals)])
    data.parent.mkdir(parents=True, exist_ok=True)
    unfinished = data.with_name(f".{data.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        await asyncio.to_thread(_laid_out, backup, found, unfinished)
        if erasures:
            journal.write(unfinished / journal.NAME, erasures)
        async with running(unfinished) as url:
            await _renewed(url)
            removed = await replay(unfinished, url, erasures) if erasures else {}
        await asyncio.to_thread((unfinished / "valkey" / "socket.path").unlink, missing_ok=True)
        await asyncio.to_thread(take_name, unfinished, data)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Restored(found, len(erasures), removed)


def _journals(backup: Path, found: Manifest, named: Sequence[Path]) -> list[Path]:
    for path in named:
        if not path.is_file():
            raise ArchiveError(f"there is no journal {path}")
    # Of the directory it was made of, if that is still there: erased since then is erased here too.
    return [backup / "data" / journal.NAME, Path(found.data) / journal.NAME, *named]


def _laid_out(backup: Path, found: Manifest, to: Path) -> None:
    files = to / "valkey" / "appendonlydir"
    files.mkdir(mode=0o700, parents=True)
    to.chmod(0o700)
    for name, part in found.parts.items():
        if name == manifest.STORE:
            target = files / _BASE
        else:
            target = to / (name.removeprefix("data/") if name.startswith("data/") else name)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(backup / name, target)
        target.chmod(0o600)
        # What was checked is what was copied.
        if manifest.part_of(target) != part:
            raise ArchiveError(f"{name} changed while it was restored")
        with target.open("rb+") as file:
            os.fsync(file.fileno())
    (files / "appendonly.aof.manifest").write_text(_FILES, encoding="ascii")


async def _renewed(url: str) -> None:
    """Give the store another identity."""
    link = Link(url, LinkRules(deadline=30.0))
    try:
        await link.call("SET", Keys().shared("identity"), uuid.uuid4().hex)
    finally:
        await link.aclose()
