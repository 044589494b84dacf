"""What every `EntryStore` keeps, run on the fake, on embedded Valkey, on it by a sole user who remembers, and on a server
named by $SEMCACHE_TEST_REDIS_URL."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId, Entry, EntryId, Epochs, ExactKey, ReviewStatus, TenantId
from semcache.errors import StoreError
from semcache.evaluate.sole import SoleStore
from semcache.ports import (
    Change,
    EntriesDeleted,
    EntryPut,
    EntryStore,
    EpochBumped,
    Selector,
    StoreReset,
    StreamCursor,
)
from semcache.store.embedded import ValkeyChild
from semcache.store.link import Link
from semcache.store.redis_store import OVERHEAD, Quota, RedisStore, StoreRules
from tests.fakes.entry_store import FakeEntryStore, sampled
from tests.store.servers import ACME, EXTERNAL, WallClock, cluster, entry, same, valkey

__all__ = ["cluster", "valkey"]  # fixtures, used by name

NAMES = [
    "fake",
    "valkey",
    "cluster",
    "sole",
    pytest.param("external", marks=pytest.mark.skipif(not EXTERNAL, reason="no URL")),
]
QUOTA = Quota(entries=20, bytes=60_000)
OTHER = TenantId("other")
Store = RedisStore | FakeEntryStore | SoleStore


@pytest.fixture(params=NAMES)
async def store(
    request: pytest.FixtureRequest, clock: WallClock, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[Store]:
    if request.param == "fake":
        yield FakeEntryStore(clock, lambda _: QUOTA)
        return
    url = {"valkey": valkey.url, "cluster": cluster, "sole": valkey.url, "external": EXTERNAL}[request.param]
    rules = StoreRules(prefix=f"t-{uuid.uuid4().hex}", quota_of=lambda _: QUOTA)
    real = RedisStore(url, clock, rules)
    yield SoleStore(real, clock, QUOTA) if request.param == "sole" else real
    await real.aclose()
    if request.param == "external":
        await clear(url, rules)


async def clear(url: str, rules: StoreRules) -> None:
    """Leave nothing behind on somebody's server."""
    link = Link(url, rules.link)
    cursor = b"0"
    while True:
        cursor, keys = await link.call("SCAN", cursor, "MATCH", f"{rules.prefix}:*", "COUNT", 500)
        for key in keys:
            await link.call("UNLINK", key)
        if cursor == b"0":
            return await link.aclose()


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


async def born(store: Store, made: Entry) -> Entry:
    """The entry under the epochs that a request asks for before it generates."""
    keys = ["", f"ns:{made.namespace}", f"model:{made.model}", f"key:{made.key}"]
    keys += [f"tag:{tag}" for tag in made.tags]
    return dataclasses.replace(made, epochs=await store.epochs(made.tenant, keys))


async def is_live(store: Store, made: Entry) -> bool:
    by_key = await store.get_exact(made.tenant, made.key)
    (by_id,) = await store.get_many(made.tenant, [made.id])
    assert (by_key is None) == (by_id is None)
    return by_id is not None


class Follower:
    """Reads `changes()` in the background."""

    def __init__(self, store: Store) -> None:
        self.seen: list[Change | None] = []
        self._source = store.changes()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async for change in self._source:
            self.seen.append(change)

    async def until(self, done: Callable[[list[Change]], bool]) -> list[Change]:
        for _ in range(200):
            if self._task.done():
                self._task.result()
            news = [change for change in self.seen if change is not None]
            if done(news):
                return news
            await asyncio.sleep(0.01)
        raise AssertionError(f"not seen; only {self.seen}")

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._source.aclose()  # type: ignore[attr-defined] # both are generators


@pytest.fixture
async def follower(store: Store) -> AsyncIterator[Follower]:
    made = Follower(store)
    await made.until(lambda news: news == [StoreReset()])
    yield made
    await made.close()


def test_both_are_stores(clock: WallClock) -> None:
    stores: list[EntryStore] = [FakeEntryStore(clock), RedisStore("unix:///nowhere", clock, StoreRules())]
    assert len(stores) == 2


