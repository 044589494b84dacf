"""An export is read from a file: first all of it is checked, then entries come one by one. Memory stays flat.

Whatever is in the file, `ArchiveError` is the only error that comes of its content, and it comes before the first entry
unless the file changes meanwhile. Knows no store.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from semcache.archive.errors import ArchiveError
from semcache.archive.lines import Foot, Head, checked_body, read_foot, read_head


@dataclass(frozen=True, slots=True)
class Limits:
    """How large an export may be: bytes of a line, bytes and entries in all."""

    line: int = 128 << 20
    bytes: int = 256 << 30
    entries: int = 50_000_000


@dataclass(frozen=True, slots=True)
class Checked:
    """An export whose checksums held."""

    head: Head
    foot: Foot
    file: BinaryIO
    limits: Limits

    def bodies(self) -> Iterator[bytes]:
        """Yield the JSON of each entry, its checksum having held once more.

        Raises:
            ArchiveError: the file is not any more what was checked.
            OSError: it cannot be read.
        """
        self.file.seek(0)
        _line(self.file, 1, self.limits)
        for number in range(2, self.foot.count + 2):
            yield checked_body(_line(self.file, number, self.limits), number)


def open_export(path: Path) -> BinaryIO:
    """Open a file to import; the caller closes it.

    Raises:
        ArchiveError: it is no plain file.
        OSError: it cannot be read.
    """
    # A pipe would block right here.
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ArchiveError(f"{path} is no plain file")
    return os.fdopen(file, "rb", buffering=1 << 20)


def checked(file: BinaryIO, limits: Limits | None = None) -> Checked:
    """Check a whole export: its form, each line's checksum, and that of all of it.

    Raises:
        ArchiveError: it is refused; says at which line.
        OSError: it cannot be read.
    """
    limits = limits or Limits()
    file.seek(0)
    digest, size, count = hashlib.sha256(), 0, 0
    line = _line(file, 1, limits)
    head = read_head(line)
    while True:
        digest.update(line)
        size += len(line)
        if size > limits.bytes or count > limits.entries:
            raise ArchiveError("the export is larger than may be imported at once", count + 2)
        line = _line(file, count + 2, limits)
        if not line:
            raise ArchiveError("the export is cut off: it has no foot; nothing was imported", count + 2)
        if line.startswith(b'{"foot"'):
            break
        checked_body(line, count + 2)
        count += 1
    foot = read_foot(line)
    if foot is None or (foot.count, foot.sha256) != (count, digest.hexdigest()):
        raise ArchiveError("the foot of the export does not fit its lines; nothing was imported", count + 2)
    if file.read(1):
        raise ArchiveError("something stands behind the foot of the export", count + 3)
    return Checked(head, foot, file, limits)


def _line(file: BinaryIO, number: int, limits: Limits) -> bytes:
    line = file.readline(limits.line + 1)
    if len(line) > limits.line:
        raise ArchiveError(f"longer than {limits.line} bytes", number)
    if line and not line.endswith(b"\n"):
        raise ArchiveError("the export is cut off in the midst of a line; nothing was imported", number)
    return line
