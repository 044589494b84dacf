"""What of a batch is answered already: one line an answer, appended as it comes, so that nothing is asked twice.

The journal stands beside the output until every request has an answer. Its first line says which file it belongs to; a half last
line, left by a crash, is forgotten. At the end the answers are put into the order of the file. Knows no network.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from semcache.errors import SemcacheError

_CHUNK = 1 << 20


@dataclass
class Journal:
    """Answers by the index of their request, on disk.

    Args:
        path: of the journal.
        batch: digest of what it belongs to.
    """

    path: Path
    batch: str
    places: dict[int, int] = field(default_factory=dict)
    _stream: BinaryIO | None = None

    def open(self) -> None:
        """Open it, or begin it.

        Raises:
            SemcacheError: it belongs to another batch, or cannot be written.
        """
        try:
            self._stream = self.path.open("a+b")
            self._stream.seek(0)
            whole = self._read(self._stream)
            self._stream.truncate(whole)
            self._stream.seek(0, os.SEEK_END)
            if whole == 0:
                self._append({"batch": self.batch})
        except OSError as error:
            self.close(remove=False)
            raise SemcacheError(f"{self.path} cannot be used: {error.strerror}") from None
        except SemcacheError:
            self.close(remove=False)
            raise

    def put(self, index: int, line: Mapping[str, Any]) -> None:
        """Write an answer down; it is on its way to the disk when this returns.

        Raises:
            SemcacheError: the disk is full or gone; what was written before stays.
        """
        if self._stream is None:
            raise SemcacheError("the journal is not open")
        try:
            self.places[index] = self._append({"index": index, "line": line})
        except OSError as error:
            raise SemcacheError(
                f"{self.path} cannot be written: {error.strerror}; run the same command again to go on"
            ) from None

    def finish(self, out: Path, order: Iterable[int], others: Mapping[int, Mapping[str, Any]]) -> None:
        """Write all lines in order: answers, and `others` (by index) that have none.

        Raises:
            SemcacheError: the output cannot be written.
        """
        if self._stream is None:
            raise SemcacheError("the journal is not open")
        new = out.with_name(out.name + ".new")
        try:
            with new.open("wb") as stream:
                for index in order:
                    place = self.places.get(index)
                    line = others[index] if place is None else self._line(self._stream, place)
                    stream.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
                stream.flush()
                os.fsync(stream.fileno())
            new.replace(out)
        except OSError as error:
            raise SemcacheError(f"{out} cannot be written: {error.strerror}") from None

    def close(self, *, remove: bool) -> None:
        """Close it; `remove` when nothing is left to do. Idempotent."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            if remove:
                self.path.unlink(missing_ok=True)

    def _append(self, document: Mapping[str, Any]) -> int:
        if self._stream is None:
            return 0
        place = self._stream.seek(0, os.SEEK_END)
        self._stream.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
        self._stream.flush()
        return place

    def _read(self, stream: BinaryIO) -> int:
        """Take in what is there; gives how many bytes of it are whole."""
        place = 0
        for raw in stream:
            try:
                document = orjson.loads(raw) if raw.endswith(b"\n") else None
            except orjson.JSONDecodeError:
                document = None
            if not isinstance(document, dict):
                break
            if place == 0 and document.get("batch") != self.batch:
                raise SemcacheError(
                    f"{self.path} belongs to another file or other options;"
                    " remove it to begin anew, or name another --out"
                )
            index = document.get("index")
            if isinstance(index, int):
                self.places[index] = place
            place += len(raw)
        return place

    @staticmethod
    def _line(stream: BinaryIO, place: int) -> Any:
        stream.seek(place)
        return orjson.loads(stream.readline())["line"]


def name_of(file: Path, *words: str) -> str:
    """Name a batch by the content of its file and how it is sent.

    Raises:
        SemcacheError: it cannot be read.
    """
    digest = hashlib.sha256("\0".join(words).encode())
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise SemcacheError(f"{file} cannot be read: {error.strerror}") from None
    return digest.hexdigest()
