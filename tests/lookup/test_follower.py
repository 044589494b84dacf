"""The follower against a store that misbehaves on request: what the index holds is the observation."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId, EntryId, Namespace, ReviewStatus, TenantId
from semcache.errors import EncoderError, StoreError
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower, FollowerTuning
from semcache.ports import Change, EntriesDeleted, EntryPut, EpochBumped, StoreReset
from tests.lookup.scripted_store import ACME, E5, ScriptedStore, entry, space, unit

OTHER = TenantId("other")
QUICK = FollowerTuning(stall=2.0, first_retry=0.005, last_retry=0.02, tick=0.01)


class Generations:
    """As much of an encoder as the follower may ask."""

    def __init__(self, *served: EncoderId) -> None:
        self.served = frozenset(served)

    async def encode(self, text: str) -> Embedding:
        raise EncoderError(text)

    def to_reference(self, encoder: EncoderId, cosine: float) -> float | None:
        return None

    def name_of(self, encoder: EncoderId) -> str:
        return encoder

    def generations(self) -> frozenset[EncoderId]:
        return self.served


async def until(true: Callable[[], bool], seconds: float = 3.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  # the observed have no event of their own
            await asyncio.sleep(0.002)


class Following:
    def __init__(self, store: ScriptedStore, index: FaissIndex, follower: Follower, encoder: Generations):
        self.store, self.index, self.follower, self.encoder = store, index, follower, encoder

    def held(self) -> list[str]:
        return sorted(self.index.entry_ids())

    async def holds(self, *names: str) -> None:
        await until(lambda: self.held() == sorted(names))
        self.index.check_integrity()

    async def synced(self) -> None:
        await until(lambda: self.follower.is_synced)


@contextlib.asynccontextmanager
async def following(
    store: ScriptedStore,
    *,
    tuning: FollowerTuning = QUICK,
    on_change: Callable[[Change], None] | None = None,
    index: FaissIndex | None = None,
    begin: bool = True,
) -> AsyncIterator[Following]:
    index = index or FaissIndex()
    encoder = Generations(E5)
    follower = Follower(store, index, encoder, tuning=tuning, on_change=on_change)
    task = asyncio.create_task(follower.run())
    if begin:
        store.say(StoreReset())
    try:
        yield Following(store, index, follower, encoder)
    finally:
        assert not task.done(), "the follower must never end by itself"
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert not follower.is_synced
        assert store.opened == store.closed


async def test_it_takes_in_the_store_at_start() -> None:
    store = ScriptedStore(*(entry(f"e{n}", n) for n in range(300)), entry("x", 1, tenant=OTHER))
    async with following(store) as it:
        await it.synced()
        assert it.index.sizes() == (301, 2)
        assert it.follower.state.scanned == 301
        (near,) = await it.index.search(space(store.held[EntryId("e7")]), Embedding(unit(7), E5), 1)
        assert near.entry_id == "e7"


async def test_before_contact_it_is_not_synced() -> None:
    async with following(ScriptedStore(entry("a")), begin=False) as it:
        await asyncio.sleep(0.03)
        assert not it.follower.is_synced
        assert it.follower.last_contact == float("-inf")
        assert it.store.scans == 0


async def test_it_follows_puts_and_deletions() -> None:
    async with following(ScriptedStore()) as it:
        await it.synced()
        for name in ("a", "b", "c"):
            it.store.held[EntryId(name)] = entry(name, ord(name))
            it.store.say(EntryPut(ACME, EntryId(name)))
        await it.holds("a", "b", "c")
        it.store.say(EntriesDeleted(ACME, (EntryId("a"), EntryId("never-seen"))))
        await it.holds("b", "c")
        assert it.store.scans == 1


async def test_many_puts_are_read_in_few_batches() -> None:
    store = ScriptedStore()
    async with following(store) as it:
        await it.synced()
        for number in range(200):
            one = entry(f"e{number}", number)
            store.held[one.id] = one
        store.say(*(EntryPut(ACME, EntryId(f"e{number}")) for number in range(200)))
        await until(lambda: it.index.sizes()[0] == 200)
        assert len(store.reads) <= 8
        assert max(len(ids) for _, ids in store.reads) <= QUICK.batch


async def test_batches_do_not_mix_tenants() -> None:
    store = ScriptedStore(entry("a"), entry("b", tenant=OTHER))
    async with following(store) as it:
        await it.synced()
        store.reads.clear()
        store.say(*(EntryPut(t, EntryId(n)) for t, n in ((ACME, "a"), (OTHER, "b"), (ACME, "a"))))
        await until(lambda: len(store.reads) == 3)
        assert store.reads == [(ACME, ("a",)), (OTHER, ("b",)), (ACME, ("a",))]


async def test_every_change_reaches_the_listener_before_any_waiting() -> None:
    heard: list[Change] = []
    store = ScriptedStore(entry("a"))
    changes = [StoreReset(), EntryPut(ACME, EntryId("a")), EntriesDeleted(ACME, (EntryId("a"),))]
    changes.append(EpochBumped(ACME, "tag:x", 2))
    store.read_fault = StoreError("down")
    async with following(store, on_change=heard.append, begin=False):
        store.say(changes[0], changes[1], None, changes[2], changes[3])
        # Reading fails the whole time: the listener hears everything none the less.
        await until(lambda: heard == changes)


@pytest.mark.parametrize(
    "unfit",
    [
        entry("a", bare=True),
        entry("a", status=ReviewStatus.REJECTED),
        entry("a", encoder=EncoderId("older")),
        entry("a", vector=np.full(24, np.nan, np.float32)),
        entry("a", vector=np.zeros(24, np.float32)),
    ],
    ids=["bare", "rejected", "other-generation", "nan", "zero"],
)
async def test_an_entry_that_turns_unfit_leaves_the_index(unfit: object) -> None:
    store = ScriptedStore(entry("a", 1), entry("b", 2))
    async with following(store) as it:
        await it.synced()
        await it.holds("a", "b")
        store.held[EntryId("a")] = unfit  # type: ignore[assignment]  # an entry, typed loosely for the table
        store.say(EntryPut(ACME, EntryId("a")))
        await it.holds("b")


@pytest.mark.event(30)
async def test_hostile_vectors_in_the_store_are_counted_and_the_rest_goes_in() -> None:
    store = ScriptedStore(entry("a", 1), entry("bad", vector=np.full(24, np.nan, np.float32)), entry("c", 3))
    async with following(store) as it:
        await it.synced()
        await it.holds("a", "c")
        assert it.follower.state.refused == 1


async def test_a_full_index_refuses_the_rest_and_goes_on() -> None:
    store = ScriptedStore(*(entry(f"e{n}", n) for n in range(10)))
    async with following(store, index=FaissIndex(max_vectors=4)) as it:
        await it.synced()
        assert it.index.sizes()[0] == 4
        assert it.follower.state.refused == 6


async def test_a_bumped_namespace_goes_at_once() -> None:
    store = ScriptedStore(entry("a", 1), entry("b", 2, namespace="bb"), entry("c", 3, tenant=OTHER))
    async with following(store) as it:
        await it.holds("a", "b", "c")
        await it.synced()
        store.reads.clear()
        store.say(EpochBumped(ACME, "ns:aa", 1))
        await it.holds("b", "c")
        assert store.reads == []


@pytest.mark.parametrize("key", ["", "tag:x", "model:small", "key:something-of-later"])
async def test_after_any_other_bump_the_tenant_is_read_again(key: str) -> None:
    store = ScriptedStore(entry("a", 1), entry("b", 2), entry("c", 3, tenant=OTHER))
    async with following(store) as it:
        await it.holds("a", "b", "c")
        await it.synced()
        del store.held[EntryId("a")]
        store.reads.clear()
        store.say(EpochBumped(ACME, key, 1))
        await it.holds("b", "c")
        assert {tenant for tenant, _ in store.reads} == {ACME}
        assert store.scans == 1


async def test_what_was_put_after_a_bump_stays() -> None:
    store = ScriptedStore(entry("a", 1))
    async with following(store) as it:
        await it.holds("a")
        store.held = {EntryId("b"): entry("b", 2)}
        store.say(EpochBumped(ACME, "ns:aa", 1), EntryPut(ACME, EntryId("b")))
        await it.holds("b")


async def test_a_reset_mends_the_index_without_emptying_it() -> None:
    store = ScriptedStore(*(entry(f"e{n}", n) for n in range(200)))
    async with following(store) as it:
        await it.synced()
        del store.held[EntryId("e0")]
        store.held[EntryId("new")] = entry("new", 777)
        store.held[EntryId("e1")] = entry("e1", 999)
        store.hold_scan_after = 150
        store.reads.clear()
        store.say(StoreReset())
        await store.scan_held.wait()
        assert not it.follower.is_synced
        assert it.index.sizes()[0] == 200, "what is held stays searchable during a rebuild"
        store.scan_goes_on.set()
        await it.synced()
        assert it.held() == sorted(store.held)
        assert store.reads == [(ACME, (name,)) for name in ("e1", "new", "e0")], "only what differs is read"
        (near,) = await it.index.search(space(store.held[EntryId("e1")]), Embedding(unit(999), E5), 1)
        assert (near.entry_id, near.cosine) == ("e1", pytest.approx(1.0, abs=1e-6))


async def test_a_flushed_store_empties_the_index() -> None:
    store = ScriptedStore(*(entry(f"e{n}", n) for n in range(300)))
    async with following(store) as it:
        await it.synced()
        store.held.clear()
        store.say(StoreReset())
        await it.holds()
        await it.synced()
        assert it.follower.state.ghosts == 300


async def test_a_deletion_during_a_rebuild_is_not_undone_by_it() -> None:
    store = ScriptedStore(entry("a", 1), entry("b", 2))
    store.hold_scan_after = 1
    async with following(store) as it:
        await store.scan_held.wait()
        # The scan has read b already and will give it after b is gone.
        del store.held[EntryId("b")]
        store.say(EntriesDeleted(ACME, (EntryId("b"),)))
        await until(lambda: it.follower.state.pending == 0)
        await asyncio.sleep(0.02)
        store.scan_goes_on.set()
        await it.synced()
        assert it.held() == ["a"]


async def test_a_change_during_a_rebuild_wins_over_what_the_scan_had_read() -> None:
    store = ScriptedStore(entry("a", 1), entry("b", 2))
    store.hold_scan_after = 1
    async with following(store) as it:
        await store.scan_held.wait()
        newer = entry("b", 500)
        store.held[EntryId("b")] = newer
        store.say(EntryPut(ACME, EntryId("b")))
        await until(lambda: "b" in it.held())
        store.scan_goes_on.set()
        await it.synced()
        (near,) = await it.index.search(space(newer), Embedding(unit(500), E5), 1)
        assert (near.entry_id, near.cosine) == ("b", pytest.approx(1.0, abs=1e-6))


async def test_a_reset_during_a_rebuild_begins_it_anew() -> None:
    store = ScriptedStore(*(entry(f"e{n}", n) for n in range(1000)))
    store.hold_scan_after = 10
    async with following(store) as it:
        await store.scan_held.wait()
        store.say(StoreReset())
        await until(lambda: it.follower.state.resets == 2)
        store.scan_goes_on.set()
        await until(lambda: store.scans == 2)
        await it.synced()
        assert it.index.sizes()[0] == 1000
        assert store.scanned < 1100, "the first scan is given up, not finished"


async def test_too_many_changes_at_once_lead_to_a_rebuild() -> None:
    tuning = FollowerTuning(stall=2.0, first_retry=0.005, last_retry=0.02, tick=0.01, max_pending=5)
    store = ScriptedStore()
    async with following(store, tuning=tuning) as it:
        await it.synced()
        store.read_fault = StoreError("slow")
        for number in range(50):
            one = entry(f"e{number}", number)
            store.held[one.id] = one
            # Two tenants in turn, so that they do not merge into one batch.
            store.say(EntryPut((ACME, OTHER)[number % 2], one.id))
        await until(lambda: it.follower.state.overflows > 0)
        assert it.follower.state.pending <= 5
        store.read_fault = None
        await until(lambda: it.index.sizes()[0] == 50)
        await it.synced()
        assert it.follower.state.overflows < 15, "the queue is emptied each time"


async def test_a_failed_read_is_tried_again_without_a_rebuild() -> None:
    store = ScriptedStore()
    async with following(store) as it:
        await it.synced()
        store.read_fault = StoreError("late", kind="late")
        store.held[EntryId("a")] = entry("a")
        store.say(EntryPut(ACME, EntryId("a")))
        await until(lambda: it.follower.state.faults >= 2)
        store.read_fault = None
        await it.holds("a")
        assert (store.scans, it.follower.is_synced) == (1, True)


async def test_a_failed_scan_is_tried_again() -> None:
    store = ScriptedStore(entry("a"))
    store.scan_fault = StoreError("late", kind="late")
    async with following(store) as it:
        await until(lambda: it.follower.state.faults >= 2)
        assert not it.follower.is_synced
        store.scan_fault = None
        await it.synced()
        assert it.held() == ["a"]


async def test_a_lost_connection_is_made_again_and_what_was_missed_taken_in() -> None:
    store = ScriptedStore(entry("a", 1))
    async with following(store) as it:
        await it.synced()
        store.say(StoreError("gone"))
        await until(lambda: store.opened >= 2)
        assert not it.follower.is_synced
        assert it.held() == ["a"], "an outage empties nothing"
        store.held[EntryId("b")] = entry("b", 2)
        store.say(StoreReset())
        await it.synced()
        assert it.held() == ["a", "b"]


async def test_silence_counts_as_a_lost_connection() -> None:
    tuning = FollowerTuning(stall=0.05, first_retry=0.005, last_retry=0.02, tick=0.01)
    async with following(ScriptedStore(), tuning=tuning) as it:
        await it.synced()
        await until(lambda: it.store.opened >= 2)
        assert not it.follower.is_synced


async def test_an_idle_stream_proves_contact() -> None:
    async with following(ScriptedStore()) as it:
        await it.synced()
        before = it.follower.last_contact
        await asyncio.sleep(0.01)
        it.store.say(None)
        await until(lambda: it.follower.last_contact > before)
        assert it.follower.last_contact <= time.monotonic()
        assert it.follower.state.changes == 1


@pytest.mark.event(33)
async def test_contact_is_as_old_as_the_question_and_no_change_alone_proves_it() -> None:
    async with following(ScriptedStore(entry("a", 1))) as it:
        await it.synced()
        it.store.say(None)
        before = time.monotonic()
        await until(lambda: it.follower.last_contact > before - 1)
        await asyncio.sleep(0.05)
        asked_at_most = it.follower.last_contact + 0.03
        it.store.say(EntriesDeleted(ACME, (EntryId("a"),)))
        await until(lambda: it.held() == [])
        assert it.follower.last_contact < asked_at_most, "more may be left"
        await asyncio.sleep(0.05)
        said = time.monotonic()
        it.store.say(None)
        await asyncio.sleep(0.03)
        assert it.follower.last_contact < said, "what was done while it was under way is not in it"


async def test_a_change_of_generations_leads_to_a_rebuild() -> None:
    newer = EncoderId("newer")
    store = ScriptedStore(entry("a", 1), entry("b", 2, encoder=newer))
    async with following(store) as it:
        await it.synced()
        await it.holds("a")
        it.encoder.served = frozenset({newer})
        await it.holds("b")
        await it.synced()


async def test_ghosts_and_expired_entries_are_found_by_comparing() -> None:
    tuning = FollowerTuning(stall=2.0, tick=0.01, compare_every=0.05)
    store = ScriptedStore(entry("a", 1), entry("b", 2), entry("c", 3))
    async with following(store, tuning=tuning) as it:
        await it.synced()
        await it.index.add(Namespace(OTHER, "zz"), EntryId("ghost"), Embedding(unit(9), E5))
        del store.held[EntryId("b")]
        store.held[EntryId("d")] = entry("d", 4)
        await it.holds("a", "c", "d")
        assert it.follower.is_synced, "comparing is no rebuild"
        assert it.follower.state.ghosts == 2


@pytest.mark.event(24)
async def test_ghosts_met_by_a_search_are_forgotten() -> None:
    async with following(ScriptedStore(entry("a", 1), entry("b", 2))) as it:
        await it.synced()
        assert await it.follower.forget([EntryId("a"), EntryId("unknown")]) == 1
        assert it.held() == ["b"]
        assert it.follower.state.ghosts == 1


async def test_without_an_encoder_nothing_is_indexed_but_all_is_heard() -> None:
    store, index, heard = ScriptedStore(entry("a")), FaissIndex(), list[Change]()
    follower = Follower(store, index, None, on_change=heard.append, tuning=QUICK)
    task = asyncio.create_task(follower.run())
    store.say(StoreReset(), EntriesDeleted(ACME, (EntryId("a"),)))
    await until(lambda: follower.is_synced and len(heard) == 2)
    assert index.sizes() == (0, 0)
    task.cancel()
    await asyncio.wait([task])


async def test_a_failing_listener_is_a_defect_and_not_hidden() -> None:
    def broken(change: Change) -> None:
        raise KeyError("defect")

    follower = Follower(store := ScriptedStore(), FaissIndex(), None, on_change=broken, tuning=QUICK)
    store.say(StoreReset())
    with pytest.raises(ExceptionGroup) as raised:
        await follower.run()
    assert raised.group_contains(KeyError)