async def test_gives_back_what_was_stored(store: Store) -> None:
    made = entry(tags=("a", "b"), status=ReviewStatus.EDITED, version=7)
    assert await store.put(made)
    assert same(await store.get_exact(ACME, made.key), made)
    found = await store.get_many(ACME, [EntryId("none"), made.id, made.id])
    assert found[0] is None
    assert same(found[1], made)
    assert same(found[2], made)


async def test_gives_nothing_for_nothing(store: Store) -> None:
    assert await store.get_exact(ACME, ExactKey("none")) is None
    assert await store.get_many(ACME, []) == []
    assert await store.epochs(ACME, []) == Epochs()
    assert await store.delete(Selector(ACME, ids=(EntryId("none"),))) == 0
    assert await store.show(ACME, EntryId("none")) is None
    assert [e async for e in store.scan()] == []


@pytest.mark.parametrize("name", ["", "%", "a}", "{a}", "acme:e", "ACME", "acme ", "ä", "*", "!"])
async def test_never_crosses_tenants(store: Store, name: str) -> None:
    stranger = TenantId(name)
    made = entry()
    assert await store.put(made)
    assert await store.get_exact(stranger, made.key) is None
    assert await store.get_many(stranger, [made.id]) == [None]
    assert await store.show(stranger, made.id) is None
    assert await store.delete(Selector(stranger)) == 0
    assert await store.delete(Selector(stranger, ids=(made.id,))) == 0
    theirs = await born(store, entry("e2", tenant=stranger, key=made.key))
    assert await store.put(theirs)
    assert await is_live(store, theirs)
    assert await is_live(store, made)
    assert [e.tenant async for e in store.scan(ACME)] == [ACME]


async def test_expires(store: Store, clock: WallClock) -> None:
    made = entry(expires_at=clock.now() + 0.3)
    lasting = entry("e2")
    assert await store.put(made)
    assert await store.put(lasting)
    assert await is_live(store, made)
    clock.ahead = 0.31
    assert not await is_live(store, made)
    assert [e.id async for e in store.scan(ACME)] == [lasting.id]
    clock.ahead = 0.0
    await asyncio.sleep(0.35)
    assert not await is_live(store, made)
    assert await store.show(ACME, made.id) is None
    assert (await store.counts(ACME)).entries == 1


async def test_refuses_what_has_expired_on_arrival(store: Store, clock: WallClock) -> None:
    assert not await store.put(entry(expires_at=clock.now() - 1))
    assert not await store.put(entry(created_at=clock.now() + 900, expires_at=clock.now() + 600))


async def test_does_not_serve_what_was_rejected(store: Store) -> None:
    made = entry()
    assert await store.put(made)
    rejected = dataclasses.replace(made, status=ReviewStatus.REJECTED, version=2)
    assert await store.put(rejected)
    assert not await is_live(store, made)
    assert same(await store.show(ACME, made.id), rejected)
    assert await store.put(dataclasses.replace(made, status=ReviewStatus.APPROVED, version=3))
    assert await is_live(store, made)


@pytest.mark.parametrize(
    ("selector", "key"),
    [
        (Selector(ACME), ""),
        (Selector(ACME, namespace="aa" * 32), "ns:" + "aa" * 32),
        (Selector(ACME, model="small"), "model:small"),
        (Selector(ACME, tag="news"), "tag:news"),
    ],
)
async def test_an_invalidation_lasts(store: Store, selector: Selector, key: str) -> None:
    made = entry(tags=("news", "x"))
    outside = entry("e2", namespace="bb" * 32, model="large")
    kept = entry(tenant=OTHER, tags=("news",))
    before = await born(store, entry("e3", tags=("news",)))
    for one in (made, outside, kept):
        assert await store.put(one)
    assert await store.delete(selector) == (2 if key == "" else 1)
    assert not await is_live(store, made)
    assert await store.show(ACME, made.id) is None
    assert await is_live(store, outside) == (key != "")
    assert await is_live(store, kept)
    assert await store.epochs(ACME, [key]) == Epochs(((key, 1),))
    assert not await store.put(before), "born before, arrives after"
    assert not await is_live(store, before)
    after = await born(store, entry("e4", tags=("news",)))
    assert await store.put(after)
    assert await is_live(store, after)
    assert await store.delete(selector) == 1
    assert await store.epochs(ACME, [key]) == Epochs(((key, 2),))


