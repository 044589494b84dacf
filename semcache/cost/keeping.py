"""Keeps the files of rows: packs those that are closed, deletes the oldest, clears up what a crash left.

    once a minute, and when a file was closed, in a thread of its own, one process of all at a time:
        too old, or too much in all -> deleted, oldest first, never one being written
        closed -> temporary file -> on disk -> renamed -> the lines deleted

Whatever moment it is killed at, every row is in one file that readers look at. Never touches a file being written.
"""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from semcache.cost.parquet import ParquetError, pack_lines, write_parquet
from semcache.cost.row_fields import Row
from semcache.cost.row_reader import read_file
from semcache.cost.rows import Told
from semcache.cost.segments import LIVE, Segment, files, held, lock, packed_forms, synced
from semcache.ports import Clock

_log = structlog.get_logger()
_EVERY = 60.0
_DAY = 86_400.0
_TEMPORARY = ".packing-"
_LOCK = ".keeping"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class KeepRules:
    """What is kept: in which form, for how many days, and how many bytes in all."""

    form: Literal["jsonl", "parquet"] = "jsonl"
    days: int = 30
    bytes: int = 4 << 30


class _Stopped(Exception):  # noqa: N818 - no error: the process ends
    pass


class Keeper:
    """Looks after a folder of rows.

    Args:
        folder: the ledger's.
        rules: what is kept.
        clock: time.
        told: the metrics.
    """

    def __init__(self, folder: Path, rules: KeepRules, clock: Clock, told: Told) -> None:
        self._folder = folder
        self._rules = rules
        self._clock = clock
        self._told = told
        self._wanted = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._failing = False

    def start(self) -> None:
        """Begin."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="semcache-ledger-keeper", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Look now instead of within the minute."""
        self._wanted.set()

    def stop(self) -> None:
        """End; what is being packed is packed again by the next one. Idempotent."""
        self._stopping = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def tidy(self) -> None:
        """Look once. Never raises."""
        try:
            self._tidy()
            self._failing = False
        except _Stopped:
            return
        except (OSError, ParquetError) as error:
            self._told.segment("failed")
            if not self._failing:
                self._failing = True
                problem = error.strerror if isinstance(error, OSError) else str(error)
                _log.error(
                    "files of the ledger cannot be kept in order", folder=str(self._folder), problem=problem
                )

    def _run(self) -> None:
        while not self._stopping:
            self._wanted.clear()
            self.tidy()
            self._wanted.wait(_EVERY)

    def _tidy(self) -> None:
        if not self._folder.is_dir():
            return
        file = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            # Another process is at it.
            if not lock(file):
                return
            self._clear_up()
            # First: it may make the room that packing needs.
            self._let_go()
            faults = [
                fault for segment in files(self._folder) if (fault := self._closed(segment)) is not None
            ]
            self._let_go()
            if faults:
                raise faults[0]
        finally:
            os.close(file)

    def _clear_up(self) -> None:
        """Delete what a killed packer left."""
        for path in self._folder.glob(f"{_TEMPORARY}*"):
            path.unlink(missing_ok=True)

    def _let_go(self) -> None:
        """Delete the oldest files beyond age and size."""
        kept = files(self._folder)
        total = sum(segment.size for segment in kept)
        oldest = self._clock.now() - self._rules.days * _DAY
        for segment in kept:
            # A file holds a day at most: it is too old when its end is.
            if segment.begins + _DAY >= oldest and total <= self._rules.bytes:
                continue
            if self._delete(segment):
                total -= segment.size

    def _delete(self, segment: Segment) -> bool:
        if segment.form != LIVE:
            segment.path.unlink(missing_ok=True)
        else:
            with held(segment.path) as ours:
                if not ours:
                    return False
                segment.path.unlink(missing_ok=True)
        self._told.segment("deleted")
        return True

    def _closed(self, segment: Segment) -> OSError | ParquetError | None:
        """Pack a file if it is closed; gives the fault, so that one file keeps no other from it."""
        if segment.form != LIVE:
            return None
        try:
            self._close(segment)
        except (OSError, ParquetError) as error:
            return error
        return None

    def _close(self, segment: Segment) -> None:
        """Pack a file that nobody writes any more."""
        with held(segment.path) as ours:
            if not ours:
                return
            suffix = ".parquet" if self._rules.form == "parquet" else ".jsonl.gz"
            target = segment.path.with_name(segment.stem + suffix)
            # Its size when the folder was read may be that of a moment when its writer had just opened it.
            if segment.path.stat().st_size and not packed_forms(segment.path):
                self._pack(segment.path, target)
            segment.path.unlink(missing_ok=True)

    def _pack(self, source: Path, target: Path) -> None:
        """Write the packed file and give it its name once it is whole."""
        temporary = target.with_name(_TEMPORARY + target.name)
        try:
            # For its owner alone from the beginning; the writers below open what is there.
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
            if self._rules.form == "parquet":
                left = pack_lines(source, temporary)
                if left is None:
                    write_parquet(temporary, self._rows(source))
                elif left:
                    self._skipped(source, 1)
            else:
                self._squeeze(source, temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.rename(target)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        synced(self._folder)
        self._told.segment("packed")

    def _rows(self, source: Path) -> Iterator[Row]:
        for turn, row in enumerate(read_file(source, self._skipped)):
            if turn % 1000 == 0 and self._stopping:
                raise _Stopped
            yield row

    def _squeeze(self, source: Path, target: Path) -> None:
        """Compress lines as they are; a half one at the end stays, and readers leave it away."""
        with (
            source.open("rb") as lines,
            target.open("wb") as raw,
            gzip.GzipFile("", "wb", 6, raw, 0) as packed,
        ):
            while chunk := lines.read(_CHUNK):
                if self._stopping:
                    raise _Stopped
                packed.write(chunk)

    def _skipped(self, path: Path, count: int) -> None:
        self._told.rows("skipped", max(1, count))
        _log.warning("lines of the ledger are no rows and were left away", file=path.name, lines=count)
