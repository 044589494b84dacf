"""Prewarming: writes down which heads come again and again, and has a new engine compute them.

One worker at a time computes (a lease on the shelf), one head at a time, the most valuable first,
only while the engine has next to nothing else to do, each with a deadline. Requests never wait for
it; a fault of store or engine ends a turn, not the task. Knows the shelf and the engine by port.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import orjson
import structlog

from semcache.answer.engine_door import EngineDoor, EngineState, Warmed
from semcache.answer.warmbook import BookRules, Remembered, WarmBook, best_first, dumps, loads, merged
from semcache.core import TenantId
from semcache.errors import EngineError, StoreError, UpstreamError
from semcache.ports import Change, Clock, EpochBumped, StoreReset

_log = structlog.get_logger()


class Shelf(Protocol):
    """Where heads outlive a process; see `store.warm_shelf` for the contract of each verb."""

    async def epoch(self, tenant: TenantId) -> int:
        """Give a tenant's invalidation counter."""
        ...

    async def tenants(self) -> list[TenantId]:
        """List who may have a value."""
        ...

    async def read(self, tenant: TenantId) -> bytes | None:
        """Give a value that is still valid."""
        ...

    async def write(self, tenant: TenantId, epoch: int, value: bytes) -> bool:
        """Replace a value unless the tenant was flushed since `epoch`."""
        ...

    async def lease(self, holder: str, seconds: float) -> bool:
        """Take, renew or give up (0 seconds) the right to compute."""
        ...


@dataclass(frozen=True, slots=True)
class WarmRules:
    """How it goes about; times in seconds. `learn_every` is how long a page may be without its counter.

    `busy` is how many requests the engine may have while heads are computed; `heads` and `tokens`
    (estimated) bound what is computed for one start of an engine.
    """

    look_every: float = 2.0
    learn_every: float = 0.5
    write_every: float = 60.0
    deadline: float = 60.0
    busy: int = 1
    heads: int = 64
    tokens: int = 65_536


Rebuild = Callable[[TenantId, str, Mapping[str, Any]], dict[str, Any] | None]
"""Gives the engine's body for a head of a tenant and an owner (see `heads.Head`) by the policies of now, or None."""

Told = Callable[[str, Warmed | None], None]
"""Hears of each head: `done` with what it cost, `failed`, or `skipped` (a policy forbids it now)."""


