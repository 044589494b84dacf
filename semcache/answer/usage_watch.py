"""Read what a model call used from its reply as the bytes pass by, in any dialect: JSON, server-sent events, NDJSON.

Incremental and bounded in memory; whatever is wrong with the bytes only means that less is known. Nothing here holds bytes back: it is
given copies. The dialect is told by the fields of a document, not by the path, so that proxies of proxies are understood too.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

from semcache.answer.decode import Decoder, decoder_of
from semcache.answer.usage_seen import Said, Seen
from semcache.dialects.sse import SseSplitter
from semcache.dialects.usage import read_any

_WHOLE = 512 << 10
"""A document up to this size is parsed; of a larger one only its beginning and its end are looked at."""
_HEAD, _TAIL = 4 << 10, 64 << 10
_LINE = 1 << 20
_UNPACKED, _FREE, _RATIO = 256 << 20, 4 << 20, 100
"""Most that may come out of a coded body: in all, and beside so many times what went in."""
_COUNTS = re.compile(rb'"usage(?:Metadata)?"\s*:\s*\{|"(?:prompt_)?eval_count"\s*:')
_WORDS = (b"delta", b'"text"', b"candidates")
"""One of these stands in an event that brings a piece of an answer; pings and marks have none."""
_USAGE = re.compile(r'"usage(?:Metadata)?"\s*:\s*(?=\{)')
_MODEL = re.compile(r'"model(?:Version)?"\s*:\s*"([^"\\]{1,200})"')


class ReplyWatch:
    """Watches one reply.

    Args:
        media: its media type in lower case, without parameters.
        coding: its content coding (`decode.content_coding`); None when it cannot be undone: then nothing is seen.
    """

    def __init__(self, media: str, coding: str | None) -> None:
        self._said = Said()
        self._shape: _Shape | None = _shape_of(media, self._said) if coding is not None else None
        self._decoder: Decoder | None = None
        if coding not in (None, "identity"):
            self._decoder = decoder_of(coding or "")
        self._taken = self._unpacked = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes as they were received. Raises nothing."""
        if self._shape is None:
            return
        try:
            for piece in self._plain(chunk):
                self._shape.feed(piece)
        except (zlib.error, ValueError, RecursionError, MemoryError):
            self._shape = None  # not what it says it is, or too much of it

    def finish(self) -> Seen:
        """Give what was seen, at the end or where it broke off. Raises nothing."""
        if self._shape is not None:
            try:
                self._shape.finish()
            except (ValueError, RecursionError):
                self._shape = None
        return self._said.seen()

    def _plain(self, chunk: bytes) -> Iterator[bytes]:
        if self._decoder is None:
            yield chunk
            return
        self._taken += len(chunk)
        for piece in self._decoder.feed(chunk):
            self._unpacked += len(piece)
            if self._unpacked > min(_UNPACKED, _FREE + _RATIO * self._taken):
                raise ValueError("more comes out than anybody would send")
            yield piece


class _Shape(Protocol):
    """How documents stand in a reply."""

    def feed(self, data: bytes) -> None: ...

    def finish(self) -> None: ...


def _shape_of(media: str, said: Said) -> _Shape | None:
    if media == "text/event-stream":
        return _Events(said)
    if media in ("application/x-ndjson", "application/jsonl", "application/x-jsonlines"):
        return _Lines(said)
    return _Document(said) if media in ("application/json", "text/plain", "") else None


class _Events:
    """Server-sent events, a document each; those that count nothing are only measured."""

    def __init__(self, said: Said) -> None:
        self._said = said
        self._splitter = SseSplitter()

    def feed(self, data: bytes) -> None:
        for event in self._splitter.feed(data):
            if event.data:
                self._take(event.data)

    def finish(self) -> None:
        for event in self._splitter.finish():
            if event.data:
                self._take(event.data)

    def _take(self, data: bytes) -> None:
        # Parsing every event would cost more than passing it on.
        parsed = _loaded(data) if _COUNTS.search(data) or self._said.wants_name else None
        begins = self._said.take(parsed)
        if not begins and any(word in data for word in _WORDS):
            self._said.piece(len(data))


class _Lines:
    """One document a line."""

    def __init__(self, said: Said) -> None:
        self._said = said
        self._pending = bytearray()
        self._skips = False

    def feed(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._more(first)
        for rest in others:
            self.finish()
            self._pending.clear()
            self._skips = False
            self._more(rest)

    def finish(self) -> None:
        if not self._skips and self._pending.strip():
            line = bytes(self._pending)
            self._said.take(_loaded(line) if _COUNTS.search(line) or self._said.wants_name else None)
            self._said.piece(len(line))

    def _more(self, data: bytes) -> None:
        self._skips = self._skips or len(self._pending) + len(data) > _LINE
        if not self._skips:
            self._pending += data


class _Document:
    """One JSON document."""

    def __init__(self, said: Said) -> None:
        self._said = said
        self._kept = bytearray()
        self._size = 0
        self._head = b""

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        self._kept += data
        if self._size > _WHOLE:
            if not self._head:
                self._head = bytes(self._kept[:_HEAD])
            if len(self._kept) > 2 * _TAIL:
                del self._kept[:-_TAIL]

    def finish(self) -> None:
        if self._size <= _WHOLE and (parsed := _loaded(bytes(self._kept))) is not None:
            self._said.take(parsed)
        else:
            self._glimpse()
        self._said.bulk(self._size)

    def _glimpse(self) -> None:
        """Look for the counts at the end, where all dialects have them, and for the name at either end."""
        tail = bytes(self._kept[-_TAIL:]).decode(errors="replace")
        for text in (self._head.decode(errors="replace"), tail):
            if named := _MODEL.search(text):
                self._said.name(named[1])
        found = list(_USAGE.finditer(tail))
        if found:
            self._said.count(read_any(json.JSONDecoder().raw_decode(tail, found[-1].end())[0]))


def _loaded(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
