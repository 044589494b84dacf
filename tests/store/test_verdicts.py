"""Verdicts on a real server: what is kept for how long, and a server that is full, damaged, slow or tampered with."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import AsyncIterator

import pytest

from semcache.core import Completion, Entry, EntryId, Epochs, ExactKey, ReviewStatus
from semcache.errors import StoreError
from semcache.policy.schema import TenantName
from semcache.ports import EntriesDeleted, EntryPut, Selector
from semcache.review_port import Act, Pair
from semcache.review_rules import WHOLE
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import PUBLIC_TENANT, Keys, digest
from semcache.store.link import LinkRules
from semcache.store.lua_verdict import VERSION_MS
from semcache.store.redis_store import Quota, RedisStore, StoreRules
from semcache.store.scripts import BARRED_MS
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.contracts.test_entry_store import Follower
from tests.store.servers import ACME, WallClock, command, entry, same

BASE = Keys().base(ACME)


@pytest.fixture
async def verdicts(lone: ValkeyChild, clock: WallClock) -> AsyncIterator[RedisVerdicts]:
    rules = StoreRules(LinkRules(deadline=5.0))
    made = RedisVerdicts(lone.url, clock, rules, VerdictRules(versions=3, bytes=100_000))
    yield made
    await made.aclose()


def act(what: str = "approve", note: str = "") -> Act:
    return Act("kim", time.time(), what, EntryId("e1"), note=note)


def changed(made: Entry, status: ReviewStatus = ReviewStatus.APPROVED, body: bytes | None = None) -> Entry:
    completion = made.completion if body is None else Completion(body, None)
    return dataclasses.replace(made, status=status, version=made.version + 1, completion=completion)


def key_of(made: Entry, letter: str) -> bytes:
    return BASE + letter.encode() + b":" + (digest(made.key) if letter in "bkx" else made.id.encode())


def test_no_policy_can_name_the_public_tenant() -> None:
    (field,) = TenantName.__metadata__
    pattern = next(rule.pattern for rule in field.metadata if hasattr(rule, "pattern"))
    assert PUBLIC_TENANT == "~public"
    assert "~" not in pattern


async def test_what_is_kept_fades_in_its_time(
    store: RedisStore, verdicts: RedisVerdicts, lone: ValkeyChild
) -> None:
    made = entry()
    assert await store.put(made)
    assert await verdicts.apply(made, changed(made), act(), bar=("aa",))
    for letter, least in (("v", VERSION_MS + 590_000), ("b", BARRED_MS - 1000)):
        left = await command(lone.url, "PTTL", key_of(made, letter))
        assert least < left <= least + 11_000
    await command(lone.url, "PEXPIRE", key_of(made, "b"), 5000)
    assert await store.put(entry("e2", key=ExactKey("other")))
    assert await command(lone.url, "PTTL", key_of(made, "b")) <= 5000
    again = dataclasses.replace(entry("e3", key=made.key), status=ReviewStatus.APPROVED)
    assert await store.put(again), "an answer of that key is stored: the questions are kept on"
    assert await command(lone.url, "PTTL", key_of(made, "b")) > BARRED_MS - 1000
    assert await command(lone.url, "PTTL", BASE + b"al") == -1
    long = entry(
        "e4", key=made.key, status=ReviewStatus.EDITED, expires_at=time.time() + 2 * BARRED_MS / 1000
    )
    assert await store.put(long)
    assert await command(lone.url, "PTTL", key_of(made, "b")) > BARRED_MS + 1_000_000_000


async def test_earlier_versions_are_held_to_their_bytes(store: RedisStore, verdicts: RedisVerdicts) -> None:
    standing = entry()
    assert await store.put(standing)
    for size in (70_000, 70_000, 10):
        after = changed(standing, ReviewStatus.EDITED, os.urandom(size))
        assert await verdicts.apply(standing, after, act("edit"))
        standing = after
    assert [one.version for one in await verdicts.versions(ACME, standing.id)] == [3]
    after = changed(standing, ReviewStatus.EDITED, os.urandom(120_000))
    assert await verdicts.apply(standing, after, act("edit"))
    assert [one.version for one in await verdicts.versions(ACME, standing.id)] == [4, 3]
    assert await verdicts.apply(after, changed(after, body=b"short"), act("edit"))
    assert await verdicts.versions(ACME, standing.id) == [], "the newest is too large by itself"


async def test_damaged_versions_are_left_out(
    store: RedisStore, verdicts: RedisVerdicts, lone: ValkeyChild
) -> None:
    made = entry()
    assert await store.put(made)
    assert await verdicts.apply(made, changed(made), act())
    await command(lone.url, "LPUSH", key_of(made, "v"), b"noise")
    assert [one.version for one in await verdicts.versions(ACME, made.id)] == [1]
    assert await store.get_exact(ACME, made.key) is not None


async def test_an_entry_with_a_verdict_waits_no_longer(
    store: RedisStore, verdicts: RedisVerdicts, lone: ValkeyChild
) -> None:
    made = entry()
    assert await store.put(made)
    await command(lone.url, "ZADD", BASE + b"rq", "3", "e1", "1", "e2")
    assert await verdicts.bar(ACME, made.id, Pair(made.key, "aa"), act("bar"))
    assert await command(lone.url, "ZCARD", BASE + b"rq") == 2
    assert await verdicts.apply(made, changed(made), act())
    assert await command(lone.url, "ZRANGE", BASE + b"rq", 0, -1) == [b"e2"]


async def test_a_list_that_cannot_be_read_bars_the_entry(
    store: RedisStore, verdicts: RedisVerdicts, lone: ValkeyChild
) -> None:
    made = entry()
    assert await store.put(made)
    assert await store.put(entry("e2"))
    await command(lone.url, "SET", key_of(made, "b"), "noise")
    found, other = await store.get_many(ACME, [made.id, EntryId("e2")])
    assert found is not None
    assert found.barred == {WHOLE}
    assert other is not None
    assert other.barred == frozenset()


@pytest.mark.parametrize("name", [b"ah", b"al", b"rq", b"v:e1", b"age", b"exp", b"meta"])
async def test_a_key_of_another_type_stops_a_verdict_before_it_begins(
    store: RedisStore, verdicts: RedisVerdicts, lone: ValkeyChild, name: bytes
) -> None:
    made = entry()
    assert await store.put(made)
    await command(lone.url, "DEL", BASE + name)
    await command(lone.url, "SET", BASE + name, "noise")
    with pytest.raises(StoreError) as failed:
        await verdicts.apply(made, changed(made), act(), bar=("aa",))
    assert failed.value.kind == "wrongtype"
    found = await verdicts.show(ACME, made.id)
    assert same(found, made)
    if name not in (b"ah", b"al"):
        assert (await verdicts.log(ACME)).lines == ()


async def test_a_full_server_still_takes_answers_away(
    store: RedisStore, verdicts: RedisVerdicts, lone: ValkeyChild
) -> None:
    made, other, third = entry(), entry("e2"), entry("e3")
    for one in (made, other, third):
        assert await store.put(one)
    await command(lone.url, "CONFIG", "SET", "maxmemory", 1)
    with pytest.raises(StoreError) as full:
        await verdicts.apply(made, changed(made), act())
    assert full.value.kind == "full"
    assert same(await verdicts.show(ACME, made.id), made)
    assert await verdicts.bar(ACME, made.id, Pair(made.key, "aa"), act("bar"))
    found = await verdicts.show(ACME, made.id)
    assert found is not None
    assert await verdicts.apply(found, changed(found, ReviewStatus.REJECTED), act("reject"))
    assert await verdicts.apply(other, None, act("reject"))
    barred = dataclasses.replace(third, version=third.version + 1)
    assert await verdicts.apply(third, barred, act("bar"), bar=("bb",))
    (kept,) = await store.get_many(ACME, [third.id])
    assert kept is not None
    assert "bb" in kept.barred
    assert await store.get_exact(ACME, made.key) is None
    assert await verdicts.broken(ACME) is None
    await command(lone.url, "CONFIG", "SET", "maxmemory", 0)


async def test_old_verified_entries_are_kept_too(
    store: RedisStore, lone: ValkeyChild, clock: WallClock
) -> None:
    small = RedisStore(lone.url, clock, StoreRules(quota_of=lambda _: Quota(entries=6)))
    for turn in range(6):
        status = ReviewStatus.APPROVED if turn in (0, 1, 3) else ReviewStatus.UNREVIEWED
        assert await small.put(entry(f"e{turn}", status=status))
        # As versions before wrote it: one order for all.
        await command(lone.url, "ZADD", BASE + b"age", turn + 1, f"e{turn}")
    listed = await small.list_entries(Selector(ACME))
    assert [one.id for one in listed.entries] == ["e5", "e4", "e3", "e2", "e1", "e0"]
    assert await small.put(entry("e6"))
    assert {one.id async for one in small.scan(ACME)} == {"e0", "e1", "e3", "e4", "e5", "e6"}
    assert await small.put(entry("e7"))
    assert await small.put(entry("e8"))
    assert {one.id async for one in small.scan(ACME)} == {"e0", "e1", "e3", "e6", "e7", "e8"}
    listed = await small.list_entries(Selector(ACME))
    assert [one.id for one in listed.entries] == ["e8", "e7", "e6", "e3", "e1", "e0"]
    await small.aclose()


TAMPERINGS = [
    (("LSET", BASE + b"al", 2, b"noise"), 3),
    (("RPOP", BASE + b"al"), 5),
    (("LPOP", BASE + b"al"), 1),
    (("DEL", BASE + b"al"), 1),
    (("DEL", BASE + b"ah"), 1),
    (("HSET", BASE + b"ah", "n", 3), 4),
    (("HSET", BASE + b"ah", "d", "00" * 32), 5),
    (("HSET", BASE + b"ah", "gn", 2), 3),
    (("RPUSH", BASE + b"al", b"noise"), 6),
]


@pytest.mark.parametrize(("words", "number"), TAMPERINGS)
async def test_tampering_with_the_log_shows(
    verdicts: RedisVerdicts, lone: ValkeyChild, words: tuple[bytes | str | int, ...], number: int
) -> None:
    for turn in range(5):
        await verdicts.write(ACME, act("note", str(turn)))
    assert await verdicts.broken(ACME) is None
    await command(lone.url, *words)
    assert await verdicts.broken(ACME) == number
    await verdicts.write(ACME, act("note", "goes on"))
    page = await verdicts.log(ACME)
    assert page.lines[0].act.note == "goes on"


async def test_a_long_log_is_walked_in_steps(verdicts: RedisVerdicts, lone: ValkeyChild) -> None:
    for turn in range(1001):
        await verdicts.write(ACME, act("note", str(turn)))
    assert await verdicts.broken(ACME) is None
    await command(lone.url, "LSET", BASE + b"al", 700, b"noise")
    assert await verdicts.broken(ACME) == 701
    numbers, cursor = [], ""
    while True:
        page = await verdicts.log(ACME, cursor, 400)
        numbers += [line.number for line in page.lines]
        cursor = page.cursor
        if not cursor:
            break
    assert numbers == [number for number in range(1001, 0, -1) if number != 701]


async def test_a_repeated_call_whose_reply_was_lost_counts_once(
    store: RedisStore, verdicts: RedisVerdicts, lone: ValkeyChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = entry()
    assert await store.put(made)
    link = verdicts._link
    run = link.run
    sent = 0

    async def twice(script: object, keys: object, arguments: object) -> object:
        nonlocal sent
        if script in (verdicts._scripts.less, verdicts._scripts.bar, verdicts._scripts.note):
            sent += 1
            await run(script, keys, arguments)  # type: ignore[arg-type] # handed through
        return await run(script, keys, arguments)  # type: ignore[arg-type] # handed through

    monkeypatch.setattr(link, "run", twice)
    assert await verdicts.apply(made, changed(made), act(), bar=("aa",))
    assert await verdicts.bar(ACME, made.id, Pair(made.key, "bb"), act("bar"))
    assert (await verdicts.write(ACME, act("note"))).number == 3
    assert sent == 3
    assert await verdicts.broken(ACME) is None
    found = await verdicts.show(ACME, made.id)
    assert found is not None
    assert (found.version, found.barred) == (2, {"aa", "bb"})


async def test_what_a_dead_process_did_not_tell_is_told_when_it_is_said_again(
    cluster: str, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = StoreRules(LinkRules(deadline=5.0), f"t-{time.time_ns()}")
    store = RedisStore(cluster, clock, rules)
    verdicts = RedisVerdicts(cluster, clock, rules, VerdictRules())
    made = entry()
    assert await store.put(made)
    follower = Follower(store)
    await follower.until(lambda news: len(news) == 1)
    with monkeypatch.context() as patch:
        announce, run = verdicts._server.scripts.announce, verdicts._link.run

        async def dies(script: object, keys: object, arguments: object) -> object:
            if script is announce:
                raise StoreError("died", kind="down")
            return await run(script, keys, arguments)  # type: ignore[arg-type] # handed through

        patch.setattr(verdicts._link, "run", dies)
        with pytest.raises(StoreError):
            await verdicts.bar(ACME, made.id, Pair(made.key, "aa"), act("bar"))
    assert not await verdicts.bar(ACME, made.id, Pair(made.key, "aa"), act("bar"))
    await follower.until(lambda news: EntryPut(ACME, made.id) in news)
    assert await verdicts.apply(dataclasses.replace(made, barred=frozenset({"aa"})), None, act("reject"))
    await follower.until(lambda news: EntriesDeleted(ACME, (made.id,)) in news)
    await follower.close()
    for one in (store, verdicts):
        await one.aclose()


async def test_a_crash_while_publishing_leaves_a_line_and_no_public_answer(
    store: RedisStore, verdicts: RedisVerdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = entry()
    assert await store.put(made)
    public = dataclasses.replace(changed(made), tenant=PUBLIC_TENANT, epochs=Epochs())
    with monkeypatch.context() as patch:

        async def dies(_: Entry) -> None:
            raise StoreError("died", kind="down")

        patch.setattr(verdicts, "_place_public", dies)
        with pytest.raises(StoreError):
            await verdicts.publish(made, public, act("publish"))
    assert await store.show(PUBLIC_TENANT, made.id) is None
    assert len((await verdicts.log(ACME)).lines) == 1
    assert await verdicts.publish(made, public, act("publish"))
    assert await store.get_exact(PUBLIC_TENANT, made.key) is not None