async def test_an_entry_deleted_by_id_stays_away(store: Store) -> None:
    made = await born(store, entry())
    refresh = await born(store, entry("e2", key=made.key))
    assert await store.put(made)
    assert await store.delete(Selector(ACME, ids=(made.id, EntryId("none")))) == 1
    assert not await is_live(store, made)
    assert not await store.put(made), "the same id again"
    assert not await store.put(refresh), "a refresh that began before"
    again = await born(store, entry("e3", key=made.key))
    assert await store.put(again)
    assert await is_live(store, again)


async def test_a_refresh_begun_before_a_rejection_is_dropped(store: Store) -> None:
    made = await born(store, entry())
    assert await store.put(made)
    refresh = await born(store, entry("e2", key=made.key))
    same_id = dataclasses.replace(made, prompt="again", version=1)
    assert await store.put(dataclasses.replace(made, status=ReviewStatus.REJECTED, version=2))
    assert not await store.put(refresh)
    assert not await store.put(same_id)
    assert not await store.put(dataclasses.replace(same_id, version=3))
    assert await store.get_exact(ACME, made.key) is None
    assert await store.put(await born(store, entry("e3", key=made.key)))


async def test_the_newer_entry_of_a_key_replaces_the_older(store: Store) -> None:
    old, new = entry("e1", tags=("x",)), entry("e2", key=ExactKey("key-of-e1"))
    assert await store.put(old)
    assert await store.put(new)
    assert await store.get_many(ACME, [old.id]) == [None]
    assert same(await store.get_exact(ACME, old.key), new)
    assert (await store.counts(ACME)).entries == 1
    assert await store.delete(Selector(ACME, tag="x")) == 0


async def test_an_entry_may_change_its_key_and_tags(store: Store) -> None:
    assert await store.put(entry(tags=("x",)))
    moved = entry(key=ExactKey("other"), tags=("y",))
    assert await store.put(moved)
    assert await store.get_exact(ACME, ExactKey("key-of-e1")) is None
    assert await store.delete(Selector(ACME, tag="x")) == 0
    assert await store.delete(Selector(ACME, tag="y")) == 1


@pytest.mark.parametrize("status", [ReviewStatus.APPROVED, ReviewStatus.EDITED])
async def test_a_verified_entry_gives_way_to_verified_ones_only(store: Store, status: ReviewStatus) -> None:
    verified = entry(status=status, version=2, tags=("x",))
    rival = entry("e2", key=verified.key)
    assert await store.put(verified)
    assert not await store.put(rival)
    assert not await store.put(dataclasses.replace(verified, status=ReviewStatus.UNREVIEWED, version=3))
    assert not await store.put(dataclasses.replace(rival, status=ReviewStatus.REJECTED))
    assert await is_live(store, verified)
    better = dataclasses.replace(rival, status=ReviewStatus.EDITED)
    assert await store.put(better)
    assert await is_live(store, better)
    assert await store.delete(Selector(ACME, model="small")) == 1
    assert await store.put(await born(store, entry("e4", key=verified.key)))


async def test_the_later_version_wins(store: Store) -> None:
    first = entry()
    approved = dataclasses.replace(first, status=ReviewStatus.APPROVED, version=2)
    rejected = dataclasses.replace(first, status=ReviewStatus.REJECTED, version=2)
    assert await store.put(first)
    assert await store.put(first), "idempotent"
    assert await store.put(dataclasses.replace(first, prompt="refreshed"))
    assert await store.put(approved)
    assert await store.put(approved), "idempotent"
    assert not await store.put(rejected), "another reviewer was first"
    assert not await store.put(first)
    assert await store.put(dataclasses.replace(rejected, version=3))


