"""Split a server-sent event stream into events, whatever way the network cut it.

Follows the WHATWG HTML standard, section 9.2 (event stream interpretation). Pure and incremental.
Each event carries the very bytes it came in, so that a reader may pass them on unchanged. Knows
nothing of JSON or chat.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_LINE_END = rb"(?:\r\n|\n|\r(?=[^\n]))"
# A CR whose next byte has not come yet may be half a CRLF: not matched, so that the cut between
# two events never depends on how the bytes arrived.
_BLANK_LINE = re.compile(_LINE_END + _LINE_END)


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event with its bytes.

    Attributes:
        raw: The bytes it came in, closing blank line included.
        data: Its data lines joined by LF; b"" when it has none (a comment, say); None when the
            bytes are no whole event: too large, or left over at the end of the stream.
        name: Its `event:` field, b"" when absent.
    """

    raw: bytes
    data: bytes | None
    name: bytes = b""


class SseSplitter:
    """Feed bytes, get events; the `raw` of all events joined is always exactly the input.

    An event longer than `max_event` bytes ends the splitting: from there on everything is handed
    out as it comes, with `data` None, and `overflowed` is True.
    """

    def __init__(self, max_event: int = 4 * 1024 * 1024) -> None:
        self._max = max_event
        self._pending = b""
        self._scanned = 0
        self._first = True
        self.overflowed = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes of the stream; give the events that they complete."""
        if self.overflowed:
            return [SseEvent(chunk, None)] if chunk else []
        buffer = self._pending + chunk if self._pending else chunk
        events, start = self._split(buffer)
        self._pending = buffer[start:]
        # A blank line is at most four bytes: the last three may be its beginning.
        self._scanned = max(0, len(self._pending) - 3)
        if len(self._pending) > self._max:
            self.overflowed = True
            events += self.finish()
        return events

    def finish(self) -> list[SseEvent]:
        """Give what is left at the end of the stream: nothing, or one piece with `data` None."""
        rest, self._pending = self._pending, b""
        # "\n\r" and the like: complete once it is known that no LF follows.
        if not self.overflowed and rest.endswith((b"\n\r", b"\r\r")):
            return [self._parse(rest)]
        return [SseEvent(rest, None)] if rest else []

    def _split(self, buffer: bytes) -> tuple[list[SseEvent], int]:
        events: list[SseEvent] = []
        start, scan = 0, self._scanned
        if b"\r" not in buffer:
            while (end := buffer.find(b"\n\n", scan)) >= 0:
                raw = buffer[start : end + 2]
                events.append(_event(raw, self._body(raw)[:-2].split(b"\n")))
                start = scan = end + 2
            return events, start
        while match := _BLANK_LINE.search(buffer, scan):
            events.append(self._parse(buffer[start : match.end()]))
            start = scan = match.end()
        return events, start

    def _parse(self, raw: bytes) -> SseEvent:
        return _event(raw, self._body(raw).splitlines())

    def _body(self, raw: bytes) -> bytes:
        if self._first:
            self._first = False
            return raw.removeprefix(_BOM)
        return raw


def _event(raw: bytes, lines: list[bytes]) -> SseEvent:
    # What nearly every event looks like: one line of data, perhaps after one with a name.
    if len(lines) == 1 and lines[0].startswith(b"data: "):
        return SseEvent(raw, lines[0][6:])
    if len(lines) == 2 and lines[0].startswith(b"event: ") and lines[1].startswith(b"data: "):
        return SseEvent(raw, lines[1][6:], lines[0][7:])
    data: list[bytes] = []
    name = b""
    for line in lines:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return SseEvent(raw, b"\n".join(data), name)
