"""Collect a chat answer while it passes by, and say at its end whether it may be remembered.

Pure and incremental. Nothing here can disturb the bytes on their way to the client: whatever is
wrong with them only makes the outcome `Incomplete`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from semcache.core import Completion
from semcache.dialects.chat.answer import DROPPED, complete
from semcache.dialects.chat.merge import ChoiceMerge, FieldMerge
from semcache.dialects.dialect import Assembler, Incomplete
from semcache.dialects.document import MAX_BYTES, MEDIA_TYPES, DocumentAssembler
from semcache.dialects.halves import mended, parsed
from semcache.dialects.sse import SseEvent, SseSplitter
from semcache.dialects.usage import read_usage

_DONE = b"[DONE]"
_PLAIN_EVENTS = (b"", b"message")


def chat_assembler(content_type: str) -> Assembler | None:
    """Choose by media type; None for what cannot be a chat answer."""
    if content_type == "text/event-stream":
        return StreamAssembler()
    return JsonAssembler() if content_type in MEDIA_TYPES else None


class JsonAssembler(DocumentAssembler):
    """A whole answer in one JSON document."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(complete, max_bytes)


def _as_it_is(choice: dict[str, Any]) -> dict[str, Any]:
    return choice


class StreamAssembler:
    """An answer that comes as an event stream of chunks ending in `[DONE]`.

    Args:
        max_bytes: larger ones are not collected.
        lift: gives a choice of a chunk in chat's words, for streams of chunks that only look alike; a ValueError spoils all.
        judge: says what becomes of the whole and of the chunks that must be kept beside it.
    """

    def __init__(
        self,
        max_bytes: int = MAX_BYTES,
        lift: Callable[[dict[str, Any]], dict[str, Any]] = _as_it_is,
        judge: Callable[[dict[str, Any], bytes | None], Completion | Incomplete] = complete,
    ) -> None:
        self._lift = lift
        self._judge = judge
        self._left = max_bytes
        self._splitter = SseSplitter()
        self._flaw: str | None = None
        self._done = False
        self._ragged = False
        """Whether half an event is left at the end."""
        self._chunks: list[bytes] = []
        self._top = FieldMerge(frozenset(), joins=False)
        self._usage: Any = None
        self._choices: dict[int, ChoiceMerge] = {}
        self._surrogates = False

    @property
    def is_done(self) -> bool:
        """True once `[DONE]` came after nothing but good chunks."""
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
        usage = read_usage(self._usage)
        if self._flaw is not None:
            return Incomplete(self._flaw, usage)
        if self._ragged or not self._is_told():
            # An end mark alone proves that nothing follows, not that nothing is missing.
            return Incomplete("unended", usage)
        if not self._done:
            return Incomplete("no_done", usage)
        document = self._document()
        chunks: bytes | None = None
        try:
            if self._surrogates:
                document = mended(document)
            if self._top.lossy or any(choice.lossy for choice in self._choices.values()):
                chunks = self._kept_chunks()
        except (ValueError, RecursionError):
            # Half a pair is left, or stands in a chunk that would have to be kept as it is.
            return Incomplete("surrogate", usage)
        return self._judge(document, chunks)

    def _is_told(self) -> bool:
        """Tell whether every choice said why it ended."""
        return bool(self._choices) and all(choice.has_ended for choice in self._choices.values())

    def _spoil(self, reason: str) -> None:
        self._flaw = self._flaw or reason
        self._chunks.clear()
        self._choices.clear()

    def _take(self, event: SseEvent) -> None:
        if event.data is None:
            # The last event without its blank line: only the end mark is taken from it.
            self._done = self._done or event.raw.strip() in (b"data: [DONE]", b"data:[DONE]")
            self._ragged = not self._done and bool(event.raw.strip())
        elif event.data.strip() == _DONE:
            self._done = True
        elif event.data and self._flaw is None:
            self._take_data(event.name, event.data)

    def _take_data(self, name: bytes, data: bytes) -> None:
        chunk = self._parse(data)
        if name == b"error":
            self._spoil("error")
        elif name not in _PLAIN_EVENTS and not _is_chunk(chunk):
            return  # an event of somebody's own, no part of the answer
        elif chunk is None:
            self._spoil("invalid_json")
        elif not isinstance(chunk, dict):
            self._spoil("shape")
        elif chunk.get("error"):
            self._spoil("error")
        elif self._done:
            self._spoil("after_done")
        else:
            self._chunks.append(data)
            self._merge(chunk)

    def _parse(self, data: bytes) -> Any:
        """Parse one event's JSON; None when it is none. Half a surrogate pair is let through."""
        try:
            value, halves = parsed(data)
        except ValueError:
            return None
        self._surrogates = self._surrogates or halves
        return value

    def _merge(self, chunk: dict[str, Any]) -> None:
        for key, value in chunk.items():
            if key == "usage":
                # Servers that count as they go send it in every chunk: the last one holds.
                self._usage = value if value is not None else self._usage
            elif key == "choices":
                self._merge_choices(value)
            elif key != "object" and key not in DROPPED:
                self._top.add(key, value)

    def _merge_choices(self, choices: Any) -> None:
        if choices is None:
            return
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            self._spoil("shape")
            return
        for choice in choices:
            index = choice.get("index", 0)
            if choice.get("error") or not isinstance(index, int):
                self._spoil("error" if choice.get("error") else "shape")
                return
            merge = self._choices.get(index)
            if merge is None:
                merge = self._choices[index] = ChoiceMerge(index)
            try:
                merge.add(self._lift(choice))
            except ValueError:
                self._spoil("shape")
                return

    def _document(self) -> dict[str, Any]:
        top = self._top.result()
        document = {
            "object": "chat.completion",
            "model": top.pop("model", None),
            "choices": [self._choices[index].result() for index in sorted(self._choices)],
        }
        if self._usage is not None:
            document["usage"] = self._usage
        return {**document, **top}

    def _kept_chunks(self) -> bytes:
        kept = [orjson.loads(data) for data in self._chunks]
        return orjson.dumps([{k: v for k, v in chunk.items() if k not in DROPPED} for chunk in kept])


def _is_chunk(value: Any) -> bool:
    return isinstance(value, dict) and value.get("object") in ("chat.completion.chunk", "text_completion")
