"""Request bodies on their way out: large ones in slices, passed-through ones as they arrive.

Knows nothing of HTTP; both classes are plain asynchronous iterables of bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from semcache.answer.deadline import Deadline

SLICE = 256 * 1024
"""Bytes handed to the socket at a time: a whole large body in one write would hold the loop."""


class Slices:
    """A large body in slices, so that sending it does not hold the event loop."""

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield at most `SLICE` bytes at a time."""
        for start in range(0, len(self._body), SLICE):
            yield bytes(self._body[start : start + SLICE])


class Upload:
    """A body passed through as it arrives.

    Args:
        parts: What the client sends; read once.
        deadline: The running deadline of the call; moved on with every part.
        idle: Seconds allowed between two parts.
        head: Seconds allowed for the reply's head after the last part.

    Attributes:
        error: What the client's side raised, if anything: then the upstream is not to blame.
    """

    def __init__(self, parts: AsyncIterator[bytes], deadline: Deadline, idle: float, head: float) -> None:
        self._parts = parts
        self._deadline = deadline
        self._idle = idle
        self._head = head
        self.error: Exception | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the parts unchanged."""
        self._deadline.move(self._idle)
        parts = self._parts.__aiter__()
        while True:
            try:
                part = await parts.__anext__()
            except StopAsyncIteration:
                break
            except Exception as error:
                self.error = error
                raise
            yield part
            self._deadline.move(self._idle)
        self._deadline.move(self._head)
