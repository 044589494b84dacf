"""Anthropic's messages as a dialect. Pure; what it does stands in its neighbours."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from semcache.core import ChatRequest, Completion, JsonObject
from semcache.dialects.anthropic import errors
from semcache.dialects.anthropic import stream as replays
from semcache.dialects.anthropic.answer import bare_answer, read_answer, write_answer
from semcache.dialects.anthropic.assemble import EventAssembler
from semcache.dialects.anthropic.reader import EventReader
from semcache.dialects.anthropic.request import read_request
from semcache.dialects.anthropic.write import write_request
from semcache.dialects.anthropic.writer import EventWriter
from semcache.dialects.dialect import Assembler, ErrorWords, Family, Layout, Translated, Wanted, Written
from semcache.dialects.document import MEDIA_TYPES, DocumentAssembler
from semcache.dialects.keeping import kept

_PATH = "/v1/messages"
_STREAMING = frozenset(("stream", "stream_options"))
_WARMEST = 1.0
"""The highest temperature, and the one of requests that name none."""


class Messages:
    """POST /v1/messages."""

    name = "anthropic.messages"
    family: Family = "anthropic"
    route = "messages"
    stream_type = b"text/event-stream; charset=utf-8"

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request."""
        return read_request(body, path, query)

    def write(self, chat: JsonObject) -> Written:
        """Write a chat body as a request."""
        return Written(_PATH, write_request(chat))

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Leave streaming away; models that think take no temperature and are warm by themselves."""
        body = {name: value for name, value in request.body.items() if name not in _STREAMING}
        native = {name: value for name, value in (request.native or {}).items() if name not in _STREAMING}
        if temperature is not None:
            warm = max(temperature, _WARMEST if request.temperature is None else request.temperature)
            body["temperature"] = warm
            thinking = native.get("thinking") or {}
            if not isinstance(thinking, dict) or thinking.get("type", "disabled") == "disabled":
                native["temperature"] = min(warm, _WARMEST)
        return replace(
            request,
            body=body,
            native=native if request.native is not None else None,
            stream=False,
            include_usage=False,
            keys={},
        )

    def assembler(self, content_type: str) -> Assembler | None:
        """Collect documents and event streams."""
        if content_type == "text/event-stream":
            return EventAssembler(self)
        # Some servers label their JSON as text; the document decides.
        return DocumentAssembler(partial(kept, self)) if content_type in MEDIA_TYPES else None

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give a message as a `chat.completion`."""
        return read_answer(answer)

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Leave the id away, and what is about this call's prompt."""
        return bare_answer(answer)

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give a `chat.completion` as a message."""
        return write_answer(chat)

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Tell whether nothing is lost in this wire mode."""
        return replays.can_replay(completion, stream=stream)

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay an answer out."""
        if wanted.stream:
            return replays.events_of(completion, wanted.usage)
        return replays.document_of(completion, wanted.usage)

    def live_writer(self, wanted: Wanted, id: str, created: int) -> EventWriter:
        """Give what writes a chat stream as events; they name no time and always tell their usage."""
        del wanted, created
        return EventWriter(f"msg_{id}")

    def live_reader(self) -> EventReader:
        """Give what reads events as chat chunks."""
        return EventReader()

    def count_events(self, chunk: bytes) -> int:
        """Count deltas of content."""
        return chunk.count(b"event: content_block_delta")

    def write_error(self, error: ErrorWords) -> bytes:
        """Give `{"type": "error", "error": {type, message}}`."""
        return errors.error_body(error)

    def write_error_event(self, error: ErrorWords) -> bytes:
        """Give an `error` event of the same."""
        return errors.error_event(error)

    def read_error(self, status: int, body: bytes) -> ErrorWords:
        """Read the same."""
        return errors.read_error(status, body)


MESSAGES = Messages()
