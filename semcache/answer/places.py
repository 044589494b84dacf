"""Places for calls under way: a fixed number, and a bounded queue before them in which tenants take turns.

Who waits is served after others of the same party in order, and parties in rounds, so that one that asks a thousand
times at once costs another one turn, not a thousand. In a full queue the newest of the longest line gives way to a party that has
fewer waiting. Belongs to one event loop. Knows nothing of what is done in a place, nor of what a party is.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from semcache.errors import UpstreamError

_Line = deque["asyncio.Future[None]"]


@dataclass(frozen=True, slots=True)
class Room:
    """How much there is.

    Attributes:
        most: calls at once; None: any number.
        queue: calls that may wait.
        patience: seconds that they wait.
    """

    most: int | None = None
    queue: int = 100
    patience: float = 5.0

    @property
    def retry_after(self) -> tuple[tuple[str, str], ...]:
        """The header that tells somebody who was refused when to come again."""
        return (("retry-after", str(max(1, math.ceil(self.patience)))),)


class Places:
    """Takes so many calls at once; a few more wait a while, the others are told to come again.

    Args:
        room: how many; may be changed later (`resize`).
        refusal: gives the error for those who find no place.
    """

    __slots__ = ("_lines", "_refusal", "_room", "_used", "_waiting")

    def __init__(self, room: Room, refusal: Callable[[Room], UpstreamError]) -> None:
        self._room = room
        self._refusal = refusal
        self._used = 0
        self._waiting = 0
        self._lines: OrderedDict[str, _Line] = OrderedDict()
        """Those who wait, by party; the party whose turn is next comes first."""

    @property
    def used(self) -> int:
        """Places taken."""
        return self._used

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return self._waiting

    @property
    def is_full(self) -> bool:
        """True while one more would have to wait."""
        return self._room.most is not None and (self._used >= self._room.most or self._waiting > 0)

    def resize(self, room: Room) -> None:
        """Go by other numbers from now on; places that are taken stay so until they are given back."""
        if room != self._room:
            self._room = room
            self._serve()

    async def take(self, party: str = "") -> None:
        """Take a place; `give` it back, whatever happens.

        Args:
            party: who takes turns with the others.

        Raises:
            UpstreamError: what `refusal` gives: too many wait, or it waited long enough.
        """
        if not self.is_full:
            self._used += 1
            return
        if not self._room.queue or not self._room.patience or not self._makes_way(party):
            raise self._refusal(self._room)
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._lines.setdefault(party, deque()).append(turn)
        self._waiting += 1
        timer = loop.call_later(self._room.patience, self._refuse, party, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # The place came at the moment its caller left.
                self.give()
            else:
                self._leave(party, turn)
            raise
        finally:
            timer.cancel()

    def give(self) -> None:
        """Give a place back: to the one whose turn it is, if any waits."""
        self._used -= 1
        self._serve()

    def _serve(self) -> None:
        while self._waiting and (self._room.most is None or self._used < self._room.most):
            party, line = self._lines.popitem(last=False)
            turn = line.popleft()
            self._waiting -= 1
            if line:
                self._lines[party] = line
            if not turn.done():
                self._used += 1
                turn.set_result(None)

    def _makes_way(self, party: str) -> bool:
        """Tell whether one more of this party may wait; where the queue is full, another may have to go for it."""
        if self._waiting < self._room.queue:
            return True
        longest = max(self._lines, key=lambda name: len(self._lines[name]))
        mine = len(self._lines.get(party, ()))
        if len(self._lines[longest]) < mine + 2:
            return False
        self._refuse(longest, self._lines[longest][-1])
        return True

    def _refuse(self, party: str, turn: asyncio.Future[None]) -> None:
        self._leave(party, turn)
        if not turn.done():
            turn.set_exception(self._refusal(self._room))

    def _leave(self, party: str, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(party)
        if line is None or turn not in line:
            return
        line.remove(turn)
        self._waiting -= 1
        if not line:
            del self._lines[party]
