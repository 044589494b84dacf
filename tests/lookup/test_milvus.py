"""The Milvus behind the port: what the contract does not say. With milvus-lite, and with a client that fails."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId, EntryId, Namespace, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup.follower import Follower
from semcache.lookup.milvus_index import MilvusIndex
from semcache.lookup.milvus_link import MilvusLink, MilvusRules
from semcache.ports import EntriesDeleted, EntryPut, EpochBumped, StoreReset
from tests.e2e.running import running
from tests.fakes.upstream_server import ByRequest, Seen, chat_json, in_thread
from tests.lookup.scripted_store import ACME, E5, ScriptedStore, entry, unit
from tests.lookup.test_follower import Generations, until
from tests.lookup.test_leading import QUICK

HOSTILE = ['" or space != "', "a\" in ['b']", "ü\x00\n", "\udc80", "x" * 200, "%s {s} $meta", "i0", "x41"]


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    return str(tmp_path_factory.mktemp("milvus") / "lite.db")


@pytest.fixture
async def index(lite: str) -> AsyncIterator[MilvusIndex]:
    made = MilvusIndex(
        MilvusLink(MilvusRules(lite, deadline=10.0)), f"t{uuid.uuid4().hex}", lambda: frozenset({E5})
    )
    yield made
    await made.clear()
    await made.aclose()


async def all_held(index: MilvusIndex, tenant: TenantId | None = None) -> dict[str, str]:
    return {name: owner async for owner, ids in index.held(tenant) for name in ids}


async def test_no_name_says_anything_in_milvus_language(index: MilvusIndex) -> None:
    spaces = [Namespace(TenantId(word), other) for word in HOSTILE for other in (word, "aa")]
    for number, space in enumerate(spaces):
        await index.add(
            space, EntryId(f"{number}{HOSTILE[number % len(HOSTILE)]}"), Embedding(unit(number), E5)
        )
    for number, space in enumerate(spaces):
        (near,) = await index.search(space, Embedding(unit(0), E5), 9)
        assert near.entry_id == f"{number}{HOSTILE[number % len(HOSTILE)]}"
    held = await all_held(index)
    assert held == {f"{n}{HOSTILE[n % len(HOSTILE)]}": space.tenant for n, space in enumerate(spaces)}
    assert len(await all_held(index, TenantId(HOSTILE[0]))) == 2
    for word in HOSTILE:
        assert await index.remove([EntryId(word)]) == 0
    assert len(await all_held(index)) == len(spaces)
    await index.drop(spaces[0])
    assert await index.search(spaces[0], Embedding(unit(0), E5), 9) == []
    assert len(await all_held(index)) == len(spaces) - 1


async def test_samples_tell_what_is_held(index: MilvusIndex) -> None:
    await index.add(Namespace(ACME, "aa"), EntryId("a"), Embedding(unit(1), E5))
    found = await index.samples([EntryId("none"), EntryId("a")])
    assert np.isnan(found[0]).all()
    assert found[1] == pytest.approx(unit(1)[:16], abs=1e-3)


async def test_a_follower_keeps_it_equal_to_the_store(index: MilvusIndex) -> None:
    store = ScriptedStore(*(entry(f"e{n}", n) for n in range(5)), entry("o", 7, tenant=TenantId("other")))
    await index.add(Namespace(ACME, "zz"), EntryId("ghost"), Embedding(unit(9), E5))
    await index.add(Namespace(ACME, "aa"), EntryId("e1"), Embedding(unit(77), E5))
    follower = Follower(store, index, Generations(E5), tuning=QUICK)
    task = asyncio.create_task(follower.run())
    store.say(StoreReset())
    try:
        await until(lambda: follower.is_synced, 20)
        assert sorted(await all_held(index)) == ["e0", "e1", "e2", "e3", "e4", "o"]
        (near,) = await index.search(Namespace(ACME, "aa"), Embedding(unit(1), E5), 1)
        assert (near.entry_id, near.cosine) == ("e1", pytest.approx(1.0, abs=1e-5))
        store.reads.clear()
        store.say(StoreReset())
        await until(lambda: store.scans == 2 and follower.is_synced, 20)
        assert store.reads == [], "what is there is not read again"
        store.held[EntryId("new")] = entry("new", 50)
        del store.held[EntryId("e0")]
        store.say(EntryPut(ACME, EntryId("new")), EntriesDeleted(ACME, (EntryId("e0"),)))
        store.say(EpochBumped(TenantId("other"), "ns:aa", 1))
        await until(lambda: follower.state.changes == 5 and follower.settled is not None, 20)
        assert sorted(await all_held(index)) == ["e1", "e2", "e3", "e4", "new"]
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_another_process_vectors_are_found_though_nothing_was_counted(lite: str) -> None:
    link = MilvusLink(MilvusRules(lite, deadline=10.0))
    name = f"t{uuid.uuid4().hex}"
    one = MilvusIndex(link, name, lambda: frozenset({E5}))
    two = MilvusIndex(link, name, lambda: frozenset({E5}))
    home, other = Namespace(ACME, "aa"), Namespace(ACME, "bb")
    await one.add(home, EntryId("a"), Embedding(unit(1), E5))
    assert two.count(home) == 1, "unknown is not empty"
    assert [near.entry_id for near in await two.search(home, Embedding(unit(1), E5), 3)] == ["a"]
    assert two.count(other) == 1
    await until(lambda: two.count(home) == 1 and two._counts.keys() >= one._counts.keys(), 10)
    one.doubt()
    assert one.count(other) == 1
    await one.clear()
    await two.aclose()


# -- a Milvus that fails --------------------------------------------------------------------------


class Failing:
    """A client whose every call does what the test says."""

    def __init__(self) -> None:
        self.calls = 0
        self.fault: Exception | None = None
        self.hang = threading.Event()
        self.hang.set()

    def __getattr__(self, name: str) -> Any:
        def call(*args: object, **more: object) -> object:
            self.calls += 1
            self.hang.wait(5)
            if self.fault is not None:
                raise self.fault
            return []

        return call


def linked(**rules: Any) -> tuple[MilvusLink, Failing]:
    link = MilvusLink(MilvusRules("http://nowhere", **rules))
    link._client = client = Failing()
    return link, client


async def kind_of(link: MilvusLink) -> str:
    with pytest.raises(VectorIndexError) as refused:
        await link.call(lambda client, timeout: client.search(timeout=timeout))
    return refused.value.kind


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (ConnectionRefusedError("x"), "down"),
        (RuntimeError("failed to connect to all addresses"), "down"),
        (RuntimeError("Deadline Exceeded"), "late"),
        (ValueError("secret text"), "error"),
        (VectorIndexError("no such library", kind="config"), "config"),
    ],
)
async def test_faults_have_names_and_repeat_nothing(fault: Exception, kind: str) -> None:
    link, client = linked()
    client.fault = fault
    with pytest.raises(VectorIndexError) as refused:
        await link.call(lambda client, timeout: client.search(timeout=timeout))
    assert refused.value.kind == kind
    assert "secret" not in str(refused.value)
    await link.aclose()


async def test_a_call_that_hangs_is_not_waited_for() -> None:
    link, client = linked(deadline=0.05, threads=1, waiting=1)
    client.hang.clear()
    began = time.monotonic()
    assert await kind_of(link) == "late"
    assert time.monotonic() - began < 1.0
    client.hang.set()
    await link.aclose()


async def test_only_so_many_wait() -> None:
    link, client = linked(deadline=5.0, threads=1, waiting=1)
    client.hang.clear()
    tasks = [asyncio.create_task(link.call(lambda client, timeout: client.search())) for _ in range(2)]
    await asyncio.sleep(0.05)
    assert await kind_of(link) == "busy"
    client.hang.set()
    assert await asyncio.gather(*tasks) == [[], []]
    await link.aclose()


async def test_a_milvus_that_is_away_is_left_alone_for_a_moment() -> None:
    now = 0.0
    link = MilvusLink(MilvusRules("http://nowhere"), monotonic=lambda: now)
    link._client = client = Failing()
    client.fault = ConnectionRefusedError("x")
    assert await kind_of(link) == "down"
    for _ in range(20):
        assert await kind_of(link) == "down"
    assert client.calls == 1
    now, client.fault = 0.6, None
    assert await link.call(lambda client, timeout: client.search()) == []
    assert await link.call(lambda client, timeout: client.search()) == []
    await link.aclose()


async def test_after_the_end_it_says_so() -> None:
    link, _ = linked()
    await link.aclose()
    await link.aclose()
    assert await kind_of(link) == "closed"


async def test_a_server_that_is_not_there() -> None:
    pytest.importorskip("pymilvus")
    link = MilvusLink(MilvusRules("http://127.0.0.1:9", deadline=0.3))
    index = MilvusIndex(link, "t", lambda: frozenset({EncoderId("e")}))
    began = time.monotonic()
    with pytest.raises(VectorIndexError) as refused:
        await index.search(Namespace(ACME, "aa"), Embedding(unit(1), E5), 3)
    assert refused.value.kind in ("down", "late")
    assert time.monotonic() - began < 12
    await index.aclose()


@pytest.mark.slow
def test_a_whole_proxy_serves_by_meaning_from_a_milvus(tmp_path: Path) -> None:
    pytest.importorskip("milvus_lite")

    def answer(seen: Seen) -> object:
        return chat_json(f"Answer to: {seen.json()['messages'][-1]['content']}" if seen.body else "")

    more = {"SEMCACHE_INDEX__BACKEND": "milvus", "SEMCACHE_INDEX__URL": str(tmp_path / "lite.db")}
    with in_thread(ByRequest(answer)) as server:
        for asked in ("How do I reset my password?", "How can I reset my password?"):
            # The second start finds what the first has put there, and compares nothing into it again.
            with running(
                tmp_path / "data", "--upstream", server.url, SEMCACHE_INDEX__DEADLINE="5", **more
            ) as it:
                it.wait_until(lambda it=it: it.ready_detail()["status"] == "ready", 60)
                it.wait_until(lambda it=it: "index" not in it.ready_detail().get("degraded", ()), 60)
                outcome = it.outcome(asked)
        assert outcome == "semantic"
        assert not (tmp_path / "data" / "index").exists()