async def test_deletes_by_several_fields_only_what_has_them_all(store: Store) -> None:
    both = entry("e1", tags=("x", "z"))
    tag_only = entry("e2", tags=("x",), namespace="bb" * 32)
    namespace_only = entry("e3")
    for one in (both, tag_only, namespace_only):
        assert await store.put(one)
    ids = (both.id, tag_only.id)
    assert await store.delete(Selector(ACME, ids=ids, tag="none")) == 0
    assert await store.delete(Selector(ACME, tag="x", namespace=both.namespace, model="large")) == 0
    assert await store.delete(Selector(ACME, tag="x", namespace=both.namespace)) == 1
    assert await store.get_many(ACME, [both.id]) == [None]
    assert await store.delete(Selector(ACME, ids=ids, tag="x")) == 1
    assert await is_live(store, namespace_only)


async def test_asks_entry_and_epochs_at_once(store: Store) -> None:
    made = entry(tags=("x",))
    assert await store.put(made)
    await store.delete(Selector(ACME, tag="y"))
    found, epochs = await store.lookup(ACME, made.key, ["", "tag:y", f"key:{made.key}"])
    assert same(found, made)
    assert epochs == Epochs((("tag:y", 1),))
    await store.delete(Selector(ACME, ids=(made.id,)))
    found, epochs = await store.lookup(ACME, made.key, ["", "tag:y", f"key:{made.key}"])
    assert found is None
    assert [key for key, _ in epochs.values] == ["tag:y", f"key:{made.key}"]


async def test_scans_what_is_live(store: Store) -> None:
    made = [entry(f"e{n}") for n in range(15)] + [entry(f"o{n}", tenant=OTHER) for n in range(3)]
    for one in made:
        assert await store.put(one)
    await store.put(entry("r", status=ReviewStatus.REJECTED))
    assert sorted([e.id async for e in store.scan()]) == sorted(e.id for e in made)
    assert sorted([e.id async for e in store.scan(OTHER)]) == ["o0", "o1", "o2"]


async def test_glimpses_tell_vectors_apart(store: Store) -> None:
    made = [entry(f"e{n}", tags=("x",) * (n % 3)) for n in range(5)] + [entry("o", tenant=OTHER)]
    made += [dataclasses.replace(entry("bare"), embedding=None)]
    for one in made:
        assert await store.put(one)
    await store.put(entry("r", status=ReviewStatus.REJECTED))
    await store.put(entry("dead", tags=("gone",)))
    await store.delete(Selector(ACME, tag="gone"))
    seen = {
        (page.tenant, name): sample
        async for page in store.glimpses()
        for name, sample in zip(page.ids, page.samples, strict=True)
    }
    assert seen == {(one.tenant, one.id): sampled(one) for one in made}
    assert len({*seen.values()}) > 2
    assert {name async for page in store.glimpses(OTHER) for name in page.ids} == {"o"}


async def test_who_comes_back_soon_is_told_what_came_meanwhile(store: Store) -> None:
    cursor = StreamCursor()
    source = store.changes(cursor)
    assert await anext(source) == StoreReset()
    await store.put(entry("e1"))
    assert await anext(source) in (None, EntryPut(ACME, EntryId("e1")))
    while await anext(source) is not None:
        pass
    await source.aclose()  # type: ignore[attr-defined] # both are generators
    await store.put(entry("e2"))
    await store.delete(Selector(ACME, ids=(EntryId("e1"),)))
    there = dataclasses.replace(cursor)
    source = store.changes(cursor)
    assert await anext(source) == EntryPut(ACME, EntryId("e2"))
    assert cursor == there, "what is being worked at is not behind yet"
    assert await anext(source) == EntriesDeleted(ACME, (EntryId("e1"),))
    await source.aclose()  # type: ignore[attr-defined] # both are generators
    assert (cursor.identity, cursor.number) == (there.identity, there.number + 1)
    for strange in (StreamCursor("another", 0), StreamCursor(cursor.identity, cursor.number + 10**15)):
        source = store.changes(strange)
        assert await anext(source) == StoreReset()
        assert strange.identity == cursor.identity
        await source.aclose()  # type: ignore[attr-defined] # both are generators


