"""The two ways in which Gemini frames a stream: server-sent events, or one JSON array. Pure and incremental."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from semcache.dialects.sse import SseEvent, SseSplitter

_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'["\\]')
_BETWEEN = b" \t\r\n,"


class Splitter(Protocol):
    """Feed bytes, get the JSON texts of pieces."""

    is_broken: bool
    """True once the framing itself is wrong."""

    @property
    def is_closed(self) -> bool:
        """True once the framing said that it ends; events never say so."""
        ...

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give the pieces that they complete."""
        ...

    def finish(self) -> list[bytes]:
        """Give what is left after the last byte."""
        ...


class EventSplitter:
    """Pieces in server-sent events. A last event may lack its blank line."""

    is_closed = False

    def __init__(self) -> None:
        self._splitter = SseSplitter()
        self.is_broken = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give the data of the events that they complete."""
        return self._data(self._splitter.feed(chunk))

    def finish(self) -> list[bytes]:
        """Give the data of a last event."""
        events = self._splitter.feed(b"\n\n")
        return self._data([*events, *self._splitter.finish()])

    def _data(self, events: list[SseEvent]) -> list[bytes]:
        self.is_broken = self.is_broken or self._splitter.overflowed
        return [event.data for event in events if event.data and event.data.strip()]


class ArraySplitter:
    """Pieces as the elements of one JSON array."""

    def __init__(self) -> None:
        self.is_broken = False
        self.end = 0
        """Where in the chunk that was fed last the last whole element ended."""
        self._depth = 0
        self._in_text = self._is_escaped = self._closed = False
        self._parts: list[bytes] = []

    @property
    def is_closed(self) -> bool:
        """True after the bracket that closes the array."""
        return self._closed

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give the elements that they complete."""
        found: list[bytes] = []
        position = start = 0
        while position < len(chunk) and not self.is_broken:
            if self._is_escaped:
                self._is_escaped = False
                position += 1
                continue
            mark = (_INSIDE if self._in_text else _OUTSIDE).search(chunk, position)
            end = mark.start() if mark is not None else len(chunk)
            if self._depth < 2:
                self._between(chunk[position:end])
            if mark is None:
                break
            position = mark.end()
            if self._in_text:
                self._in_text, self._is_escaped = mark[0] != b'"', mark[0] == b"\\"
            elif mark[0] == b'"':
                self._in_text = True
                self.is_broken = self.is_broken or self._depth < 2
            elif mark[0] in b"[{":
                start = self._open(mark.start(), start)
            elif self._close():
                found.append(b"".join((*self._parts, chunk[start:position])))
                self.end = position
                self._parts.clear()
        if self._depth > 1:
            self._parts.append(chunk[start:])
        return found

    def finish(self) -> list[bytes]:
        """Give nothing: half an element is none."""
        return []

    def _between(self, gap: bytes) -> None:
        self.is_broken = self.is_broken or bool(gap.strip(_BETWEEN))

    def _open(self, at: int, start: int) -> int:
        """Go one deeper; give where the present element begins in the present chunk."""
        self.is_broken = self.is_broken or self._closed
        self._depth += 1
        return at if self._depth == 2 else start

    def _close(self) -> bool:
        """Go one up; True: an element is whole."""
        self._depth -= 1
        self._closed = self._depth == 0
        self.is_broken = self.is_broken or self._depth < 0
        return self._depth == 1


@dataclass(frozen=True, slots=True)
class Framing:
    """What stands around the pieces of a stream that is written."""

    first: bytes
    between: bytes
    after: bytes
    last: bytes

    def framed(self, pieces: list[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Give each piece with what stands before and after it."""
        for number, piece in enumerate(pieces):
            before = self.first if number == 0 else self.between
            yield before, piece, self.last if number == len(pieces) - 1 else self.after


EVENTS = Framing(b"data: ", b"data: ", b"\n\n", b"\n\n")
ARRAY = Framing(b"[", b",\r\n", b"", b"]\n")
