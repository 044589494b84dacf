"""Which form a file has, told by its first bytes and by its name, and its records as values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Any

from semcache.advise.decoding import Flaw, cells_of, json_of, row_of, text_of
from semcache.advise.formats.recognise import SOURCES, is_conversation
from semcache.advise.rows import Skipped
from semcache.advise.splitting import MAX_RECORD, Form, Record, records
from semcache.advise.spool import Source

_HEAD = 1 << 16
_DELIMITERS = (",", ";", "\t", "|")
_COLUMNS = re.compile(
    r"\b(prompt|question|query|input|messages|request|trace_?id|text|instruction|utterance|user_input)\b",
    re.IGNORECASE,
)
_LONGEST_HEADER = 4096
_TABLES = (".csv", ".tsv")
_TEXTS = (".txt", ".text", ".md", ".prompts")

UNKNOWN = "is in no form that is known: JSON lines, a JSON array, CSV with a header, or a .txt with one question a line"
BINARY = "holds no text"
EMPTY = "is empty"
BROKEN = "cannot be read any further: the system reports an error"
NO_COLUMN = "its header names no column with a request (prompt, question, messages, input ...)"

FORMATS = (*SOURCES, *(form.value for form in Form))
"""What may be said of a file instead of looking at it: whose log it is, or its form."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a file is read: its form, whose log (""; by the looks of each record), and the header of a table."""

    form: Form
    source: str = ""
    header: tuple[str, ...] = ()
    delimiter: str = ","


def shape_of(source: Source, told: str) -> Shape | Skipped:
    """Look at a file.

    Args:
        source: the file.
        told: one of `FORMATS`, or "" for looking.
    """
    try:
        return _looked_at(source, told)
    except OSError:
        return Skipped(source.name, 0, BROKEN)


def _looked_at(source: Source, told: str) -> Shape | Skipped:
    with source.path.open("rb") as file:
        file.seek(source.start)
        head = file.read(_HEAD)
        head += file.readline(MAX_RECORD)
        if not head.strip():
            return Skipped(source.name, 0, source.flaw or EMPTY)
        forced = Form(told) if told in tuple(Form) else None
        form = forced or _form(head, PurePath(source.name).suffix.lower(), told)
        if form is None:
            return Skipped(source.name, 0, BINARY if b"\x00" in head else UNKNOWN)
        whose = told if told in SOURCES else ""
        return _table(source, file, whose) if form is Form.CSV else Shape(form, whose)


def _form(head: bytes, suffix: str, told: str) -> Form | None:
    text = head.lstrip()
    lines = [line for line in text.split(b"\n") if line.strip()]
    if text[:1] in (b"[", b"{"):
        return _json_form(lines)
    if b"\x00" in head:
        return None
    first = text_of(lines[0])[0]
    if suffix in _TABLES or (suffix not in _TEXTS and _is_header(first)):
        return Form.CSV
    # The first line may be the end of one that was cut off.
    if any(line.lstrip()[:1] == b"{" for line in lines[1:20]):
        return Form.LINES
    if suffix in _TEXTS or told == "prompts":
        return Form.TEXT
    return Form.LINES if text[:1] == b'"' and _is_whole(lines[0]) else None


def _json_form(lines: list[bytes]) -> Form:
    """Tell one value a line from one that goes over many, and from an array of everything."""
    begin = lines[0].lstrip()[:1]
    second = lines[1].lstrip()[:1] if len(lines) > 1 else b""
    value = json_of(lines[0])
    if begin == b"[":
        several = not isinstance(value, Flaw) and (second == b"[" or is_conversation(value))
        return Form.LINES if several else Form.DOCUMENT
    return Form.DOCUMENT if isinstance(value, Flaw) and second != b"{" else Form.LINES


def _is_header(line: str) -> bool:
    """A header has short names, not sentences nor JSON, and one of them is known."""
    if len(line) > _LONGEST_HEADER or not _COLUMNS.search(line) or any(mark in line for mark in "{}:"):
        return False
    delimiter = max(_DELIMITERS, key=line.count)
    names = line.split(delimiter)
    return len(names) > 1 and all(len(name.split()) < 4 and len(name) < 40 for name in names)


def _is_whole(line: bytes) -> bool:
    return not isinstance(json_of(line), Flaw)


def _table(source: Source, file: IO[bytes], whose: str) -> Shape | Skipped:
    first = next(iter(records(file, Form.CSV, source.start)), None)
    line = text_of(first.raw)[0] if first is not None else ""
    delimiter = max(_DELIMITERS, key=line.count)
    cells = cells_of(first.raw, delimiter) if first is not None else Flaw(NO_COLUMN)
    if isinstance(cells, Flaw) or not _COLUMNS.search(line):
        return Skipped(source.name, 1, NO_COLUMN)
    names = tuple(_known(cell.strip()) for cell in cells)
    return Shape(Form.CSV, whose, names, delimiter)


def _known(name: str) -> str:
    """A column of questions may be written in any case."""
    return (
        name.lower()
        if name.lower() in ("prompt", "question", "query", "input", "text", "answer", "response", "model")
        else name
    )


def values(source: Source, shape: Shape) -> Iterator[tuple[Record, Any | Flaw]]:
    """Give all records of a file with their values."""
    try:
        with source.path.open("rb") as file:
            for number, record in enumerate(records(file, shape.form, source.start)):
                if record.offset >= source.size:
                    return  # it has grown since it was looked at
                if number or shape.form is not Form.CSV:
                    yield record, value_of(record, shape)
    except OSError:
        yield Record(source.size, 0, 0, b"", BROKEN), Flaw(BROKEN)


def value_of(record: Record, shape: Shape) -> Any | Flaw:
    """Give what a record holds."""
    if record.flaw:
        return Flaw(record.flaw)
    match shape.form:
        case Form.TEXT:
            return text_of(record.raw)[0]
        case Form.CSV:
            return row_of(record.raw, shape.header, shape.delimiter)
        case _:
            return json_of(record.raw)
