"""One upstream call whose reply any number of readers share.

A pump task of its own carries the body from the upstream to the readers, so that no reader's going
away can hurt the others. Beside that it lets an assembler watch the bytes and hands a whole answer
on. Who may board which flight is decided in `flight`.

Order at the end of a good answer: once it is known to be whole `on_complete` runs, then readers get the
closing bytes, and after them the flight gives up its slot. So a client that asks again, having read its
answer, finds what was stored, and one that comes earlier still boards this flight.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from semcache.answer.backlog import Backlog
from semcache.answer.decode import close, content_coding, decoded
from semcache.core import Completion
from semcache.dialects.dialect import Assembler, Incomplete
from semcache.errors import SemcacheError, UpstreamError
from semcache.ports import UpstreamReply

_LINGER = 1.0
"""Seconds. Clients hang up on `[DONE]`; the reply's own end is then a moment away."""
_FRAMING = frozenset((b"content-length", b"transfer-encoding"))
_CODING_HEADERS = frozenset((b"content-encoding", b"content-length"))


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a reply as readers see it.

    `headers` lack content-encoding and content-length when the body is decoded on the way.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters; "" when there is none."""
        for name, value in self.headers:
            if name.lower() == b"content-type":
                return value.split(b";")[0].strip().lower().decode("latin-1")
        return ""

    @property
    def is_json(self) -> bool:
        """True for what is to be a JSON document."""
        return self.content_type == "application/json"

    @property
    def is_failure(self) -> bool:
        """True for an answer that is nobody's but the caller's who got it."""
        return self.status >= 400


@dataclass(frozen=True, slots=True)
class Order:
    """What the one who starts a flight brings along (see `Flights.join`)."""

    open: Callable[[], Awaitable[UpstreamReply]]
    assembler: Callable[[Head], Assembler | None]
    on_complete: Callable[[Completion], Awaitable[bool]]
    finish_anyway: bool = False


@dataclass(frozen=True, slots=True)
class FlightLimits:
    """Bytes and seconds.

    Attributes:
        retain: Most body bytes kept for late joiners, and most that are assembled.
        window: Most bytes a reader of an unshared flight may lag behind.
        write_deadline: How long a reader may hold up a flight that has no more room.
        finish_within: How long a flight without readers may go on to fill the cache.
    """

    retain: int = 4 * 1024 * 1024
    window: int = 256 * 1024
    write_deadline: float = 30.0
    finish_within: float = 300.0


class Reader(Protocol):
    """Where one subscriber stands."""

    place: int | None
    """Next chunk wanted; None when it reads no bytes (any more)."""
    badge: object
    """What it is known by, also when it has left."""

    def evict(self) -> None:
        """Tell it that it was too slow."""
        ...


class SharedReply:
    """See the module. All methods but `run` are synchronous and called on the loop."""

    def __init__(self, order: Order, limits: FlightLimits, *, shared: bool) -> None:
        self.head: Head | None = None
        self.failure: SemcacheError | None = None
        self.ended = False
        """True once the body came to its end."""
        self.outcome: Completion | Incomplete | None = None
        self.backlog = Backlog()
        self.readers: set[Reader] = set()
        self.payer: object = None
        """Whose the call is to pay for: who made it, and when that one leaves before its end, one of the others."""
        self.task: asyncio.Task[None] | None = None
        self._order = order
        self._limits = limits
        self._room = limits.retain if shared else limits.window
        self._dropping = not shared
        self.on_closed: Callable[[], None] | None = None
        """Called once, when nobody new may come."""
        self._waiters: list[asyncio.Future[None]] = []
        self._space: asyncio.Future[None] | None = None
        self._assembler: Assembler | None = None
        self._assembled = 0
        self._flaw = "too_large"
        """Why nothing is put together any more."""
        self._settled = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def has_failed(self) -> bool:
        """True when others than the starter should rather make a call of their own."""
        if self.failure is not None:
            # After `cancelled` the application is on its way down.
            return self.failure.code != "cancelled"
        return self.head is not None and self.head.is_failure

    # ------------------------------------------------------------------ readers' side

    def add(self, reader: Reader) -> None:
        """Let a reader on; it may read from the body's beginning."""
        self.readers.add(reader)
        self.payer = self.payer or reader.badge
        self._stop_timer()

    def remove(self, reader: Reader) -> None:
        """Let a reader off; without readers the call is given up, unless its answer is wanted anyway."""
        self.readers.discard(reader)
        if self.payer is reader.badge and not self.ended:
            self.payer = next((other.badge for other in self.readers), None)
        self._wake()
        if self.readers or self.ended or self.task is None or self.task.done():
            self._freed()
            return
        seconds = 0.0
        if self._settled:
            seconds = _LINGER
        elif self._order.finish_anyway and (self.head is None or self._assembler is not None):
            seconds = self._limits.finish_within
        if seconds:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._give_up)
            self._freed()
        else:
            self._give_up()

    def read(self, reader: Reader) -> bytes:
        """Give the reader its next bytes, b"" when there are none yet."""
        place = reader.place
        if place is None or place >= self.backlog.end:
            return b""
        data, reader.place = self.backlog.read(place)
        if self._dropping:
            self._freed()
        return data

    def stop_reading(self, reader: Reader) -> None:
        """Let a reader want no more bytes; it stays on for the outcome."""
        reader.place = None
        self._freed()

    async def changed(self) -> None:
        """Wait until something new can be said."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    # ------------------------------------------------------------------ the pump

    def start(self, spawn: Callable[..., asyncio.Task[None]]) -> asyncio.Task[None]:
        """Set the pump going."""
        self.task = spawn(self.run())
        self.task.add_done_callback(self._finished)
        return self.task

    async def run(self) -> None:
        """Carry the reply; every failure is put where readers find it."""
        try:
            reply = await self._order.open()
            try:
                await self._carry(reply)
            finally:
                await reply.aclose()
            self.close()
        except SemcacheError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the task lives in a group that one defect must not bring down
            self._fail(UpstreamError("the answer could not be carried through", code="internal_error"))
            context = {"message": "a flight failed unexpectedly", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _carry(self, reply: UpstreamReply) -> None:
        coding = content_coding(reply.headers)
        headers = tuple(reply.headers)
        if coding not in (None, "identity"):
            headers = tuple(pair for pair in headers if pair[0].lower() not in _CODING_HEADERS)
        self.head = head = Head(reply.status, headers)
        reason = self._reason_against(head, coding)
        if head.is_failure:
            self.close()
        self._wake()
        body = decoded(reply, coding)
        try:
            async for chunk in body:
                self._assemble(chunk)
                if self._assembler is not None and self._assembler.is_done:
                    await self._settle("")
                    # Before its end mark reaches anybody.
                    self._refuse_unended()
                self.backlog.append(chunk)
                self._wake()
                if self.backlog.size > self._room:
                    await self._wait_for_room()
        finally:
            await close(body)
        await self._settle(reason or self._flaw)
        self._refuse_unended(is_framed=any(name.lower() in _FRAMING for name, _ in reply.headers))
        self.ended = True
        self._wake()

    async def _settle(self, reason: str) -> None:
        """Say what came of the answer, and hand a whole one on. Once; `reason` is for a missing assembler."""
        if self._settled:
            return
        self._settled = True
        outcome = self._outcome() or Incomplete(reason)
        self._assembler = None
        if isinstance(outcome, Incomplete):
            # Nobody who comes now should get it.
            self.close()
        else:
            await self._hand_on(outcome)
        self.outcome = outcome

    def _refuse_unended(self, *, is_framed: bool = True) -> None:
        """Break off where the upstream closed in order, but in the middle of an answer.

        Raises:
            UpstreamError: 502 `upstream_cut`.
        """
        reason = self.outcome.reason if isinstance(self.outcome, Incomplete) else ""
        # A document that only the connection's end bounds may have lost its rest.
        half = reason == "invalid_json" and not is_framed and self.head is not None and self.head.is_json
        if reason == "unended" or half:
            raise UpstreamError("the upstream's answer ended too early", code="upstream_cut")

    def _outcome(self) -> Completion | Incomplete | None:
        try:
            return self._assembler.finish() if self._assembler is not None else None
        except Exception as error:  # noqa: BLE001 - as for its bytes
            self._watched_in_vain(error)
            return Incomplete("shape")

    def _watched_in_vain(self, error: Exception) -> None:
        self._assembler, self._flaw = None, "shape"
        self.close()
        context = {"message": "an answer could not be put together", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)

    async def _hand_on(self, completion: Completion) -> None:
        try:
            with contextlib.suppress(SemcacheError):
                # Named faults are the giver's to count; they cost nobody the answer.
                await self._order.on_complete(completion)
        except Exception as error:  # noqa: BLE001 - the answer is whole; a defect in keeping it must not cost the readers theirs
            context = {"message": "a whole answer could not be handed on", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    def _reason_against(self, head: Head, coding: str | None) -> str | None:
        """Choose the assembler, or say why there is none."""
        if head.status != 200:
            return "upstream_status"
        if coding is None:
            return "undecodable"
        self._assembler = self._order.assembler(head)
        return None if self._assembler is not None else "content_type"

    def _assemble(self, chunk: bytes) -> None:
        if self._assembler is None:
            return
        self._assembled += len(chunk)
        if self._assembled > self._limits.retain:
            self._assembler = None
            self.close()
            return
        try:
            self._assembler.feed(chunk)
        except Exception as error:  # noqa: BLE001 - the bytes are good; a defect in watching them must not cost anybody the answer
            self._watched_in_vain(error)

    async def _wait_for_room(self) -> None:
        """Hold the upstream back until the slowest reader follows; put off those that do not.

        Alone, a reader only has to move at all. Where others wait for it, it has to make room.
        """
        self.close()
        while self._drop() > self._room:
            mark = self._slowest()
            goal = self._room // 2 if len(self.readers) > 1 else self._room
            try:
                async with asyncio.timeout(self._limits.write_deadline):
                    while self._drop() > goal:
                        self._space = asyncio.get_running_loop().create_future()
                        await self._space
            except TimeoutError:
                self._evict(mark)
            finally:
                self._space = None

    def _evict(self, mark: int) -> None:
        slowest = self._slowest()
        if len(self.readers) > 1 or slowest == mark:
            for reader in self.readers:
                if reader.place == slowest:
                    reader.evict()
            self._wake()

    def _slowest(self) -> int:
        places = [reader.place for reader in self.readers if reader.place is not None]
        return min(places, default=self.backlog.end)

    def _drop(self) -> int:
        """Forget what nobody needs any more; give the bytes still held."""
        if self._dropping:
            self.backlog.drop_before(self._slowest())
        return self.backlog.size

    def _freed(self) -> None:
        self._drop()
        if self._space is not None and not self._space.done():
            self._space.set_result(None)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Take nobody new; from now on what all have read is dropped. Idempotent."""
        self._dropping = True
        if self.on_closed is not None:
            on_closed, self.on_closed = self.on_closed, None
            on_closed()

    def _fail(self, error: SemcacheError) -> None:
        if isinstance(self.outcome, Completion):
            # All of it has come; what went wrong behind its end mark is nobody's loss.
            self.ended = True
        if not self.ended:
            # Its frames hold this reply, which holds it.
            self.failure = error.with_traceback(None)
            self.outcome = Incomplete("cut", None if self.outcome is None else self.outcome.usage)
        self.close()
        self._wake()

    def _give_up(self) -> None:
        self.close()
        if self.task is not None:
            self.task.cancel()

    def _finished(self, task: asyncio.Task[None]) -> None:
        """Clean up, also after a task that was cancelled before it began."""
        self._stop_timer()
        self.task = None  # a cancelled one holds the frames that it was in, which hold this
        if task.cancelled():
            self._fail(UpstreamError("the proxy gave the call up", status=503, code="cancelled"))
        self.close()
        self._drop()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
