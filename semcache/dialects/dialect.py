"""What a dialect is: one wire protocol of LLM APIs, as a thin pair of translators at the border.

Inside, the chat completions shape is the only one: a request is a chat body, an answer a `chat.completion`. A
dialect reads requests and answers of its protocol into that shape and writes them from it, whole and as streams, and
it words errors. All of it is pure. A dialect knows nothing of policies, caching, HTTP heads or sockets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from semcache.core import ChatRequest, Completion, JsonObject, Usage

Family = Literal["openai", "anthropic", "ollama", "gemini"]
"""Whose headers, credentials and errors a dialect goes by."""
UsageMode = Literal["zero", "original"]
"""What a replay says was used: nothing, with the counts of the first answer beside it, or those counts."""


@dataclass(frozen=True, slots=True)
class Incomplete:
    """An answer that is not to be stored.

    `reason` is one of: `cut`, `upstream_status`, `undecodable`, `content_type`, `too_large`, `invalid_json`,
    `surrogate`, `shape`, `error`, `no_done`, `unended`, `after_done`, `finish_reason`, `refusal`, `empty`,
    `arguments`. `unended` is a stream that stopped before its end: some of it is missing, and nobody may take it for whole;
    `no_done` one that told why the answer ended, and lacks the end mark alone. `usage` is what was billed for it all the same, where that is known.
    """

    reason: str
    usage: Usage | None = field(default=None, compare=False)


class Assembler(Protocol):
    """Collects one answer while its bytes pass by. Nothing in it can disturb them: faults only make it `Incomplete`."""

    @property
    def is_done(self) -> bool:
        """True once nothing that matters can follow, though the body has not ended."""
        ...

    def feed(self, chunk: bytes) -> None:
        """Take the next decoded body bytes."""
        ...

    def finish(self) -> Completion | Incomplete:
        """Give the outcome after the last byte."""
        ...


@dataclass(frozen=True, slots=True)
class Translated:
    """A request of some dialect in chat's words.

    Attributes:
        chat: the chat body: `model`, `messages` and every field that chat has a word for, under that word. What chat cannot
            say inside a message stays in its content as it came.
        extra: the other fields that may change the answer, as they came; fields nobody has heard of are here.
        unsayable: names of what is lost if only `chat` goes to a model; empty when nothing is.
        stream: the answer is wanted as a stream.
        include_usage: the stream is to tell its usage.
        exact_only: the feature that closes the semantic tier, where the chat body does not show it.
        uncacheable: what ties the answer to state outside the request, where the chat body does not show it.
        path, query: where the request goes at an upstream of its own dialect; the query without credentials.
    """

    chat: dict[str, Any]
    extra: dict[str, Any]
    unsayable: tuple[str, ...]
    stream: bool
    include_usage: bool
    path: str
    exact_only: str | None = None
    uncacheable: str | None = None
    query: bytes = b""


@dataclass(frozen=True, slots=True)
class Written:
    """A request in a dialect's own words: where it goes and its body."""

    path: str
    body: dict[str, Any]
    query: bytes = b""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How an answer is to be replayed: in which wire mode, with usage at a stream's end or not, and which."""

    stream: bool
    include_usage: bool
    usage: UsageMode = "zero"


class Layout(Protocol):
    """An answer laid out for replays: all that does not change from one to the next."""

    @property
    def size(self) -> int:
        """Bytes held."""
        ...

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the reply body. `id` is a fresh name in hex digits, without the dialect's prefix; `created` Unix seconds in digits."""
        ...

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give the same in parts: the events of a stream, or the one document."""
        ...


class LiveWriter(Protocol):
    """Writes a chat stream in another dialect while it comes."""

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Take the next parsed chunk (a `chat.completion.chunk`, or an object with `error`); give bytes to send, maybe none."""
        ...

    def finish(self) -> bytes:
        """Give the proper end, once the chat stream came to its own (`[DONE]`)."""
        ...


