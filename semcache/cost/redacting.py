"""Takes a name out of raw rows: labels of an end user who is to be erased. Rows and their money stay.

    lines being written, or closed   changed in place, within their own bytes: their writer goes on appending to the same file
    packed files                     written anew beside, on disk, renamed

A killed run leaves whole files; doing it again does the rest. While it works nobody packs or deletes files here.
Knows no store, and the name only as a question that somebody answers.
"""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from semcache.cost.parquet import ParquetError, read_parquet, write_parquet
from semcache.cost.row_fields import Row
from semcache.cost.row_reader import LONGEST
from semcache.cost.segments import LIVE, Segment, files, lock, synced

ERASED = "~erased"
"""What stands where a name stood ("~" where there is no room for more)."""
_COLUMNS = ("key", "project", "environment", "business_line", "task")
_TEMPORARY = ".packing-"
_LOCK = ".keeping"
_PATIENCE = 30.0
_PAUSE = 0.05

IsName = Callable[[str], bool]


@dataclass(slots=True)
class Redacted:
    """Rows that named somebody, and files that could not be looked through (`name: why`)."""

    rows: int
    left: list[str]


def redact(folder: Path, tenant: str, is_name: IsName, *, remove: bool, name: str = "") -> Redacted:
    """Count the rows of a tenant that hold a name, and take it out of them if asked to.

    Args:
        folder: the ledger's; one that is not there holds nothing.
        tenant: whose rows.
        is_name: tells the name.
        remove: change files; else only count.
        name: the name itself, where it is known: lines without it need not be read.

    Raises:
        OSError: the folder cannot be read or locked.
    """
    done = Redacted(0, [])
    if not folder.is_dir():
        return done
    redactor = _Redactor(tenant, is_name, _hint(name), remove=remove)
    with _kept(folder):
        for segment in files(folder):
            try:
                done.rows += redactor.file(segment)
            except FileNotFoundError:
                continue  # let go by age meanwhile
            except (OSError, ParquetError, EOFError) as error:
                done.left.append(f"{segment.path.name}: {error}")
    return done


class _Redactor:
    def __init__(self, tenant: str, is_name: IsName, hint: bytes, *, remove: bool) -> None:
        self._hint = hint
        self._tenant = tenant
        self._is_name = is_name
        self._remove = remove
        self._known: dict[str, bool] = {}

    def file(self, segment: Segment) -> int:
        if segment.form == LIVE:
            return self._in_place(segment.path)
        count = sum(1 for row in _packed(segment.path, self._hint) if self._change(row))
        if count and self._remove:
            self._anew(segment.path)
        return count

    # -- files ------------------------------------------------------------------------------

    def _in_place(self, path: Path) -> int:
        count, at = 0, 0
        with path.open("rb+" if self._remove else "rb") as file:
            while line := file.readline(LONGEST):
                row = _row(line) if self._hint in line else None
                if row is not None and self._change(row):
                    count += 1
                    if self._remove:
                        os.pwrite(file.fileno(), self._fitted(line), at)
                at += len(line)
            if count and self._remove:
                os.fsync(file.fileno())
        return count

    def _fitted(self, line: bytes) -> bytes:
        """Give the line without the name in as many bytes; blanks behind a JSON object mean nothing."""
        for word in (ERASED, "~"):
            row: dict[str, Any] = orjson.loads(line)
            self._change(row, word)
            text = orjson.dumps(row)
            if len(text) < len(line):
                return text.ljust(len(line) - 1) + b"\n"
        return b" " * (len(line) - 1) + b"\n"  # no line of ours: a row less, and no name

    def _anew(self, path: Path) -> None:
        temporary = path.with_name(_TEMPORARY + path.name)
        try:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
            if path.suffix == ".parquet":
                write_parquet(temporary, self._rows(path))
            else:
                with temporary.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as packed:
                    for row in self._rows(path):
                        packed.write(orjson.dumps(row) + b"\n")
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.rename(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        synced(path.parent)

    def _rows(self, path: Path) -> Iterator[Row]:
        for row in _packed(path):
            self._change(row)
            yield row

    # -- rows -------------------------------------------------------------------------------

    def _change(self, row: dict[str, Any], word: str = ERASED) -> bool:
        """Take the name out of a row; False when it was not there."""
        if row.get("tenant") != self._tenant:
            return False
        found = False
        for column in _COLUMNS:
            if self._is(row.get(column)):
                row[column], found = word, True
        labels = _labels(row.get("labels"))
        named = [name for name, value in labels.items() if self._is(value)]
        if named:
            row["labels"] = orjson.dumps(labels | dict.fromkeys(named, word)).decode()
        return found or bool(named)

    def _is(self, value: object) -> bool:
        if not isinstance(value, str) or not value:
            return False
        known = self._known.get(value)
        if known is None:
            if len(self._known) > 100_000:
                self._known.clear()
            known = self._known[value] = self._is_name(value)
        return known


@contextmanager
def _kept(folder: Path) -> Iterator[None]:
    """Hold off those who pack and delete.

    Raises:
        OSError: they do not end, or the folder takes no file.
    """
    file = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        until = time.monotonic() + _PATIENCE
        while not lock(file):
            if time.monotonic() > until:
                raise TimeoutError(f"somebody packs files of {folder} for too long")
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(file)


def _hint(name: str) -> bytes:
    """Give the bytes that every line with a name holds; b"" where JSON may spell it in more than one way."""
    plain = name.isprintable() and '"' not in name and "\\" not in name
    return name.encode("utf-8", "replace") if plain else b""


def _packed(path: Path, hint: bytes = b"") -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        for row in read_parquet(path):
            yield dict(row)
        return
    with gzip.open(path) as lines:
        yield from _read(lines, hint)


def _read(lines: BinaryIO | gzip.GzipFile, hint: bytes) -> Iterator[dict[str, Any]]:
    while line := lines.readline(LONGEST):
        row = _row(line) if hint in line else None
        if row is not None:
            yield row


def _row(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def _labels(text: object) -> dict[str, Any]:
    try:
        labels = orjson.loads(text) if isinstance(text, str) and text else {}
    except orjson.JSONDecodeError:
        return {}
    return labels if isinstance(labels, dict) else {}
