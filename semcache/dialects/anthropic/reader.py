"""Reads a stream of Anthropic's events as chat chunks while it comes. Pure.

Signatures, citations and the blocks of server tools have no place in a chat stream and are passed over.
"""

from __future__ import annotations

from typing import Any

import orjson

from semcache.dialects.anthropic.answer import finish_of
from semcache.dialects.anthropic.counts import chat_usage, merged
from semcache.dialects.anthropic.errors import chat_error
from semcache.dialects.halves import parsed
from semcache.dialects.sse import SseEvent, SseSplitter

_Chunks = list[dict[str, Any]]

_INSIDE = frozenset(
    ("content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop")
)


class EventReader:
    """Gives chunks: the role, texts and calls as they come, the finish reason, the usage."""

    def __init__(self) -> None:
        self._splitter = SseSplitter()
        self._started = False
        self._done = False
        self._failed = False
        self._blocks: set[int] = set()
        """Numbers of blocks that were begun."""
        self._model: Any = None
        self._usage: dict[str, Any] = {}
        self._calls: dict[Any, int] = {}
        self._given: dict[Any, Any] = {}
        """Inputs of calls that came with their block's start; None once parts of their JSON came."""

    @property
    def is_done(self) -> bool:
        """True after `message_stop`."""
        return self._done

    def feed(self, data: bytes) -> _Chunks:
        """Take decoded body bytes; give the chunks they complete."""
        chunks = [chunk for event in self._splitter.feed(data) for chunk in self._take(event)]
        if self._splitter.overflowed:
            chunks += self._fail(None)
        return chunks

    def finish(self) -> _Chunks:
        """Give what is left after the last byte; half an event is none."""
        return [chunk for event in self._splitter.finish() for chunk in self._take(event)]

    def _take(self, event: SseEvent) -> _Chunks:
        if not event.data or self._done or self._failed or event.data.strip() == b"[DONE]":
            return []
        if event.name == b"ping":
            return []
        try:
            value = parsed(event.data)[0]
        except ValueError:
            value = None
        if not isinstance(value, dict):
            return self._fail(value)
        if event.name == b"error" or value.get("type") == "error":
            return self._fail(value.get("error"))
        return self._event(value)

    def _event(self, value: dict[str, Any]) -> _Chunks:
        kind = value.get("type")
        if isinstance(kind, str) and kind in _INSIDE and not self._started:
            # What came before is missing, and nobody knows what it was.
            return self._fail(None)
        match kind:
            case "message_start":
                return self._start(value.get("message"))
            case "content_block_start":
                return self._open(value.get("index"), value.get("content_block"))
            case "content_block_delta":
                return self._delta(value.get("index"), value.get("delta"))
            case "content_block_stop":
                return self._close(value.get("index"))
            case "message_delta":
                return self._end(value)
            case "message_stop":
                return self._stop()
            case _:
                return []

    def _fail(self, told: Any) -> _Chunks:
        if self._failed:
            return []
        self._failed = True
        return [{"error": chat_error(told)}]

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **beside: Any) -> _Chunks:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **beside}
        return [{"object": "chat.completion.chunk", "model": self._model, "choices": [choice]}]

    def _start(self, message: Any) -> _Chunks:
        self._started = True
        if isinstance(message, dict):
            self._model = message.get("model")
            self._usage = merged({}, message.get("usage"))
        return self._chunk({"role": "assistant"})

    def _open(self, index: Any, block: Any) -> _Chunks:
        if isinstance(index, int):
            self._blocks.add(index)
        match block:
            case {"type": "text", "text": str() as text} if text:
                return self._chunk({"content": text})
            case {"type": "thinking", "thinking": str() as text} if text:
                return self._chunk({"reasoning_content": text})
            case {"type": "tool_use"} if isinstance(index, int):
                number = self._calls[index] = len(self._calls)
                self._given[index] = block.get("input") or {}
                function = {"name": block.get("name"), "arguments": ""}
                call = {"index": number, "id": block.get("id"), "type": "function", "function": function}
                return self._chunk({"tool_calls": [call]})
            case _:
                return []

    def _delta(self, index: Any, delta: Any) -> _Chunks:
        is_begun = isinstance(index, int) and index in self._blocks
        match delta:
            case {"type": "text_delta" | "thinking_delta"} if not is_begun:
                return self._fail(None)
            case {"type": "text_delta", "text": str() as text} if text:
                return self._chunk({"content": text})
            case {"type": "thinking_delta", "thinking": str() as text} if text:
                return self._chunk({"reasoning_content": text})
            case {"type": "input_json_delta", "partial_json": str() as part} if part:
                return self._arguments(index, part)
            case _:
                return []

    def _arguments(self, index: Any, part: str) -> _Chunks:
        if not isinstance(index, int) or index not in self._calls:
            return []
        self._given[index] = None
        return self._chunk({"tool_calls": [{"index": self._calls[index], "function": {"arguments": part}}]})

    def _close(self, index: Any) -> _Chunks:
        given = self._given.pop(index, None) if isinstance(index, int) else None
        return [] if given is None else self._arguments(index, orjson.dumps(given).decode())

    def _end(self, event: dict[str, Any]) -> _Chunks:
        self._usage = merged(self._usage, event.get("usage"))
        delta = event.get("delta")
        finish = finish_of(delta.get("stop_reason")) if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or finish is None:
            return []
        sequence = delta.get("stop_sequence")
        return self._chunk({}, finish, **({"stop_reason": sequence} if isinstance(sequence, str) else {}))

    def _stop(self) -> _Chunks:
        self._done = True
        usage = chat_usage(self._usage)
        if usage is None:
            return []
        return [{"object": "chat.completion.chunk", "model": self._model, "choices": [], "usage": usage}]
