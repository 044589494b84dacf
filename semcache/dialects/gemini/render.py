"""Replay a stored answer of Gemini: as one document, or as a stream of pieces in either framing.

Pure. Everything that does not change from replay to replay is laid out once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.dialect import UsageMode
from semcache.dialects.gemini.answer import parts_of, replayed
from semcache.dialects.gemini.frames import Framing
from semcache.dialects.gemini.stream import is_growing
from semcache.dialects.pieces import PIECE, pieces

_OPEN = b'{"responseId":"'
WHOLE = Framing(b"", b"", b"", b"")
EMPTY_PART = {"text": ""}


@dataclass(frozen=True, slots=True)
class Pieces:
    """An answer without its ids: every piece is a head, the id and a tail."""

    parts: tuple[tuple[bytes, bytes], ...]

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the reply body; Gemini's answers have no time."""
        return b"".join(self.events(id, created))

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give its pieces."""
        del created
        return (head + id + tail for head, tail in self.parts)

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(len(head) + len(tail) for head, tail in self.parts)


def laid_out(found: list[dict[str, Any]], framing: Framing) -> Pieces:
    """Lay pieces out."""
    tails = [_tail(piece) for piece in found]
    return Pieces(tuple((before + _OPEN, tail + after) for before, tail, after in framing.framed(tails)))


def document(answer: JsonObject, usage: UsageMode) -> Pieces:
    """Lay an answer out as one document."""
    return laid_out([replayed(answer, usage)], WHOLE)


def stream(answer: JsonObject, usage: UsageMode, framing: Framing, piece: int = PIECE) -> Pieces:
    """Lay an answer out as a stream; all candidates end in its last piece, so that half of it proves nothing."""
    return laid_out([*_pieces(answer, piece), replayed(_last(answer), usage)], framing)


def stored_pieces(chunks: list[Any], usage: UsageMode, framing: Framing) -> Pieces:
    """Lay the stream's own pieces out."""
    return laid_out([replayed(one, usage) if "usageMetadata" in one else one for one in chunks], framing)


def _tail(piece: JsonObject) -> bytes:
    rest = orjson.dumps({name: value for name, value in piece.items() if name != "responseId"})
    return b'"' + (b"," + rest[1:] if len(rest) > 2 else rest[1:])


def _pieces(answer: JsonObject, size: int) -> Iterator[dict[str, Any]]:
    model = {"modelVersion": answer["modelVersion"]} if "modelVersion" in answer else {}
    for candidate in answer.get("candidates") or ():
        place = {"index": candidate["index"]} if "index" in candidate else {}
        for part in _cut(parts_of(candidate), size):
            yield {"candidates": [{"content": {"parts": [part], **_role(candidate)}, **place}], **model}


def _cut(parts: list[dict[str, Any]], size: int) -> Iterator[dict[str, Any]]:
    for part in parts:
        if not is_growing(part):
            yield part
            continue
        for text in pieces(part["text"], size):
            yield {**part, "text": text}


def _role(candidate: JsonObject) -> dict[str, Any]:
    content = candidate["content"]
    return {"role": content["role"]} if "role" in content else {}


def _last(answer: JsonObject) -> dict[str, Any]:
    ends: list[dict[str, Any]] = []
    for candidate in answer.get("candidates") or ():
        content = candidate.get("content") or {}
        rest = {name: value for name, value in content.items() if name != "parts"}
        ends.append({**candidate, "content": {"parts": [EMPTY_PART], **rest}})
    return {**answer, **({"candidates": ends} if ends else {})}
