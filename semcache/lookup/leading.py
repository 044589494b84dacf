"""Which of all processes keeps a shared index equal to the store: one at a time, by a lease that runs out by itself.

Knows the lease only as a call; nothing of stores or indexes.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from semcache.errors import StoreError

_SECONDS = 10.0
_MARGIN = 2.0
"""Seconds before its end in which a lease is not relied on: work that has begun is over by then."""


class Leading:
    """Takes the lease again and again.

    Args:
        take: takes or renews it for a holder and so many seconds, or gives it up with 0; False while another has it.
        holder: a name that no other process has.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        take: Callable[[str, float], Awaitable[bool]],
        holder: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._take = take
        self._holder = holder
        self._monotonic = monotonic
        self._until = float("-inf")

    def is_leader(self) -> bool:
        """True while nobody else can have the lease."""
        return self._monotonic() < self._until

    async def run(self) -> None:
        """Take and renew until cancelled; then give it up, so that another need not wait."""
        try:
            while True:
                await self._renew()
                await asyncio.sleep(_SECONDS / 4)
        finally:
            self._until = float("-inf")
            with contextlib.suppress(StoreError):
                await self._take(self._holder, 0.0)

    async def _renew(self) -> None:
        asked = self._monotonic()
        try:
            taken = await self._take(self._holder, _SECONDS)
        except StoreError:
            return  # it may still be ours, for as long as it was given
        self._until = asked + _SECONDS - _MARGIN if taken else float("-inf")
