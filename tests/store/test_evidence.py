"""The evidence on a real server: what a restart leaves, what fades, what damage does."""

from __future__ import annotations

import asyncio
import time

import pytest

from semcache.core import EntryId
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Label, ServedHit, Source, Spending
from semcache.store.embedded import ValkeyChild
from semcache.store.evidence_hits import EvidenceShelves, HitRules, RedisServedHits
from semcache.store.keys import Keys, digest
from semcache.store.link import Link, LinkRules
from tests.store.servers import ACME, command, free_port

NOW = time.time()
BASE = Keys().base(ACME)
CELLS = BASE + b"qv:" + digest("chat").hex().encode()


def label(id: str = "a", finding: Finding = Finding.WRONG) -> Label:
    return Label(
        id, ACME, "chat", Source.AUDIT, finding, bin=1, bucket=5, at=NOW, entry=EntryId("e"), request="r"
    )


def shelves(lone: ValkeyChild) -> EvidenceShelves:
    return EvidenceShelves(lone.url, LinkRules(deadline=5.0))


async def test_evidence_outlives_the_server_and_counts_no_label_twice(lone: ValkeyChild) -> None:
    before = shelves(lone)
    assert await before.labels.add(label())
    await before.hits.note(ACME, [ServedHit("r", EntryId("e"), "chat", "", exact=True, bin=None, at=NOW)])
    assert await before.budget.reserve(ACME, NOW, Spending(5, 1), Spending(9, 9))
    cells = await before.labels.counts(ACME, "chat")
    await before.aclose()
    await lone.stop()
    await lone.start()
    after = shelves(lone)
    assert not await after.labels.add(label())
    assert await after.labels.counts(ACME, "chat") == cells
    assert await after.labels.flags(ACME) == {"e": 1}
    assert await after.hits.by_request(ACME, "r") is not None
    assert await after.budget.spent(ACME, NOW) == Spending(5, 1)
    await after.aclose()


async def test_everything_has_an_end(lone: ValkeyChild) -> None:
    made = shelves(lone)
    await made.labels.add(label())
    await made.labels.tally(ACME, "chat", NOW, {"exact": 1})
    await made.labels.reset(ACME, "legal", NOW)
    await made.hits.note(ACME, [ServedHit("r", EntryId("e"), "chat", "", exact=True, bin=None, at=NOW)])
    await made.budget.reserve(ACME, NOW, Spending(5, 1), Spending(9, 9))
    await made.budget.allows(ACME, "me", 5, 60)
    for key in await command(lone.url, "KEYS", BASE + b"q*"):
        assert 0 < int(await command(lone.url, "PTTL", key)) <= 180 * 86_400_000, key
    await made.aclose()


async def test_no_word_of_a_caller_is_in_key_names(lone: ValkeyChild) -> None:
    made = shelves(lone)
    await made.labels.add(label("audit:secret words"))
    await made.budget.allows(ACME, "secret words", 5, 60)
    assert not [key for key in await command(lone.url, "KEYS", "*") if b"secret" in key]
    await made.aclose()


async def test_the_hits_kept_are_bounded_by_number_and_age(lone: ValkeyChild) -> None:
    link = Link(lone.url, LinkRules(deadline=5.0))
    hits = RedisServedHits(link, Keys(), HitRules(most=3, life=100.0))

    def hit(n: int, at: float) -> ServedHit:
        return ServedHit(f"r{n}", EntryId(f"e{n % 2}"), "chat", "", exact=True, bin=None, at=at)

    await hits.note(ACME, [hit(n, NOW + n) for n in range(6)])
    assert [await hits.by_request(ACME, f"r{n}") is not None for n in range(6)] == [False] * 3 + [True] * 3
    newest = await hits.by_entry(ACME, EntryId("e0"), "")
    assert newest is not None
    assert newest.request == "r4"
    await hits.note(ACME, [hit(7, NOW + 104.5)])
    assert [await hits.by_request(ACME, f"r{n}") is not None for n in (4, 5, 7)] == [False, True, True]
    assert await hits.by_entry(ACME, EntryId("e0"), "") is None
    assert int(await command(lone.url, "HLEN", BASE + b"qs")) == 3
    assert int(await command(lone.url, "ZCARD", BASE + b"qo")) == 2
    await link.aclose()


