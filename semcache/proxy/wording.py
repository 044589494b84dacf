"""The bytes of a forwarded reply on their way to the client: as they came, or in the client's dialect. Pure.

A backend that does not speak the client's dialect answers in chat's words.
"""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, ErrorWords, Wanted
from semcache.dialects.ending import Ending
from semcache.dialects.errors import openai_error
from semcache.errors import UpstreamError
from semcache.proxy.passing import Stripped, as_it_came


class Wording(Protocol):
    """Takes the bytes of a stream, gives those that go on."""

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes; give what may be sent, maybe nothing."""
        ...

    def finish(self) -> bytes:
        """Give what is left after the last byte.

        Raises:
            UpstreamError: 502 `upstream_cut`: the stream did not come to its proper end, and bytes so far do not show it.
        """
        ...

    def broken(self, error: ErrorWords) -> bytes:
        """Give what ends a stream that goes no further, behind all that was given; nothing if an error has ended it."""
        ...


class Live:
    """Puts a chat stream into the client's dialect as it comes.

    Args:
        dialect: the client's.
        id: under which name.
        created: at which time, Unix seconds.
    """

    def __init__(self, dialect: Dialect, id: str, created: int) -> None:
        self._reader = CHAT.live_reader()
        wanted = Wanted(stream=True, include_usage=True, usage="original")
        self._writer = dialect.live_writer(wanted, id, created)
        self._ending = Ending()
        self._failed = False

    def feed(self, chunk: bytes) -> bytes:
        """Give the client's events."""
        return b"".join([self._write(part) for part in self._reader.feed(chunk)])

    def finish(self) -> bytes:
        """Give the end of the client's stream."""
        rest = b"".join([self._write(part) for part in self._reader.finish()])
        if self._failed:
            return rest
        if not self._reader.is_done or not self._ending.is_told:
            raise UpstreamError("The upstream's stream ended too early.", code="upstream_cut")
        return rest + self._writer.finish()

    def broken(self, error: ErrorWords) -> bytes:
        """Give the error, unless one was given."""
        return self._write({"error": openai_error(error)})

    def _write(self, chunk: dict[str, Any]) -> bytes:
        if self._failed:
            return b""
        self._ending.hear(chunk)
        self._failed = bool(chunk.get("error"))
        return self._writer.feed(chunk)


def wording_of(client: Dialect, id: str, created: int, *, translated: bool, strip: bool) -> Wording:
    """Choose how a stream reaches the client.

    Args:
        client: its dialect.
        id: as for `Live`.
        created: as for `Live`.
        translated: it comes in chat's words, and not in the client's.
        strip: only the proxy asked for the usage at its end.
    """
    if translated:
        return Live(client, id, created)
    return Stripped(client) if strip else as_it_came(client)


def whole_in(dialect: Dialect, status: int, body: bytes) -> bytes:
    """Give a whole chat reply, or an error, in another dialect.

    Raises:
        UpstreamError: 502 `upstream_invalid`: it is no chat answer, or says what the dialect cannot.
    """
    if status >= 400:
        return dialect.write_error(CHAT.read_error(status, body))
    try:
        return orjson.dumps(dialect.write_answer(orjson.loads(body)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unsayable() from error


def stream_in(dialect: Dialect, body: bytes, id: str, created: int) -> bytes:
    """Give a whole chat answer as the stream that a client of another dialect asked for.

    Raises:
        UpstreamError: 502 `upstream_invalid`: as `whole_in`.
    """
    try:
        document = orjson.loads(body)
        # Whoever can say it whole has words for all of it.
        dialect.write_answer(document)
        writer = dialect.live_writer(Wanted(stream=True, include_usage=True, usage="original"), id, created)
        frame = {"object": "chat.completion.chunk", "model": document.get("model")}
        told = writer.feed({**frame, "choices": [_streamed(choice) for choice in document["choices"]]})
        if document.get("usage") is not None:
            told += writer.feed({**frame, "choices": [], "usage": document["usage"]})
        return told + writer.finish()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unsayable() from error


def _streamed(choice: dict[str, Any]) -> dict[str, Any]:
    delta = dict(choice["message"])
    calls = delta.get("tool_calls")
    if calls:
        delta["tool_calls"] = [{"index": number, **call} for number, call in enumerate(calls)]
    return {**{name: value for name, value in choice.items() if name != "message"}, "delta": delta}


def _unsayable() -> UpstreamError:
    return UpstreamError("The upstream's answer cannot be put into this protocol.", code="upstream_invalid")
