"""A backup of a deployment with an embedded store: made while it runs, or while it rests.

    store      one snapshot by the server itself: all keys as of one moment
    files      raw rows, journal and receipts of erasures, secrets unless refused, policies
    manifest   last; without it the directory is no backup

Everything is written beside, and gets its name when it is whole. Left out is what can be made again: models, snapshots of
indexes, logs. Knows no command line.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from semcache.archive import journal, manifest
from semcache.archive.errors import ArchiveError
from semcache.archive.manifest import Manifest
from semcache.archive.receipts import FOLDER
from semcache.cost.segments import synced
from semcache.errors import StoreError
from semcache.store.compaction import FileWriter
from semcache.store.embedded import ChildRules, ValkeyChild, embedded_url

LEDGER = "ledger"
_LOCK = ".backup.lock"
_RDB = "dump.rdb"
"""Where the server writes a snapshot, in its own directory; nothing else makes it write one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is backed up.

    Attributes:
        data: the data directory.
        policies: the directory of policy files; None: there is none.
        secrets: names of files in the data directory that hold secrets and are to be in it.
        version: this release.
    """

    data: Path
    policies: Path | None
    secrets: tuple[str, ...]
    version: str


async def create(wanted: Wanted, target: Path, now: float) -> Manifest:
    """Make a backup.

    Args:
        wanted: what of.
        target: the directory that it becomes; must not be there, or be empty.
        now: Unix seconds.

    Raises:
        ArchiveError: the target is in use, or another backup runs.
        StoreError: the store cannot be started or written.
        OSError: files cannot be read or written; then there is no backup.
    """
    check_free(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.part")
    with _alone(wanted.data), _cleared(unfinished):
        unfinished.mkdir(mode=0o700)
        await asyncio.to_thread(_copy_files, wanted, unfinished)
        async with running(wanted.data) as url:
            await _copy_store(url, wanted.data / "valkey" / _RDB, unfinished / manifest.STORE)
        # Last: whoever was erased while the rest was copied stands in it, and is erased again when this is restored.
        await asyncio.to_thread(_copied, wanted.data / journal.NAME, unfinished / "data" / journal.NAME)
        made = await asyncio.to_thread(_sealed, wanted, unfinished, now)
        await asyncio.to_thread(take_name, unfinished, target)
    return made


def take_name(unfinished: Path, target: Path) -> None:
    """Give what is whole its name, in the place of an empty directory at most.

    Raises:
        OSError: the name is taken.
    """
    with suppress(FileNotFoundError):
        target.rmdir()
    unfinished.rename(target)
    synced(target.parent)


def check_free(target: Path) -> None:
    """Refuse a directory that holds something.

    Raises:
        ArchiveError: it does, or is none.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ArchiveError(f"{target} is there already, and no directory")
    if target.is_dir() and any(target.iterdir()):
        raise ArchiveError(f"{target} is not empty; name a new directory")


@asynccontextmanager
async def running(data: Path) -> AsyncIterator[str]:
    """Give the URL of a data directory's own store, started for the while if nobody runs it.

    Raises:
        StoreError: it cannot be started.
        ArchiveError: there is none.
    """
    if not (data / "valkey").is_dir():
        raise ArchiveError(f"{data} has no embedded store; a Redis of yours is backed up by its own tools")
    child = ValkeyChild(data, ChildRules())
    try:
        await child.start()
    except StoreError as error:
        if error.kind != "locked":
            raise
        yield embedded_url(data)
        return
    try:
        yield child.url
    finally:
        await child.stop()


async def _copy_store(url: str, snapshot: Path, copy: Path) -> None:
    writer = FileWriter(url)
    try:
        await writer.snapshot()
        await asyncio.to_thread(shutil.copyfile, snapshot, copy)
    finally:
        # It would keep what is erased later.
        await asyncio.to_thread(snapshot.unlink, missing_ok=True)
        await writer.aclose()


def _copy_files(wanted: Wanted, to: Path) -> None:
    data = to / "data"
    data.mkdir()
    for name in wanted.secrets:
        _copied(wanted.data / name, data / name)
    for folder in (LEDGER, FOLDER):
        for path in _plain_files(wanted.data / folder):
            _copied(path, data / folder / path.relative_to(wanted.data / folder))
    if wanted.policies is not None:
        for path in _plain_files(wanted.policies):
            _copied(path, to / "policies" / path.relative_to(wanted.policies))


def _copied(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # packed or let go meanwhile
        shutil.copyfile(path, to)


def _plain_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]


def _sealed(wanted: Wanted, unfinished: Path, now: float) -> Manifest:
    parts = {}
    for path in sorted(unfinished.rglob("*")):
        if path.is_file():
            path.chmod(0o600)
            with path.open("rb+") as file:
                os.fsync(file.fileno())
            parts[path.relative_to(unfinished).as_posix()] = manifest.part_of(path)
    secrets = any(f"data/{name}" in parts for name in wanted.secrets)
    made = Manifest(now, wanted.version, str(wanted.data.absolute()), secrets, parts)
    path = unfinished / manifest.NAME
    with path.open("wb") as file:
        file.write(made.dumps())
        file.flush()
        os.fsync(file.fileno())
    synced(unfinished)
    return made


@contextmanager
def _alone(data: Path) -> Iterator[None]:
    """Be the only backup of a data directory.

    Raises:
        ArchiveError: another one runs, or there is no such directory.
    """
    try:
        file = os.open(data / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        raise ArchiveError(f"there is no data directory {data}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ArchiveError(f"another backup of {data} runs") from None
    finally:
        os.close(file)


@contextmanager
def _cleared(unfinished: Path) -> Iterator[None]:
    """Leave nothing half-made, neither of an earlier run nor of this one."""
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        yield
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
