"""The bytes of a record as a value: text in some encoding, JSON with its usual defects, a row of a CSV file. Pure.

What can be read for sure is read, what cannot is named; nothing is guessed at.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

DEEPEST = 100
"""Levels of nesting; no request has more."""
_MOST_FIELD = 4 << 20

NOT_JSON = "is not JSON, or cut"
TOO_DEEP = f"is nested more than {DEEPEST} levels deep"
NO_FIELDS = "has fewer columns than the header, or a broken quote"
ZEROS = "holds zero bytes"

Loaded = Any


@dataclass(frozen=True, slots=True)
class Flaw:
    """A record that cannot be read, and why."""

    reason: str


def text_of(raw: bytes) -> tuple[str, bool]:
    """Decode UTF-8, else as Windows-1252, which old programs write; the flag says that it was not UTF-8."""
    try:
        return raw.decode(), False
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), True


def json_of(raw: bytes) -> Loaded | Flaw:
    """Parse JSON. NaN and infinities become null, lone surrogates the replacement character, the last of equal keys holds."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        value = _lenient(raw)
    if (
        not isinstance(value, Flaw)
        and raw.count(b"[") + raw.count(b"{") > DEEPEST
        and _depth(value) > DEEPEST
    ):
        return Flaw(TOO_DEEP)
    return value


def _lenient(raw: bytes) -> Loaded | Flaw:
    if b"\x00" in raw:
        return Flaw(ZEROS)
    try:
        value = json.loads(text_of(raw)[0], parse_constant=lambda _: None)
        # Before what follows, which goes down as deep as the value does.
        return Flaw(TOO_DEEP) if _depth(value) > DEEPEST else _whole(value)
    except RecursionError:
        return Flaw(TOO_DEEP)
    except ValueError:
        return Flaw(NOT_JSON)


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        if deepest > DEEPEST + 1:
            break
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
            if isinstance(item, dict | list)
        ]
    return deepest


def _whole(value: Any) -> Any:
    """Replace what is no Unicode, all the way down."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(item) for name, item in value.items()}
    return value


def cells_of(raw: bytes, delimiter: str) -> list[str] | Flaw:
    """Read one row of a CSV file."""
    text = text_of(raw)[0]
    if len(text) > _MOST_FIELD:
        return Flaw(NO_FIELDS)
    csv.field_size_limit(_MOST_FIELD)
    try:
        rows = list(
            csv.reader(
                [text.rstrip("\r\n")] if '"' not in text else text.splitlines(True), delimiter=delimiter
            )
        )
    except csv.Error:
        return Flaw(NO_FIELDS)
    return rows[0] if rows else Flaw(NO_FIELDS)


def row_of(raw: bytes, header: Sequence[str], delimiter: str) -> Mapping[str, Any] | Flaw:
    """Read one row of a CSV file under its header; empty cells are left out."""
    cells = cells_of(raw, delimiter)
    if isinstance(cells, Flaw):
        return cells
    if len(cells) < len(header) and len(cells) < 2 < len(header):
        return Flaw(NO_FIELDS)
    return {name: cell for name, cell in zip(header, cells, strict=False) if cell != ""}
