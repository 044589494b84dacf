"""Single flight: equal requests at the same moment make one upstream call.

`Flights.join` puts a request on the flight of its key, or starts one. Rules:

- The reply is carried by a task of its own: whoever leaves, the others keep theirs; when the last
  one leaves the call is cancelled (or finished to fill the cache, if the starter asked for it).
- A failure (no reply, or status 400 and up) belongs to the one who made the call. The others elect
  a new leader, once: two calls in all, then they get the failure too.
- A flight takes late joiners while it still has the body from its beginning, also after the body's
  end until the answer has been handed on. A slot is given up by identity, never by key alone.

Knows nothing of keys' meaning, of dialects, or of the store.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from semcache.answer.shared import FlightLimits, Head, Order, SharedReply
from semcache.core import Completion, Usage
from semcache.dialects.dialect import Assembler, Incomplete
from semcache.errors import RequestError, SemcacheError
from semcache.ports import UpstreamReply

_ATTEMPTS = 2
Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


@dataclass(frozen=True, slots=True)
class FlightStats:
    """For the gauges."""

    flights: int
    slots: int
    readers: int
    held_bytes: int


class Flights:
    """All flights of this process. One event loop only.

    Args:
        spawn: Starts a task that is owned (and at the end cancelled) by the application's lifespan.
        limits: Sizes and deadlines.
    """

    def __init__(self, spawn: Spawn, limits: FlightLimits | None = None) -> None:
        self._spawn = spawn
        self._limits = limits or FlightLimits()
        self._slots: dict[str, SharedReply] = {}
        self._live: set[SharedReply] = set()

    def join(
        self,
        key: str | None,
        open: Callable[[], Awaitable[UpstreamReply]],
        assembler: Callable[[Head], Assembler | None],
        on_complete: Callable[[Completion], Awaitable[bool]],
        *,
        finish_anyway: bool = False,
    ) -> Ticket:
        """Board the flight of `key`, or start one. Synchronous: the call begins in its own task.

        Args:
            key: What makes requests equal (tenant and principal included); None: never shared.
            open: Makes the upstream call. Must not depend on the client's connection.
            assembler: Chooses how to collect the answer from its head; None: not collected.
                Asked only for status 200 and bodies that can be decoded.
            on_complete: Gets a whole, good answer, while later requests still board this flight.
            finish_anyway: Go on without readers to fill the cache.

        Returns:
            A ticket; leave it on every way out (it is an async context manager).
        """
        return Ticket(self, key, Order(open, assembler, on_complete, finish_anyway))

    def stats(self) -> FlightStats:
        """Count what is under way."""
        return FlightStats(
            flights=len(self._live),
            slots=len(self._slots),
            readers=sum(len(flight.readers) for flight in self._live),
            held_bytes=sum(flight.backlog.size for flight in self._live),
        )

    def board(self, key: str | None, order: Order) -> tuple[SharedReply, bool]:
        """Give the flight of a key and whether it was started just now (for tickets only)."""
        present = self._slots.get(key) if key is not None else None
        if present is not None:
            return present, False
        flight = SharedReply(order, self._limits, shared=key is not None)
        flight.on_closed = partial(self._free, key, flight)
        if key is not None:
            self._slots[key] = flight
        self._live.add(flight)
        flight.start(self._spawn).add_done_callback(lambda _: self._live.discard(flight))
        return flight, True

    def _free(self, key: str | None, flight: SharedReply) -> None:
        if key is not None and self._slots.get(key) is flight:
            del self._slots[key]


class Ticket:
    """One request's place on a flight. Not for use by several tasks at once."""

    def __init__(self, flights: Flights, key: str | None, order: Order) -> None:
        self._flights = flights
        self._key = key
        self._order = order
        self._attempts = 0
        self._settled = False
        self._left = False
        self._paid = False
        self.badge = object()
        self._evicted = False
        self.place: int | None = 0
        self.leader = False
        """Whether this request made the upstream call (may become True while waiting for the head)."""
        self._board()

    async def head(self) -> Head:
        """Wait for the head of the reply.

        For a follower it is the head of a success, or, after a second call, whatever came.

        Raises:
            UpstreamError: there is no reply (see `Generator.open`), or it broke off at once.
            RequestError: the call could not be made.
        """
        while True:
            flight = self._flight
            while flight.head is None and flight.failure is None and not self._left:
                await flight.changed()
            head = flight.head
            if flight.has_failed and self._may_try_again():
                flight.remove(self)
                self._board()
                continue
            if head is not None:
                self._settled = True
                return head
            raise _fresh(flight.failure)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Stream the decoded body from its beginning.

        Raises:
            UpstreamError: as `head`, or the body broke off after what was given.
            RequestError: 408 `slow_reader`: this reader held the others up for too long.
        """
        await self.head()
        flight = self._flight
        while not self._left:
            data = flight.read(self)
            if data:
                yield data
            elif self._left:
                return
            elif self._evicted:
                raise RequestError("the stream was read too slowly", status=408, code="slow_reader")
            elif flight.failure is not None:
                raise _fresh(flight.failure)
            elif flight.ended:
                return
            else:
                await flight.changed()

    async def completion(self) -> Completion | Incomplete:
        """Wait for the whole answer instead of its bytes (for the other wire mode).

        Bytes not read so far are given up: call it instead of `chunks`, or after its end.

        Raises:
            UpstreamError: as `head`.
            RequestError: as `head`.
        """
        await self.head()
        flight = self._flight
        flight.stop_reading(self)
        while flight.outcome is None and not self._left:
            await flight.changed()
        return flight.outcome or Incomplete("cut")

    def change(self, word: str) -> None:
        """Leave for the flight of those whom this one's answer is of no use to either, by their `word`; or start it.

        Nothing of this one's may have been used; start again with `head`.
        """
        self._flight.remove(self)
        self._key = None if self._key is None else f"{self._key}:{word}"
        self._attempts, self._settled = 0, False
        self._board()

    @property
    def pays(self) -> bool:
        """Whether the call is this request's to pay for: it made it, or whoever did left it to this one before its end.

        So nobody gets an answer for nothing by asking twice and hanging up once.
        """
        return self._paid if self._left else self._flight.payer is self.badge

    @property
    def used(self) -> Usage | None:
        """What the call used, once that is known."""
        outcome = self._flight.outcome
        return None if outcome is None else outcome.usage

    @property
    def spent(self) -> Usage | None:
        """What was billed for an answer that is not to be remembered, once that is known."""
        outcome = self._flight.outcome
        return outcome.usage if isinstance(outcome, Incomplete) else None

    def leave(self) -> None:
        """Give the place up. Idempotent; after it nothing more is read."""
        if not self._left:
            self._paid = self.pays and (self._flight.ended or len(self._flight.readers) == 1)
            self._left = True
            self.place = None
            self._flight.remove(self)

    async def aclose(self) -> None:
        """Leave (for `contextlib.aclosing`)."""
        self.leave()

    async def __aenter__(self) -> Ticket:
        """Give the ticket itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave."""
        self.leave()

    def evict(self) -> None:
        """Lose the place for being too slow (called by the flight)."""
        self.place = None
        self._evicted = True

    def _may_try_again(self) -> bool:
        return not (self._settled or self.leader or self._left) and self._attempts < _ATTEMPTS

    def _board(self) -> None:
        self._flight, self.leader = self._flights.board(self._key, self._order)
        self._attempts += 1
        self.place = 0
        self._flight.add(self)


def _fresh(error: SemcacheError | None) -> SemcacheError:
    """Copy an error that several readers raise: a shared one would collect all their tracebacks."""
    if error is None:
        return RequestError("the request was given up", status=499, code="cancelled")
    return copy.copy(error).with_traceback(None)