class LiveReader(Protocol):
    """Reads a stream of another dialect as chat chunks while it comes."""

    @property
    def is_done(self) -> bool:
        """True once the stream came to its proper end."""
        ...

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Take decoded body bytes; give the chunks they complete, without `id` and `created`. An error is an object with `error`."""
        ...

    def finish(self) -> list[dict[str, Any]]:
        """Give what is left after the last byte."""
        ...


@dataclass(frozen=True, slots=True)
class ErrorWords:
    """An error in OpenAI's words; other dialects map `type` and `status` to theirs."""

    message: str
    status: int
    type: str
    code: str | None = None
    param: str | None = None


class Dialect(Protocol):
    """One protocol. Implementations hold no state."""

    @property
    def name(self) -> str:
        """Give the name in settings and namespaces, such as `anthropic.messages`."""
        ...

    @property
    def family(self) -> Family:
        """Give whose API it belongs to."""
        ...

    @property
    def route(self) -> str:
        """Give the word for it in the ledger and metrics, such as `messages`."""
        ...

    @property
    def stream_type(self) -> bytes:
        """Give the content type of its streams."""
        ...

    # -- requests -------------------------------------------------------------------------

    def read(self, body: dict[str, Any], path: str, query: bytes) -> Translated:
        """Read a request.

        Args:
            body: parsed; our own `cache` object is already removed.
            path: as it was asked, in normal form.
            query: raw, still with whatever the client put there.

        Raises:
            RequestError: 400 with `param`, where what the cache itself relies on is unusable. All else is the upstream's to judge.
        """
        ...

    def write(self, chat: JsonObject) -> Written:
        """Write a chat body as a request of this dialect.

        Raises:
            RequestError: 400 with `param`: it asks for what this dialect has no word for and that changes the answer.
        """
        ...

    def unstreamed(self, request: ChatRequest, temperature: float | None) -> ChatRequest:
        """Give a request of this dialect for a whole answer, at least as warm as `temperature` if that is given; `native` and `body` alike."""
        ...

    # -- answers --------------------------------------------------------------------------

    def assembler(self, content_type: str) -> Assembler | None:
        """Give what collects an answer of this dialect; None for a media type that is none of its."""
        ...

    def read_answer(self, answer: JsonObject) -> dict[str, Any]:
        """Give a whole answer of this dialect as a `chat.completion` without `id` and `created`.

        Raises:
            ValueError: it has not the protocol's shape.
        """
        ...

    def bare(self, answer: JsonObject) -> dict[str, Any]:
        """Give a whole answer of this dialect without what is fresh in every replay (ids, times) or belongs to the call alone."""
        ...

    def write_answer(self, chat: JsonObject) -> dict[str, Any]:
        """Give a `chat.completion` (its `id`, if it has one, says which names to give) as an answer of this dialect.

        Raises:
            ValueError: it says what this dialect has no word for.
        """
        ...

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        """Tell whether a stored answer can be replayed in this wire mode with nothing lost."""
        ...

    def layout(self, completion: Completion, wanted: Wanted) -> Layout:
        """Lay a stored answer out for replays.

        Raises:
            ValueError: `can_replay` would have said no.
        """
        ...

    def live_writer(self, wanted: Wanted, id: str, created: int) -> LiveWriter:
        """Give what writes a chat stream in this dialect; `id` in hex digits, `created` Unix seconds."""
        ...

    def live_reader(self) -> LiveReader:
        """Give what reads a stream of this dialect as chat chunks."""
        ...

    def count_events(self, chunk: bytes) -> int:
        """Count the pieces of an answer in these bytes of a stream, about one a token."""
        ...

    # -- errors ---------------------------------------------------------------------------

    def write_error(self, error: ErrorWords) -> bytes:
        """Give the JSON body of an error reply."""
        ...

    def write_error_event(self, error: ErrorWords) -> bytes:
        """Give what ends a broken stream, so that no client takes it for whole."""
        ...

    def read_error(self, status: int, body: bytes) -> ErrorWords:
        """Read an upstream's error reply; one that has another shape becomes a message of its text, or of its status."""
        ...