async def test_tells_what_changed_in_order(store: Store, follower: Follower) -> None:
    await store.put(entry("e1", tags=("x",)))
    await store.put(entry("e2", key=ExactKey("key-of-e1"), tags=("x",)))
    await store.delete(Selector(ACME, ids=(EntryId("e2"),)))
    await store.put(entry("e3", tags=("x",)))
    await store.delete(Selector(ACME, tag="x"))
    expected = [
        StoreReset(),
        EntryPut(ACME, EntryId("e1")),
        EntriesDeleted(ACME, (EntryId("e1"),)),
        EntryPut(ACME, EntryId("e2")),
        EntriesDeleted(ACME, (EntryId("e2"),)),
        EntryPut(ACME, EntryId("e3")),
        EpochBumped(ACME, "tag:x", 1),
        EntriesDeleted(ACME, (EntryId("e3"),)),
    ]
    assert await follower.until(lambda news: len(news) >= len(expected)) == expected


async def test_says_so_when_nothing_happens(store: Store, follower: Follower) -> None:
    await asyncio.sleep(1.1)
    assert follower.seen.count(None) >= 2


async def test_refused_entries_are_not_told(store: Store, follower: Follower) -> None:
    await store.put(entry(status=ReviewStatus.APPROVED))
    await store.put(entry("e2", key=ExactKey("key-of-e1")))
    await store.put(entry("e3"))
    news = await follower.until(lambda news: EntryPut(ACME, EntryId("e3")) in news)
    assert news == [StoreReset(), EntryPut(ACME, EntryId("e1")), EntryPut(ACME, EntryId("e3"))]


async def test_lists_for_people(store: Store) -> None:
    for n in range(7):
        assert await store.put(entry(f"e{n}", tags=("odd",) if n % 2 else ()))
    await store.put(entry("r", status=ReviewStatus.REJECTED))
    await store.put(entry("o", tenant=OTHER))
    page = await store.list_entries(Selector(ACME), limit=3)
    assert [e.id for e in page.entries] == ["r", "e6", "e5"]
    rest = await store.list_entries(Selector(ACME), page.cursor, limit=50)
    assert [e.id for e in rest.entries] == ["e4", "e3", "e2", "e1", "e0"]
    assert rest.cursor == ""
    odd = await store.list_entries(Selector(ACME, tag="odd"), limit=50)
    assert [e.id for e in odd.entries] == ["e5", "e3", "e1"]
    some = await store.list_entries(
        Selector(ACME, ids=(EntryId("e1"), EntryId("e2"), EntryId("o")), tag="odd")
    )
    assert [e.id for e in some.entries] == ["e1"]
    assert await store.tenants() == [ACME, OTHER]
    assert (await store.counts(ACME)).entries == 8
    with pytest.raises(StoreError) as refused:
        await store.list_entries(Selector(ACME), "x")
    assert refused.value.kind == "invalid"


async def test_a_tenant_evicts_only_itself(store: Store, follower: Follower) -> None:
    neighbour = entry("o", tenant=OTHER)
    assert await store.put(neighbour)
    for n in range(50):
        assert await store.put(entry(f"e{n:02}", tags=("t",)))
    assert sorted([e.id async for e in store.scan(ACME)]) == [f"e{n}" for n in range(30, 50)]
    assert (await store.counts(ACME)).entries == QUOTA.entries
    assert await is_live(store, neighbour)
    news = await follower.until(lambda news: EntryPut(ACME, EntryId("e49")) in news)
    told = [name for change in news if isinstance(change, EntriesDeleted) for name in change.entry_ids]
    assert told == [f"e{n:02}" for n in range(30)]
    assert await store.delete(Selector(ACME, tag="t")) == QUOTA.entries
    assert (await store.counts(ACME)).bytes == 0
    assert OTHER in await store.tenants()


