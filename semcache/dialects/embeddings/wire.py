"""OpenAI's embeddings as a dialect: equal inputs have equal vectors, and nothing else can be told from them.

Kept and replayed as they came; never found by meaning, never streamed, and no server that speaks chat alone can be asked
for them. Vectors in base64 and written out are two answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from semcache.core import ChatRequest, Completion, JsonObject
from semcache.dialects.dialect import (
    Assembler,
    ErrorWords,
    Family,
    Layout,
    Translated,
    Wanted,
    Written,
)
from semcache.dialects.document import DocumentAssembler
from semcache.dialects.embeddings import answer as answers
from semcache.dialects.embeddings import request as requests
from semcache.dialects.errors import openai_error, read_openai_error
from semcache.dialects.usage import zeroed
from semcache.errors import RequestError

_NO_STREAMS = "embeddings are not streamed"


@dataclass(frozen=True, slots=True)
class Unchanging:
    """A reply without id and time: the same bytes every time."""

    body: bytes

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self.body)

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the reply body."""
        del id, created
        return self.body

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give the same."""
        yield self.whole(id, created)


class Embeddings:
    """POST /v1/embeddings."""

    name = "openai.embeddings"
    family: Family = "openai"
    route = "embeddings"
    stream_type = b"application/json"

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request: its input is what a user says, and no chat model can answer it."""
        del path
        return requests.read(body, query)

    def write(self, chat: JsonObject) -> Written:
        """Refuse: who asks in chat wants words."""
        del chat
        message = "Embeddings answer no chat request."
        raise RequestError(message, code="unsupported_parameter", param="messages")

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Give the request as it is: it has no stream, and nothing in it is sampled."""
        del temperature
        return request

    def assembler(self, content_type: str) -> Assembler | None:
        """Collect documents."""
        # Some servers label their JSON as text; the document decides.
        known = content_type in ("application/json", "text/plain", "")
        return DocumentAssembler(answers.kept) if known else None

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give a chat answer that says nothing."""
        return answers.read_answer(answer)

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Leave id and time away, which some servers give."""
        return answers.bare(answer)

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Refuse: words are no vectors.

        Raises:
            ValueError: always.
        """
        del chat
        raise ValueError("a chat answer holds no vectors")

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Documents only, and only what was an embedding."""
        return not stream and completion.native is not None

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay the answer out as it came; only its usage may be another."""
        if wanted.stream or completion.native is None:
            raise ValueError(_NO_STREAMS if wanted.stream else "this is no embedding")
        if wanted.usage == "original":
            return Unchanging(completion.native)
        answer = orjson.loads(completion.native)
        spent = zeroed(answer.get("usage"))
        answer["usage"] = {name: value for name, value in spent.items() if name != "completion_tokens"}
        return Unchanging(orjson.dumps(answer))

    def live_writer(self, wanted: Wanted, id: str, created: int) -> NoReturn:
        """Refuse: there are no streams.

        Raises:
            ValueError: always; no request of this dialect says that it wants one.
        """
        del wanted, id, created
        raise ValueError(_NO_STREAMS)

    def live_reader(self) -> NoReturn:
        """Refuse: there are no streams.

        Raises:
            ValueError: always.
        """
        raise ValueError(_NO_STREAMS)

    def count_events(self, chunk: bytes) -> int:
        """Count nothing: vectors are no tokens."""
        del chunk
        return 0

    def write_error(self, error: ErrorWords) -> bytes:
        """Give `{"error": {message, type, param, code}}`."""
        return orjson.dumps({"error": openai_error(error)})

    def write_error_event(self, error: ErrorWords) -> bytes:
        """Give the same; no stream can break."""
        return self.write_error(error)

    def read_error(self, status: int, body: bytes) -> ErrorWords:
        """Read the same."""
        return read_openai_error(status, body)


EMBEDDINGS = Embeddings()
