"""OpenAI's chat completions as a dialect: the shape that everything inside has, so nothing is translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from semcache.core import ChatRequest, Completion, JsonObject
from semcache.dialects.chat import request as requests
from semcache.dialects.chat.answer import DROPPED
from semcache.dialects.chat.assemble import chat_assembler
from semcache.dialects.chat.render import DONE, json_parts, sse_parts
from semcache.dialects.dialect import Assembler, ErrorWords, Family, Layout, Translated, Wanted, Written
from semcache.dialects.errors import openai_error, read_openai_error
from semcache.dialects.halves import Joiner, dumped, parsed
from semcache.dialects.sse import SseSplitter

_PATH = "/v1/chat/completions"
_STREAMING = frozenset(("stream", "stream_options"))


class Chat:
    """POST /v1/chat/completions."""

    name = requests.DIALECT
    family: Family = "openai"
    route = "chat"
    stream_type = b"text/event-stream; charset=utf-8"

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Give the body as it is."""
        del path
        request = requests.parse_chat(body, _PATH)
        return Translated(body, {}, (), request.stream, request.include_usage, _PATH, query=query)

    def write(self, chat: JsonObject) -> Written:
        """Give the body as it is."""
        return Written(_PATH, dict(chat))

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Leave streaming away, and the seed of a warmer answer."""
        body = {name: value for name, value in request.body.items() if name not in _STREAMING}
        if temperature is not None:
            body["temperature"] = max(temperature, request.temperature or 0.0)
            body.pop("seed", None)
        return replace(request, body=body, stream=False, include_usage=False, keys={})

    def assembler(self, content_type: str) -> Assembler | None:
        """Collect documents and event streams."""
        return chat_assembler(content_type)

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give the answer without what is fresh in it."""
        return self.bare(answer)

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Leave id, time, padding and the engine's own words away."""
        return {name: value for name, value in answer.items() if name not in DROPPED}

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give the answer as it is."""
        return dict(chat)

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Streams can always be replayed; documents unless putting them together lost something."""
        return stream or completion.chunks is None

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay an answer out."""
        if wanted.stream:
            return sse_parts(completion, include_usage=wanted.include_usage, usage=wanted.usage)
        return json_parts(completion, wanted.usage)

    def live_writer(self, wanted: Wanted, id: str, created: int) -> ChatWriter:
        """Give what writes chunks as they are, under this id and time."""
        return ChatWriter(f"chatcmpl-{id}", created, include_usage=wanted.include_usage)

    def live_reader(self) -> ChatReader:
        """Give what reads chunks as they are."""
        return ChatReader()

    def count_events(self, chunk: bytes) -> int:
        """Count events."""
        return chunk.count(b"data:")

    def write_error(self, error: ErrorWords) -> bytes:
        """Give `{"error": {message, type, param, code}}`."""
        return orjson.dumps({"error": openai_error(error)})

    def write_error_event(self, error: ErrorWords) -> bytes:
        """Give an event of the same."""
        return b"data: " + self.write_error(error) + b"\n\n"

    def read_error(self, status: int, body: bytes) -> ErrorWords:
        """Read the same."""
        return read_openai_error(status, body)


class ChatWriter:
    """Writes chunks as server-sent events.

    Args:
        id: in every chunk.
        created: in every chunk, Unix seconds.
        include_usage: pass the usage chunk on.
    """

    def __init__(self, id: str, created: int, *, include_usage: bool) -> None:
        self._frame = {"id": id, "object": "chat.completion.chunk", "created": created}
        self._include_usage = include_usage

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Give the event of a chunk."""
        if chunk.get("error"):
            return b"data: " + dumped(chunk) + b"\n\n"
        if not self._include_usage and not chunk.get("choices") and chunk.get("usage"):
            return b""
        return b"data: " + dumped({**self._frame, **chunk}) + b"\n\n"

    def finish(self) -> bytes:
        """Give the end mark."""
        return DONE


class ChatReader:
    """Reads server-sent events as chunks."""

    def __init__(self) -> None:
        self._splitter = SseSplitter()
        self._joiner = Joiner()
        self._done = False

    @property
    def is_done(self) -> bool:
        """True after the end mark."""
        return self._done

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Give the chunks that these bytes complete."""
        return [chunk for event in self._splitter.feed(data) if (chunk := self._chunk(event.data))]

    def finish(self) -> list[dict[str, Any]]:
        """Give nothing more; half an event is none."""
        for event in self._splitter.finish():
            self._done = self._done or event.raw.strip() in (b"data: [DONE]", b"data:[DONE]")
        return [_unreadable()] if self._joiner.waits else []

    def _chunk(self, data: bytes | None) -> dict[str, Any] | None:
        if not data:
            return None
        if data.strip() == b"[DONE]":
            self._done = True
            return None
        try:
            chunk, has_halves = parsed(data)
            if isinstance(chunk, dict) and (has_halves or self._joiner.waits):
                chunk = self._joiner.joined(chunk)
        except ValueError:
            return _unreadable()
        if not isinstance(chunk, dict):
            return None
        return {name: value for name, value in chunk.items() if name not in ("id", "created")}


def _unreadable() -> dict[str, Any]:
    return {"error": {"message": "The upstream's stream cannot be read.", "type": "upstream_error"}}


CHAT = Chat()
