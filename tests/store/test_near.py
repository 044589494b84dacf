"""The near cache: bounded, and never older than what the store announced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.core import Completion, Entry, EntryId, ExactKey, TenantId
from semcache.ports import Change, EntriesDeleted, EntryPut, EpochBumped, StoreReset
from semcache.store.near import NearCache

ACME = TenantId("acme")


def entry(name: str, size: int = 10) -> Entry:
    return Entry(
        id=EntryId(name),
        tenant=ACME,
        namespace="ns",
        key=ExactKey(f"key-{name}"),
        domain="chat",
        model="m",
        prompt="p",
        completion=Completion(body=b"x" * size, usage=None),
        created_at=0.0,
        expires_at=10.0,
    )


def held(max_entries: int, max_bytes: int) -> NearCache:
    return NearCache(max_entries, max_bytes, now=lambda: 0.0)


@pytest.mark.event(35)
@pytest.mark.parametrize("put_back", [0.0, 3600.0])
def test_a_clock_put_back_lengthens_no_life(put_back: float) -> None:
    wall, steady = [5.0], [100.0]
    near = NearCache(10, 1 << 20, now=lambda: wall[0], monotonic=lambda: steady[0])
    near.put(entry("a"), near.changes)
    wall[0] -= put_back
    near.put(entry("b"), near.changes)
    steady[0] += 4.9
    assert near.get(ACME, ExactKey("key-a")) is not None
    steady[0] += 0.1
    assert near.get(ACME, ExactKey("key-a")) is None
    steady[0] += 5.0
    assert near.get(ACME, ExactKey("key-b")) is None, "never longer than its whole life"
    assert near.size == (0, 0)


def test_gives_back_what_it_holds() -> None:
    near = held(10, 1 << 20)
    one = entry("a")
    near.put(one, near.changes)
    assert near.get(ACME, one.key) is one
    assert near.get(TenantId("other"), one.key) is None


@pytest.mark.parametrize(
    "change",
    [
        EntryPut(ACME, EntryId("a")),
        EntriesDeleted(ACME, (EntryId("a"), EntryId("zz"))),
        EpochBumped(ACME, "", 1),
        StoreReset(),
    ],
)
def test_a_change_drops_what_it_names_and_reads_that_overlap_it(change: Change) -> None:
    near = held(10, 1 << 20)
    before = near.changes
    near.put(entry("a"), before)
    near.on_change(change)
    assert near.get(ACME, ExactKey("key-a")) is None
    near.put(entry("a"), before)
    assert near.get(ACME, ExactKey("key-a")) is None
    near.put(entry("a"), near.changes)
    assert near.get(ACME, ExactKey("key-a")) is not None


def test_a_change_of_another_entry_does_not_disturb_a_read() -> None:
    near = held(10, 1 << 20)
    before = near.changes
    near.on_change(EntryPut(ACME, EntryId("b")))
    near.put(entry("a"), before)
    assert near.get(ACME, ExactKey("key-a")) is not None


def test_forgotten_changes_count_as_overlapping() -> None:
    near = held(10, 1 << 20)
    before = near.changes
    near.on_change(EntriesDeleted(ACME, (EntryId("a"),)))
    for number in range(5000):
        near.on_change(EntryPut(ACME, EntryId(f"other-{number}")))
    near.put(entry("a"), before)
    assert near.get(ACME, ExactKey("key-a")) is None


def test_bounded_by_count_least_recent_first() -> None:
    near = held(2, 1 << 20)
    for name in ("a", "b"):
        near.put(entry(name), near.changes)
    near.get(ACME, ExactKey("key-a"))
    near.put(entry("c"), near.changes)
    assert near.get(ACME, ExactKey("key-b")) is None
    assert near.size[0] == 2


def test_bounded_by_bytes() -> None:
    near = held(1000, 100_000)
    for number in range(100):
        near.put(entry(str(number), 5000), near.changes)
    assert near.size[1] <= 100_000
    near.put(entry("giant", 50_000), near.changes)
    assert near.get(ACME, ExactKey("key-giant")) is None


def test_a_newer_answer_replaces_the_older() -> None:
    near = held(10, 1 << 20)
    old = entry("a")
    new = replace(old, id=EntryId("b"))
    near.put(old, near.changes)
    near.put(new, near.changes)
    assert near.get(ACME, old.key) is new
    near.on_change(EntriesDeleted(ACME, (EntryId("a"),)))
    assert near.get(ACME, old.key) is new
    near.on_change(EntriesDeleted(ACME, (EntryId("b"),)))
    assert near.size == (0, 0)


def test_two_tenants_may_have_an_entry_of_one_id() -> None:
    near = held(10, 1 << 20)
    mine, theirs = entry("a"), replace(entry("a"), tenant=TenantId("globex"))
    near.put(mine, near.changes)
    near.put(theirs, near.changes)
    near.on_change(EntriesDeleted(ACME, (mine.id,)))
    assert near.get(ACME, mine.key) is None, "deleted stays deleted"
    assert near.get(theirs.tenant, theirs.key) is theirs
    read_before = near.changes
    near.on_change(EntryPut(ACME, mine.id))
    near.on_change(EntriesDeleted(theirs.tenant, (theirs.id,)))
    near.put(mine, read_before)
    assert near.get(ACME, mine.key) is None
    assert near.size == (0, 0)
