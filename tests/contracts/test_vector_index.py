"""What every `VectorIndex` keeps, run on the fake and on FAISS in each of its tiers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId, EntryId, Namespace, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup.faiss_index import FaissIndex, IndexTuning
from semcache.lookup.milvus_index import MilvusIndex
from semcache.lookup.milvus_link import MilvusLink, MilvusRules
from semcache.lookup.mirror import gpu_factory
from semcache.ports import VectorIndex
from tests.fakes.vector_index import FakeVectorIndex

D = 24
E5 = EncoderId("e5")
MINILM = EncoderId("minilm")
HOME = Namespace(TenantId("acme"), "aa")
OTHERS = (
    Namespace(TenantId("acme"), "bb"),
    Namespace(TenantId("other"), "aa"),
    Namespace(TenantId(""), "acmeaa"),
)

TUNINGS = {
    "flat": IndexTuning(flat_rows=1000),
    "coded": IndexTuning(flat_rows=2),
    "threaded": IndexTuning(flat_rows=2, inline_rows=0),
}


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file for milvus-lite; each test has collections of its own in it."""
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    return str(tmp_path_factory.mktemp("milvus") / "lite.db")


@pytest.fixture(params=["fake", *TUNINGS, "milvus", pytest.param("gpu", marks=pytest.mark.gpu)])
async def index(request: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    if request.param == "fake":
        yield FakeVectorIndex(max_vectors=200)
        return
    if request.param == "milvus":
        rules = MilvusRules(request.getfixturevalue("lite"), deadline=10.0)
        remote = MilvusIndex(MilvusLink(rules), f"t{uuid.uuid4().hex}", frozenset, max_vectors=200)
        await remote.clear()
        yield remote
        await remote.clear()
        await remote.aclose()
        return
    if request.param == "gpu":
        factory = gpu_factory()
        if factory is None:
            pytest.skip("FAISS without GPU support")
        tuning = IndexTuning(flat_rows=2, inline_rows=0, gpu_rows=3)
        real = FaissIndex(max_vectors=200, new_gpu_index=factory, tuning=tuning)
    else:
        real = FaissIndex(max_vectors=200, tuning=TUNINGS[request.param])
    yield real
    real.check_integrity()
    await real.aclose()


def unit(seed: int, encoder: EncoderId = E5) -> Embedding:
    vector = np.random.default_rng(seed).standard_normal(D)
    return Embedding((vector / np.linalg.norm(vector)).astype(np.float32), encoder)


def eid(number: int) -> EntryId:
    return EntryId(f"entry-{number}")


async def fill(index: VectorIndex, count: int, namespace: Namespace = HOME) -> None:
    for number in range(count):
        await index.add(namespace, eid(number), unit(number))


async def test_an_unknown_namespace_has_nothing(index: VectorIndex) -> None:
    assert index.count(HOME) == 0
    assert await index.search(HOME, unit(1), 3) == []
    assert index.sizes() == (0, 0)


async def test_nearest_come_best_first_with_their_cosines(index: VectorIndex) -> None:
    await fill(index, 30)
    query = unit(999)
    expected = sorted(((float(unit(n).vector @ query.vector), eid(n)) for n in range(30)), reverse=True)
    found = await index.search(HOME, query, 5)
    assert [near.entry_id for near in found] == [entry_id for _, entry_id in expected[:5]]
    assert [near.cosine for near in found] == pytest.approx([c for c, _ in expected[:5]], abs=1e-5)


async def test_every_entry_finds_itself_at_no_more_than_one(index: VectorIndex) -> None:
    await fill(index, 50)
    for number in range(50):
        (near,) = await index.search(HOME, unit(number), 1)
        assert near.entry_id == eid(number)
        assert 0.99999 < near.cosine <= 1.0


async def test_an_opposite_vector_is_at_no_less_than_minus_one(index: VectorIndex) -> None:
    await index.add(HOME, eid(1), unit(1))
    (near,) = await index.search(HOME, Embedding(-unit(1).vector, E5), 1)
    assert -1.0 <= near.cosine < -0.99999


@pytest.mark.parametrize("k", [0, -1, -(2**40)])
async def test_no_neighbours_are_given_when_none_are_asked_for(index: VectorIndex, k: int) -> None:
    await fill(index, 5)
    assert await index.search(HOME, unit(1), k) == []


@pytest.mark.parametrize("k", [5, 6, 1000, 2**40])
async def test_asking_for_more_than_there_are_gives_all(index: VectorIndex, k: int) -> None:
    await fill(index, 5)
    found = await index.search(HOME, unit(1), k)
    assert sorted(near.entry_id for near in found) == [eid(number) for number in range(5)]


async def test_nothing_crosses_tenants_or_namespaces(index: VectorIndex) -> None:
    await fill(index, 5)
    for other in OTHERS:
        assert index.count(other) == 0
        assert await index.search(other, unit(1), 5) == []
    await index.add(OTHERS[0], eid(77), unit(1))
    assert [near.entry_id for near in await index.search(OTHERS[0], unit(1), 5)] == [eid(77)]
    assert eid(77) not in [near.entry_id for near in await index.search(HOME, unit(1), 50)]


async def test_encoders_are_never_compared_but_counted_together(index: VectorIndex) -> None:
    await index.add(HOME, eid(1), unit(1, E5))
    await index.add(HOME, eid(2), unit(1, MINILM))
    assert [near.entry_id for near in await index.search(HOME, unit(1, MINILM), 9)] == [eid(2)]
    assert index.count(HOME) == 2
    assert index.sizes() == (2, 1)


async def test_encoders_may_differ_in_dimension(index: VectorIndex) -> None:
    await index.add(HOME, eid(1), unit(1))
    short = np.zeros(8, np.float32)
    short[3] = 1.0
    await index.add(HOME, eid(2), Embedding(short, MINILM))
    assert [near.entry_id for near in await index.search(HOME, Embedding(short, MINILM), 9)] == [eid(2)]


async def test_adding_again_replaces(index: VectorIndex) -> None:
    await fill(index, 20)
    await index.add(HOME, eid(3), unit(500))
    assert index.count(HOME) == 20
    assert (await index.search(HOME, unit(500), 1))[0].entry_id == eid(3)
    by_id = {near.entry_id: near.cosine for near in await index.search(HOME, unit(3), 20)}
    assert by_id[eid(3)] == pytest.approx(float(unit(3).vector @ unit(500).vector), abs=1e-5)


async def test_adding_the_same_again_changes_nothing(index: VectorIndex) -> None:
    await fill(index, 20)
    before = await index.search(HOME, unit(900), 20)
    await fill(index, 20)
    assert index.sizes() == (20, 1)
    assert await index.search(HOME, unit(900), 20) == before


async def test_an_entry_moves_to_the_namespace_it_is_added_to(index: VectorIndex) -> None:
    await fill(index, 4)
    await index.add(OTHERS[1], eid(2), unit(2))
    assert (index.count(HOME), index.count(OTHERS[1])) == (3, 1)
    assert eid(2) not in [near.entry_id for near in await index.search(HOME, unit(2), 9)]


async def test_removal_shifts_nobody(index: VectorIndex) -> None:
    await fill(index, 40)
    gone = [eid(number) for number in (1, 0, 39, 17, 38)]
    assert await index.remove(gone) == 5
    assert index.count(HOME) == 35
    for number in range(40):
        (near,) = await index.search(HOME, unit(number), 1)
        if eid(number) in gone:
            assert near.entry_id not in gone
        else:
            assert (near.entry_id, near.cosine) == (eid(number), pytest.approx(1.0, abs=1e-5))


async def test_removing_the_unknown_or_twice_is_no_error(index: VectorIndex) -> None:
    await fill(index, 3)
    assert await index.remove([eid(1), eid(1), eid(99)]) == 1
    assert await index.remove([]) == 0
    assert index.count(HOME) == 2


async def test_removing_the_last_leaves_no_namespace(index: VectorIndex) -> None:
    await fill(index, 3)
    await index.remove([eid(number) for number in range(3)])
    assert index.sizes() == (0, 0)
    assert await index.search(HOME, unit(1), 3) == []
    await index.add(HOME, eid(1), unit(1))
    assert index.count(HOME) == 1


async def test_clear_forgets_everything(index: VectorIndex) -> None:
    await fill(index, 30)
    await index.clear()
    assert index.sizes() == (0, 0)
    assert await index.search(HOME, unit(1), 3) == []
    await fill(index, 3)
    assert len(await index.search(HOME, unit(1), 3)) == 3


async def test_a_full_index_takes_replacements_only(index: VectorIndex) -> None:
    await fill(index, 200)
    with pytest.raises(VectorIndexError) as refused:
        await index.add(HOME, eid(200), unit(200))
    assert refused.value.kind == "full"
    await index.add(HOME, eid(7), unit(777))
    assert (await index.search(HOME, unit(777), 1))[0].entry_id == eid(7)
    await index.remove([eid(0)])
    await index.add(HOME, eid(200), unit(200))
    assert index.sizes() == (200, 1)


GOOD = unit(1).vector
BAD: dict[str, tuple[object, str]] = {
    "nan": (np.where(np.arange(D) == 3, np.float32(np.nan), GOOD), "not_finite"),
    "inf": (np.where(np.arange(D) == 3, np.float32(-np.inf), GOOD), "not_finite"),
    "zero": (np.zeros(D, np.float32), "norm"),
    "long": (GOOD * np.float32(30), "norm"),
    "huge": (np.full(D, 3e38, np.float32), "norm"),
    "short": (GOOD * np.float32(0.998), "norm"),
    "float64": (GOOD.astype(np.float64), "dtype"),
    "list": (GOOD.tolist(), "dtype"),
    "rows": (GOOD[None], "dimension"),
    "wide": (np.concatenate([GOOD, GOOD]) / np.float32(2**0.5), "dimension"),
    "empty": (np.empty(0, np.float32), "dimension"),
}


def hostile(what: str) -> tuple[Embedding, str]:
    vector, kind = BAD[what]
    return Embedding(vector, E5), kind  # type: ignore[arg-type]  # hostile on purpose


@pytest.mark.parametrize("what", BAD)
async def test_a_bad_vector_is_refused_on_write_and_on_query(index: VectorIndex, what: str) -> None:
    await fill(index, 10)
    bad, kind = hostile(what)
    with pytest.raises(VectorIndexError) as on_write:
        await index.add(HOME, eid(1), bad)
    with pytest.raises(VectorIndexError) as on_query:
        await index.search(HOME, bad, 3)
    assert (on_write.value.kind, on_query.value.kind) == (kind, kind)
    assert (await index.search(HOME, unit(1), 1))[0].entry_id == eid(1)


async def test_a_tiny_drift_of_length_is_put_right(index: VectorIndex) -> None:
    drifted = Embedding(unit(1).vector * np.float32(1.0009), E5)
    await index.add(HOME, eid(1), drifted)
    (near,) = await index.search(HOME, drifted, 1)
    assert near.cosine == pytest.approx(1.0, abs=2e-7)


async def test_the_caller_may_reuse_its_array(index: VectorIndex) -> None:
    vector = unit(1).vector.copy()
    await index.add(HOME, eid(1), Embedding(vector, E5))
    vector[:] = unit(2).vector
    (near,) = await index.search(HOME, unit(1), 1)
    assert near.cosine == pytest.approx(1.0, abs=1e-5)


async def test_searches_and_writes_may_overlap(index: VectorIndex) -> None:
    await fill(index, 100)

    async def write() -> None:
        for number in range(0, 100, 2):
            await index.remove([eid(number)])
            await index.add(HOME, eid(number + 1000), unit(number))
            await asyncio.sleep(0)

    async def look(number: int) -> None:
        (near,) = await index.search(HOME, unit(number), 1)
        assert (near.entry_id, near.cosine) == (eid(number), pytest.approx(1.0, abs=1e-5))

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        for number in range(1, 100, 2):
            group.create_task(look(number))
    assert index.count(HOME) == 100
