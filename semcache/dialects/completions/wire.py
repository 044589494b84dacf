"""OpenAI's text completions as a dialect: one prompt, and a text that goes on with it.

Cacheable when the prompt is one text (bare, or alone in its list) and nothing asks for more than an answer to it; all else
is only forwarded. `request` says what becomes of a prompt at a server that speaks chat alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from semcache.core import ChatRequest, Completion, JsonObject
from semcache.dialects.chat.answer import DROPPED
from semcache.dialects.chat.assemble import StreamAssembler
from semcache.dialects.chat.render import (
    DONE,
    JsonParts,
    SseParts,
    fresh_chunks,
    set_usage,
    stored_chunks,
)
from semcache.dialects.completions import answer as answers
from semcache.dialects.completions import logprobs as scores
from semcache.dialects.completions import request as requests
from semcache.dialects.completions.stream import TextReader, TextWriter, lift
from semcache.dialects.dialect import (
    Assembler,
    ErrorWords,
    Family,
    Incomplete,
    Layout,
    Translated,
    Wanted,
    Written,
)
from semcache.dialects.document import MAX_BYTES, MEDIA_TYPES, DocumentAssembler
from semcache.dialects.errors import openai_error, read_openai_error
from semcache.dialects.keeping import kept
from semcache.dialects.pieces import PIECE

_MIDDLE = b'","object":"text_completion","created":'
_STREAMING = frozenset(("stream", "stream_options"))


class Completions:
    """POST /v1/completions."""

    name = "openai.completions"
    family: Family = "openai"
    route = "completions"
    stream_type = b"text/event-stream; charset=utf-8"

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request: its prompt becomes the message of a user."""
        del path
        return requests.read(body, query)

    def write(self, chat: JsonObject) -> Written:
        """Write a chat body that asks one question."""
        return requests.write(chat)

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Leave streaming away, and the seed of a warmer answer."""
        warmer = None if temperature is None else max(temperature, request.temperature or 0.0)
        native = None if request.native is None else _whole(request.native, warmer)
        return replace(
            request,
            body=_whole(request.body, warmer),
            native=native,
            stream=False,
            include_usage=False,
            temperature=request.temperature if warmer is None else warmer,
            keys={},
        )

    def assembler(self, content_type: str) -> Assembler | None:
        """Collect documents and event streams."""
        if content_type == "text/event-stream":
            return StreamAssembler(MAX_BYTES, lift, self._judged)
        # Some servers label their JSON as text; the document decides.
        return DocumentAssembler(partial(kept, self)) if content_type in MEDIA_TYPES else None

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give the text as what an assistant said."""
        return answers.read_answer(self.bare(answer))

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Leave id, time, padding and the engine's own words away."""
        return {name: value for name, value in answer.items() if name not in DROPPED}

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give what an assistant said as the text."""
        return answers.write_answer(chat)

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Tell whether the answer is text, and its stream was put together without loss where a document is wanted."""
        if completion.chunks is not None:
            return stream
        try:
            _document(completion)
        except ValueError:
            return False
        return True

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay an answer out."""
        if not wanted.stream:
            return _whole_layout(completion, wanted)
        if completion.chunks is not None:
            kept_chunks = orjson.loads(completion.chunks)
            chunks = list(stored_chunks(kept_chunks, wanted.include_usage, wanted.usage))
        else:
            chunks = _chunks(_document(completion), wanted)
        tails = [b"," + orjson.dumps(chunk)[1:] + b"\n\n" for chunk in chunks]
        tails[-1] += DONE
        return SseParts(b'data: {"id":"cmpl-', _MIDDLE, tuple(tails))

    def live_writer(self, wanted: Wanted, id: str, created: int) -> TextWriter:
        """Give what writes a chat stream as texts."""
        return TextWriter(f"cmpl-{id}", created, include_usage=wanted.include_usage)

    def live_reader(self) -> TextReader:
        """Give what reads texts as a chat stream."""
        return TextReader()

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

    def _judged(self, document: dict[str, Any], chunks: bytes | None) -> Completion | Incomplete:
        """Judge what a stream was put together to: chat's shape, with log probabilities in lists."""
        try:
            found = kept(self, answers.lowered(document))
        except ValueError:
            return Incomplete("shape")
        return found if isinstance(found, Incomplete) else replace(found, chunks=chunks)


def _whole(body: JsonObject, temperature: float | None) -> dict[str, Any]:
    whole = {name: value for name, value in body.items() if name not in _STREAMING}
    if temperature is not None:
        whole["temperature"] = temperature
        whole.pop("seed", None)
    return whole


def _document(completion: Completion) -> dict[str, Any]:
    """Give an answer in chat's shape with log probabilities in lists.

    Raises:
        ValueError: it says more than texts can.
    """
    if completion.native is not None:
        return answers.lifted(orjson.loads(completion.native))
    document: dict[str, Any] = orjson.loads(completion.body)
    answers.lowered(document)
    for choice in document["choices"]:
        choice["logprobs"] = scores.in_lists(choice.get("logprobs"))
    return document


def _whole_layout(completion: Completion, wanted: Wanted) -> JsonParts:
    if completion.chunks is not None:
        raise ValueError("this answer can only be replayed as a stream")
    if completion.native is not None:
        answer = orjson.loads(completion.native)
    else:
        answer = answers.lowered(_document(completion))
    set_usage(answer, wanted.usage)
    answer.pop("object", None)
    return JsonParts(b'{"id":"cmpl-', _MIDDLE, b"," + orjson.dumps(answer)[1:])


def _chunks(document: dict[str, Any], wanted: Wanted) -> list[dict[str, Any]]:
    set_usage(document, wanted.usage)
    return [
        {**chunk, "choices": [answers.lowered_choice(choice, "delta") for choice in chunk["choices"]]}
        for chunk in fresh_chunks(document, wanted.include_usage, PIECE)
    ]


COMPLETIONS = Completions()