@pytest.mark.parametrize("name", [b"nonsense", b"audit:1:2:x", b"audit:one:2:n", b"who:1:2:n"])
async def test_damaged_counters_are_a_named_fault(lone: ValkeyChild, name: bytes) -> None:
    made = shelves(lone)
    await command(lone.url, "HSET", CELLS, name, "1")
    with pytest.raises(StoreError) as damaged:
        await made.labels.counts(ACME, "chat")
    assert damaged.value.kind == "corrupt"
    await made.aclose()


@pytest.mark.parametrize("value", [b"x", b"nan", b"", b"1e999"])
async def test_damaged_numbers_are_a_named_fault(lone: ValkeyChild, value: bytes) -> None:
    made = shelves(lone)
    await command(lone.url, "HSET", CELLS, "audit:1:2:n", value)
    with pytest.raises(StoreError) as damaged:
        await made.labels.counts(ACME, "chat")
    assert damaged.value.kind == "corrupt"
    await made.aclose()


@pytest.mark.parametrize("row", [b"{", b"[]", b"[1,2,3,4,5,6,7,8,9,10,11,12,13,14]", b"null"])
async def test_damaged_records_are_a_named_fault(lone: ValkeyChild, row: bytes) -> None:
    made = shelves(lone)
    await command(lone.url, "LPUSH", BASE + b"ql", row)
    await command(lone.url, "HSET", BASE + b"qs", b"r:r", row)
    with pytest.raises(StoreError) as damaged:
        await made.labels.recent(ACME, 5)
    assert damaged.value.kind == "corrupt"
    with pytest.raises(StoreError) as damaged:
        await made.hits.by_request(ACME, "r")
    assert damaged.value.kind == "corrupt"
    await made.aclose()


@pytest.mark.parametrize("name", [b"qv:", b"ql", b"qt:", b"qd", b"qf"])
async def test_a_label_is_counted_whole_or_not_at_all(lone: ValkeyChild, name: bytes) -> None:
    made = shelves(lone)
    key = BASE + name + (digest("chat").hex().encode() if name.endswith(b":") else b"")
    await command(lone.url, "SET", key, "of another type")
    with pytest.raises(StoreError):
        await made.labels.add(label())
    assert await command(lone.url, "KEYS", BASE + b"q*") == [key]
    await command(lone.url, "DEL", key)
    assert await made.labels.add(label())
    await made.aclose()


async def test_a_server_that_is_away_is_a_named_fault() -> None:
    gone = EvidenceShelves(f"redis://127.0.0.1:{free_port()}", LinkRules())
    for call in (
        gone.labels.add(label()),
        gone.labels.counts(ACME, "chat"),
        gone.labels.tally(ACME, "chat", NOW, {"exact": 1}),
        gone.hits.by_request(ACME, "r"),
        gone.budget.reserve(ACME, NOW, Spending(0, 1), Spending(1, 1)),
    ):
        with pytest.raises(StoreError):
            await call
    await asyncio.gather(gone.aclose(), gone.aclose())


async def test_hits_of_earlier_releases_are_read(lone: ValkeyChild) -> None:
    made = shelves(lone)
    row = '["r","e","chat","",false,3,5.0,0.5,null]'
    await command(lone.url, "HSET", BASE + b"qs", "r:r", row)
    await made.hits.settle(ACME, "r")
    found = await made.hits.by_request(ACME, "r")
    assert found == ServedHit("r", EntryId("e"), "chat", "", exact=False, bin=3, at=5.0, score=0.5)
    for end in ("1]", '1,"a",false,0]', '"k","a",false,2]', '"k","a",1,0]', '"k","a",true,false,0]'):
        await command(lone.url, "HSET", BASE + b"qs", "r:r", row[:-1] + "," + end)
        with pytest.raises(StoreError, match="damaged"):
            await made.hits.by_request(ACME, "r")
    await made.aclose()