async def test_a_tenant_is_held_to_its_bytes(store: Store) -> None:
    noise = np.random.default_rng(1).bytes
    for n in range(10):
        made = entry(f"e{n}")
        large = dataclasses.replace(made.completion, body=noise(20_000))
        assert await store.put(dataclasses.replace(made, completion=large))
        counts = await store.counts(ACME)
        assert counts.bytes <= QUOTA.bytes
        assert counts.bytes >= counts.entries * (20_000 + OVERHEAD)
    assert [e.id async for e in store.scan(ACME)] == ["e8", "e9"]
    made = entry("huge")
    with pytest.raises(StoreError) as refused:
        await store.put(
            dataclasses.replace(made, completion=dataclasses.replace(made.completion, body=noise(60_000)))
        )
    assert refused.value.kind == "quota"
    assert (await store.counts(ACME)).entries == 2


async def test_tidies_what_has_expired(store: Store, clock: WallClock, follower: Follower) -> None:
    assert await store.put(entry("e1", expires_at=clock.now() + 0.05))
    assert await store.put(entry("e2"))
    await asyncio.sleep(0.1)
    assert await store.tidy() == 1
    await follower.until(lambda news: EntriesDeleted(ACME, (EntryId("e1"),)) in news)
    left = await store.counts(ACME)
    assert left.entries == 1
    assert left.bytes < 3000
    assert await store.tidy(ACME) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"id": EntryId("")},
        {"id": EntryId("#b")},
        {"id": EntryId("x" * 257)},
        {"id": EntryId("\ud800")},
        {"prompt": "\udfff"},
        {"version": -1},
        {"version": 2**32},
        {"expires_at": float("inf")},
        {"tags": tuple(f"t{n}" for n in range(59))},
        {"epochs": Epochs((("", 0), ("key:x", 2**70)))},
        {"embedding": Embedding(np.full(4, np.nan, np.float32), EncoderId("m"))},
        {"embedding": Embedding(np.zeros(4, np.float32), EncoderId("m"))},
        {"embedding": Embedding(np.ones(4, np.float32), EncoderId("m"))},
    ],
)
async def test_refuses_what_cannot_be_kept(store: Store, changes: dict[str, object]) -> None:
    with pytest.raises(StoreError) as refused:
        await store.put(entry(**changes))
    assert refused.value.kind == "invalid"
    assert (await store.counts(ACME)).entries == 0


async def test_what_an_end_user_asked_goes_for_good_and_nobody_elses(store: Store) -> None:
    ann, bob = "aa" * 12, "bb" * 12
    assert await store.put(entry("e1", subject=ann))
    assert await store.put(entry("e2", subject=bob))
    assert await store.put(entry("e3"))
    assert [e.id for e in (await store.list_entries(Selector(ACME, subject=ann))).entries] == ["e1"]
    assert await store.delete(Selector(ACME, subject=ann)) == 1
    assert await store.get_many(ACME, [EntryId("e1")]) == [None]
    assert not await store.put(entry("late", subject=ann)), "begun before"
    assert dict((await store.epochs(ACME, [f"subject:{ann}"])).values) == {f"subject:{ann}": 1}
    left = await store.get_many(ACME, [EntryId("e2"), EntryId("e3")])
    assert [e is not None and e.subject for e in left] == [bob, ""]


async def test_odd_names_are_only_names(store: Store) -> None:
    odd = ["", "#b", "\ud800", "*", "e1\x00", "x" * 10_000]
    assert await store.put(entry())
    assert await store.get_many(ACME, [EntryId(name) for name in odd]) == [None] * len(odd)
    assert await store.get_exact(ACME, ExactKey("\ud800")) is None
    assert await store.delete(Selector(ACME, ids=tuple(EntryId(name) for name in odd))) == 0
    assert await store.delete(Selector(ACME, tag="\ud800")) == 0
    assert await store.epochs(ACME, ["tag:\ud800"]) == Epochs((("tag:\ud800", 1),))
    assert (await store.counts(ACME)).entries == 1


async def test_proves_that_it_works_and_closes_twice(store: Store) -> None:
    await store.ping()
    await store.aclose()
    await store.aclose()
