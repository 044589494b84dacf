"""Writes raw rows to a worker's own file; a full or read-only disk costs rows at most, never a request.

A file is closed when it is large enough and when the UTC day ends, and `keeping` packs it. Lines that cannot be written wait, bounded,
and are tried again some seconds later in a new file; what finds no room is counted as lost. Called from one thread.
Lines reach the system at each flush: a killed process loses none of them. Knows bytes, not rows.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog

from semcache.cost.segments import is_at, lock, name_of, packed_forms
from semcache.ports import Clock

_log = structlog.get_logger()
_DAY = 86_400
_MOST_WAITING = 8 << 20
_RETRY = 5.0
_NAMES = 100
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class Told(Protocol):
    """Hears of rows and files (`ledger_metrics.LedgerMetrics`)."""

    def rows(self, state: str, count: int = 1) -> None:
        """Rows were `written`, `lost` or `skipped`."""
        ...

    def segment(self, state: str) -> None:
        """A file was `closed`, `packed`, `deleted`, or `failed`."""
        ...


@dataclass(slots=True)
class _Open:
    """The file being written."""

    file: int
    path: Path
    day: int
    size: int = 0


class RowFiles:
    """One worker's writer of rows.

    Args:
        folder: where files stand; made when the first row comes, for its owner alone.
        writer: a name that no other worker has.
        rotate: bytes at which a file is closed.
        clock: time.
        told: the metrics.
        closed: called after a file was closed.
    """

    def __init__(
        self,
        folder: Path,
        writer: str,
        rotate: int,
        clock: Clock,
        told: Told,
        closed: Callable[[], None] | None = None,
    ) -> None:
        self._folder = folder
        self._writer = writer
        self._rotate = rotate
        self._clock = clock
        self._told = told
        self._closed = closed
        self._open: _Open | None = None
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._next = 0.0
        self._failing = False

    @property
    def path(self) -> Path | None:
        """The file being written."""
        return None if self._open is None else self._open.path

    def write(self, lines: Sequence[bytes]) -> None:
        """Write whole lines, and what waits. Never raises."""
        for line in lines:
            if self._bytes + len(line) > _MOST_WAITING:
                self._told.rows("lost")
                continue
            self._waiting.append(line)
            self._bytes += len(line)
        if self._open is not None and self._is_over(self._open):
            self._close()
        if self._waiting and self._clock.monotonic() >= self._next:
            try:
                self._drain()
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Write what waits, or count it as lost, and close the file. Idempotent, never raises."""
        self._next = 0.0
        self.write([])
        if self._waiting:
            self._told.rows("lost", len(self._waiting))
            self._waiting.clear()
            self._bytes = 0
        self._close()

    def _close(self) -> None:
        """Close the file; the next line begins another."""
        opened, self._open = self._open, None
        if opened is None:
            return
        try:
            if opened.size:
                os.fsync(opened.file)
            else:
                opened.path.unlink(missing_ok=True)
        except OSError:
            self._told.segment("failed")
        finally:
            with contextlib.suppress(OSError):
                os.close(opened.file)
        if opened.size:
            self._told.segment("closed")
            if self._closed is not None:
                self._closed()

    def _is_over(self, opened: _Open) -> bool:
        return opened.size >= self._rotate or opened.day != int(self._clock.now() // _DAY)

    def _drain(self) -> None:
        """Write what waits.

        Raises:
            OSError: no file, no room.
        """
        while self._waiting:
            if self._open is None:
                self._open = self._opened()
            # In pieces, so that a file does not grow far beyond its size.
            piece = self._piece()
            try:
                self._put(self._open, piece)
            finally:
                if self._open is not None and self._is_over(self._open):
                    self._close()
        if self._failing:
            self._failing = False
            _log.info("rows of the ledger are written again")

    def _piece(self) -> bytes:
        size = 0
        lines: list[bytes] = []
        for line in self._waiting:
            if lines and size + len(line) > self._rotate:
                break
            lines.append(line)
            size += len(line)
        return b"".join(lines)

    def _put(self, opened: _Open, piece: bytes) -> None:
        """Write lines; those that arrived whole wait no longer, whatever comes after.

        Raises:
            OSError: no room.
        """
        view, done = memoryview(piece), 0
        try:
            while done < len(piece):
                done += os.write(opened.file, view[done:])
        finally:
            opened.size += done
            written = 0
            while self._waiting and done >= len(self._waiting[0]):
                line = self._waiting.popleft()
                done -= len(line)
                self._bytes -= len(line)
                written += 1
            self._told.rows("written", written)

    def _opened(self) -> _Open:
        """Open a new file.

        Raises:
            OSError: it cannot be made.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        now = self._clock.now()
        for turn in range(_NAMES):
            path = self._folder / name_of(self._writer, now + turn / 1000)
            file = _made(path)
            if file is not None:
                return _Open(file, path, int(now // _DAY))
        raise FileExistsError(errno.EEXIST, "File exists")

    def _fail(self, error: OSError) -> None:
        """Give the file up, which may end in half a line, and say so once."""
        self._close()
        self._told.segment("failed")
        self._next = self._clock.monotonic() + _RETRY
        if not self._failing:
            self._failing = True
            _log.error(
                "rows of the ledger cannot be written; requests go on",
                folder=str(self._folder),
                problem=error.strerror,
            )


def _made(path: Path) -> int | None:
    """Make a file and lock it; None where the name is taken, or the file was, before it was locked.

    Two may follow each other within a millisecond, and a packer deletes what it finds empty and unlocked.

    Raises:
        OSError: it cannot be made.
    """
    try:
        file = os.open(path, _NEW, 0o600)
    except FileExistsError:
        return None
    # One that was packed under this name already would be taken for the same rows, and this one deleted.
    if lock(file) and is_at(file, path) and not packed_forms(path):
        return file
    os.close(file)
    return None
