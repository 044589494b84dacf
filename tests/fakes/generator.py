"""An upstream without sockets: replies are given, calls are kept.

Under the same contract suite as the real client (tests/contracts/test_generator.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from semcache.errors import UpstreamError
from semcache.ports import UpstreamCall

Pairs = tuple[tuple[bytes, bytes], ...]


@dataclass
class FakeReply:
    """A reply with its body parts. A part may be an error to raise or a number of seconds to wait."""

    status: int = 200
    headers: Pairs = ((b"content-type", b"application/json"),)
    parts: Sequence[bytes | UpstreamError | float] = ()
    closed: int = field(default=0, init=False)
    read: int = field(default=0, init=False)
    """Parts handed out."""

    async def body(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            match part:
                case UpstreamError():
                    raise part
                case float():
                    await asyncio.sleep(part)
                case bytes():
                    self.read += 1
                    yield part

    async def aclose(self) -> None:
        self.closed += 1


@dataclass
class FakeGenerator:
    """Answers each call with what `script` makes of it; raises what it gives if that is an error."""

    script: Callable[[UpstreamCall], FakeReply | UpstreamError]
    name: str = "fake"
    delay: float = 0.0
    calls: list[UpstreamCall] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    replies: list[FakeReply] = field(default_factory=list)
    closed: bool = False

    async def open(self, call: UpstreamCall) -> FakeReply:
        if self.closed:
            raise UpstreamError("upstream 'fake' is closed", status=503, code="upstream_unavailable")
        self.calls.append(call)
        body = call.body
        self.bodies.append(body if isinstance(body, bytes) else b"".join([part async for part in body]))
        await asyncio.sleep(self.delay)
        reply = self.script(call)
        if isinstance(reply, UpstreamError):
            raise reply
        self.replies.append(reply)
        return reply

    async def aclose(self) -> None:
        self.closed = True
