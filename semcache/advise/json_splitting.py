"""A JSON document of any length cut into the elements of its array, without holding or parsing it.

Knows strings and brackets only; whether an element is JSON is for others to see. Values that stand one after the other are
cut too. An object that holds the rows in one of its fields is given whole, or, where it is too long for that, cut inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

_CHUNK = 1 << 20
_TOKEN = re.compile(rb'["{}\[\],]')
_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_WRAPPED = re.compile(rb'"(?:data|observations|rows|logs|items|results|records|spans|generations)"\s*:\s*$')
_TAIL = 80

Piece = tuple[int, int, int, bytes | None]
"""Offset, length, line, and the bytes: None for what is longer than allowed, or not whole."""


class JsonSplitter:
    """Cuts one document.

    Args:
        file: an open file.
        start: the byte to begin at.
        most: bytes of one element; a longer one is given without its bytes.
    """

    def __init__(self, file: IO[bytes], start: int, most: int) -> None:
        self._file = file
        self._start = start
        self._most = most

    def split(self) -> Iterator[Piece]:
        """Give all elements in their order."""
        scan = _Scan(self._file, _Element(self._start, 1, self._most), inside=False)
        yield from scan.pieces()
        while scan.wrapped is not None:
            # The object around the rows is too long to be held: once more, from the first of its rows.
            scan = _Scan(self._file, _Element(*scan.wrapped, self._most), inside=True)
            yield from scan.pieces()


class _Element:
    """The element being read: where it began, and its bytes as long as they are few enough."""

    def __init__(self, offset: int, line: int, most: int) -> None:
        self.offset = offset
        self.line = line
        self.most = most
        self.length = 0
        self.lines = 0
        self.tail = b""
        self._parts: list[bytes] = []

    def add(self, text: bytes) -> None:
        """Read on; blanks in front belong to no element."""
        if not self.length:
            bare = text.lstrip()
            self.offset += len(text) - len(bare)
            self.line += text.count(b"\n", 0, len(text) - len(bare))
            text = bare
        self.length += len(text)
        self.lines += text.count(b"\n")
        self.tail = (self.tail + text)[-_TAIL:]
        if self.length <= self.most:
            self._parts.append(text)
        else:
            self._parts.clear()

    @property
    def is_long(self) -> bool:
        """True when its bytes were let go."""
        return self.length > self.most

    def taken(self, beyond: int, *, whole: bool) -> Piece | None:
        """Give it (None: it is blank) and begin the next one, `beyond` bytes behind its end."""
        raw = b"".join(self._parts).rstrip()
        piece: Piece | None = (self.offset, len(raw), self.line, raw if whole else None)
        if self.is_long:
            piece = (self.offset, self.length, self.line, None)
        elif not raw:
            piece = None
        self.offset += self.length + beyond
        self.line += self.lines
        self.length = self.lines = 0
        self.tail = b""
        self._parts.clear()
        return piece


class _Scan:
    """One way through the document; `inside` says that it begins within an array, which is all of it."""

    def __init__(self, file: IO[bytes], element: _Element, *, inside: bool) -> None:
        file.seek(element.offset)
        self._file = file
        self._element = element
        self._inside = inside
        self._base = self._depth = 1 if inside else 0
        self._rows: tuple[int, int] | None = None
        self._in_string = self._escaped = self._ended = False
        self.wrapped: tuple[int, int] | None = None

    def pieces(self) -> Iterator[Piece]:
        """Give the elements; afterwards `wrapped` says where to begin again, if anywhere."""
        while not self._ended and (chunk := self._file.read(_CHUNK)):
            yield from self._chunk(chunk)
        whole = self._depth == 0 and not self._in_string
        last = None if self._ended else self._element.taken(0, whole=whole)
        if last is not None:
            yield last

    def _chunk(self, chunk: bytes) -> Iterator[Piece]:
        at = begun = 0
        while at < len(chunk):
            if self._in_string:
                at = self._string(chunk, at)
                continue
            token = _TOKEN.search(chunk, at)
            if token is None:
                break
            at = token.end()
            if token[0] == b'"':
                self._in_string = True
            elif (end := self._bracket(token[0], chunk, begun, at)) is not None:
                self._element.add(chunk[begun:end])
                if self._is_wrapper():
                    return
                piece = self._element.taken(at - end, whole=True)
                self._rows = None
                begun = at
                if piece is not None:
                    yield piece
                if self._ended:
                    return
        self._element.add(chunk[begun:])
        self._is_wrapper()

    def _is_wrapper(self) -> bool:
        """Tell whether the element holds the rows and is too long to be held itself: then this way ends here."""
        if self._element.is_long and self._base == 0 and self._rows is not None:
            self.wrapped = self._rows
            self._ended = True
        return self.wrapped is not None

    def _string(self, chunk: bytes, at: int) -> int:
        """Go to the end of a string, or of the chunk."""
        if self._escaped:
            self._escaped = False
            return at + 1
        found = _STRING.match(chunk, at)
        at = found.end() if found else at
        if at < len(chunk):
            self._in_string = chunk[at : at + 1] != b'"'
            self._escaped = self._in_string
        return at + 1

    def _bracket(self, token: bytes, chunk: bytes, begun: int, at: int) -> int | None:
        """Hear of a bracket or comma that ends at `at`; gives where the element ends that it closes, if it does."""
        match token:
            case b",":
                return at - 1 if self._depth == self._base else None
            case b"[" | b"{":
                self._depth += 1
                return self._opened(token, chunk, begun, at)
            case _:
                return self._closed(at)

    def _closed(self, at: int) -> int | None:
        self._depth -= 1
        if self._depth < self._base or self._depth < 0:
            # The array is at its end; what may follow is another value.
            self._ended = self._inside
            self._base = self._depth = 0
            return at - 1
        return at if self._depth == self._base == 0 else None

    def _opened(self, token: bytes, chunk: bytes, begun: int, at: int) -> int | None:
        if token != b"[" or self._base:
            return None
        if self._depth == 1:
            self._base = 1
            # What stands before an array is no element of it.
            return at - 1
        if self._depth == 2 and self._rows is None:
            before = self._element.tail + chunk[max(begun, at - 1 - _TAIL) : at - 1]
            if _WRAPPED.search(before):
                newlines = self._element.lines + chunk.count(b"\n", begun, at)
                offset = self._element.offset + self._element.length + at - begun
                self._rows = (offset, self._element.line + newlines)
        return None
