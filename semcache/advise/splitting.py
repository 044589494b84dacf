"""Files cut into records: lines, the elements of a JSON array of any length, the rows of a CSV file.

One pass, flat memory: a record longer than `MAX_RECORD` is reported and passed over. Offsets are kept, so that a record can
be read again. Knows nothing of what records mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import IO

from semcache.advise.json_splitting import JsonSplitter

MAX_RECORD = 16 << 20
"""Bytes of one record."""
MAX_ROW = 4 << 20
"""Bytes of one row of a CSV file: a quote that is never closed must not swallow everything."""

TOO_LONG = f"is longer than {MAX_RECORD >> 20} MiB"
UNCLOSED = f"a quote is not closed within {MAX_ROW >> 20} MiB: these lines were passed over"
CUT = "the file ends in the middle of it"


class Form(StrEnum):
    """How a file's records are told apart."""

    LINES = "jsonl"
    DOCUMENT = "json"
    CSV = "csv"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Record:
    """A stretch of a file: where it lies, the line that it begins in (from 1), and its bytes. `flaw`: it has none, and why."""

    offset: int
    length: int
    line: int
    raw: bytes
    flaw: str = ""


def records(file: IO[bytes], form: Form, start: int) -> Iterator[Record]:
    """Cut an open file, from the byte `start` on; blank records are left out."""
    file.seek(start)
    match form:
        case Form.LINES | Form.TEXT:
            yield from _lines(file, start)
        case Form.CSV:
            yield from _rows(file, start)
        case Form.DOCUMENT:
            for offset, length, line, raw in JsonSplitter(file, start, MAX_RECORD).split():
                if raw is None:
                    yield Record(offset, 0, line, b"", CUT if length <= MAX_RECORD else TOO_LONG)
                else:
                    yield Record(offset, length, line, raw)


def _lines(file: IO[bytes], offset: int) -> Iterator[Record]:
    number = 0
    while line := file.readline(MAX_RECORD + 1):
        number += 1
        length = len(line)
        if length > MAX_RECORD:
            while not line.endswith(b"\n") and (line := file.readline(MAX_RECORD)):
                length += len(line)
            yield Record(offset, 0, number, b"", TOO_LONG)
        elif line.strip():
            yield Record(offset, length, number, line)
        offset += length


def _rows(file: IO[bytes], offset: int) -> Iterator[Record]:
    """Join lines while a quote is open (RFC 4180: within quotes a quote is doubled, so that their number is even)."""
    number = begun = 0
    parts: list[bytes] = []
    held = quotes = 0
    while line := file.readline(MAX_ROW + 1):
        if not parts:
            begun = number + 1
        number += line.endswith(b"\n") or len(line) <= MAX_ROW
        parts.append(line)
        held += len(line)
        quotes += line.count(b'"')
        if held > MAX_ROW:
            yield Record(offset, 0, begun, b"", UNCLOSED)
        elif quotes % 2:
            continue
        elif (raw := b"".join(parts)).strip():
            yield Record(offset, held, begun, raw)
        offset += held
        parts, held, quotes = [], 0, 0
    if parts:
        yield Record(offset, 0, begun, b"", CUT)
