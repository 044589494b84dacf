"""Files on disk: digests, making a finished folder appear at once, links, leftovers.

Promises that the rest relies on: a folder under its final name is complete and on disk (each file
and the folder are synced before the rename), whatever dies at whatever moment.

Does NOT know: models, manifests' meaning, locks (callers hold the lock of the name).
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PIECE: Final = 64 * 1024
_PIECES: Final = 16
_READ_ONLY: Final = 0o444
_LINK_FORBIDDEN: Final = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EACCES})


def digest(path: Path) -> str:
    """Give the sha256 of a file, hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sample_digest(path: Path) -> str:
    """Give the sha256 of 16 pieces of 64 KiB spread evenly over a file (of all of it when small).

    It finds a file that was cut, overwritten, or never reached the disk, in a millisecond; a single
    flipped bit it mostly does not (`digest` does, at 1.5 GB/s).
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        if size <= _PIECE * _PIECES:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        state = hashlib.sha256()
        for index in range(_PIECES):
            stream.seek((size - _PIECE) * index // (_PIECES - 1))
            state.update(stream.read(_PIECE))
        return state.hexdigest()


def files_under(folder: Path) -> Iterator[str]:
    """Yield the relative paths of all files, with `/`, sorted."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()


def temporary(parent: Path, name: str) -> Path:
    """Make a fresh folder beside the final one; `sweep` finds it when its maker died."""
    path = parent / f".{name}.{secrets.token_hex(6)}.tmp"
    path.mkdir(parents=True)
    return path


def sweep(parent: Path, name: str) -> None:
    """Remove what dead runs left of `name`. The caller holds the lock, so nobody is using it."""
    for path in parent.glob(f".{name}.*.tmp"):
        shutil.rmtree(path, ignore_errors=True)


def seal(folder: Path) -> None:
    """Make all files of a folder read-only and push them to disk.

    Read-only, because the same file is linked into several places: who edits one edits them all.
    """
    for relative in files_under(folder):
        path = folder / relative
        path.chmod(_READ_ONLY)
        _sync(path)
    for path in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        _sync(path)


def publish(made: Path, target: Path) -> None:
    """Give a sealed folder its final name; what stood there before is removed.

    A reader sees the old folder, for an instant none, then the new one, never a mixture.
    """
    if target.exists():
        old = target.parent / f".{target.name}.{secrets.token_hex(6)}.tmp"
        target.rename(old)
        made.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        made.rename(target)
    _sync(target.parent)


def link_tree(origin: Path, target: Path) -> None:
    """Fill `target` with hard links to the files of `origin`, or copies across file systems."""
    for relative in files_under(origin):
        new = target / relative
        new.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.hardlink_to(origin / relative)
        except OSError as error:
            if error.errno not in _LINK_FORBIDDEN:
                raise
            shutil.copyfile(origin / relative, new)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
