"""Who goes where a tenant's room is short: the least valuable, who holds too much, verified answers last."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from semcache.core import Entry, EntryId, ReviewStatus
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.redis_store import Quota, RedisStore, StoreRules
from tests.fakes.entry_store import FakeEntryStore
from tests.store.servers import ACME, WallClock, cluster, entry, valkey

__all__ = ["cluster", "valkey"]  # fixtures, used by name

Store = RedisStore | FakeEntryStore
Open = Callable[[Quota], Store]
ROOM = 10


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def opened(request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str) -> AsyncIterator[Open]:
    stores: list[Store] = []

    def open_store(quota: Quota) -> Store:
        clock = WallClock()
        if request.param == "fake":
            stores.append(FakeEntryStore(clock, lambda _: quota))
        else:
            url = valkey.url if request.param == "valkey" else cluster
            patient = LinkRules(deadline=5.0)
            rules = StoreRules(patient, f"r-{uuid.uuid4().hex}", quota_of=lambda _: quota)
            stores.append(RedisStore(url, clock, rules))
        return stores[-1]

    yield open_store
    for store in stores:
        await store.aclose()


async def names(store: Store) -> set[str]:
    return {e.id async for e in store.scan(ACME)}


def cheap(name: str, **changes: object) -> Entry:
    return entry(name, worth=10.0, **changes)


async def test_a_flood_of_cheap_ones_does_not_push_out_a_hot_costly_one(opened: Open) -> None:
    store = opened(Quota(entries=ROOM))
    assert await store.put(entry("hot", worth=5000.0))
    await store.use(ACME, {EntryId("hot"): 20 * 5000.0})
    for n in range(12 * ROOM):
        assert await store.put(cheap(f"e{n}")), "whoever comes has a place, for a while"
    assert await names(store) == {"hot", *(f"e{n}" for n in range(11 * ROOM + 1, 12 * ROOM))}


async def test_what_is_never_asked_again_goes_however_costly_it_was(opened: Open) -> None:
    store = opened(Quota(entries=ROOM))
    assert await store.put(entry("old", worth=5000.0))
    for n in range(19 * ROOM):
        assert await store.put(cheap(f"e{n}"))
    assert "old" not in await names(store), "worth 500 times as much: nine half-lives, 18 turnovers"


async def test_every_hit_counts(opened: Open) -> None:
    store = opened(Quota(entries=ROOM))
    for n in range(ROOM):
        assert await store.put(cheap(f"e{n}"))
    await store.use(ACME, {EntryId("e0"): 10.0, EntryId("e3"): 10.0, EntryId("gone"): 1e9})
    for n in range(ROOM - 2):
        assert await store.put(cheap(f"n{n}"))
    assert await names(store) == {"e0", "e3", *(f"n{n}" for n in range(ROOM - 2))}


async def test_verified_ones_go_last_and_the_oldest_of_them_first(opened: Open) -> None:
    store = opened(Quota(entries=3))
    for n in range(2):
        assert await store.put(cheap(f"v{n}", status=ReviewStatus.APPROVED))
    assert await store.put(entry("dear", worth=1e9))
    await store.use(ACME, {EntryId("dear"): 1e11})
    assert await store.put(cheap("v2", status=ReviewStatus.EDITED))
    assert await names(store) == {"v0", "v1", "v2"}
    assert not await store.put(entry("dear2", worth=1e9)), "verified answers leave it no room"
    assert await store.put(cheap("v3", status=ReviewStatus.APPROVED))
    assert await names(store) == {"v1", "v2", "v3"}


async def test_an_answer_in_anothers_place_takes_its_worth(opened: Open) -> None:
    store = opened(Quota(entries=ROOM))
    first = cheap("first")
    assert await store.put(first)
    await store.use(ACME, {first.id: 100_000.0})
    assert await store.put(cheap("second", key=first.key))
    for n in range(3 * ROOM):
        assert await store.put(cheap(f"e{n}"))
    assert "second" in await names(store)


@pytest.mark.parametrize("whose", ["holder", "subject"])
async def test_who_floods_gives_way_first(opened: Open, whose: str) -> None:
    store = opened(Quota(entries=ROOM, share=0.5))
    for n in range(4):
        assert await store.put(cheap(f"quiet{n}", **{whose: "aa"}))
    for n in range(5 * ROOM):
        assert await store.put(entry(f"loud{n}", worth=1e6, **{whose: "bb"}))
    kept = await names(store)
    assert {f"quiet{n}" for n in range(4)} <= kept, "however dear the others' answers are"
    assert len(kept) == ROOM


async def test_a_key_under_many_users_names_is_still_one_key(opened: Open) -> None:
    store = opened(Quota(entries=ROOM, share=0.5))
    for n in range(4):
        assert await store.put(cheap(f"quiet{n}", holder="aa", subject="ab"))
    for n in range(5 * ROOM):
        assert await store.put(entry(f"loud{n}", worth=1e6, holder="bb", subject=f"{n:04x}"))
    assert {f"quiet{n}" for n in range(4)} <= await names(store)


async def test_who_is_alone_may_have_all_the_room(opened: Open) -> None:
    store = opened(Quota(entries=ROOM, share=0.2))
    for n in range(2 * ROOM):
        assert await store.put(cheap(f"e{n}", holder="aa", subject="ab"))
    assert await names(store) == {f"e{n}" for n in range(ROOM, 2 * ROOM)}
    assert await store.put(cheap("v", holder="aa", status=ReviewStatus.APPROVED))
    assert len(await names(store)) == ROOM


async def test_shares_are_of_bytes_too(opened: Open) -> None:
    body = bytes(range(256)) * 40  # ten thousand bytes
    store = opened(Quota(bytes=120_000, share=0.5))
    for n in range(4):
        assert await store.put(cheap(f"quiet{n}", holder="aa"))
    for n in range(40):
        made = entry(f"loud{n}", worth=1e6, holder="bb")
        assert await store.put(_with(made, body + bytes([n])))
    assert {f"quiet{n}" for n in range(4)} <= await names(store)
    assert (await store.counts(ACME)).bytes <= 120_000


async def test_a_lowered_quota_keeps_the_most_valuable(opened: Open) -> None:
    quota = Quota(entries=2 * ROOM)
    store = opened(quota)
    for n in range(2 * ROOM):
        assert await store.put(entry(f"e{n}", worth=10.0 ** (1 + n % 5)))
    object.__setattr__(quota, "entries", 4)
    assert await store.tidy(ACME) == 2 * ROOM - 4
    assert await names(store) == {"e4", "e9", "e14", "e19"}


def _with(made: Entry, body: bytes) -> Entry:
    return replace(made, completion=replace(made.completion, body=body))
