"""Rows of the ledger as Parquet: the one door to pyarrow, which is loaded when a file is packed or read.

Columns are those of `row_fields`, compressed with zstd. Reading and writing go in groups of rows, so memory stays flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import SEEK_END
from itertools import islice
from pathlib import Path
from typing import Any

from semcache.cost.row_fields import COLUMNS, NAMES, Kind, Row, filled

GROUP = 10_000
"""Rows held at once."""
_BLOCK = 4 << 20
_STEP = 64 << 10


class ParquetError(Exception):
    """A file that is no Parquet, is damaged, or cannot be read here (pyarrow is not installed)."""


def write_parquet(path: Path, rows: Iterable[Row]) -> int:
    """Write rows to a new file and give how many there were.

    Raises:
        OSError: no room.
        ParquetError: pyarrow refuses.
    """
    arrow, parquet = _arrow()
    schema = _schema(arrow)
    count, left = 0, iter(rows)
    try:
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            while group := list(islice(left, GROUP)):
                columns = [[row[column.name] for row in group] for column in COLUMNS]
                writer.write_table(arrow.table(columns, schema=schema))
                count += len(group)
    except arrow.ArrowException as error:
        raise ParquetError(f"{path.name} cannot be written") from error
    return count


def pack_lines(source: Path, target: Path) -> int | None:
    """Write a file of JSON lines anew as Parquet, outside the interpreter's lock; a half line at the end is left away.

    Gives how many bytes that was; None where a line is no row of ours: then `write_parquet` can sort them out. Raises as that does.
    """
    arrow, parquet = _arrow()
    import pyarrow.json  # noqa: PLC0415 - as for the rest of pyarrow

    options = pyarrow.json.ParseOptions(explicit_schema=_schema(arrow), unexpected_field_behavior="ignore")
    try:
        whole, size = _whole_lines(source), source.stat().st_size
        with (
            arrow.memory_map(str(source)) as file,
            arrow.BufferReader(file.read_buffer(whole)) as lines,
            parquet.ParquetWriter(target, _schema(arrow), compression="zstd") as writer,
        ):
            read = pyarrow.json.ReadOptions(use_threads=False, block_size=_BLOCK)
            for batch in pyarrow.json.open_json(lines, read_options=read, parse_options=options):
                writer.write_batch(_whole_columns(arrow, batch))
    except arrow.ArrowException:
        return None
    return size - whole


def _whole_columns(arrow: Any, batch: Any) -> Any:
    """Give a batch with all columns, in order, defaults where a line left them away."""
    import pyarrow.compute  # noqa: PLC0415 - as for the rest of pyarrow

    columns = []
    for column in COLUMNS:
        values = batch.column(column.name)
        columns.append(
            values if column.default is None else pyarrow.compute.fill_null(values, column.default)
        )
    return arrow.record_batch(columns, schema=_schema(arrow))


def _whole_lines(source: Path) -> int:
    """Give how many bytes of a file are whole lines."""
    with source.open("rb") as file:
        at = size = file.seek(0, SEEK_END)
        while at > 0:
            at = max(0, at - _STEP)
            file.seek(at)
            end = file.read(min(_STEP, size - at)).rfind(b"\n")
            if end >= 0:
                return at + end + 1
    return 0


def _schema(arrow: Any) -> Any:
    return arrow.schema([(column.name, _type(arrow, column.kind)) for column in COLUMNS])


def read_parquet(path: Path) -> Iterator[Row]:
    """Yield the rows of a file; columns of another release are left away, missing ones have their defaults.

    Raises:
        OSError: it cannot be read.
        ParquetError: it is none, or damaged.
    """
    arrow, parquet = _arrow()
    try:
        with parquet.ParquetFile(path) as file:
            names = [name for name in file.schema_arrow.names if name in NAMES]
            for batch in file.iter_batches(GROUP, columns=names):
                for row in batch.to_pylist():
                    yield filled(row)
    except arrow.ArrowException as error:
        raise ParquetError(f"{path.name} is damaged") from error


def rows_of_any(path: Path, group: int = 64) -> Iterator[dict[str, Any]]:
    """Yield the rows of anybody's Parquet file; columns that are maps become objects. `group` rows are held at once.

    Raises:
        OSError: it cannot be read.
        ParquetError: it is none, or damaged.
    """
    arrow, parquet = _arrow()
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(group):
                yield from batch.to_pylist(maps_as_pydicts="lossy")
    except arrow.ArrowException as error:
        raise ParquetError(f"{path.name} is damaged") from error


def _arrow() -> tuple[Any, Any]:
    # Loading it takes a third of a second and tens of megabytes: only who packs or reads Parquet pays that.
    try:
        import pyarrow  # noqa: PLC0415 - see above
        import pyarrow.parquet  # noqa: PLC0415 - see above
    except ImportError as error:
        raise ParquetError("pyarrow is not installed") from error
    return pyarrow, pyarrow.parquet


def _type(arrow: Any, kind: Kind) -> Any:
    match kind:
        case Kind.TEXT:
            return arrow.string()
        case Kind.INTEGER | Kind.MONEY:
            return arrow.int64()
        case Kind.FLAG:
            return arrow.bool_()
        case Kind.NUMBER:
            return arrow.float64()
