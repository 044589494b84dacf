"""The files that raw rows stand in: their names, their forms, and who writes one.

    <writer>-<UTC time>.jsonl       being written while its writer holds a lock on it; else closed, or left by a crash
    <writer>-<UTC time>.jsonl.gz    closed and packed
    <writer>-<UTC time>.parquet     closed and packed

Several writers share a folder. A file under a packed form is whole: it was renamed to that name when it was. Where a crash left both
forms the packed one holds. Everything else in the folder is left alone. Knows no rows.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

LIVE = ".jsonl"
FORMS = (".parquet", ".jsonl.gz", LIVE)
"""Packed ones first."""
_LOOKS = 100
"""How often a folder is read anew whose files are packed or deleted meanwhile."""
_NAME = re.compile(r"([A-Za-z0-9_]{1,64}-(\d{8}T\d{6})\.(\d{3})Z)(\.parquet|\.jsonl\.gz|\.jsonl)")


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of rows. `begins` is when it was opened, in Unix seconds; `size` in bytes."""

    path: Path
    stem: str
    begins: float
    form: str
    size: int


def name_of(writer: str, now: float) -> str:
    """Give the name of a file that a writer opens now."""
    clean = re.sub(r"[^A-Za-z0-9_]", "_", writer)[:64] or "_"
    moment = datetime.fromtimestamp(now, UTC)
    return f"{clean}-{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z{LIVE}"


def files(folder: Path) -> list[Segment]:
    """Give all files of rows, oldest first, of one age by name.

    Raises:
        OSError: the folder cannot be read; one that is not there is empty.
    """
    for _ in range(_LOOKS):
        found = _listed(folder)
        if found is not None:
            break
    else:
        raise FileNotFoundError(errno.ENOENT, "the folder of rows does not come to rest", str(folder))
    return sorted(found, key=lambda segment: (segment.begins, segment.stem, FORMS.index(segment.form)))


def _listed(folder: Path) -> list[Segment] | None:
    """Give the files of rows; None when one went meanwhile: packed, it has a name by now that may not have been seen."""
    found: list[Segment] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                match = _NAME.fullmatch(entry.name)
                if match is None or not entry.is_file(follow_symlinks=False):
                    continue
                begins = _moment(match[2], match[3])
                try:
                    size = entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    return None
                if begins is not None:
                    found.append(Segment(Path(entry.path), match[1], begins, match[4], size))
    except FileNotFoundError:
        return []
    return found


def segments(folder: Path) -> list[Segment]:
    """Give the files to read: one of each name, a packed form before the other.

    Raises:
        OSError: as for `files`.
    """
    best: dict[str, Segment] = {}
    for segment in files(folder):
        best.setdefault(segment.stem, segment)
    return list(best.values())


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold the lock on a file that is there; gives False where somebody writes it, or it is gone."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        yield lock(file)
    finally:
        os.close(file)


def lock(file: int) -> bool:
    """Take the lock on an open file; it ends with the last descriptor. False where somebody else has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_at(file: int, path: Path) -> bool:
    """True when an open file is the one that has this name, and not one that was deleted meanwhile."""
    try:
        there = path.lstat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(file))


def packed_forms(path: Path) -> list[Path]:
    """Give the packed files that stand for a file of lines."""
    stem = path.name.removesuffix(LIVE)
    return [other for form in FORMS if form != LIVE and (other := path.with_name(stem + form)).exists()]


def synced(folder: Path) -> None:
    """Make renamings in a folder last.

    Raises:
        OSError: it cannot be done.
    """
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _moment(digits: str, thousandths: str) -> float | None:
    try:
        moment = datetime.strptime(digits, "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return moment.timestamp() + int(thousandths) / 1000
