"""The review queue on a real server: lifetimes, bounds, erasure, damage, and paging against a model."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semcache.core import EntryId
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Label, Source
from semcache.ports import Selector
from semcache.review_port import Decided, Opinion, Sighting
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import Keys, digest
from semcache.store.link import Link, LinkRules
from semcache.store.queue import QueueRules, RedisReviewQueue, ReviewShelves
from semcache.store.queue_lua import STILLS
from semcache.store.queue_record import Cursor, cursor_text, read_cursor, wrong_by_request
from semcache.store.redis_store import RedisStore, StoreRules
from tests.store.servers import ACME, WallClock, command, entry, valkey

__all__ = ["valkey"]

NOW = time.time()
E1, E2 = EntryId("e1"), EntryId("e2")
LINK = LinkRules(deadline=5.0)
SECRET = "is the merger with Umbrella off?"


class Bench:
    """A queue under a prefix of its own, and the server beside it."""

    def __init__(self, url: str, **rules: float) -> None:
        self.url = url
        self.prefix = uuid.uuid4().hex
        self.base = Keys(self.prefix).base(ACME)
        self.link = Link(url, LINK)
        self.queue = RedisReviewQueue(self.link, Keys(self.prefix), QueueRules(**rules))  # type: ignore[arg-type] # whole numbers all

    async def store(self, *names: str) -> None:
        for name in names:
            await self.link.call("SET", self.base + b"e:" + name.encode(), "value")

    async def names(self, pattern: bytes = b"*") -> list[bytes]:
        return sorted(await command(self.url, "KEYS", self.base.replace(b"{", b"\\{") + pattern))


@pytest.fixture
async def bench(valkey: ValkeyChild) -> AsyncIterator[Bench]:
    made = Bench(valkey.url)
    await made.store("e1", "e2")
    yield made
    await made.link.aclose()


def sighting(id: EntryId = E1, **changes: object) -> Sighting:
    made = Sighting(id, "aa", SECRET, NOW, "chat", "semantic", 1.0, ("gate",), 0.96, 0.9)
    return replace(made, **changes)  # type: ignore[arg-type] # a table of any fields


async def fill(bench: Bench, number: int) -> list[str]:
    names = [f"n{n:05}" for n in range(number)]
    await bench.store(*names)
    await bench.queue.sight(ACME, [sighting(EntryId(name), risk=1.0 + n) for n, name in enumerate(names)])
    return names


async def test_everything_has_an_end(bench: Bench) -> None:
    queue = bench.queue
    await fill(bench, 3)
    await queue.sight(ACME, [sighting()])
    await queue.opine(ACME, Opinion(E1, "aa", "judge", 0.9, NOW))
    await queue.settled(ACME, E1, True)
    await queue.keep(ACME, "chat", [Decided(NOW, 0.9, None, "semantic")])
    await queue.waiting(ACME, limit=1)
    found = await bench.names(b"r*")
    assert len(found) == 4 * 2 + 1 + 2 + 1 + 1 + 2
    for key in found:
        assert 0 < int(await command(bench.url, "PTTL", key)) <= 180 * 86_400_000, key


async def test_those_not_seen_for_long_fade(valkey: ValkeyChild) -> None:
    bench = Bench(valkey.url, life=0.2)
    await bench.store("e1", "e2")
    await bench.queue.sight(ACME, [sighting()])
    await asyncio.sleep(0.25)
    await bench.queue.sight(ACME, [sighting(E2)])
    assert await bench.queue.waits(ACME, E1) is None
    assert await bench.queue.questions(ACME, E1) == []
    assert await bench.queue.size(ACME) == 1
    await bench.link.aclose()


async def test_those_seen_for_longest_go_when_too_many_are_known(valkey: ValkeyChild) -> None:
    bench = Bench(valkey.url, known=3)
    await bench.store("e1", "e2", "e3", "e4")
    for name in ("e2", "e1", "e3", "e2", "e4"):
        await bench.queue.sight(ACME, [sighting(EntryId(name))])
        await asyncio.sleep(0.002)
    assert await bench.queue.questions(ACME, E1) == []
    assert await bench.queue.waits(ACME, E1) is None
    assert len(await bench.names(b"ra:*")) == 3
    await bench.link.aclose()


async def test_long_questions_share_the_room_of_an_entry(valkey: ValkeyChild) -> None:
    bench = Bench(valkey.url, bytes=10_000)
    await bench.store("e1")
    for n in range(30):
        await bench.queue.sight(ACME, [sighting(asked=f"q{n}", question="名" * 5000, at=NOW + n)])
        size = sum(map(len, await bench.link.call("HVALS", bench.base + b"ra:e1")))
        assert size <= 10_000
    assert [q.asked for q in await bench.queue.questions(ACME, E1)] == ["q29", "q28", "q27"]
    assert int(await bench.link.call("HGET", bench.base + b"rw:e1", "b")) == size
    await bench.link.aclose()


async def everything(bench: Bench) -> bytes:
    """All that the server holds of the tenant, as bytes."""
    return b"".join([await command(bench.url, "DUMP", key) + key for key in await bench.names()])


async def erase(how: str, store: RedisStore, bench: Bench) -> None:
    match how:
        case "id":
            assert await store.delete(Selector(ACME, ids=(E1,))) == 1
            await bench.queue.forget(ACME, [E1])
        case "tag":
            assert await store.delete(Selector(ACME, tag="doc")) == 1
            await bench.queue.sweep(ACME)
        case _:
            assert await store.delete(Selector(ACME)) == 2
            await bench.queue.sweep(ACME)


@pytest.mark.parametrize("how", ["id", "tag", "flush"])
async def test_after_an_erasure_nothing_of_the_text_remains(valkey: ValkeyChild, how: str) -> None:
    bench = Bench(valkey.url)
    await command(valkey.url, "CONFIG", "SET", "rdbcompression", "no")
    store = RedisStore(valkey.url, WallClock(), StoreRules(link=LINK, prefix=bench.prefix))
    await store.put(entry("e1", tags=("doc",), prompt="stored"))
    await store.put(entry("e2", prompt="stored, too"))
    seen = [sighting(), sighting(E2, question="another"), sighting(asked="bb", question=SECRET + "!")]
    await bench.queue.sight(ACME, seen)
    await bench.queue.opine(ACME, Opinion(E1, "aa", "judge", 0.9, NOW))
    await bench.queue.waiting(ACME, limit=1)
    assert SECRET.encode() in await everything(bench)
    await erase(how, store, bench)
    await bench.queue.sight(ACME, seen)  # was under way
    held = await everything(bench)
    assert SECRET.encode() not in held
    assert (b"another" in held) == (how != "flush")
    await store.aclose()
    await bench.link.aclose()


async def test_no_word_of_a_question_is_in_key_names_or_faults(bench: Bench) -> None:
    await bench.queue.sight(ACME, [sighting(domain="merger talks")])
    await bench.queue.keep(ACME, "merger talks", [Decided(NOW, 0.9, None, "semantic")])
    assert not [key for key in await bench.names() if b"merger" in key]
    await command(bench.url, "HSET", bench.base + b"ra:e1", "aa", f"1 1 1 1 5 5 2 {{x{SECRET}")
    with pytest.raises(StoreError) as damaged:
        await bench.queue.questions(ACME, E1)
    assert (damaged.value.kind, "merger" in str(damaged.value)) == ("corrupt", False)


@pytest.mark.parametrize("kind", [b"rw:e1", b"ra:e1", b"ro:e1"])
async def test_what_is_of_another_type_keeps_nothing_else_from_being_counted(
    bench: Bench, kind: bytes
) -> None:
    await command(bench.url, "SET", bench.base + kind, "odd")
    await bench.queue.sight(ACME, [sighting(), sighting(E2)])
    await bench.queue.opine(ACME, Opinion(E1, "aa", "judge", 0.5, NOW))
    assert [row.entry for row in (await bench.queue.waiting(ACME)).waiting] == [E2, E1]
    assert len(await bench.queue.questions(ACME, E1)) == 1


async def test_a_damaged_question_is_counted_anew(bench: Bench) -> None:
    await bench.queue.sight(ACME, [sighting()])
    await command(bench.url, "HSET", bench.base + b"ra:e1", "aa", "nonsense")
    await bench.queue.sight(ACME, [sighting()])
    assert [question.times for question in await bench.queue.questions(ACME, E1)] == [1]
    place = await bench.queue.waits(ACME, E1)
    assert place is not None
    assert place.weight == 2.0


@pytest.mark.parametrize(
    "value",
    [
        b"nonsense",
        b"x 1 1 1 5 5 2 []",
        b"1 1 1 1 nan 5 2 []",
        b"1 1 1 1 5 5 2 []",
        b'1 1 1 1 5 5 21 ["a",["b"],"x",0.5] t',
        b"1 1 1 1 5 5 -2 []",
    ],
)
async def test_damaged_questions_are_a_named_fault(bench: Bench, value: bytes) -> None:
    await command(bench.url, "HSET", bench.base + b"ra:e1", "aa", value)
    with pytest.raises(StoreError):
        await bench.queue.questions(ACME, E1)


@pytest.mark.parametrize(
    "row", [b"x", b"{}", b"[1,2]", b'[1,0.5,[],"semantic","r",null]', b'["1",0.5,null,"a","r",null]']
)
async def test_damaged_decisions_are_a_named_fault(bench: Bench, row: bytes) -> None:
    await command(bench.url, "LPUSH", bench.base + b"rd:" + digest("chat").hex().encode(), row)
    with pytest.raises(StoreError, match="damaged"):
        await bench.queue.decisions(ACME, "chat")


async def test_filters_look_past_many_that_do_not_fit(bench: Bench) -> None:
    names = await fill(bench, 700)
    rare = [names[n] for n in (650, 320, 319, 3)]
    await bench.queue.sight(ACME, [sighting(EntryId(name), risk=1e-9, reasons=("audit",)) for name in rare])
    found, cursor = [], ""
    for _ in range(3):
        page = await bench.queue.waiting(ACME, cursor, 2, reason="audit")
        found.append([row.entry for row in page.waiting])
        cursor = page.cursor
        if not cursor:
            break
    assert found[:2] == [rare[:2], rare[2:]]
    assert found[2:] in ([], [[]])
    assert cursor == ""


async def test_places_that_faded_are_forgotten_while_listing(bench: Bench) -> None:
    await bench.queue.sight(ACME, [sighting(), sighting(E2)])
    await command(bench.url, "DEL", bench.base + b"rw:e1")
    assert [row.entry for row in (await bench.queue.waiting(ACME)).waiting] == [E2]
    assert await bench.queue.size(ACME) == 1


async def test_a_verdict_s_removal_takes_it_out_of_pages_under_way(bench: Bench) -> None:
    names = await fill(bench, 9)
    first = await bench.queue.waiting(ACME, limit=4)
    await bench.link.call("ZREM", bench.base + b"rq", names[3])
    second = await bench.queue.waiting(ACME, first.cursor, 4)
    assert [row.entry for row in second.waiting] == [names[n] for n in (4, 2, 1, 0)]


async def test_a_listing_whose_picture_is_gone_goes_on_from_where_it_was(bench: Bench) -> None:
    names = await fill(bench, 9)
    first = await bench.queue.waiting(ACME, limit=4)
    for _ in range(STILLS + 2):
        await bench.queue.waiting(ACME, limit=4)
    assert len(await bench.names(b"rp:*")) == STILLS
    # The last one of the page has left, risen, or sunk: those behind it come all the same.
    last = EntryId(names[5])
    await bench.queue.dismiss(ACME, [last])
    rest = await bench.queue.waiting(ACME, first.cursor, 9)
    assert [row.entry for row in rest.waiting] == names[4::-1]
    assert rest.cursor == ""
    await bench.queue.sight(ACME, [sighting(last, risk=99.0)])
    rest = await bench.queue.waiting(ACME, first.cursor, 9)
    assert [row.entry for row in rest.waiting] == names[4::-1]
    await bench.queue.dismiss(ACME, [last])
    await bench.queue.sight(ACME, [sighting(last, risk=0.5)])
    rest = await bench.queue.waiting(ACME, first.cursor, 9)
    assert [row.entry for row in rest.waiting] == [*names[4::-1], last]
    assert await bench.queue.size(ACME) == 9


async def test_opinions_are_bounded(valkey: ValkeyChild) -> None:
    bench = Bench(valkey.url, opinions=3)
    await bench.store("e1")
    for n in range(7):
        await bench.queue.opine(ACME, Opinion(E1, f"q{n}", "judge", 0.9, NOW + n))
    assert [o.asked for o in await bench.queue.opinions(ACME, E1)] == ["q6", "q5", "q4"]
    assert len(await bench.link.call("HKEYS", bench.base + b"ro:e1")) == 6
    await bench.link.aclose()


async def test_what_is_acknowledged_outlives_the_server(lone: ValkeyChild) -> None:
    shelves = ReviewShelves(lone.url, LINK)
    await command(lone.url, "SET", Keys().base(ACME) + b"e:e1", "value")
    await shelves.queue.sight(ACME, [sighting()])
    await shelves.aclose()
    await lone.stop()
    await lone.start()
    after = ReviewShelves(lone.url, LINK)
    assert [row.entry for row in (await after.queue.waiting(ACME)).waiting] == [E1]
    await after.aclose()
    await after.aclose()


def label(source: Source, finding: Finding, request: str = "r") -> Label:
    return Label("x", ACME, "chat", source, finding, 5, 100, NOW, entry=E1, request=request)


@pytest.mark.parametrize(
    ("newest_first", "wrong"),
    [
        ([(Source.AUDIT, Finding.WRONG), (Source.AUDIT, Finding.RIGHT)], True),
        ([(Source.FEEDBACK, Finding.WRONG), (Source.AUDIT, Finding.RIGHT)], False),
        ([(Source.AUDIT, Finding.WRONG), (Source.VERDICT, Finding.RIGHT)], False),
        ([(Source.SHADOW, Finding.UNDECIDED), (Source.FEEDBACK, Finding.WRONG)], True),
        ([(Source.SHADOW, Finding.UNDECIDED)], None),
    ],
)
def test_whose_word_counts_about_a_decision(
    newest_first: list[tuple[Source, Finding]], wrong: bool | None
) -> None:
    labels = [label(Source.VERDICT, Finding.WRONG, ""), *(label(*words) for words in newest_first)]
    assert wrong_by_request(labels).get("r") is wrong
    assert "" not in wrong_by_request(labels)


@given(
    st.integers(0, 10**14),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(min_size=1, max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
def test_cursors_come_back_as_they_were(still: int, weight: float, id: bytes) -> None:
    cursor = Cursor(str(still), repr(weight), id)
    assert read_cursor(cursor_text(cursor)) == cursor


@given(st.text(max_size=60))
def test_any_other_text_is_a_named_fault(text: str) -> None:
    with contextlib.suppress(StoreError):
        found = read_cursor(text)
        assert found.still.isdigit()
        assert found.id


weights = st.lists(st.sampled_from([0.5, 1.0, 1.0, 2.0, 7.25]), min_size=1, max_size=12)
moves = st.lists(
    st.tuples(st.sampled_from(["rise", "sink", "leave", "erase"]), st.integers(0, 11)), max_size=10
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(risks=weights, moved=moves, limit=st.integers(1, 5))
def test_pages_show_everybody_who_stays_once_and_nobody_twice(
    valkey: ValkeyChild, risks: list[float], moved: list[tuple[str, int]], limit: int
) -> None:
    asyncio.run(check_pages(valkey.url, risks, moved, limit))


async def check_pages(url: str, risks: list[float], moved: list[tuple[str, int]], limit: int) -> None:
    bench = Bench(url)
    names = [f"n{n}" for n in range(len(risks))]
    await bench.store(*names)
    await bench.queue.sight(
        ACME, [sighting(EntryId(name), risk=risk) for name, risk in zip(names, risks, strict=True)]
    )
    left: set[str] = set()
    found: list[str] = []
    cursor, moves_left = "", list(moved)
    while True:
        page = await bench.queue.waiting(ACME, cursor, limit)
        assert not left & {row.entry for row in page.waiting}
        found += [row.entry for row in page.waiting]
        cursor = page.cursor
        if not cursor:
            break
        for what, which in moves_left[:2]:
            name = EntryId(names[which % len(names)])
            match what:
                case "rise":
                    if name not in left:
                        await bench.queue.sight(ACME, [sighting(name, risk=3.0)])
                case "sink":
                    await bench.queue.opine(ACME, Opinion(name, "aa", "judge", 1.0, NOW))
                case "leave":
                    await bench.queue.dismiss(ACME, [name])
                    left.add(name)
                case _:
                    await bench.link.call("DEL", bench.base + b"e:" + name.encode())
                    left.add(name)
        moves_left = moves_left[2:]
    assert len(found) == len(set(found))
    assert set(names) - left <= set(found)
    order = sorted(zip(risks, names, strict=True), reverse=True)
    assert found == [name for _, name in order if name in found]
    await bench.link.aclose()


@pytest.mark.parametrize("way", ["id", "tag", "tenant", "replaced"])
async def test_an_entry_that_goes_takes_its_questions_along_in_the_same_step(bench: Bench, way: str) -> None:
    store = RedisStore(bench.url, WallClock(), StoreRules(link=LINK, prefix=bench.prefix))
    try:
        gone = entry("gone", tags=("doc",))
        assert await store.put(gone)
        await bench.queue.sight(ACME, [sighting(gone.id)])
        assert (await bench.queue.waiting(ACME)).waiting
        match way:
            case "id":
                await store.delete(Selector(ACME, ids=(gone.id,)))
            case "tag":
                await store.delete(Selector(ACME, tag="doc"))
            case "tenant":
                await store.delete(Selector(ACME))
            case _:
                assert await store.put(replace(gone, id=EntryId("other"), version=1))
        assert await bench.names(b"r[wa]:gone") == []
        assert [item.entry for item in (await bench.queue.waiting(ACME)).waiting] == []
        assert await bench.queue.size(ACME) == 0
    finally:
        await store.aclose()
