"""Files as bytes that can be read twice and from anywhere: unpacked, turned into UTF-8, pipes written down.

What is not so already is copied into a temporary file, chunk by chunk. Knows nothing of rows.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from semcache.advise.rows import Skipped, Watcher
from semcache.cost.parquet import ParquetError, rows_of_any

STDIN = "-"
_CHUNK = 1 << 15
"""Small: what is unpacked together with damage is lost."""
_SPARE = 1 << 30
"""Bytes left free on the disk of the copies."""
_PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_PARQUET = b"PAR1"
FULL = "does not fit on the disk of temporary files (see TMPDIR): its beginning was read"
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "is packed with zstd: unpack it first (zstd -d)",
    b"PK\x03\x04": "is a zip archive: unpack it first",
    b"PAR1": "is a Parquet file within another one: unpack it first",
    b"SQLite format 3\x00": "is an SQLite database: export it as JSON lines",
    b"\x89PNG": "is a picture",
    b"%PDF": "is a PDF",
    b"\x7fELF": "is a program",
}
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """A file made ready: `name` as the user knows it, `path` where its bytes lie, `start` behind a byte order mark.

    `flaw` says what is missing at its end.
    """

    name: str
    path: Path
    size: int
    start: int = 0
    flaw: str = ""


def source_of(path: Path, folder: Path, number: int, told: Watcher) -> Source | Skipped:
    """Make a file (or `-`, standard input) ready.

    Args:
        path: the file.
        folder: where copies may be written.
        number: of the file, for the copy's name.
        told: hears of progress.
    """
    name = str(path)
    try:
        if name == STDIN:
            return _copied("standard input", sys.stdin.buffer, folder / str(number), told)
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            return Skipped(name, 0, "is a directory: name the files in it")
        with path.open("rb") as raw:
            if not stat.S_ISREG(kind):
                return _copied(name, raw, folder / str(number), told)
            head = raw.read(4096)
            raw.seek(0)
            if head.startswith(_PARQUET):
                return _lines_of(name, path, folder / str(number), told)
            if _is_plain(head):
                start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
                return Source(name, path, path.stat().st_size, start)
            return _copied(name, raw, folder / str(number), told)
    except FileNotFoundError:
        return Skipped(name, 0, "there is no such file")
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else None
        return Skipped(name, 0, f"cannot be read: {words or 'the system refuses it'}")


def _lines_of(name: str, path: Path, target: Path, told: Watcher) -> Source | Skipped:
    """Write a Parquet file's rows down as JSON lines; a row that cannot be written is left out."""
    told.stage(f"unpacking {name}", path.stat().st_size)
    flaw = ""
    with target.open("wb") as out:
        try:
            for row in rows_of_any(path):
                if shutil.disk_usage(target.parent).free < _SPARE:
                    flaw = FULL
                    break
                out.write(orjson.dumps(row, default=str, option=orjson.OPT_NON_STR_KEYS) + b"\n")
        except ParquetError:
            flaw = "is a Parquet file that is damaged or cannot be read here"
        except TypeError:
            flaw = "is a Parquet file with columns that are no JSON"
    return Source(name, target, target.stat().st_size, 0, flaw)


def _is_plain(head: bytes) -> bool:
    packed = any(head.startswith(magic) for magic in (*_PACKED, *_FOREIGN))
    return not packed and _encoding(head) is None


def _copied(name: str, raw: IO[bytes], target: Path, told: Watcher) -> Source | Skipped:
    """Unpack and transcode into a file of our own; what comes before damage is kept."""
    buffered = _Peeked(raw)
    head = buffered.peek()
    foreign = next((why for magic, why in _FOREIGN.items() if head.startswith(magic)), None)
    if foreign is not None:
        return Skipped(name, 0, foreign)
    opener = next((open_ for magic, open_ in _PACKED.items() if head.startswith(magic)), None)
    inner = buffered if opener is None else _Peeked(opener(buffered))
    flaw = ""
    told.stage(f"unpacking {name}" if opener else f"reading {name}", 0)
    with target.open("wb") as out:
        try:
            flaw = _write(inner, out, told)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile) and opener is None:
                raise
            flaw = "is damaged: what comes before the damage was read"
    with target.open("rb") as written:
        start = len(codecs.BOM_UTF8) if written.read(3) == codecs.BOM_UTF8 else 0
    return Source(name, target, target.stat().st_size, start, flaw)


def _write(inner: _Peeked, out: IO[bytes], told: Watcher) -> str:
    encoding = _encoding(inner.peek())
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace") if encoding else None
    for chunk in inner.chunks():
        if shutil.disk_usage(Path(out.name).parent).free < _SPARE:
            return FULL
        out.write(chunk if decoder is None else decoder.decode(chunk).encode("utf-8", "replace"))
        told.advance(len(chunk))
    if decoder is not None:
        out.write(decoder.decode(b"", final=True).encode("utf-8", "replace"))
    return ""


def _encoding(head: bytes) -> str | None:
    """Name the encoding of text that is neither UTF-8 nor of single bytes, by its mark or by its zero bytes."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            # The mark itself is read away by the decoders without `le` and `be`.
            return name[: name.rindex("-")]
    sample = head[:1024]
    if len(sample) < 16:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.4 * half and not even:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * half and not odd else None


class _Peeked:
    """A stream whose first bytes can be looked at before they are read."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._head: bytes | None = None

    def peek(self) -> bytes:
        """Give the first bytes, up to 4096, and leave them there."""
        if self._head is None:
            self._head = b""
            while len(self._head) < 4096 and (more := self._raw.read(4096 - len(self._head))):
                self._head += more
        return self._head

    def read(self, size: int = -1) -> bytes:
        """Read as files do."""
        if self._head:
            taken = self._head if size < 0 else self._head[:size]
            self._head = self._head[len(taken) :]
            return taken if size >= 0 else taken + self._raw.read()
        return self._raw.read(size)

    def chunks(self) -> Iterator[bytes]:
        """Give all of it in pieces."""
        while chunk := self.read(_CHUNK):
            yield chunk
