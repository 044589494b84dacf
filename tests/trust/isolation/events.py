"""What befalls the processes while everybody asks: new policies, kills, restarts, a replica that joins, a store that dies.

One thing at a time, each to its end: then the book knows again what is in force.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from semcache.policy.loader import load_directory
from tests.trust.isolation.fleet import Fleet, Replica
from tests.trust.isolation.model import Book
from tests.trust.isolation.world import TENANTS, State, Tenant

if TYPE_CHECKING:
    from tests.trust.isolation.run import Tally

KINDS = ("policy", "kill", "policy", "store", "policy", "restart", "join", "policy")
"""What may happen: a policy changes, a replica is killed, the store is killed, a replica is restarted in order, one joins or leaves."""


@dataclass
class Events:
    """Makes things happen, spread over the run."""

    fleet: Fleet
    book: Book
    tally: Tally
    by: Random
    clock: Callable[[], float] = time.monotonic
    _states: dict[str, State] = field(default_factory=dict)

    async def happen(self, kinds: Sequence[str], share: Callable[[], float]) -> None:
        """Let one thing after the other happen, each when its share of the run is done."""
        for number, kind in enumerate(kinds):
            while share() < (number + 0.5) / (len(kinds) + 1):  # noqa: ASYNC110 - nothing is told of each ask
                await asyncio.sleep(0.02)
            before = self.clock()
            name = await self._one(kind)
            self.tally.events[name] += 1
            self.tally.happened.append(f"{name}: {before:.3f} to {self.clock():.3f}")

    async def _one(self, kind: str) -> str:
        match kind:
            case "policy":
                return await self._policy(self.by.choice([one for one in TENANTS if len(one.states) > 1]))
            case "kill":
                return await self._kill(self.by.choice(self.fleet.up()))
            case "store":
                return await self._store()
            case "restart":
                return await self._restart(self.by.choice(self.fleet.up()))
            case _:
                return await self._join()

    async def _policy(self, tenant: Tenant) -> str:
        """Change a tenant's policy, and know when every worker has it."""
        now = self._states.get(tenant.name, State.BASE)
        state = self.by.choice([one for one in tenant.states if one is not now])
        era = self.book.policy_begun(tenant.name, state, self.clock())
        self.fleet.write(tenant, state)
        if state is State.REMOVED:
            # A file that vanished counts as an accident until somebody means it.
            for one in self.fleet.up():
                one.read_again()
        generation = load_directory(self.fleet.policies).generation
        for one in self.fleet.up():
            await one.until_taken(generation)
        era.taken = self.clock()
        self._states[tenant.name] = state
        return f"policy {state.value}"

    async def _kill(self, replica: Replica) -> str:
        self.book.kills.append((replica.name, self.clock()))
        await replica.kill()
        await asyncio.sleep(self.by.uniform(0.0, 0.5))
        await replica.start()
        return "kill -9 of a replica"

    async def _restart(self, replica: Replica) -> str:
        code = await replica.stop()
        if code:
            self.tally.faults.append(f"{replica.name} ended with {code} after SIGTERM")
        await replica.start()
        return "SIGTERM of a replica"

    async def _store(self) -> str:
        """Kill the store, and start it on the same data."""
        begun, place = self.clock(), len(self.book.crashes)
        self.book.crashes.append((begun, float("inf")))
        self.fleet.valkey.kill()
        await asyncio.sleep(self.by.uniform(0.0, 1.0))
        await self.fleet.valkey.start()
        for one in self.fleet.up():
            await one.until_well()
        self.book.crashes[place] = (begun, self.clock() + 1.0)
        return "kill -9 of the store"

    async def _join(self) -> str:
        """A third replica comes, or goes."""
        third = next((one for one in self.fleet.replicas if one.name == "three"), None)
        if third is not None and third.is_up:
            await third.stop()
            return "a replica leaves"
        if third is None:
            third = self.fleet.replica("three")
        await third.start()
        return "a replica joins"
