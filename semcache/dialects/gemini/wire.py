"""Gemini's API as a dialect: `generateContent` and `streamGenerateContent`, whose streams are framed in two ways."""

from __future__ import annotations

from dataclasses import replace
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
from semcache.dialects.gemini import answer as answers
from semcache.dialects.gemini import errors, live, render, request, stream, write
from semcache.dialects.gemini.frames import ARRAY, EVENTS, ArraySplitter, EventSplitter, Splitter
from semcache.dialects.gemini.target import framing_of, gemini_target, without_alt
from semcache.dialects.plain import too_deep

_STREAMING = frozenset(("stream", "stream_options"))


class Gemini:
    """POST /v1beta/models/{model}:generateContent and :streamGenerateContent.

    Args:
        as_array: streams are one JSON array, as they are without `alt=sse`; else server-sent events.
    """

    name = "gemini.generate"
    family: Family = "gemini"
    route = "generate"

    def __init__(self, *, as_array: bool = False) -> None:
        self._as_array = as_array
        self._framing = ARRAY if as_array else EVENTS

    @property
    def stream_type(self) -> bytes:
        """Give the content type of its streams."""
        return b"application/json; charset=utf-8" if self._as_array else b"text/event-stream; charset=utf-8"

    # -- requests -------------------------------------------------------------------------

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request; model and way of answering stand in its path."""
        try:
            return request.read(body, path, query)
        except RecursionError:
            raise too_deep() from None

    def write(self, chat: JsonObject) -> Written:
        """Write a chat body; streams are asked for as events."""
        return write.write(chat)

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Ask for a whole answer, and leave the seed of a warmer one away."""
        body = {name: value for name, value in request.body.items() if name not in _STREAMING}
        native = None if request.native is None else dict(request.native)
        if temperature is not None:
            warm = max(temperature, request.temperature or 0.0)
            body["temperature"] = warm
            body.pop("seed", None)
            if native is not None:
                _warm(native, warm)
        target = gemini_target(request.path)
        path = request.path if target is None else request.path.replace(":streamGenerate", ":generate")
        return replace(
            request,
            path=path,
            query=without_alt(request.query),
            body=body,
            native=native,
            stream=False,
            include_usage=False,
            keys={},
        )

    # -- answers --------------------------------------------------------------------------

    def assembler(self, content_type: str) -> Assembler | None:
        """Collect events, arrays and documents."""
        if content_type == "text/event-stream":
            return stream.StreamAssembler(self, EventSplitter(), must_close=False)
        return stream.JsonAssembler(self) if content_type in ("application/json", "text/plain", "") else None

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give an answer in chat's words."""
        return answers.read_answer(answer)

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Leave id and time away."""
        return answers.bare(answer)

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give a chat answer in Gemini's words."""
        return answers.write_answer(chat)

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Streams alone where putting one together lost something; documents alone where streaming one would."""
        if completion.chunks is not None:
            return stream
        if completion.native is not None:
            return not stream or _can_stream(orjson.loads(completion.native))
        try:
            self.write_answer(orjson.loads(completion.body))
        except ValueError:
            return False
        return True

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay an answer out."""
        if not self.can_replay(completion, stream=wanted.stream):
            raise ValueError("this answer cannot be replayed in this way")
        if completion.chunks is not None:
            return render.stored_pieces(orjson.loads(completion.chunks), wanted.usage, self._framing)
        if completion.native is not None:
            answer = orjson.loads(completion.native)
        else:
            answer = self.write_answer(orjson.loads(completion.body))
        if wanted.stream:
            return render.stream(answer, wanted.usage, self._framing)
        return render.document(answer, wanted.usage)

    def live_writer(self, wanted: Wanted, id: str, created: int) -> LiveWriter:
        """Write a chat stream as pieces; they have no time."""
        del created
        return live.LiveWriter(self._framing, wanted, id)

    def live_reader(self) -> LiveReader:
        """Read pieces as chat chunks."""
        splitter: Splitter = ArraySplitter() if self._as_array else EventSplitter()
        return live.LiveReader(splitter)

    def count_events(self, chunk: bytes) -> int:
        """Count pieces."""
        return chunk.count(b'"candidates"')

    # -- errors ---------------------------------------------------------------------------

    def write_error(self, error: ErrorWords) -> bytes:
        """Give `{"error": {code, message, status}}`."""
        return errors.write_error(error.message, error.status)

    def write_error_event(self, error: ErrorWords) -> bytes:
        """Give a last piece of the same."""
        return self._framing.between + self.write_error(error) + self._framing.last

    def read_error(self, status: int, body: bytes) -> ErrorWords:
        """Read the same."""
        return errors.read_error(status, body)


def _warm(native: dict[str, Any], temperature: float) -> None:
    """Set the temperature under whichever of its two names the config has."""
    name = "generation_config" if native.get("generation_config") is not None else "generationConfig"
    config = native.get(name)
    kept = {k: v for k, v in config.items() if k != "seed"} if isinstance(config, dict) else {}
    native[name] = {**kept, "temperature": temperature}


def _can_stream(answer: JsonObject) -> bool:
    return all(stream.is_joined(answers.parts_of(one)) for one in answer.get("candidates") or ())


GEMINI = Gemini()
GEMINI_ARRAY = Gemini(as_array=True)
"""The same for clients that stream without `alt=sse`."""


def gemini_at(path: str, query: bytes) -> Gemini | None:
    """Give the dialect of a request; None where it asks no model, or for an answer in another form than JSON."""
    framing = framing_of(path, query)
    return None if framing is None else GEMINI_ARRAY if framing == "array" else GEMINI
