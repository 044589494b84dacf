"""OpenAI's responses as a dialect."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from semcache.core import ChatRequest, Completion, JsonObject
from semcache.dialects.dialect import (
    Assembler,
    ErrorWords,
    Family,
    Layout,
    LiveReader,
    LiveWriter,
    Translated,
    Wanted,
    Written,
)
from semcache.dialects.document import MEDIA_TYPES, DocumentAssembler
from semcache.dialects.errors import openai_error, read_openai_error
from semcache.dialects.keeping import kept
from semcache.dialects.responses import answer as answers
from semcache.dialects.responses import request as requests
from semcache.dialects.responses.layout import framed, has_own_events, laid_out
from semcache.dialects.responses.live import ResponseWriter
from semcache.dialects.responses.outgoing import write
from semcache.dialects.responses.reading import ResponseReader
from semcache.dialects.responses.stream import StreamAssembler
from semcache.dialects.responses.wording import LAST, error_event

_STREAMING = frozenset(("stream", "stream_options"))


class Responses:
    """POST /v1/responses."""

    name = "openai.responses"
    family: Family = "openai"
    route = "responses"
    stream_type = b"text/event-stream; charset=utf-8"

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request; see `request` for what may be kept."""
        return requests.read(body, path, query)

    def write(self, chat: JsonObject) -> Written:
        """Write a chat body as a request that keeps nothing at the other side."""
        return write(chat)

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Leave streaming away, and make it warmer."""
        warm = {} if temperature is None else {"temperature": max(temperature, request.temperature or 0.0)}
        native = None if request.native is None else {**_whole(request.native), **warm}
        chat = {**_whole(request.body), **warm}
        warmth = warm.get("temperature", request.temperature)
        return replace(
            request, body=chat, native=native, stream=False, include_usage=False, temperature=warmth, keys={}
        )

    def assembler(self, content_type: str) -> Assembler | None:
        """Collect documents and streams of typed events."""
        if content_type == "text/event-stream":
            return StreamAssembler(self)
        return DocumentAssembler(partial(kept, self)) if content_type in MEDIA_TYPES else None

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give a response as a `chat.completion`."""
        return answers.read_answer(answer)

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Leave names and times away, and what names the asker."""
        return answers.bare(answer)

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give a `chat.completion` as a response."""
        return answers.write_answer(chat)

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Tell whether a stored answer can be told in this wire mode: one whose own events are kept, to streams alone."""
        if completion.chunks is not None:
            return stream and has_own_events(completion)
        if completion.native is not None:
            return True
        try:
            answers.write_answer(orjson.loads(completion.body))
        except ValueError:
            return False
        return True

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay a stored answer out."""
        return laid_out(completion, wanted)

    def live_writer(self, wanted: Wanted, id: str, created: int) -> LiveWriter:
        """Give what writes a chat stream as typed events; they always tell the usage."""
        del wanted
        return ResponseWriter(id, created)

    def live_reader(self) -> LiveReader:
        """Give what reads typed events as chat chunks."""
        return ResponseReader()

    def count_events(self, chunk: bytes) -> int:
        """Count pieces of texts and calls."""
        return chunk.count(b'.delta"')

    def write_error(self, error: ErrorWords) -> bytes:
        """Give `{"error": {message, type, param, code}}`."""
        return orjson.dumps({"error": openai_error(error)})

    def write_error_event(self, error: ErrorWords) -> bytes:
        """Give an event of the same; it is numbered as the last one can be."""
        return b"".join(framed([error_event(openai_error(error))], LAST))

    def read_error(self, status: int, body: bytes) -> ErrorWords:
        """Read an error reply."""
        return read_openai_error(status, body)


def _whole(body: JsonObject) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _STREAMING}


RESPONSES = Responses()
