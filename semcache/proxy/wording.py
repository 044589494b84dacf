"""The bytes of a forwarded reply on their way to the client: as they came, or in the client's dialect. Pure.

A backend that does not speak the client's dialect answers in chat's words.
"""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from semcache.dialects.chat.strip import UsageStripper
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Wanted
from semcache.errors import UpstreamError


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


class AsItCame:
    """Bytes go on unchanged."""

    def feed(self, chunk: bytes) -> bytes:
        """Give the bytes."""
        return chunk

    def finish(self) -> bytes:
        """Give nothing more."""
        return b""


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
        self._failed = False

    def feed(self, chunk: bytes) -> bytes:
        """Give the client's events."""
        return b"".join([self._write(part) for part in self._reader.feed(chunk)])

    def finish(self) -> bytes:
        """Give the end of the client's stream."""
        rest = b"".join([self._write(part) for part in self._reader.finish()])
        if self._failed:
            return rest
        if not self._reader.is_done:
            raise UpstreamError("The upstream's stream ended too early.", code="upstream_cut")
        return rest + self._writer.finish()

    def _write(self, chunk: dict[str, Any]) -> bytes:
        if self._failed:
            return b""
        self._failed = bool(chunk.get("error"))
        return self._writer.feed(chunk)


def wording_of(dialect: Dialect | None, id: str, created: int, *, strip: bool) -> Wording:
    """Choose how a stream reaches the client.

    Args:
        dialect: the one it is put into; None: it is in the client's own already.
        id: as for `Live`.
        created: as for `Live`.
        strip: only the proxy asked for the usage at its end.
    """
    if dialect is not None:
        return Live(dialect, id, created)
    return UsageStripper() if strip else AsItCame()


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
        message = "The upstream's answer cannot be put into this protocol."
        raise UpstreamError(message, code="upstream_invalid") from error
