"""One call beside requests: sent, read to a bound, closed, all within a deadline.

Faults are raised as they come: who asks has words of its own for them. Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from semcache.answer.decode import close, content_coding, decoded
from semcache.core import Completion
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Incomplete
from semcache.journey import Backend
from semcache.ports import UpstreamCall, UpstreamReply

_Read = TypeVar("_Read")


async def exchange(
    backend: Backend, call: UpstreamCall, deadline: float, read: Callable[[UpstreamReply], Awaitable[_Read]]
) -> _Read:
    """Send a call and give what `read` makes of its reply, which is closed in any case.

    Raises:
        TimeoutError: it took more than `deadline` seconds.
        SemcacheError: of the upstream, or of `read`.
    """
    async with asyncio.timeout(deadline):
        reply = await backend.generator.open(call)
        try:
            return await read(reply)
        finally:
            await reply.aclose()


async def completion_of(
    reply: UpstreamReply, longest: int, dialect: Dialect = CHAT
) -> Completion | Incomplete:
    """Give the answer in a reply of success, in `dialect`; one of more than `longest` bytes is `Incomplete`."""
    assembler = dialect.assembler("application/json")
    body = await body_of(reply, longest)
    if assembler is None or len(body) > longest:
        return Incomplete("too_large")
    assembler.feed(body)
    return assembler.finish()


async def body_of(reply: UpstreamReply, longest: int) -> bytes:
    """Read a body, decoded; of one of more than `longest` bytes no more than shows that it is."""
    parts: list[bytes] = []
    size = 0
    body = decoded(reply, content_coding(reply.headers), max_bytes=longest)
    try:
        async for chunk in body:
            parts.append(chunk)
            size += len(chunk)
            if size > longest:
                break
    finally:
        await close(body)
    return b"".join(parts)
