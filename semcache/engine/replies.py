"""The two forms of an answer on an ASGI connection; both notice when the client goes away.

Know events and the wire, not how events are made. The generation is cancelled when the
connection ends in whatever way; a finished one does not mind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from semcache.engine import wire
from semcache.engine.audit import Answering
from semcache.engine.generation import Delta, Done, Failed, Finished, GenerationRequest

HEARTBEAT_SECONDS = 10.0
"""A stream that has nothing to say for so long sends a comment, so that idle timeouts see life."""

_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

T = TypeVar("T")


async def while_connected(receive: Receive, work: Awaitable[T]) -> T | None:
    """Await `work`, whose request body was read already; None when the client goes away first."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_client_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def whole(head: wire.AnswerHead, request: GenerationRequest, events: Answering) -> bytes:
    """Wait for the end of a generation and give the body of its answer.

    Raises:
        EngineError: the generation failed.
    """
    answer = wire.WholeAnswer(request.choices, request.logprobs is not None)
    while True:
        match await events.next(HEARTBEAT_SECONDS):
            case Delta() | Finished() as event:
                answer.add(event)
            case Done() as done:
                return answer.body(head, done)
            case Failed(error):
                raise error
            case None:
                pass


class StreamReply(Response):
    """Server-sent events of a generation; ends it when the client goes away."""

    def __init__(
        self,
        head: wire.AnswerHead,
        request: GenerationRequest,
        answering: Answering,
        with_usage: bool,
    ) -> None:
        super().__init__()
        self._head = head
        self._request = request
        self._answering = answering
        self._with_usage = with_usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        """Send the head at once and every event as it comes."""
        try:
            await while_connected(receive, self._send_all(send))
        finally:
            self._answering.cancel()

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
        async for line in self._lines():
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _lines(self) -> AsyncIterator[bytes]:
        for index in range(self._request.choices):
            yield self._chunk(index, {"role": "assistant", "content": ""})
        while True:
            match await self._answering.next(HEARTBEAT_SECONDS):
                case None:
                    yield wire.HEARTBEAT
                case Delta(index, text, logprobs):
                    yield wire.chunk(
                        self._head, index, {"content": text}, logprobs=logprobs, with_usage=self._with_usage
                    )
                case Finished(index, reason):
                    yield wire.chunk(self._head, index, {}, reason=reason, with_usage=self._with_usage)
                case Done() as done:
                    if self._with_usage:
                        yield wire.usage_chunk(self._head, done)
                    yield wire.END_OF_STREAM
                    return
                case Failed(error):
                    yield wire.event_line(wire.error_object(error))
                    return

    def _chunk(self, index: int, delta: dict[str, str]) -> bytes:
        return wire.chunk(self._head, index, delta, with_usage=self._with_usage)
