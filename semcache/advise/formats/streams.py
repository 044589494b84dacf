"""Answers that were logged as they came: event streams (SSE), lines, lists of pieces, read by the dialects' own readers. Pure.

A log may hold half a stream, or its lines without the blank ones between them: what can be read counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.advise.formats.looks import dialect_of_piece
from semcache.core import Usage
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect
from semcache.dialects.usage import read_usage

_STARTS = ("data:", "event:", ": ", "id:")
_BETWEEN = ("}\n{", "}\r\n{")
_LOOKED_AT = 8
"""Pieces until one shows whose they are."""


@dataclass(frozen=True, slots=True)
class Said:
    """What came in a stream: its text, and what it used, as far as it told."""

    text: str = ""
    usage: Usage | None = None


def stream_in(value: Any) -> Said | None:
    """Read a stream: its text, or a list of its pieces; None for what is none."""
    if isinstance(value, list):
        is_one = any(dialect_of_piece(piece) is not None for piece in value[:_LOOKED_AT])
        return _said([orjson.dumps(piece) for piece in value]) if is_one else None
    if not isinstance(value, str) or not _is_stream(value):
        return None
    lines = value.encode("utf-8", "replace").splitlines()
    events = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    return _said(events or [line for line in lines if line.strip()])


def _is_stream(text: str) -> bool:
    """Tell the text of a stream from an answer."""
    begin = text[:64].lstrip()[:8]
    if begin.startswith(_STARTS):
        return "data:" in text
    return begin.startswith("{") and '"done"' in text and any(mark in text for mark in _BETWEEN)


def _said(pieces: list[bytes]) -> Said:
    dialect = next(filter(None, map(_dialect, pieces[:_LOOKED_AT])), None)
    if dialect is None:
        return Said()
    if dialect is CHAT:
        # Its pieces are chat's as they are.
        chunks = [chunk for piece in pieces if isinstance(chunk := _loaded(piece), dict)]
        return Said("".join(_texts(chunks)), _usage(chunks))
    is_sse = dialect.stream_type.startswith(b"text/event-stream")
    data = b"".join(b"data: " + piece + b"\n\n" for piece in pieces) if is_sse else b"\n".join(pieces) + b"\n"
    reader = dialect.live_reader()
    chunks = [*reader.feed(data), *reader.finish()]
    return Said("".join(_texts(chunks)), _usage(chunks) or _counted(dialect, data))


def _dialect(piece: bytes) -> Dialect | None:
    return dialect_of_piece(_loaded(piece))


def _loaded(piece: bytes) -> Any:
    try:
        return orjson.loads(piece)
    except orjson.JSONDecodeError:
        return None


def _usage(chunks: list[dict[str, Any]]) -> Usage | None:
    return read_usage(next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), None))


def _texts(chunks: Iterable[dict[str, Any]]) -> Iterable[str]:
    for chunk in chunks:
        choices = chunk.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        delta = first.get("delta") if isinstance(first, dict) and first.get("index", 0) == 0 else None
        content = delta.get("content") if isinstance(delta, dict) else None
        if isinstance(content, str):
            yield content


def _counted(dialect: Dialect, data: bytes) -> Usage | None:
    """Give what a stream without its end used."""
    collector = dialect.assembler(dialect.stream_type.partition(b";")[0].decode())
    if collector is None:
        return None
    collector.feed(data)
    return collector.finish().usage
