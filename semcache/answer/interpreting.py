"""Lets an upstream that speaks no chat be asked in chat's words: calls are put into its dialect, replies back into chat.

So judges, revisers, summaries and clients of other dialects need to know one protocol only. Calls in the upstream's own
dialect pass untouched. Knows no sockets and no policies.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from semcache.answer.decode import close, content_coding, decoded
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Incomplete, Wanted
from semcache.dialects.ending import Ending
from semcache.dialects.halves import dumped, parsed
from semcache.dialects.request import CHAT_PATH
from semcache.errors import RequestError, UpstreamError
from semcache.ports import Generator, UpstreamCall, UpstreamReply

Pair = tuple[bytes, bytes]

_LONGEST = 64 << 20
"""Bytes of a whole answer that are read."""
_ODD = frozenset(("shape", "error", "no_done", "unended", "after_done", "surrogate", "invalid_json", "cut"))
"""Why a stream is no whole one, whatever it says."""
_OF_THE_BODY = frozenset((b"content-type", b"content-length", b"content-encoding", b"transfer-encoding"))


class Interpreter:
    """A generator that is asked in chat's words, or in its own.

    Args:
        generator: the upstream.
        dialect: what it speaks.
        headers: what its protocol wants to be told unless the call says it.
        new_id: gives a fresh id in hex digits.
        now: Unix seconds.
    """

    def __init__(
        self,
        generator: Generator,
        dialect: Dialect,
        headers: Sequence[Pair],
        new_id: Callable[[], str],
        now: Callable[[], float],
    ) -> None:
        self._generator = generator
        self._dialect = dialect
        self._headers = tuple(headers)
        self._new_id = new_id
        self._now = now

    @property
    def name(self) -> str:
        """Name from the configuration."""
        return self._generator.name

    async def open(self, call: UpstreamCall) -> UpstreamReply:
        """Send a call and wait for the reply's head.

        Raises:
            UpstreamError: as the upstream itself.
            RequestError: as the upstream itself; 400 with `param`: it asks for what the upstream's dialect has no word for.
        """
        if call.path != CHAT_PATH or call.method != "POST" or not isinstance(call.body, bytes):
            return await self._generator.open(call)
        chat = _read_chat(call.body)
        written = self._dialect.write(chat)
        told = {name.lower() for name, _ in call.headers}
        headers = (*call.headers, *(pair for pair in self._headers if pair[0] not in told))
        own = replace(
            call, path=written.path, query=written.query, headers=headers, body=dumped(written.body)
        )
        reply = await self._generator.open(own)
        return _Interpreted(reply, self._dialect, chat, self._new_id(), int(self._now()))

    async def aclose(self) -> None:
        """Close the upstream's connections."""
        await self._generator.aclose()


class _Interpreted:
    """A reply in chat's words."""

    def __init__(
        self, reply: UpstreamReply, dialect: Dialect, chat: Mapping[str, Any], id: str, created: int
    ) -> None:
        self._reply = reply
        self._dialect = dialect
        self._chat = chat
        self._id = id
        self._created = created
        self._streams = chat.get("stream") is True and reply.status < 300

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._reply.status

    @property
    def headers(self) -> Sequence[Pair]:
        """The upstream's headers, but for those that tell of its body."""
        kind = CHAT.stream_type if self._streams else b"application/json"
        kept = [pair for pair in self._reply.headers if pair[0].lower() not in _OF_THE_BODY]
        return [(b"content-type", kind), *kept]

    async def body(self) -> AsyncIterator[bytes]:
        """Stream the body in chat's words.

        Raises:
            UpstreamError: as the upstream's own body; 502 `upstream_invalid`: it is no answer of its protocol;
                `upstream_cut`: it ended too early.
        """
        body = decoded(self._reply, content_coding(self._reply.headers), max_bytes=_LONGEST)
        try:
            if self._streams:
                async for part in self._stream(body):
                    yield part
            else:
                yield self._whole(await _read(body))
        finally:
            await close(body)

    async def aclose(self) -> None:
        """Close the upstream's reply."""
        await self._reply.aclose()

    async def _stream(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        options = self._chat.get("stream_options")
        usage = isinstance(options, dict) and options.get("include_usage") is True
        writer = CHAT.live_writer(Wanted(stream=True, include_usage=usage), self._id, self._created)
        reader, ending = self._dialect.live_reader(), Ending()
        judge = self._dialect.assembler(_media_type(self._reply.headers))
        async for data in body:
            if judge is not None:
                judge.feed(data)
            for chunk in reader.feed(data):
                ending.hear(chunk)
                yield writer.feed(chunk)
                if chunk.get("error"):
                    # Nothing behind an error counts, and it is said once.
                    return
        for chunk in reader.finish():
            ending.hear(chunk)
            yield writer.feed(chunk)
            if chunk.get("error"):
                return
        if not reader.is_done or not ending.is_told:
            raise UpstreamError("The upstream's stream ended too early.", code="upstream_cut")
        outcome = judge.finish() if judge is not None else None
        if not (isinstance(outcome, Incomplete) and outcome.reason in _ODD):
            # What is not whole by its own protocol's rules is none in chat's: it is passed on, and nobody keeps it.
            yield writer.finish()

    def _whole(self, body: bytes) -> bytes:
        if self.status >= 400:
            return CHAT.write_error(self._dialect.read_error(self.status, body))
        try:
            answer = self._dialect.read_answer(orjson.loads(body))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            message = "The upstream's reply is no answer of its protocol."
            raise UpstreamError(message, code="upstream_invalid") from error
        return orjson.dumps({"id": f"chatcmpl-{self._id}", "created": self._created, **answer})


def _read_chat(body: bytes) -> Any:
    """Read a chat body; text that is no Unicode is passed on as its client wrote it.

    Raises:
        RequestError: 400, it is no JSON.
    """
    try:
        return parsed(body)[0]
    except ValueError:
        raise RequestError("The body is not valid JSON.", code="invalid_json") from None


def _media_type(headers: Sequence[Pair]) -> str:
    kind = next((value for name, value in headers if name.lower() == b"content-type"), b"")
    return kind.partition(b";")[0].strip().lower().decode("latin-1")


async def _read(body: AsyncIterator[bytes]) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in body:
        parts.append(part)
        size += len(part)
        if size > _LONGEST:
            raise UpstreamError("The upstream's answer is too large.", code="upstream_invalid")
    return b"".join(parts)
