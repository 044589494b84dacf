"""The directory that an index's snapshots lie in: one writer, any number of readers, never half a snapshot.

    lock         held by the process that may change anything here, as long as it lives
    manifest     names the vectors' file, its size and its last digest; written last
    <n>.vectors  what `snapshot_format` writes
    *.part       being written
    *.bad        what was refused last, for whoever wants to know why

A snapshot is written beside, forced to the disk and given its name; then the manifest is, in the same way; then the
one before goes. So whenever the machine stops there is the old one, or the new one. At most two lie here, and one that
was refused. Blocking: call from a thread. Knows nothing of indexes or of when to write.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from semcache.errors import VectorIndexError
from semcache.lookup.snapshot_format import Block, Header, Reader, Writer

_MAGIC = b"SCINDEX manifest 1\n"
_NUMBERS = struct.Struct(">QQ32s")
_SUM = 32
_MANIFEST, _LOCK, _VECTORS, _PART, _BAD = "manifest", "lock", ".vectors", ".part", ".bad"
_TRIES = 3
_BAD_SECONDS = 7 * 86_400.0
"""How long what was refused is kept: it holds vectors."""


@dataclass(frozen=True, slots=True)
class _Manifest:
    """Which file, of how many bytes, ending in which digest."""

    number: int
    size: int
    digest: bytes

    def packed(self) -> bytes:
        body = _MAGIC + _NUMBERS.pack(self.number, self.size, self.digest)
        return body + hashlib.sha256(body).digest()


class Opened:
    """A snapshot that is open for reading. Close it, however reading ends."""

    def __init__(self, file: BinaryIO, manifest: _Manifest) -> None:
        self._file = file
        self._manifest = manifest
        self.size = manifest.size
        if os.fstat(file.fileno()).st_size != manifest.size:
            raise VectorIndexError("index snapshot: another size than its manifest says", kind="snapshot")
        self._reader = Reader(file, manifest.size)

    @property
    def header(self) -> Header:
        """What stands at its beginning; checked."""
        return self._reader.header

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, each checked; ends only where the whole was as it should be.

        Raises:
            VectorIndexError: `snapshot`: it was changed. `OSError` is let through.
        """
        yield from self._reader.blocks()
        if self._reader.digest != self._manifest.digest:
            raise VectorIndexError("index snapshot: another one than its manifest names", kind="snapshot")

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        self._file.close()


