"""Reads raw rows back, in every form they are kept in, with flat memory; half lines are counted and left away.

Works beside writers: a file that is packed or deleted meanwhile is read in its other form, or was let go. Rows come file by file, the
oldest file first, and within a file in the order of writing.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from semcache.cost.parquet import ParquetError, read_parquet
from semcache.cost.row_fields import Row, filled
from semcache.cost.segments import FORMS, Segment, segments

LONGEST = 1 << 20
"""Bytes of a line; what is longer is no row of ours."""
_DAY = 86_400.0

Skipped = Callable[[Path, int], None]
"""Hears of lines that are no rows (how many, in which file; 0: the file itself is damaged from some place on)."""


def read_rows(
    folder: Path,
    since: float = float("-inf"),
    until: float = float("inf"),
    skipped: Skipped | None = None,
    tenant: str | None = None,
) -> Iterator[Row]:
    """Yield rows with `since <= at < until`; every row has all columns of `row_fields`.

    Args:
        folder: the ledger's.
        since: Unix seconds.
        until: Unix seconds.
        skipped: hears of what was left away.
        tenant: whose; None for all.

    Raises:
        OSError: the folder or a file in it cannot be read.
    """
    for segment in segments(folder):
        # A file holds rows of one UTC day, by when they were written; a request may have begun a day before.
        if segment.begins - _DAY >= until or segment.begins + _DAY < since:
            continue
        for row in read_segment(segment, skipped or _nobody):
            at = row["at"]
            if tenant is not None and row["tenant"] != tenant:
                continue
            if isinstance(at, int | float) and since <= at < until:
                yield row


def read_segment(segment: Segment, skipped: Skipped) -> Iterator[Row]:
    """Yield the rows of one file, or of the other form that it was given meanwhile.

    Raises:
        OSError: it cannot be read.
    """
    for form in FORMS[FORMS.index(segment.form) :] + FORMS[: FORMS.index(segment.form)]:
        path = segment.path.with_name(segment.stem + form)
        try:
            rows = read_file(path, skipped)
            first = next(rows, None)
        except FileNotFoundError:
            continue
        if first is not None:
            yield first
            yield from rows
        return


def read_file(path: Path, skipped: Skipped) -> Iterator[Row]:
    """Yield the rows of one file.

    Raises:
        OSError: it cannot be read.
    """
    try:
        if path.suffix == ".parquet":
            yield from read_parquet(path)
        elif path.suffix == ".gz":
            with gzip.open(path) as packed:
                yield from _lines(packed, path, skipped)
        else:
            with path.open("rb") as plain:
                yield from _lines(plain, path, skipped)
    except (ParquetError, EOFError, zlib.error, gzip.BadGzipFile):
        skipped(path, 0)


def _lines(file: BinaryIO | gzip.GzipFile, path: Path, skipped: Skipped) -> Iterator[Row]:
    while line := file.readline(LONGEST):
        if not line.endswith(b"\n") and len(line) == LONGEST:
            _pass_over(file)
        row = _row(line)
        if row is None:
            skipped(path, 1)
        else:
            yield filled(row)


def _pass_over(file: BinaryIO | gzip.GzipFile) -> None:
    while (rest := file.readline(LONGEST)) and not rest.endswith(b"\n"):
        pass


def _row(line: bytes) -> dict[str, Any] | None:
    # A half line may be JSON all the same: a number with its last digits missing. So the end must be there.
    if not line.endswith(b"\n"):
        return None
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def _nobody(path: Path, count: int) -> None:
    del path, count
