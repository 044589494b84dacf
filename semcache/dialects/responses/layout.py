"""Replay a stored response: as one JSON document, or as typed events. Pure.

All is laid out once, with marks where the fresh name and time go. The marks are control characters, which JSON text
never holds as they are, so no stored text can pretend to be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import Completion
from semcache.dialects.dialect import UsageMode, Wanted
from semcache.dialects.responses.answer import bare, dressed, item_name, nothing_spent, write_answer
from semcache.dialects.responses.events import ENDS, events_of

_ID, _CREATED = b"\x01", b"\x02"
_NAME = re.compile(r"[a-zA-Z0-9_.]+")


@dataclass(frozen=True, slots=True)
class Template:
    """A reply in parts, with marks in place of name and time."""

    parts: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(map(len, self.parts))

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the whole reply."""
        return b"".join(self.parts).replace(_ID, id).replace(_CREATED, created)

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give the same, part by part."""
        return (part.replace(_ID, id).replace(_CREATED, created) for part in self.parts)


def laid_out(completion: Completion, wanted: Wanted) -> Template:
    """Lay a stored answer out.

    Raises:
        ValueError: it cannot be replayed in this wire mode.
    """
    if completion.chunks is not None:
        return _of_events(completion.chunks, wanted)
    response = dressed(_stored(completion), _named, orjson.Fragment(_CREATED))
    if wanted.usage == "zero":
        response["usage"] = nothing_spent(response.get("usage"))
    if wanted.stream:
        return Template(tuple(framed(events_of(response))))
    return Template((orjson.dumps(response),))


def framed(events: Iterable[dict[str, Any]], first: int = 0) -> Iterator[bytes]:
    """Give events as server-sent ones, numbered from `first`."""
    for number, event in enumerate(events, first):
        kind = str(event.get("type"))
        name = f"event: {kind}\n".encode() if _NAME.fullmatch(kind) else b""
        data = {"type": kind, "sequence_number": number, **event}
        yield b"".join((name, b"data: ", orjson.dumps(data), b"\n\n"))


def has_own_events(completion: Completion) -> bool:
    """Tell whether the events kept with an answer are of this dialect."""
    return completion.chunks is not None and completion.chunks.startswith(b'[{"type":"')


def _of_events(chunks: bytes, wanted: Wanted) -> Template:
    if not wanted.stream or not chunks.startswith(b'[{"type":"'):
        raise ValueError("this answer can only be replayed as the stream that it was")
    created = orjson.Fragment(_CREATED)
    return Template(tuple(framed(_renewed(event, created, wanted.usage) for event in orjson.loads(chunks))))


def _renewed(event: dict[str, Any], created: Any, usage: UsageMode) -> dict[str, Any]:
    """Give a stored event its names and time again."""
    number, response = event.get("output_index"), event.get("response")
    renewed = dict(event)
    if isinstance(number, int) and "item_id" in event:
        renewed["item_id"] = item_name(_named, event["item_id"], number)
    if isinstance(number, int) and isinstance(event.get("item"), dict):
        item = event["item"]
        renewed["item"] = {"id": item_name(_named, item.get("type"), number), **item}
    if isinstance(response, dict):
        renewed["response"] = dressed(response, _named, created)
        if usage == "zero" and event["type"] in ENDS:
            renewed["response"]["usage"] = nothing_spent(response.get("usage"))
    return renewed


def _stored(completion: Completion) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(completion.native or completion.body)
    return document if completion.native is not None else bare(write_answer(document))


def _named(prefix: str, suffix: str) -> orjson.Fragment:
    return orjson.Fragment(b'"%b_%b%b"' % (prefix.encode(), _ID, suffix.encode()))
