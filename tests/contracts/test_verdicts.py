"""What verdicts do, on Valkey (one server, a cluster) and in the fake alike."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
from dataclasses import replace

import pytest

from semcache.core import (
    Completion,
    EntryId,
    Epochs,
    Review,
    ReviewStatus,
)
from semcache.errors import StoreError
from semcache.ports import EntriesDeleted, EntryPut, Selector, StoreReset
from semcache.review_port import Pair, Verdicts
from semcache.store.keys import PUBLIC_TENANT
from semcache.store.redis_store import StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.contracts.test_entry_store import Follower, born, is_live
from tests.contracts.verdicts import (
    OTHER,
    Subject,
    act,
    at,
    changed,
    clock,
    edited,
    published,
    seen,
)
from tests.fakes.entry_store import FakeEntryStore
from tests.fakes.verdicts import FakeVerdicts
from tests.store.servers import ACME, WallClock, cluster, entry, same, valkey

__all__ = ["at", "clock", "cluster", "valkey"]  # fixtures, used by name


def test_both_are_verdicts(clock: WallClock) -> None:
    real = RedisVerdicts("unix:///nowhere", clock, StoreRules(), VerdictRules())
    either: list[Verdicts] = [FakeVerdicts(FakeEntryStore(clock)), real]
    assert len(either) == 2


async def test_a_verdict_changes_the_entry_and_writes_a_line(at: Subject) -> None:
    made = entry(tags=("x",))
    assert await at.store.put(made)
    said = act(before={"status": "unreviewed"}, after={"status": "approved"}, note="fine")
    review = Review(by="kim", at=1.0, until=time.time() + 99, edition="e", least=0.9, only="me")
    line = await at.verdicts.apply(made, changed(made, review=review), said)
    assert line is not None
    assert (line.number, line.previous, line.act) == (1, "", said)
    assert same(await at.store.get_exact(ACME, made.key), changed(made, review=review))
    page = await at.verdicts.log(ACME)
    assert page.lines == (line,)
    assert page.cursor == ""
    assert await at.verdicts.broken(ACME) is None
    assert [one.version for one in await at.verdicts.versions(ACME, made.id)] == [1]
    assert (await at.store.counts(ACME)).entries == 1
    assert await at.store.delete(Selector(ACME, tag="x")) == 1


async def test_a_stale_verdict_does_nothing(at: Subject) -> None:
    made = entry()
    assert await at.store.put(made)
    first = changed(made)
    assert await at.verdicts.apply(made, first, act())
    assert (
        await at.second.apply(made, changed(made, ReviewStatus.REJECTED), act("reject"), bar=("aa",)) is None
    )
    assert await at.second.apply(made, None, act("purge")) is None
    unseen = replace(first, completion=Completion(b"another", None))
    assert await at.second.apply(unseen, changed(first), act()) is None, "same version, other words"
    assert await at.verdicts.apply(replace(made, id=EntryId("none")), None, act()) is None
    found = await seen(at, made)
    assert same(found, first)
    assert found.barred == frozenset()
    assert len((await at.verdicts.log(ACME)).lines) == 1
    assert await at.second.apply(found, changed(found, ReviewStatus.REJECTED), act("reject"))


@pytest.mark.parametrize(
    "changes", [{"id": EntryId("e2")}, {"tenant": OTHER}, {"version": 3}, {"version": 1}]
)
async def test_a_verdict_makes_the_next_version_of_the_same_entry(
    at: Subject, changes: dict[str, object]
) -> None:
    made = entry()
    assert await at.store.put(made)
    with pytest.raises(StoreError) as refused:
        await at.verdicts.apply(made, replace(changed(made), **changes), act())  # type: ignore[arg-type] # any
    assert refused.value.kind == "invalid"
    assert (await at.verdicts.log(ACME)).lines == ()


async def test_what_was_rejected_is_seen_by_people_and_served_to_nobody(at: Subject) -> None:
    made = await born(at.store, entry())
    assert await at.store.put(made)
    begun_before = await born(at.store, entry("e2", key=made.key))
    assert await at.verdicts.apply(made, changed(made, ReviewStatus.REJECTED), act("reject"))
    assert not await is_live(at.store, made)
    assert (await seen(at, made)).status is ReviewStatus.REJECTED
    assert not await at.store.put(begun_before)
    assert not await at.store.put(made)
    begun_after = await born(at.store, entry("e3", key=made.key))
    assert await at.store.put(begun_after)
    assert await is_live(at.store, begun_after)
    assert await at.verdicts.show(ACME, made.id) is None


async def test_a_purge_leaves_nothing_but_a_line(at: Subject) -> None:
    made = await born(at.store, entry(tags=("x",)))
    assert await at.store.put(made)
    begun_before = await born(at.store, entry("e2", key=made.key))
    approved = changed(made)
    assert await at.verdicts.apply(made, approved, act())
    assert await at.verdicts.apply(approved, None, act("reject"))
    assert await at.verdicts.show(ACME, made.id) is None
    assert await at.verdicts.versions(ACME, made.id) == []
    assert await at.store.counts(ACME) == await at.store.counts(OTHER)
    assert not await at.store.put(begun_before)
    assert not await at.store.put(made)
    assert [line.act.what for line in (await at.verdicts.log(ACME)).lines] == ["reject", "approve"]
    assert await at.store.put(await born(at.store, entry("e3", key=made.key)))


@pytest.mark.parametrize("delete", [Selector(ACME, ids=(EntryId("e1"),)), Selector(ACME)])
async def test_who_deletes_an_entry_deletes_its_earlier_versions(at: Subject, delete: Selector) -> None:
    made = entry()
    assert await at.store.put(made)
    assert await at.verdicts.apply(made, changed(made), act())
    assert await at.store.delete(delete) == 1
    assert await at.verdicts.versions(ACME, made.id) == []


async def test_an_invalidated_or_expired_entry_takes_no_verdict(at: Subject, clock: WallClock) -> None:
    made, short = entry(), entry("e2", expires_at=clock.now() + 5)
    assert await at.store.put(short)
    clock.ahead = 6
    assert await at.verdicts.apply(short, changed(short), act()) is None
    clock.ahead = 0
    assert await at.store.put(made)
    stale = changed(made, epochs=Epochs((("", 7),)))
    assert await at.verdicts.apply(made, stale, act()) is None
    assert same(await seen(at, made), made)


async def test_keeps_some_earlier_versions(at: Subject) -> None:
    standing = entry()
    assert await at.store.put(standing)
    for turn in range(6):
        after = edited(standing, f"words {turn}")
        assert await at.verdicts.apply(standing, after, act("edit"))
        standing = after
    earlier = await at.verdicts.versions(ACME, standing.id)
    assert [one.version for one in earlier] == [6, 5, 4, 3]
    assert earlier[0].completion.body == b"words 4"
    assert await at.verdicts.versions(ACME, EntryId("none")) == []


@pytest.mark.parametrize(
    "changes",
    [{"at": float("nan")}, {"note": "\ud800"}, {"after": {"x": object()}}, {"note": "x" * 20_000}],
)
async def test_acts_that_cannot_be_written_change_nothing(at: Subject, changes: dict[str, object]) -> None:
    made = entry()
    assert await at.store.put(made)
    odd = act(**changes)
    for attempt in (
        at.verdicts.apply(made, changed(made), odd),
        at.verdicts.bar(ACME, made.id, Pair(made.key, "aa"), odd),
        at.verdicts.write(ACME, odd),
        at.verdicts.publish(made, published(made), odd),
    ):
        with pytest.raises(StoreError) as refused:
            await attempt
        assert refused.value.kind == "invalid"
    assert same(await seen(at, made), made)
    assert await at.store.show(PUBLIC_TENANT, made.id) is None
    assert (await at.verdicts.log(ACME)).lines == ()


async def test_everybody_hears_of_it(at: Subject) -> None:
    made = entry()
    assert await at.store.put(made)
    follower = Follower(at.store)
    await follower.until(lambda news: news == [StoreReset()])
    await at.verdicts.apply(made, changed(made), act())
    await at.verdicts.bar(ACME, EntryId("e0"), Pair(made.key, "aa"), act("bar"))
    found = await seen(at, made)
    await at.verdicts.apply(found, None, act("reject"))
    put, gone = EntryPut(ACME, made.id), EntriesDeleted(ACME, (made.id,))
    news = await follower.until(lambda news: gone in news)
    assert news == [StoreReset(), put, EntryPut(ACME, EntryId("e0")), put, gone]
    await follower.close()


async def test_the_log_is_paged_newest_first_and_goes_on_when_it_is_full(at: Subject) -> None:
    lines = [await at.verdicts.write(ACME, act("note", note=str(turn), entry=None)) for turn in range(12)]
    await at.verdicts.write(OTHER, act("export"))
    read, cursor = [], ""
    while True:
        page = await at.second.log(ACME, cursor, 5)
        read += page.lines
        cursor = page.cursor
        if not cursor:
            break
    assert read == lines[::-1]
    assert await at.verdicts.broken(ACME) is None
    lines += [await at.second.write(ACME, act("note", note=str(turn))) for turn in range(30)]
    page = await at.verdicts.log(ACME, limit=500)
    assert [line.number for line in page.lines] == list(range(42, 12, -1))
    assert page.cursor == ""
    assert page.lines[-1].previous == lines[11].digest
    assert await at.verdicts.broken(ACME) is None
    with pytest.raises(StoreError):
        await at.verdicts.log(ACME, "x")


async def test_publishes(at: Subject) -> None:
    made = entry(tags=("x",))
    assert await at.store.put(made)
    assert await at.store.delete(Selector(PUBLIC_TENANT, model="small")) == 0
    copy = published(made, barred=frozenset({"aa"}))
    assert await at.verdicts.publish(replace(made, version=9), copy, act("publish")) is None
    line = await at.verdicts.publish(made, copy, act("publish"))
    assert line is not None
    found = await at.store.get_exact(PUBLIC_TENANT, copy.key)
    assert found is not None
    assert found.epochs == Epochs((("model:small", 1),))
    assert found.barred == {"aa"}
    assert (await at.verdicts.log(ACME)).lines == (line,)
    assert (await at.verdicts.log(PUBLIC_TENANT)).lines == ()
    assert await at.second.publish(made, copy, act("publish")), "again, as after a crash"
    again = await at.store.get_exact(PUBLIC_TENANT, copy.key)
    assert again is not None
    assert again.version == found.version + 1
    assert (await at.store.counts(PUBLIC_TENANT)).entries == 1


async def test_two_writers_keep_one_chain_and_lose_no_barred_question(at: Subject) -> None:
    made = entry()
    assert await at.store.put(made)
    random_ = random.Random(3)
    barred: set[str] = set()
    versions: list[int] = []
    done = 0

    async def writer(verdicts: RedisVerdicts | FakeVerdicts, name: str) -> None:
        nonlocal done
        for turn in range(25):
            asked = f"{name}{turn}"
            match random_.choice(["bar", "approve", "edit", "reject", "note"]):
                case "bar":
                    if await verdicts.bar(ACME, made.id, Pair(made.key, asked), act("bar", who=name)):
                        barred.add(asked)
                        done += 1
                case "note":
                    await verdicts.write(ACME, act("note", who=name))
                    done += 1
                case what:
                    found = await verdicts.show(ACME, made.id)
                    assert found is not None
                    status = {"approve": "approved", "edit": "edited", "reject": "rejected"}[what]
                    after = changed(found, ReviewStatus(status), review=Review(by=name))
                    if await verdicts.apply(found, after, act(what, who=name), bar=(asked,)):
                        barred.add(asked)
                        versions.append(after.version)
                        done += 1

    await asyncio.gather(writer(at.verdicts, "a"), writer(at.second, "b"), writer(at.verdicts, "c"))
    found = await seen(at, made)
    assert found.barred == barred
    assert found.version == len(versions) + 1
    assert sorted(versions) == list(range(2, len(versions) + 2))
    assert (await at.verdicts.log(ACME)).lines[0].number == done
    assert await at.verdicts.broken(ACME) is None


async def test_versions_and_logs_of_tenants_are_their_own(at: Subject) -> None:
    made = entry()
    theirs = dataclasses.replace(made, tenant=OTHER)
    assert await at.store.put(made)
    assert await at.store.put(theirs)
    assert await at.verdicts.apply(made, changed(made), act(), bar=("aa",))
    assert same(await at.verdicts.show(OTHER, made.id), theirs)
    assert await at.verdicts.versions(OTHER, made.id) == []
    assert (await at.verdicts.log(OTHER)).lines == ()
