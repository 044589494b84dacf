"""Replay a stored chat answer: as one JSON document, or as an event stream of chunks.

Pure. Everything that does not change from replay to replay is laid out once; a replay is then one
`bytes.join` with a fresh id and time (both the same in every chunk). No pacing, no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from semcache.core import Completion
from semcache.dialects.dialect import UsageMode
from semcache.dialects.pieces import PIECE, pieces
from semcache.dialects.usage import zeroed

DONE = b"data: [DONE]\n\n"
_OPEN_JSON = b'{"id":"chatcmpl-'
_OPEN_EVENT = b'data: {"id":"chatcmpl-'
_REASONING = ("reasoning_content", "reasoning")
_SAID = ("role", "content", "refusal", "tool_calls", "function_call", *_REASONING)
_EVERY_CHUNK = ("model", "service_tier", "system_fingerprint")
_MESSAGE_ONLY = ("object", "choices", "usage", *_EVERY_CHUNK)


class JsonParts(NamedTuple):
    """`prefix + id + middle + created + suffix` is the reply body; the id needs no JSON escapes."""

    prefix: bytes
    middle: bytes
    suffix: bytes

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the reply body; `created` is a Unix time in digits."""
        return b"".join((self.prefix, id, self.middle, created, self.suffix))

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give the same."""
        yield self.whole(id, created)

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self.suffix)


@dataclass(frozen=True, slots=True)
class SseParts:
    """An event stream without its ids and times.

    Every event is `prefix + id + middle + created + tail`; the last tail brings `[DONE]` along.
    """

    prefix: bytes
    middle: bytes
    tails: tuple[bytes, ...]

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the whole stream in one piece."""
        return b"".join((self.prefix, id, self.middle, created)).join((b"", *self.tails))

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give the events one by one, `[DONE]` together with the last."""
        opening = b"".join((self.prefix, id, self.middle, created))
        return (opening + tail for tail in self.tails)

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(map(len, self.tails))


def json_parts(completion: Completion, usage: UsageMode = "zero") -> JsonParts:
    """Lay out a stored answer as one JSON document.

    Raises:
        ValueError: the answer can be replayed to streams only (`chunks` is set).
    """
    if completion.chunks is not None:
        raise ValueError("this answer can only be replayed as a stream")
    document = orjson.loads(completion.body)
    set_usage(document, usage)
    document.pop("object", None)
    rest = orjson.dumps(document)
    suffix = b"," + rest[1:] if document else rest[1:]
    return JsonParts(_OPEN_JSON, b'","object":"chat.completion","created":', suffix)


def sse_parts(
    completion: Completion, *, include_usage: bool, usage: UsageMode = "zero", piece: int = PIECE
) -> SseParts:
    """Lay out a stored answer as an event stream.

    Args:
        completion: What was stored.
        include_usage: Whether the client asked for the closing usage chunk.
        usage: Whether that chunk tells the stored counts or zeros.
        piece: Characters of text in one chunk, about.
    """
    if completion.chunks is not None:
        chunks = stored_chunks(orjson.loads(completion.chunks), include_usage, usage)
    else:
        document = orjson.loads(completion.body)
        set_usage(document, usage)
        chunks = fresh_chunks(document, include_usage, piece)
    tails = [b"," + orjson.dumps(chunk)[1:] + b"\n\n" for chunk in chunks]
    tails[-1] += DONE
    return SseParts(_OPEN_EVENT, b'","object":"chat.completion.chunk","created":', tuple(tails))


def set_usage(document: dict[str, Any], mode: UsageMode) -> None:
    """Put the usage of a replay in place of the first answer's, unless that is wanted."""
    if mode == "zero":
        document["usage"] = zeroed(document.get("usage"))


def stored_chunks(chunks: list[Any], include_usage: bool, mode: UsageMode) -> Iterator[dict[str, Any]]:
    """Give the stream's own chunks, with usage only where it was asked for."""
    for chunk in chunks:
        had_usage = chunk.get("usage") is not None
        chunk.pop("object", None)
        if had_usage:
            set_usage(chunk, mode)
        if not include_usage:
            chunk.pop("usage", None)
        if include_usage or chunk.get("choices") or not had_usage:
            yield chunk


def fresh_chunks(document: dict[str, Any], include_usage: bool, piece: int) -> Iterator[dict[str, Any]]:
    """Give the chunks that a whole answer makes, without `object`."""
    frame = {key: document[key] for key in _EVERY_CHUNK if key in document}
    own = {key: value for key, value in document.items() if key not in _MESSAGE_ONLY}
    no_usage = {"usage": None} if include_usage else {}
    for choice in document["choices"]:
        for part in _choice_chunks(choice, piece):
            yield {**frame, **own, "choices": [part], **no_usage}
            own = {}
    if include_usage and document.get("usage") is not None:
        yield {**frame, "choices": [], "usage": document["usage"]}


def _choice_chunks(choice: dict[str, Any], piece: int) -> Iterator[dict[str, Any]]:
    index = choice.get("index", 0)
    extra = {k: v for k, v in choice.items() if k not in ("index", "message", "logprobs", "finish_reason")}
    logprobs = choice.get("logprobs")
    for delta in _deltas(choice["message"], piece):
        carries = logprobs if "content" in delta and delta["content"] and "role" not in delta else None
        yield {"index": index, "delta": delta, "logprobs": carries, "finish_reason": None}
        logprobs = None if carries is not None else logprobs
    # Log probabilities of an answer without text have no other place left.
    yield {
        "index": index,
        "delta": {},
        "logprobs": logprobs,
        "finish_reason": choice["finish_reason"],
        **extra,
    }


def _deltas(message: dict[str, Any], piece: int) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    head: dict[str, Any] = {"role": message.get("role", "assistant")}
    if "content" in message:
        head["content"] = "" if isinstance(content, str) else None
    if "refusal" in message:
        head["refusal"] = message["refusal"]
    head.update({key: value for key, value in message.items() if key not in _SAID})
    yield head
    for key in _REASONING:
        yield from _texts(key, message.get(key), piece)
    yield from _texts("content", content, piece)
    for number, call in enumerate(message.get("tool_calls") or ()):
        yield {"tool_calls": [{"index": number, **call}]}
    if message.get("function_call"):
        yield {"function_call": message["function_call"]}


def _texts(key: str, value: Any, piece: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, str):
        for text in pieces(value, piece):
            yield {key: text}
    elif value:
        yield {key: value}