class Warming:
    """The background task of one worker.

    Args:
        book: what this worker counted.
        shelf: what all workers counted.
        door: the engine.
        rebuild: prepares a head as a request would be.
        clock: time of frequencies.
        name: tells workers apart.
        told: counts.
        rules: how it goes about.
    """

    def __init__(
        self,
        book: WarmBook,
        shelf: Shelf,
        door: EngineDoor,
        rebuild: Rebuild,
        clock: Clock,
        name: str,
        told: Told,
        rules: WarmRules | None = None,
    ) -> None:
        self._book = book
        self._shelf = shelf
        self._door = door
        self._rebuild = rebuild
        self._clock = clock
        self._name = name
        self._told = told
        self._rules = rules or WarmRules()
        self._warmed: tuple[str, int] | None = None

    async def run(self) -> None:
        """Count and compute until cancelled; then write down what was counted."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_book())
                group.create_task(self._keep_warm())
        finally:
            with contextlib.suppress(StoreError):
                await self.write()
                await self._shelf.lease(self._name, 0)

    def on_change(self, change: Change) -> None:
        """Forget what was counted of a tenant that is flushed or lost a user, or under a store that is another one now."""
        match change:
            case EpochBumped(tenant=tenant, key="" | "erasure"):
                self._book.drop(tenant)
            case StoreReset():
                self._book.clear()
            case _:
                pass

    # -- the book -----------------------------------------------------------------------

    async def _keep_book(self) -> None:
        """Write now and then; learn early under which counter each tenant's page was begun."""
        since = 0.0
        while True:
            await asyncio.sleep(self._rules.learn_every)
            since += self._rules.learn_every
            with contextlib.suppress(StoreError):
                # What was learned in this turn is written in a later one: word of a flush in between comes first.
                if since >= self._rules.write_every:
                    since = 0.0
                    await self.write()
                await self._learn_epochs()

    async def _learn_epochs(self) -> None:
        for tenant in self._book.tenants:
            if self._book.epoch(tenant) is None:
                self._book.begun_under(tenant, await self._shelf.epoch(tenant))

    async def write(self) -> None:
        """Add what was counted to the shelf.

        Raises:
            StoreError: the shelf is away; what was counted stays in the book.
        """
        for tenant in self._book.tenants:
            epoch, now = self._book.epoch(tenant), self._clock.now()
            fresh = self._book.fresh(tenant, now)
            if epoch is None or not fresh:
                continue
            heads = merged(readable(await self._shelf.read(tenant)), fresh, now, self._book.rules)
            if await self._shelf.write(tenant, epoch, dumps(heads)):
                self._book.written(tenant, fresh)
            else:
                self._book.drop(tenant)

    # -- the engine ---------------------------------------------------------------------

    async def _keep_warm(self) -> None:
        while True:
            await asyncio.sleep(self._rules.look_every)
            # The engine restarts, the store is away: the next look tells.
            with contextlib.suppress(StoreError, EngineError, UpstreamError):
                await self.look()

    async def look(self) -> None:
        """Compute what is worth it, if the engine is a new one and no other worker does.

        Raises:
            StoreError: the shelf is away.
            UpstreamError: the engine cannot be reached.
            EngineError: what answers is no engine.
        """
        if not await self._leased():
            return
        state = await self._door.state()
        if state is None or state.identity == self._warmed:
            return
        began, count = self._clock.monotonic(), 0
        for tenant, head in await worth_it(self._shelf, self._clock.now(), self._rules, self._book.rules):
            if not await self._quiet(state):
                return
            count += await self._warm(tenant, head, state)
        self._warmed = state.identity
        if count:
            _log.info("prewarmed", heads=count, seconds=round(self._clock.monotonic() - began, 1))

    async def _leased(self) -> bool:
        return await self._shelf.lease(self._name, self._rules.deadline + 5 * self._rules.look_every)

    async def _quiet(self, first: EngineState) -> bool:
        """Wait until the engine has little to do; False when it is another one now, or another worker computes."""
        while await self._leased():
            state = await self._door.state()
            if state is None or state.identity != first.identity:
                return False
            if state.busy <= self._rules.busy:
                return True
            await asyncio.sleep(self._rules.look_every)
        return False

    async def _warm(self, tenant: TenantId, head: Remembered, state: EngineState) -> bool:
        body = self._rebuild(tenant, head.owner, {**orjson.loads(head.body), "model": state.model})
        if body is None:
            self._told("skipped", None)
            return False
        try:
            warmed = await self._door.warm(body, self._rules.deadline)
        except (EngineError, UpstreamError) as error:
            # No text of the prompt: which head it was is told by its key.
            _log.warning("a head was not prewarmed", tenant=tenant, head=head.key, problem=str(error))
            self._told("failed", None)
            return False
        self._told("done", warmed)
        return True


async def worth_it(
    shelf: Shelf, now: float, rules: WarmRules, book: BookRules
) -> list[tuple[TenantId, Remembered]]:
    """Give the heads to compute for one start of an engine, in this order, within its bounds.

    Raises:
        StoreError: the shelf is away.
    """
    known = {tenant: readable(await shelf.read(tenant)) for tenant in await shelf.tenants()}
    left, chosen = rules.tokens, []
    for tenant, head in islice(best_first(known, now, book), rules.heads):
        if head.tokens <= left:
            left -= head.tokens
            chosen.append((tenant, head))
    return chosen


def readable(value: bytes | None) -> list[Remembered]:
    """Read a shelf's value; one that is damaged holds nothing, and is replaced by the next."""
    if value is None:
        return []
    try:
        return loads(value)
    except ValueError:
        _log.warning("what was remembered for prewarming cannot be read and is forgotten")
        return []
