"""Who got an answer from the model themselves: kept beside the entry, on every store alike."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid

from semcache.core import EntryId, ReviewStatus
from semcache.ports import EntriesDeleted, EntryPut, Selector
from semcache.review_rules import MOST_CONFIRMERS
from semcache.store.embedded import ValkeyChild
from semcache.store.link import Link
from semcache.store.redis_store import RedisStore, StoreRules
from tests.contracts.test_entry_store import Follower, Store, clock, follower, store
from tests.store.servers import ACME, WallClock, cluster, entry, valkey

__all__ = ["clock", "cluster", "follower", "store", "valkey"]  # fixtures, used by name


async def confirmed(store: Store, made: EntryId) -> frozenset[str]:
    (found,) = await store.get_many(ACME, [made])
    assert found is not None
    return found.confirmed


async def test_every_way_of_reading_tells_who_confirmed(store: Store) -> None:
    made = entry(author="ann", confirmed=frozenset({"ann"}))
    assert await store.put(made)
    assert await store.confirm(made, "bob")
    both = {"ann", "bob"}
    exact, (by_id,) = await store.get_exact(ACME, made.key), await store.get_many(ACME, [made.id])
    scanned = [one async for one in store.scan(ACME)]
    assert exact is not None
    assert by_id is not None
    assert [one.confirmed for one in (exact, by_id, *scanned)] == [both] * 3
    if not hasattr(store, "show"):
        return
    shown, page = await store.show(ACME, made.id), await store.list_entries(Selector(ACME))
    assert shown is not None
    assert [one.confirmed for one in (shown, *page.entries)] == [both] * 2


async def test_a_name_counts_once_however_often_it_comes(store: Store) -> None:
    made = entry()
    assert await store.put(made)
    assert all(await asyncio.gather(*(store.confirm(made, f"user {n % 3}") for n in range(6))))
    assert await confirmed(store, made.id) == {"user 0", "user 1", "user 2"}


async def test_so_many_are_kept_and_no_more(store: Store) -> None:
    made = entry()
    assert await store.put(made)
    for number in range(MOST_CONFIRMERS + 5):
        assert await store.confirm(made, f"user {number}")
    assert len(await confirmed(store, made.id)) == MOST_CONFIRMERS


async def test_a_confirmation_is_told(store: Store, follower: Follower) -> None:
    made = entry()
    assert await store.put(made)
    await store.confirm(made, "bob")
    await follower.until(lambda seen: seen.count(EntryPut(ACME, made.id)) == 2)
    await store.confirm(made, "bob")
    await store.delete(Selector(ACME, ids=(made.id,)))
    seen = await follower.until(lambda seen: EntriesDeleted(ACME, (made.id,)) in seen)
    assert seen.count(EntryPut(ACME, made.id)) == 2


async def test_only_the_answer_that_was_compared_is_confirmed(store: Store) -> None:
    made = entry()
    assert not await store.confirm(made, "bob")
    assert await store.put(made)
    assert not await store.confirm(dataclasses.replace(made, version=2), "bob")
    assert await confirmed(store, made.id) == frozenset()
    assert await store.confirm(made, "bob")


async def test_nothing_dead_is_confirmed(store: Store) -> None:
    rejected, bumped = entry("one"), entry("two", key="k2")
    assert await store.put(rejected)
    assert await store.put(bumped)
    assert await store.put(dataclasses.replace(rejected, status=ReviewStatus.REJECTED, version=2))
    later = dataclasses.replace(rejected, version=2)
    assert not await store.confirm(later, "bob")
    await store.delete(Selector(ACME))
    assert not await store.confirm(bumped, "bob")


async def test_confirmations_go_with_their_entry(store: Store) -> None:
    made = entry(key="same")
    assert await store.put(made)
    await store.confirm(made, "bob")
    newer = entry("newer", key="same")
    assert await store.put(newer)
    assert await confirmed(store, newer.id) == frozenset()
    await store.delete(Selector(ACME, ids=(newer.id,)))
    again = entry("again", key="same")
    again = dataclasses.replace(again, epochs=await store.epochs(ACME, [f"key:{again.key}"]))
    assert await store.put(again)
    assert await confirmed(store, again.id) == frozenset()


async def test_a_vector_that_comes_later_takes_nobody_away(store: Store) -> None:
    made = entry(author="ann", confirmed=frozenset({"ann"}), embedding=None)
    assert await store.put(made)
    await store.confirm(made, "bob")
    assert await store.put(entry(author="ann", confirmed=frozenset({"ann"})))
    assert await confirmed(store, made.id) == {"ann", "bob"}


async def test_somebody_is_forgotten(store: Store) -> None:
    if not hasattr(store, "unconfirm"):
        return
    several = [entry(f"e{number}", key=f"k{number}") for number in range(5)]
    for made in several:
        assert await store.put(made)
        await store.confirm(made, "bob")
        await store.confirm(made, "cid")
    assert await store.unconfirm(ACME, "bob") == 5
    assert [await confirmed(store, made.id) for made in several] == [{"cid"}] * 5
    assert await store.unconfirm(ACME, "bob") == 0


async def test_the_server_forgets_them_with_the_entry(valkey: ValkeyChild) -> None:
    rules = StoreRules(prefix=f"t-{uuid.uuid4().hex}")
    store = RedisStore(valkey.url, WallClock(), rules)
    now = time.time()
    made = entry(created_at=now, expires_at=now + 50)
    assert await store.put(made)
    await store.confirm(made, "bob")
    link = Link(valkey.url, rules.link)
    name = f"{rules.prefix}:{{{ACME}}}:c:{made.id}"
    assert 0 < await link.call("PTTL", name) <= 50_000
    await store.delete(Selector(ACME, ids=(made.id,)))
    assert await link.call("EXISTS", name) == 0
    await link.aclose()
    await store.aclose()


async def test_a_list_of_another_kind_confirms_nobody(valkey: ValkeyChild) -> None:
    rules = StoreRules(prefix=f"t-{uuid.uuid4().hex}")
    store = RedisStore(valkey.url, WallClock(), rules)
    made = entry()
    assert await store.put(made)
    link = Link(valkey.url, rules.link)
    await link.call("SET", f"{rules.prefix}:{{{ACME}}}:c:{made.id}", "no set")
    assert await confirmed(store, made.id) == frozenset()
    await link.aclose()
    await store.aclose()
