"""A stream that reaches the client in the upstream's own bytes, in steps that leave no event half told. Pure.

What has begun and is not whole is held back: if the stream breaks off there, an error can still be told behind what was
given, and a parser reads both. All bytes of a stream that comes to its end are given, in order and unchanged.
"""

from __future__ import annotations

from semcache.dialects.chat.strip import UsageStripper
from semcache.dialects.dialect import Dialect, ErrorWords
from semcache.dialects.gemini.frames import ARRAY, ArraySplitter

_MOST = 1 << 20
"""Bytes that are held back; a longer piece goes on as it comes."""


class Lines:
    """Server-sent events, or one JSON text a line.

    Args:
        dialect: in which an error is told.
        are_events: a blank line ends an event.
    """

    def __init__(self, dialect: Dialect, *, are_events: bool) -> None:
        self._dialect = dialect
        self._are_events = are_events
        self._held = b""
        self._last = b"\n\n"
        """How what was given ends."""

    def feed(self, chunk: bytes) -> bytes:
        """Give whole lines."""
        held = self._held + chunk
        end = max(held.rfind(b"\n"), held.rfind(b"\r")) + 1
        if len(held) - end > _MOST:
            end = len(held)
        self._held = held[end:]
        return self._given(held[:end])

    def finish(self) -> bytes:
        """Give the rest."""
        held, self._held = self._held, b""
        return held

    def broken(self, error: ErrorWords) -> bytes:
        """Give the error instead of the half line."""
        self._held = b""
        blank = self._last.replace(b"\r\n", b"\n").endswith((b"\n\n", b"\r\r"))
        if self._are_events:
            lead = b"" if blank else b"\n" if self._last.endswith((b"\n", b"\r")) else b"\n\n"
        else:
            lead = b"" if self._last.endswith(b"\n") else b"\n"
        return lead + self._dialect.write_error_event(error)

    def _given(self, data: bytes) -> bytes:
        self._last = (self._last + data)[-4:]
        return data


class Elements:
    """One JSON array, element by element.

    Args:
        dialect: in which an error is told.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._splitter = ArraySplitter()
        self._held: list[bytes] = []
        self._has_begun = False

    def feed(self, chunk: bytes) -> bytes:
        """Give all up to the end of the last whole element."""
        whole = self._splitter.feed(chunk)
        end = len(chunk) if self._splitter.is_broken else self._splitter.end if whole else 0
        if not end:
            self._held.append(chunk)
            return b""
        self._has_begun = True
        given = b"".join((*self._held, chunk[:end]))
        self._held = [chunk[end:]]
        return given

    def finish(self) -> bytes:
        """Give the rest."""
        held, self._held = b"".join(self._held), []
        return held

    def broken(self, error: ErrorWords) -> bytes:
        """Give the error as the last element."""
        self._held = []
        lead = ARRAY.between if self._has_begun else ARRAY.first
        return lead + self._dialect.write_error(error) + ARRAY.last


class Stripped:
    """A chat stream without the usage that only the proxy asked for.

    Args:
        dialect: in which an error is told.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._stripper = UsageStripper()

    def feed(self, chunk: bytes) -> bytes:
        """Give whole events."""
        return self._stripper.feed(chunk)

    def finish(self) -> bytes:
        """Give the rest."""
        return self._stripper.finish()

    def broken(self, error: ErrorWords) -> bytes:
        """Give the error instead of half an event."""
        return self._dialect.write_error_event(error)


def as_it_came(dialect: Dialect) -> Lines | Elements:
    """Choose the steps in which a stream of a dialect passes."""
    kind = dialect.stream_type.partition(b";")[0]
    if kind == b"application/json":
        return Elements(dialect)
    return Lines(dialect, are_events=kind == b"text/event-stream")
