"""Vectors of questions to come, made while earlier ones are decided: the encoder's thread and the event loop work side by side.

Knows no decision; a vector that was not made ahead is made when it is needed.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from semcache.advise.asked import text_number
from semcache.advise.rows import LogRow
from semcache.advise.sample import Part
from semcache.core import Namespace, TenantId
from semcache.errors import EncoderError
from semcache.journey import Asked
from semcache.meeting import meet
from semcache.ports import Encoder

_DEPTH = 96
"""Rows ahead; the encoder's own queue holds 256."""
_REMEMBERED = 500_000
_SWITCH = 0.0005
"""Seconds after which a thread that waits for the interpreter gets it; Python's own 5 ms would let the encoder idle."""
_COLLECT = 50_000, 50, 200
_NOWHERE = Namespace(TenantId(""), "")


@dataclass(frozen=True, slots=True)
class Coming:
    """A row with its request (None: it is none), what is done with it, and where it stands.

    `is_lonely`: no other question is ever asked in its place. `needs_vector`: it is matched by meaning.
    """

    number: int
    row: LogRow
    asked: Asked | None
    part: Part
    place: int | None
    is_lonely: bool = False
    needs_vector: bool = True


class Ahead:
    """Makes vectors ahead.

    Args:
        encoder: makes them; what it refuses or fails at is tried again when it is needed.
        spawn: starts a task that somebody owns.
    """

    def __init__(
        self, encoder: Encoder, spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    ) -> None:
        self._encoder = encoder
        self._spawn = spawn
        self._seen: set[int] = set()
        self.made = 0

    async def rows(self, coming: Iterator[Coming]) -> AsyncGenerator[Coming]:
        """Give the rows in order, each when its vector is there."""
        waiting: deque[tuple[Coming, asyncio.Task[None] | None]] = deque()
        for item in coming:
            waiting.append((item, self._begun(item)))
            if len(waiting) >= _DEPTH:
                yield await _ready(waiting)
        while waiting:
            yield await _ready(waiting)

    def _begun(self, item: Coming) -> asyncio.Task[None] | None:
        asked = item.asked
        if asked is None or item.place is None or not item.needs_vector:
            return None
        prompt = asked.request.prompt or ""
        if asked.request.user_turns == 1:
            # Seen in this place: most likely an exact repeat, which needs none.
            key = item.place ^ text_number(prompt)
            if key in self._seen:
                return None
            if len(self._seen) < _REMEMBERED:
                self._seen.add(key)
        self.made += 1
        return self._spawn(self._embed(asked))

    async def _embed(self, asked: Asked) -> None:
        request = asked.request
        kinds = ("standalone",) if request.user_turns == 1 else ("standalone", "bound", "opaque")
        try:
            meeting = await meet(request, dict.fromkeys(kinds, _NOWHERE), self._encoder)
            await self._encoder.encode(meeting.reading.text)
        except EncoderError:
            return


async def _ready(waiting: deque[tuple[Coming, asyncio.Task[None] | None]]) -> Coming:
    item, task = waiting.popleft()
    if task is not None:
        await task
    return item


@contextmanager
def side_by_side() -> Iterator[None]:
    """Let threads take turns more often and the collector look around less, for as long as this lasts."""
    before, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH)
    # Requests leave few cycles behind, and all that is stored would be looked through again and again.
    gc.set_threshold(*_COLLECT)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.set_threshold(*thresholds)
