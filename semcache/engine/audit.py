"""What became of each request: one log line, the timings for metrics, which prefix it reused.

Sees events, never their text. A request that ends in no way (its client left) is told, too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol

from semcache.engine.generation import Delta, Done, Event, Failed, Finished, Ticket

_log = logging.getLogger(__name__)

ANSWER, WARM = "answer", "warm"
"""What a request is for."""


class Events(Protocol):
    """Where the events of one generation come from."""

    async def next(self, patience: float) -> Event | None:
        """Give the next event, or None after `patience` seconds without one."""
        ...


class Observer(Protocol):
    """Counts ends of requests."""

    def done(self, done: Done, seconds: float) -> None:
        """Take note of an answer that is complete."""
        ...

    def ended(self, how: str) -> None:
        """Take note of another end: `failed`, `left` (its client), or `warmed`."""
        ...


class Answering:
    """A generation under way: its events and its ticket, with a record made at its end.

    Args:
        id: The answer's id.
        kind: `ANSWER` or `WARM`.
        events: Where its events come from.
        ticket: Its handle.
        observer: Counts its end.
    """

    def __init__(
        self,
        id: str,
        kind: str,
        events: Events,
        ticket: Ticket,
        observer: Observer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._id = id
        self._kind = kind
        self._events = events
        self._ticket = ticket
        self._observer = observer
        self._clock = clock
        self._began = clock()
        self._reasons: dict[int, str] = {}
        self._is_over = False

    async def next(self, patience: float) -> Event | None:
        """Give the next event, or None after `patience` seconds without one."""
        event = await self._events.next(patience)
        match event:
            case Finished(index, reason):
                self._reasons[index] = reason
            case Done() as done:
                self._complete(done)
            case Failed():
                self._end("failed")
            case Delta() | None:
                pass
        return event

    def cancel(self) -> None:
        """Give the generation up, if it is not over. Idempotent."""
        self._ticket.cancel()
        self._end("left")

    def _complete(self, done: Done) -> None:
        self._is_over = True
        seconds = self._clock() - self._began
        if self._kind == WARM:
            self._observer.ended("warmed")
        else:
            self._observer.done(done, seconds)
        reasons = ",".join(self._reasons[index] for index in sorted(self._reasons))
        _log.info("%s", record(self._id, self._kind, done, seconds, reasons))

    def _end(self, how: str) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._observer.ended(how)
        _log.info("id=%s kind=%s finish=%s total_ms=%.1f", self._id, self._kind, how, 1e3 * self.seconds)

    @property
    def seconds(self) -> float:
        """Give the time since the request was handed over."""
        return self._clock() - self._began


def record(id: str, kind: str, done: Done, seconds: float, reasons: str) -> str:
    """Write the line of one complete request; times in milliseconds."""
    timing = done.timing
    fields = {
        "id": id,
        "kind": kind,
        "prompt": done.prompt_tokens,
        "cached": done.cached_tokens,
        "public": done.reuse.public_tokens,
        "prefix": done.reuse.digest or "-",
        "prefix_age_s": f"{done.reuse.age_seconds:.1f}",
        "generated": done.completion_tokens,
        "steps": done.steps,
        "draft_accepted": done.accepted_draft,
        "draft_rejected": done.rejected_draft,
        "queue_ms": f"{1e3 * timing.queue:.1f}",
        "match_ms": f"{1e3 * timing.match:.2f}",
        "prefill_ms": f"{1e3 * timing.prefill:.1f}",
        "first_token_ms": f"{1e3 * timing.first_token:.1f}",
        "total_ms": f"{1e3 * seconds:.1f}",
        "finish": reasons or "-",
    }
    return " ".join(f"{key}={value}" for key, value in fields.items())
