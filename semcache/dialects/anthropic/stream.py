"""Replays: a stored answer as one message, or as the events of a stream.

Pure. All that does not change from replay to replay is laid out once; a replay puts a fresh id in. No pacing, no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import Completion
from semcache.dialects.anthropic.answer import bare_answer, write_answer
from semcache.dialects.anthropic.counts import LATE, NOTHING, free
from semcache.dialects.dialect import UsageMode
from semcache.dialects.pieces import PIECE, pieces

_ID = b'"id":"msg_'
ENDING = ("stop_reason", "stop_sequence", "stop_details", "container")
"""Fields of a message that a stream tells at its end, inside `delta`."""
BESIDE = ("context_management",)
"""Those that it tells at its end, beside `delta`."""
_LATE = frozenset((*ENDING, *BESIDE))
STREAMED_INPUT = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
"""Blocks whose input comes in parts of its JSON."""


@dataclass(frozen=True, slots=True)
class Document:
    """A message without its id: `head + id + tail`."""

    head: bytes
    tail: bytes

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the reply body."""
        del created
        return b"".join((self.head, id, self.tail))

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give the same."""
        yield self.whole(id, created)

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self.tail)


@dataclass(frozen=True, slots=True)
class Events:
    """A stream without its id, which stands in the first event alone: `head + id + tail`, then `rest`."""

    head: bytes
    tail: bytes
    rest: tuple[bytes, ...]

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the whole stream in one piece."""
        del created
        return b"".join((self.head, id, self.tail, *self.rest))

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give the events one by one."""
        del created
        yield b"".join((self.head, id, self.tail))
        yield from self.rest

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self.tail) + sum(map(len, self.rest))


def framed(kind: str, data: bytes) -> bytes:
    """Give one event; clients go by its name."""
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def event(kind: str, **fields: Any) -> bytes:
    """Give one event of this type."""
    return framed(kind, orjson.dumps({"type": kind, **fields}))


def is_own_stream(chunks: bytes) -> bool:
    """Tell whether kept stream events are Anthropic's; chat's, of an entry that both share, begin otherwise."""
    return chunks.startswith(b'[{"type":"message_start"')


def can_replay(completion: Completion, *, stream: bool) -> bool:
    """Tell whether nothing is lost in this wire mode."""
    if completion.chunks is not None:
        return stream and is_own_stream(completion.chunks)
    if completion.native is not None:
        return True
    try:
        _of_chat(completion)
    except ValueError:
        return False
    return True


def document_of(completion: Completion, mode: UsageMode) -> Document:
    """Lay an answer out as one message.

    Raises:
        ValueError: it cannot be.
    """
    if completion.chunks is not None:
        raise ValueError("this answer can only be replayed as a stream")
    message, known = _message(completion)
    message["usage"] = _usage(known, mode)
    return Document(b"{" + _ID, b'",' + orjson.dumps(message)[1:])


def events_of(completion: Completion, mode: UsageMode, piece: int = PIECE) -> Events:
    """Lay an answer out as a stream.

    Raises:
        ValueError: it cannot be.
    """
    if completion.chunks is not None:
        if not is_own_stream(completion.chunks):
            raise ValueError("this answer can only be replayed as a stream of chat chunks")
        events = _stored(orjson.loads(completion.chunks), mode)
    else:
        message, known = _message(completion)
        events = rendered(message, _usage(known, mode), piece)
    return _laid_out(events)


def rendered(message: Mapping[str, Any], usage: Mapping[str, Any], piece: int) -> Iterator[dict[str, Any]]:
    """Yield the events of a message, its id left away."""
    start = {name: value for name, value in message.items() if name not in _LATE and name != "usage"}
    empty: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _at_start(usage),
    }
    yield {"type": "message_start", "message": {**start, **empty}}
    for index, block in enumerate(message["content"]):
        yield from _block(index, block, piece)
    delta = {"stop_reason": None, "stop_sequence": None}
    delta |= {name: message[name] for name in ENDING if name in message}
    beside = {name: message[name] for name in BESIDE if name in message}
    yield {"type": "message_delta", "delta": delta, "usage": _at_end(usage), **beside}
    yield {"type": "message_stop"}


def _of_chat(completion: Completion) -> tuple[dict[str, Any], Any]:
    document = orjson.loads(completion.body)
    if any(choice["message"].get("refusal") for choice in document["choices"]):
        raise ValueError("a refusal is no answer to replay")
    return write_answer(document), document.get("usage")


def _message(completion: Completion) -> tuple[dict[str, Any], Any]:
    """Give the message, and its usage if that is known."""
    if completion.native is not None:
        message = orjson.loads(completion.native)
        return message, message.get("usage")
    message, told = _of_chat(completion)
    return message, message["usage"] if told is not None else None


def _usage(known: Any, mode: UsageMode) -> dict[str, Any]:
    if mode == "zero":
        return free(known)
    return known if isinstance(known, dict) else dict(NOTHING)


def _at_start(usage: Mapping[str, Any]) -> dict[str, Any]:
    """What was read is known from the start; what will be written is not."""
    told = {
        name: value
        for name, value in usage.items()
        if name not in ("output_tokens_details", "iterations", "fallback_credit", "server_tool_use")
    }
    return {**told, "output_tokens": 0} if "output_tokens" in told else told


def _at_end(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in usage.items() if name in LATE or name == "semcache_saved"}


def _block(index: int, block: Mapping[str, Any], piece: int) -> Iterator[dict[str, Any]]:
    start = dict(block)
    deltas: list[dict[str, Any]] = []
    match block:
        case {"type": "text", "text": str() as text}:
            start["text"] = ""
            deltas += ({"type": "text_delta", "text": part} for part in pieces(text, piece))
            if isinstance(block.get("citations"), list):
                start["citations"] = []
                deltas += ({"type": "citations_delta", "citation": one} for one in block["citations"])
        case {"type": "thinking", "thinking": str() as text}:
            start["thinking"] = ""
            deltas += ({"type": "thinking_delta", "thinking": part} for part in pieces(text, piece))
            if isinstance(block.get("signature"), str) and block["signature"]:
                start["signature"] = ""
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case {"type": kind, "input": dict() as given} if kind in STREAMED_INPUT:
            start["input"] = {}
            text = orjson.dumps(given).decode()
            deltas += ({"type": "input_json_delta", "partial_json": part} for part in pieces(text, piece))
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _stored(events: list[Any], mode: UsageMode) -> Iterator[dict[str, Any]]:
    """The stream's own events, with the usage that is wanted."""
    for one in events:
        message = one.get("message")
        if one["type"] == "message_start" and isinstance(message, dict):
            one["message"] = {**message, "usage": _usage(message.get("usage"), mode)}
        elif one["type"] == "message_delta":
            one["usage"] = _usage(one.get("usage"), mode)
        yield one


def _laid_out(events: Iterator[dict[str, Any]]) -> Events:
    first = next(events)
    message = bare_answer(first["message"])
    beside = {name: value for name, value in first.items() if name not in ("type", "message")}
    head = b'event: message_start\ndata: {"type":"message_start","message":{' + _ID
    tail = b'",' + orjson.dumps(message)[1:]
    tail += b"," + orjson.dumps(beside)[1:] if beside else b"}"
    rest = tuple(framed(one["type"], orjson.dumps(one)) for one in events)
    return Events(head, tail + b"\n\n", rest)
