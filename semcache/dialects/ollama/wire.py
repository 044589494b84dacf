"""Ollama's own API as two dialects: `/api/chat` and `/api/generate`."""

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
from semcache.dialects.errors import read_openai_error
from semcache.dialects.keeping import kept
from semcache.dialects.ollama import answer as answers
from semcache.dialects.ollama import live, request, stream
from semcache.dialects.plain import too_deep

_STREAM_TYPES = frozenset(("application/x-ndjson", "application/ndjson", "application/jsonl"))
_STREAMING = frozenset(("stream", "stream_options"))


class OllamaChat:
    """POST /api/chat."""

    name = "ollama.chat"
    family: Family = "ollama"
    route = "generate"
    stream_type = b"application/x-ndjson"

    # -- requests -------------------------------------------------------------------------

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request; it streams unless it says otherwise."""
        del path
        try:
            return request.read_chat(body, query)
        except RecursionError:
            raise too_deep() from None

    def write(self, chat: JsonObject) -> Written:
        """Write a chat body."""
        return request.write_chat(chat)

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Turn streaming off, and leave the seed of a warmer answer away."""
        body = {name: value for name, value in request.body.items() if name not in _STREAMING}
        native = None if request.native is None else {**request.native, "stream": False}
        if temperature is not None:
            warm = max(temperature, request.temperature or 0.0)
            body["temperature"] = warm
            body.pop("seed", None)
            if native is not None:
                options = native.get("options")
                kept = dict(options) if isinstance(options, dict) else {}
                kept.pop("seed", None)
                native["options"] = {**kept, "temperature": warm}
        return replace(request, body=body, native=native, stream=False, include_usage=False, keys={})

    # -- answers --------------------------------------------------------------------------

    def assembler(self, content_type: str) -> Assembler | None:
        """Collect lines and documents."""
        if content_type in _STREAM_TYPES:
            return stream.StreamAssembler(self, self.shaped, self.own)
        return DocumentAssembler(partial(kept, self)) if content_type in MEDIA_TYPES else None

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give an answer in chat's words."""
        return answers.read_answer(self.shaped(answer))

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Leave time and durations away."""
        return answers.bare(answer)

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give a chat answer in Ollama's words."""
        return self.own(answers.write_answer(chat))

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Streams alone where putting one together lost something; nothing where chat says more than Ollama can."""
        if completion.chunks is not None:
            return stream
        if completion.native is not None:
            return True
        try:
            self.write_answer(orjson.loads(completion.body))
        except ValueError:
            return False
        return True

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay an answer out."""
        if completion.chunks is not None:
            if not wanted.stream:
                raise ValueError("this answer can only be replayed as a stream")
            return stream.stored_lines(orjson.loads(completion.chunks), wanted.usage)
        if completion.native is not None:
            answer = orjson.loads(completion.native)
        else:
            answer = self.bare(self.write_answer(orjson.loads(completion.body)))
        if wanted.stream:
            return stream.lines(self.shaped(answer), wanted.usage, self.own)
        return stream.document(answer, wanted.usage)

    def live_writer(self, wanted: Wanted, id: str, created: int) -> LiveWriter:
        """Write a chat stream as lines; they have no id."""
        del id
        return live.LiveWriter(self.own, wanted, created)

    def live_reader(self) -> LiveReader:
        """Read lines as chat chunks."""
        return live.LiveReader(self.shaped)

    def count_events(self, chunk: bytes) -> int:
        """Count lines."""
        return chunk.count(b"\n")

    def shaped(self, answer: JsonObject) -> dict[str, Any]:
        """Give an answer, or a line of a stream, in the shape of `/api/chat`.

        Raises:
            ValueError: it cannot be brought into it.
        """
        return dict(answer)

    def own(self, answer: JsonObject) -> dict[str, Any]:
        """Undo `shaped`."""
        return dict(answer)

    # -- errors ---------------------------------------------------------------------------

    def write_error(self, error: ErrorWords) -> bytes:
        """Give `{"error": text}`."""
        return orjson.dumps({"error": error.message})

    def write_error_event(self, error: ErrorWords) -> bytes:
        """Give a line of the same."""
        return self.write_error(error) + b"\n"

    def read_error(self, status: int, body: bytes) -> ErrorWords:
        """Read the same."""
        return read_openai_error(status, body)


class OllamaGenerate(OllamaChat):
    """POST /api/generate."""

    name = "ollama.generate"

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request; it streams unless it says otherwise."""
        del path
        return request.read_generate(body, query)

    def write(self, chat: JsonObject) -> Written:
        """Write a chat body of one question."""
        return request.write_generate(chat)

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give a chat answer in Ollama's words; tools cannot be asked for here, so calls have none."""
        answer = super().write_answer(chat)
        if "tool_calls" in answer:
            raise ValueError("no word for tool_calls")
        return answer

    def shaped(self, answer: JsonObject) -> dict[str, Any]:
        """Put text, thinking and calls into a message."""
        return answers.to_message(answer)

    def own(self, answer: JsonObject) -> dict[str, Any]:
        """Take them out of it."""
        return answers.from_message(answer)


OLLAMA_CHAT = OllamaChat()
OLLAMA_GENERATE = OllamaGenerate()
