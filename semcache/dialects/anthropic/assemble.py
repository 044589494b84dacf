"""Collect an answer from a stream of events while it passes by, and say at its end whether it may be remembered.

Pure and incremental. Nothing here can disturb the bytes on their way to the client: whatever is wrong with them only
makes the outcome `Incomplete`. Where putting the events together would lose something, they are kept themselves.
"""

from __future__ import annotations

from typing import Any

import orjson

from semcache.core import Completion
from semcache.dialects.anthropic.answer import bare_answer
from semcache.dialects.anthropic.blocks import BlockMerge
from semcache.dialects.anthropic.counts import merged
from semcache.dialects.anthropic.stream import BESIDE, ENDING
from semcache.dialects.dialect import Dialect, Incomplete
from semcache.dialects.document import MAX_BYTES
from semcache.dialects.halves import mended, parsed
from semcache.dialects.keeping import kept
from semcache.dialects.sse import SseEvent, SseSplitter
from semcache.dialects.usage import read_anthropic

_KNOWN = frozenset(
    (
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    )
)
_OF_THE_CALL = frozenset(("amazon-bedrock-invocationMetrics",))
"""Beside an event, about the call and not the answer."""
_LATE = frozenset((*BESIDE, "input_transformations"))


class EventAssembler:
    """An answer that comes as an event stream from `message_start` to `message_stop`.

    Args:
        dialect: whose it is.
        max_bytes: larger ones are not collected.
    """

    def __init__(self, dialect: Dialect, max_bytes: int = MAX_BYTES) -> None:
        self._dialect = dialect
        self._left = max_bytes
        self._splitter = SseSplitter()
        self._flaw: str | None = None
        self._done = False
        self._lossy = False
        self._halves = False
        self._events: list[bytes] = []
        self._message: dict[str, Any] | None = None
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, BlockMerge] = {}

    @property
    def is_done(self) -> bool:
        """True once `message_stop` came after nothing but good events."""
        return self._done and self._flaw is None

    def feed(self, chunk: bytes) -> None:
        """Take the next decoded body bytes."""
        self._left -= len(chunk)
        if self._left < 0:
            self._spoil("too_large")
        if self._flaw is not None:
            return
        for event in self._splitter.feed(chunk):
            self._take(event)
        if self._splitter.overflowed:
            self._spoil("too_large")

    def finish(self) -> Completion | Incomplete:
        """Give the answer if the stream came to its proper end and everything in it is good."""
        for event in self._splitter.finish():
            self._take(event)
        usage = read_anthropic(self._usage)
        if self._flaw is not None or not self._done:
            return Incomplete(self._flaw or "unended", usage)
        try:
            answer = self._answer()
        except (ValueError, RecursionError):
            return Incomplete("arguments", usage)
        try:
            answer = mended(answer) if self._halves else answer
            events = self._kept_events() if self._lossy or self._is_lossy() else None
        except (ValueError, RecursionError):
            # Half a pair is left, or stands in an event that would have to be kept as it is.
            return Incomplete("surrogate", usage)
        return kept(self._dialect, answer, events)

    def _spoil(self, reason: str) -> None:
        self._flaw = self._flaw or reason
        self._events.clear()
        self._blocks.clear()

    def _is_lossy(self) -> bool:
        return any(block.lossy for block in self._blocks.values())

    def _take(self, event: SseEvent) -> None:
        # An event without its blank line is none; some gateways close every stream as OpenAI does.
        if not event.data or self._flaw is not None or event.data.strip() == b"[DONE]":
            return
        try:
            value, halves = parsed(event.data)
        except ValueError:
            value, halves = None, False
        kind = value.get("type") if isinstance(value, dict) else None
        self._halves = self._halves or halves
        if event.name == b"error" or kind == "error":
            self._spoil("error")
        elif kind == "ping" or event.name == b"ping":
            return
        elif not isinstance(value, dict) or not isinstance(kind, str):
            self._spoil("invalid_json" if value is None else "shape")
        elif self._done:
            self._spoil("after_done")
        elif (kind == "message_start") == (self._message is not None):
            self._spoil("shape")
        else:
            self._events.append(event.data)
            self._merge(kind, value)

    def _merge(self, kind: str, event: dict[str, Any]) -> None:
        match kind:
            case "message_start":
                self._start(event)
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                self._merge_block(kind, event)
            case "message_delta":
                self._end(event)
            case "message_stop":
                self._done = True
                self._only(event, ())
            case _:
                self._lossy = True

    def _start(self, event: dict[str, Any]) -> None:
        message = event.get("message")
        if not isinstance(message, dict) or not isinstance(message.get("content", []), list):
            self._spoil("shape")
            return
        self._only(event, ("message",))
        self._message = dict(message)
        self._usage = merged({}, message.get("usage"))
        for index, block in enumerate(message.get("content", [])):
            # Nobody does this; clients would keep it.
            self._lossy = True
            self._open(index, block)

    def _merge_block(self, kind: str, event: dict[str, Any]) -> None:
        index = event.get("index")
        if not isinstance(index, int) or (kind == "content_block_start") == (index in self._blocks):
            self._spoil("shape")
        elif kind == "content_block_start":
            self._only(event, ("index", "content_block"))
            self._lossy = self._lossy or index != len(self._blocks)
            self._open(index, event.get("content_block"))
        elif kind == "content_block_delta":
            self._only(event, ("index", "delta"))
            self._blocks[index].add(event.get("delta"))
        else:
            self._only(event, ("index",))

    def _open(self, index: int, block: Any) -> None:
        if not isinstance(block, dict):
            self._spoil("shape")
            return
        self._blocks[index] = BlockMerge(block)

    def _end(self, event: dict[str, Any]) -> None:
        delta = event.get("delta")
        if not isinstance(delta, dict) or self._message is None:
            self._spoil("shape")
            return
        self._only(event, ("delta", "usage", *_LATE))
        told = {name: value for name, value in delta.items() if name in ENDING}
        told |= {name: event[name] for name in _LATE if name in event}
        self._lossy = self._lossy or not delta.keys() <= set(ENDING)
        self._message = merged(self._message, told)
        self._usage = merged(self._usage, event.get("usage"))

    def _only(self, event: dict[str, Any], known: tuple[str, ...]) -> None:
        self._lossy = self._lossy or not event.keys() <= {"type", *known, *_OF_THE_CALL}

    def _answer(self) -> dict[str, Any]:
        content = [self._blocks[index].result() for index in sorted(self._blocks)]
        return {**(self._message or {}), "content": content, "usage": self._usage}

    def _kept_events(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for data in self._events:
            event = orjson.loads(data)
            rest = {name: value for name, value in event.items() if name not in {"type", *_OF_THE_CALL}}
            if event["type"] == "message_start":
                rest["message"] = bare_answer(rest["message"])
            out.append({"type": event["type"], **rest})
        return out