class Shelf:
    """The snapshots in `folder`, which is made when it is first written to.

    Args:
        folder: on a local disk; nothing else lies there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: int | None = None

    def claim(self) -> bool:
        """Become the one who writes here, for the life of the process; False while another process is.

        Raises:
            OSError: the folder cannot be made or written.
        """
        if self._lock is not None:
            return True
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            if isinstance(error, BlockingIOError):
                return False
            raise
        self._lock = lock
        return True

    def open(self) -> Opened | None:
        """Open the snapshot, its header checked; None when there is none.

        Raises:
            VectorIndexError: `snapshot` or `version`: what lies there is not to be used.
            OSError: it cannot be read.
        """
        for last in (False,) * (_TRIES - 1) + (True,):
            manifest = self._manifest()
            if manifest is None:
                return None
            try:
                file = (self._folder / f"{manifest.number}{_VECTORS}").open("rb")
            except FileNotFoundError:
                # A newer one may have come in between; if not, the manifest names nothing.
                if last:
                    raise VectorIndexError(
                        "index snapshot: the vectors' file is missing", kind="snapshot"
                    ) from None
                continue
            try:
                return Opened(file, manifest)
            except BaseException:
                file.close()
                raise
        return None

    def draft(self, header: Header) -> Draft | None:
        """Begin to write; None when another process writes here.

        Raises:
            OSError: it cannot be done.
        """
        if not self.claim():
            return None
        self._sweep()
        return Draft(self._folder, self._next(), header)

    def set_aside(self) -> None:
        """Take what lies here out of use and keep it as the last that was refused; only who may write does.

        Raises:
            OSError: it cannot be done.
        """
        if not self.claim():
            return
        for path in self._vectors():
            os.utime(path)
            path.replace(self._folder / f"vectors{_BAD}")
        with contextlib.suppress(FileNotFoundError):
            (self._folder / _MANIFEST).replace(self._folder / f"{_MANIFEST}{_BAD}")
        _sync_folder(self._folder)

    def purge(self) -> bool:
        """Delete every vector that lies here, refused ones too; False when another process writes here.

        Raises:
            OSError: it cannot be done.
        """
        if not self._folder.exists():
            return True
        if not self.claim():
            return False
        (self._folder / _MANIFEST).unlink(missing_ok=True)
        for path in list(self._folder.iterdir()):
            if path.suffix in (_VECTORS, _PART, _BAD):
                path.unlink(missing_ok=True)
        _sync_folder(self._folder)
        return True

    def close(self) -> None:
        """Let another process write here. Idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _manifest(self) -> _Manifest | None:
        try:
            with (self._folder / _MANIFEST).open("rb") as file:
                raw = file.read(4096)
        except FileNotFoundError:
            return None
        body = raw[:-_SUM]
        if hashlib.sha256(body).digest() != raw[-_SUM:] or len(body) != len(_MAGIC) + _NUMBERS.size:
            raise VectorIndexError("index snapshot: the manifest was changed", kind="snapshot")
        if not body.startswith(_MAGIC):
            raise VectorIndexError("index snapshot: a manifest of another version", kind="version")
        return _Manifest(*_NUMBERS.unpack(body[len(_MAGIC) :]))

    def _vectors(self) -> list[Path]:
        return list(self._folder.glob(f"*{_VECTORS}"))

    def _next(self) -> int:
        numbers = [int(path.stem) for path in self._vectors() if path.stem.isdigit()]
        return max(numbers, default=0) + 1

    def _sweep(self) -> None:
        """Delete what a process that ended while writing has left."""
        for path in self._folder.glob(f"*{_PART}"):
            path.unlink(missing_ok=True)
        for path in self._folder.glob(f"*{_BAD}"):
            if time.time() - path.stat().st_mtime > _BAD_SECONDS:
                path.unlink(missing_ok=True)
        kept = None
        with contextlib.suppress(VectorIndexError, OSError):
            kept = self._manifest()
        for path in self._vectors():
            if kept is None or path.stem != str(kept.number):
                path.unlink(missing_ok=True)


class Draft:
    """A snapshot that is being written. `drop` it, however that ends."""

    def __init__(self, folder: Path, number: int, header: Header) -> None:
        self._folder = folder
        self._number = number
        self._part = folder / f"{number}{_PART}"
        self._file = _create(self._part)
        try:
            self.writer = Writer(self._file, header)
        except BaseException:
            self.drop()
            raise

    def publish(self) -> int:
        """Put it in the place of the one before; gives its bytes.

        Raises:
            OSError: it could not be written.
        """
        self.writer.finish()
        _force(self._file)
        self._file.close()
        place = self._folder / f"{self._number}{_VECTORS}"
        self._part.replace(place)
        try:
            # The name must be on the disk before a manifest says it.
            _sync_folder(self._folder)
            self._point(_Manifest(self._number, self.writer.size, self.writer.digest))
        except BaseException:
            place.unlink(missing_ok=True)
            raise
        # From here on it is this one, whether or not the rest succeeds.
        _sync_folder(self._folder)
        for path in self._folder.glob(f"*{_VECTORS}"):
            if path != place:
                path.unlink(missing_ok=True)
        return self.writer.size

    def drop(self) -> None:
        """Leave nothing of it, unless it was published. Idempotent."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)

    def _point(self, manifest: _Manifest) -> None:
        part = self._folder / f"{_MANIFEST}{_PART}"
        try:
            with _create(part) as file:
                file.write(manifest.packed())
                _force(file)
            part.replace(self._folder / _MANIFEST)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _create(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "wb", buffering=1 << 20)


def _force(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
