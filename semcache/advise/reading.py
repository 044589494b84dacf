"""Log files as rows, in time order, in flat memory, read as often as one likes.

    with opened_logs(files, watcher) as logs:
        for row in logs.rows(watcher): ...
        logs.reading   # what was read and what was skipped

Files are looked through once, to find what cannot be read and whether rows stand in time order; then each reading of the
rows goes straight through the files, or from place to place where they have to be sorted. Knows no model and no policy.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from semcache.advise.decoding import Flaw
from semcache.advise.findings import FileRead, Reading
from semcache.advise.formats.recognise import rows_of
from semcache.advise.forms import BROKEN, Shape, shape_of, value_of, values
from semcache.advise.ordering import Place, Places
from semcache.advise.rows import LogRow, Skipped, SkippedTally, Watcher
from semcache.advise.splitting import Record
from semcache.advise.spool import Source, source_of
from semcache.errors import SemcacheError

_EVERY = 1 << 20
"""Bytes between two reports of progress."""
_MOST_OPEN = 32


@dataclass(slots=True)
class _File:
    source: Source
    shape: Shape
    sources: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    skipped: int = 0
    is_broken: bool = False
    """The system could not read it to its end."""


@dataclass(slots=True)
class _Looked:
    """What is known after all files were looked through."""

    tally: SkippedTally = field(default_factory=SkippedTally)
    first: float = math.inf
    last: float = -math.inf
    rows: int = 0
    untimed: int = 0


class Logs:
    """Files that were looked through once: their rows can be had in time order, again and again."""

    def __init__(self, files: Sequence[_File], places: Places, reading: Reading, limit: int) -> None:
        self._files = files
        self._places = places
        self._limit = limit
        self.reading = reading

    def rows(self, told: Watcher) -> Iterator[LogRow]:
        """Give all rows in time order; those without a time stand where they stood in their file.

        Raises:
            SemcacheError: a file is not there any more.
        """
        rows = self._sorted() if self.reading.sorted else self._straight()
        for number, row in enumerate(rows, 1):
            yield row
            if number % 64 == 0:
                told.advance(64)
            if number == self.reading.rows:
                told.advance(number % 64)
                return

    def _straight(self) -> Iterator[LogRow]:
        for file in self._files:
            for record, value in values(file.source, file.shape):
                if value == Flaw(BROKEN) and not file.is_broken:
                    raise SemcacheError(f"{file.source.name}: {BROKEN}")
                yield from _rows(file, record, value)

    def _sorted(self) -> Iterator[LogRow]:
        handles = _Handles()
        try:
            for place in self._places:
                file = self._files[place.file]
                try:
                    record = _read(handles.opened(place.file, file.source.path), place)
                except OSError:
                    raise SemcacheError(f"{file.source.name}: {BROKEN}") from None
                yield from _rows(file, record, value_of(record, file.shape))
        finally:
            handles.close()


class _Handles:
    """Files that are open, the latest few: there may be more files than a process may have open."""

    def __init__(self) -> None:
        self._opened: OrderedDict[int, IO[bytes]] = OrderedDict()

    def opened(self, number: int, path: Path) -> IO[bytes]:
        """Give a file, opened."""
        found = self._opened.pop(number, None)
        if found is None:
            if len(self._opened) >= _MOST_OPEN:
                self._opened.popitem(last=False)[1].close()
            found = path.open("rb")
        self._opened[number] = found
        return found

    def close(self) -> None:
        """Close all."""
        for file in self._opened.values():
            file.close()


@contextmanager
def opened_logs(files: Sequence[Path], told: Watcher, *, form: str = "", limit: int = 0) -> Iterator[Logs]:
    """Look through files once.

    Args:
        files: `-` is standard input.
        told: hears how far it is, in bytes.
        form: one of `forms.FORMATS`, or "": told by looking.
        limit: take only so many rows from the front; 0: all.
    """
    with tempfile.TemporaryDirectory(prefix="semcache-analyze-") as name:
        folder, looked = Path(name), _Looked()
        found = _found(files, folder, told, form, looked)
        places = Places(folder)
        try:
            for number, file in enumerate(found):
                _look(number, file, places, looked, told, limit)
            yield Logs(found, places, _reading(found, places, looked, limit), limit)
        finally:
            places.close()


def read_logs(files: Sequence[Path], told: Watcher, *, form: str = "") -> Iterator[LogRow | Skipped]:
    """Give what stands in files, file after file, in the order of each file."""
    with tempfile.TemporaryDirectory(prefix="semcache-analyze-") as name:
        looked = _Looked()
        found = _found(files, Path(name), told, form, looked)
        yield from looked.tally.examples
        for file in found:
            for record, value in values(file.source, file.shape):
                for _, row in _made(file, record, value):
                    yield row


def _found(files: Sequence[Path], folder: Path, told: Watcher, form: str, looked: _Looked) -> list[_File]:
    found: list[_File] = []
    for number, path in enumerate(files):
        source = source_of(path, folder, number, told)
        if isinstance(source, Skipped):
            looked.tally.add(source)
            continue
        shape = shape_of(source, form)
        if isinstance(shape, Skipped):
            looked.tally.add(shape)
            continue
        if source.flaw:
            looked.tally.add(Skipped(source.name, 0, source.flaw))
        found.append(_File(source, shape))
    return found


def _look(number: int, file: _File, places: Places, looked: _Looked, told: Watcher, limit: int) -> None:
    told.stage(f"reading {file.source.name}", file.source.size)
    told_of, time = file.source.start, -math.inf
    for record, value in values(file.source, file.shape):
        if limit and looked.rows >= limit:
            break
        file.is_broken = value == Flaw(BROKEN)
        rows = list(_made(file, record, value))
        for whose, row in rows:
            _count(file, looked, whose, row)
        times = [row.at for _, row in rows if isinstance(row, LogRow) and row.at is not None]
        time = min(times, default=time)
        if any(isinstance(row, LogRow) for _, row in rows):
            places.add(time, Place(number, record.offset, record.length, record.line))
        if record.offset - told_of >= _EVERY:
            told.advance(record.offset - told_of)
            told_of = record.offset
    told.advance(file.source.size - told_of)


def _count(file: _File, looked: _Looked, whose: str, row: LogRow | Skipped) -> None:
    if isinstance(row, Skipped):
        file.skipped += 1
        looked.tally.add(row)
        return
    file.rows += 1
    file.sources[whose] += 1
    looked.rows += 1
    if row.at is None:
        looked.untimed += 1
    else:
        looked.first, looked.last = min(looked.first, row.at), max(looked.last, row.at)


def _made(file: _File, record: Record, value: object) -> Iterator[tuple[str, LogRow | Skipped]]:
    """Give a record's rows, in time order among themselves, and what is wrong with it; and whose they are."""
    name = file.source.name
    if isinstance(value, Flaw):
        yield "", Skipped(name, record.line, value.reason)
        return
    made: list[tuple[str, LogRow]] = []
    for whose, found in rows_of(value, file.shape.source):
        if isinstance(found, str):
            yield whose, Skipped(name, record.line, found)
        else:
            made.append((whose, found.at_line(name, record.line)))
    if len(made) > 1:
        made.sort(key=lambda each: each[1].at or 0.0)
    yield from made


def _rows(file: _File, record: Record, value: object) -> Iterator[LogRow]:
    for _, row in _made(file, record, value):
        if isinstance(row, LogRow):
            yield row


def _read(file: IO[bytes], place: Place) -> Record:
    file.seek(place.offset)
    return Record(place.offset, place.length, place.line, file.read(place.length))


def _reading(files: Sequence[_File], places: Places, looked: _Looked, limit: int) -> Reading:
    timed = looked.rows > looked.untimed
    return Reading(
        files=tuple(
            FileRead(
                file.source.name,
                file.shape.form.value,
                tuple(file.sources.most_common()),
                file.source.size,
                file.rows,
                file.skipped,
            )
            for file in files
        ),
        rows=looked.rows,
        skipped=looked.tally.total,
        reasons=tuple(looked.tally.reasons.most_common()),
        examples=tuple(map(str, looked.tally.examples)),
        first=looked.first if timed else None,
        last=looked.last if timed else None,
        untimed=looked.untimed,
        order="time" if timed else "file",
        sorted=not places.is_sorted,
        limited=bool(limit) and looked.rows >= limit,
    )
