"""An index that several processes share: one keeps it equal to the store, and another takes over."""

from __future__ import annotations

import asyncio
import contextlib

from semcache.core import Embedding, EntryId, Namespace
from semcache.errors import StoreError
from semcache.lookup.follower import Follower, FollowerTuning
from semcache.lookup.leading import Leading
from semcache.ports import EntriesDeleted, EntryPut, EpochBumped, StoreReset
from tests.fakes.vector_index import FakeVectorIndex
from tests.lookup.scripted_store import ACME, E5, ScriptedStore, entry, unit
from tests.lookup.test_follower import Generations, until

QUICK = FollowerTuning(stall=60.0, first_retry=0.005, last_retry=0.02, tick=0.01)


class Right:
    """A lease in memory, with a clock that the test moves."""

    def __init__(self) -> None:
        self.now, self.holder, self.until = 0.0, "", 0.0
        self.fault: StoreError | None = None

    async def take(self, holder: str, seconds: float) -> bool:
        if self.fault:
            raise self.fault
        if self.holder not in ("", holder) and self.now < self.until:
            return False
        self.holder, self.until = holder if seconds else "", self.now + seconds
        return True

    def clock(self) -> float:
        return self.now


async def test_one_leads_until_its_lease_may_be_anothers() -> None:
    right = Right()
    one, two = Leading(right.take, "one", right.clock), Leading(right.take, "two", right.clock)
    assert not one.is_leader()
    await one._renew()
    await two._renew()
    assert (one.is_leader(), two.is_leader()) == (True, False)
    right.fault = StoreError("away")
    right.now = 7.9
    await one._renew()
    assert one.is_leader()
    right.now = 8.0
    assert not one.is_leader(), "before anybody else can have it"
    right.fault, right.now = None, 10.1
    await two._renew()
    await one._renew()
    assert (one.is_leader(), two.is_leader()) == (False, True)


async def test_at_its_end_it_gives_the_lease_up() -> None:
    right = Right()
    one = Leading(right.take, "one", right.clock)
    task = asyncio.create_task(one.run())
    await until(one.is_leader)
    task.cancel()
    await asyncio.wait([task])
    assert (one.is_leader(), right.holder) == (False, "")


async def test_only_who_leads_writes_and_who_comes_to_lead_compares() -> None:
    index, leads = FakeVectorIndex(), [True, False]
    stores = [ScriptedStore(entry("a", 1), entry("b", 2)), ScriptedStore(entry("a", 1), entry("b", 2))]
    followers = [
        Follower(store, index, Generations(E5), tuning=QUICK, leads=lambda n=number: leads[n])
        for number, store in enumerate(stores)
    ]
    tasks = [asyncio.create_task(follower.run()) for follower in followers]
    for store in stores:
        store.say(StoreReset())
    try:
        await until(lambda: all(follower.is_synced for follower in followers))
        assert sorted(index.held_by_id) == ["a", "b"]
        assert (stores[0].scans, stores[1].scans, stores[1].reads) == (1, 0, [])
        for store in stores:
            store.held[EntryId("c")] = entry("c", 3)
            store.say(
                EntryPut(ACME, EntryId("c")),
                EntriesDeleted(ACME, (EntryId("a"),)),
                EpochBumped(ACME, "tag:x", 1),
            )
            del store.held[EntryId("a")]
        await until(lambda: sorted(index.held_by_id) == ["b", "c"])
        await until(lambda: followers[1].state.pending == 0)
        assert (stores[1].scans, stores[1].reads) == (0, [])
        # The one who led is gone; what nobody heard of since is found by comparing.
        leads[0] = False
        await asyncio.sleep(0.05)
        for store in stores:
            store.held[EntryId("d")] = entry("d", 4)
        await index.add(Namespace(ACME, "zz"), EntryId("ghost"), Embedding(unit(9), E5))
        assert "d" not in index.held_by_id
        leads[1] = True
        await until(lambda: sorted(index.held_by_id) == ["b", "c", "d"])
        await until(lambda: followers[1].is_synced)
        assert stores[1].scans == 1
    finally:
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
