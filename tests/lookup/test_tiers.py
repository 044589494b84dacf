"""The tiers inside a partition: growth, upgrade, rescoring, and the thread that scans."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Embedding, EncoderId, EntryId, Namespace, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup import scan
from semcache.lookup.arena import CHUNK_ROWS, Arena
from semcache.lookup.faiss_index import FaissIndex, IndexTuning
from semcache.lookup.mirror import Mirror
from semcache.lookup.worker import Errand, ScanThread

E5 = EncoderId("e5")
HOME = Namespace(TenantId("acme"), "aa")


def units(count: int, dimension: int = 32, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def filled(rows: np.ndarray, flat_rows: int = 8) -> Arena:
    arena = Arena(rows.shape[1], flat_rows)
    for row in rows:
        arena.append(row)
    return arena


@given(st.lists(st.integers(0, 10**6) | st.none(), max_size=120), st.integers(1, 12))
@settings(deadline=None)
def test_an_arena_is_a_list_of_rows(steps: list[int | None], flat_rows: int) -> None:
    pool = units(64, 8)
    arena, model = Arena(8, flat_rows), []
    for step in steps:
        if step is None or not model:
            row = pool[len(model) % 64]
            assert arena.append(row) == len(model)
            model.append(row)
        else:
            slot = step % len(model)
            arena.fill(slot)
            last = model.pop()
            if slot < len(model):
                model[slot] = last
    assert arena.size == len(model)
    for slot, row in enumerate(model):
        assert np.array_equal(arena.row(slot), row)
    parts = arena.parts()
    assert [part.offset for part in parts] == list(np.cumsum([0] + [len(part.rows) for part in parts])[:-1])
    assert sum(len(part.rows) for part in parts) == len(model)
    signs = arena.signs()
    assert (signs is not None) == arena.is_coded
    if signs is not None:
        assert np.array_equal(signs.codes, signs.code(np.array(model)))


def test_views_survive_appends() -> None:
    rows = units(500)
    arena = filled(rows[:20])
    parts = arena.parts()
    for row in rows[20:]:
        arena.append(row)
    assert np.array_equal(np.concatenate([part.rows for part in parts]), rows[:20])


def test_memory_is_given_back() -> None:
    arena = filled(units(5000), flat_rows=64)
    full = arena.nbytes
    while arena.size > 10:
        arena.fill(0)
    assert not arena.is_coded
    assert arena.nbytes < full / 100


def test_no_chunk_is_larger_than_stated() -> None:
    arena = Arena(1, 1024)
    one = np.ones(1, np.float32)
    for _ in range(100_000):
        arena.append(one)
    assert max(len(part.rows) for part in arena.parts()) == CHUNK_ROWS
    assert len(arena.parts()) == 9


def test_rescoring_is_exact_when_wide_enough() -> None:
    rows, queries = units(300), units(20, seed=5)
    arena = filled(rows)
    for query in queries:
        slots, cosines = coded(arena, query, 1, width=300)
        assert np.array_equal(slots, np.argsort(-(rows @ query), kind="stable"))
        assert np.allclose(cosines, np.sort(rows @ query)[::-1], atol=1e-6)


def coded(
    arena: Arena, query: np.ndarray, k: int, width: int = scan.WIDTH, most: int = scan.MOST
) -> tuple[np.ndarray, np.ndarray]:
    signs = arena.signs()
    assert signs is not None
    return scan.rescored(arena.parts(), query, scan.ranked(signs, query, most), k, width)


def jittered(centres: np.ndarray, copies: int, spread: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = np.repeat(centres, copies, axis=0)
    rows = rows + spread / rows.shape[1] ** 0.5 * rng.standard_normal(rows.shape)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("copies", [1, 50, 400])
def test_clustered_rows_are_recalled(copies: int) -> None:
    """Near questions to topics of 1, 50 and 400 near-duplicates (cosine 0.99 to each other)."""
    rows = jittered(units(8000 // copies, 384, seed=1), copies, 0.1, seed=3)
    queries = jittered(rows[::41], 1, 0.3, seed=4)
    arena = filled(rows, 1024)
    truth = queries @ rows.T
    first, eight = [], []
    for query, cosines in zip(queries, truth, strict=True):
        slots, found = coded(arena, query, 8)
        first.append(found[0] >= cosines.max() - 1e-6)
        near = [slot for slot in np.argsort(-cosines)[:8] if cosines[slot] >= 0.8]
        eight.append(len(np.intersect1d(slots[:8], near)) / len(near))
    assert np.mean(first) >= 0.99
    assert np.mean(eight) >= 0.98


def test_no_more_is_rescored_than_stated() -> None:
    rows = jittered(units(1, 64), 3000, 0.01, seed=1)
    arena = filled(rows, 1024)
    slots, _ = coded(arena, rows[0], 8, width=32, most=500)
    assert len(slots) == 500
    far = units(3000, 64, seed=8)
    near, _ = coded(filled(far, 1024), far[5], 1, width=32, most=500)
    assert len(near) == 32


def test_an_encoder_of_a_narrow_cone_is_recalled() -> None:
    """All cosines above 0.8, as some encoders give: most signs about zero are equal."""
    cone = units(1, 384, seed=21)
    rows = units(4000, 384, seed=22) * 0.45 + cone
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    assert (rows @ rows[0]).min() > 0.7
    queries = jittered(rows[::40], 1, 0.15, seed=23)
    arena = filled(rows, 1024)
    right = [coded(arena, q, 1)[0][0] == t for q, t in zip(queries, range(0, 4000, 40), strict=True)]
    assert np.mean(right) >= 0.99


def test_a_first_thousand_of_one_kind_spoils_nothing() -> None:
    rows = np.concatenate([jittered(units(1, 384), 1024, 0.3, seed=5), units(5000, 384, seed=6)])
    arena = filled(rows, 1024)
    queries = jittered(rows[::61], 1, 0.5, seed=7)
    right = [coded(arena, q, 1)[0][0] == np.argmax(rows @ q) for q in queries]
    assert np.mean(right) >= 0.99


def test_equal_rows_are_no_trouble() -> None:
    rows = np.repeat(units(1, 384), 3000, axis=0)
    slots, cosines = coded(filled(rows, 1024), rows[0], 8)
    assert len(slots) == scan.MOST
    assert np.allclose(cosines, 1.0, atol=1e-5)


def test_equal_signs_do_not_hide_the_nearest() -> None:
    # All in the positive orthant: every code is the same, the order is that of the floats alone.
    rows = np.abs(units(1000))
    arena = filled(rows)
    query = np.abs(units(1, seed=9))[0]
    assert coded(arena, query, 1)[0][0] == np.argmax(rows @ query)


async def test_many_ghosts_do_not_hide_the_living() -> None:
    index = FaissIndex(tuning=IndexTuning(flat_rows=8, width=16))
    rows = units(400, seed=2)
    near = rows[0] + 1e-3 * rows[1:300]
    near = near / np.linalg.norm(near, axis=1, keepdims=True)
    for number, row in enumerate(near):
        await index.add(HOME, EntryId(f"ghost-{number}"), Embedding(row, E5))
    await index.add(HOME, EntryId("live"), Embedding(rows[350], E5))
    await index.remove([EntryId(f"ghost-{number}") for number in range(299)])
    assert [n.entry_id for n in await index.search(HOME, Embedding(rows[0], E5), 5)] == ["live"]


async def test_big_searches_scan_and_score_on_threads_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    index = FaissIndex(tuning=IndexTuning(flat_rows=8, inline_rows=16))
    for number, row in enumerate(units(200)):
        await index.add(HOME, EntryId(str(number)), Embedding(row, E5))
    seen: dict[str, set[threading.Thread]] = {"ranked": set(), "rescored": set()}

    def spy(name: str) -> Callable[..., object]:
        original = getattr(scan, name)

        def spied(*arguments: object) -> object:
            seen[name].add(threading.current_thread())
            return original(*arguments)

        return spied

    for name in seen:
        monkeypatch.setattr(scan, name, spy(name))
    await asyncio.gather(*(index.search(HOME, Embedding(row, E5), 3) for row in units(50)))
    assert {thread.name.rpartition("_")[0] for thread in seen["ranked"]} <= {
        "semcache-lookup",
        "semcache-helper",
    }
    assert seen["rescored"] == seen["ranked"], "the loop has other things to do"
    await index.aclose()


async def test_a_scan_that_waits_while_its_partition_shrinks_or_goes() -> None:
    index = FaissIndex(tuning=IndexTuning(flat_rows=8, inline_rows=16))
    rows = units(100)
    for left in (0, 1, 3):
        for number, row in enumerate(rows):
            await index.add(HOME, EntryId(str(number)), Embedding(row, E5))
        waiting = [asyncio.create_task(index.search(HOME, Embedding(rows[0], E5), 5)) for _ in range(5)]
        await asyncio.sleep(0)
        await index.remove([EntryId(str(number)) for number in range(left, 100)])
        for found in await asyncio.gather(*waiting):
            assert sorted(near.entry_id for near in found) == [str(number) for number in range(left)]
        index.check_integrity()
    await index.aclose()


async def test_after_closing_big_searches_are_refused() -> None:
    index = FaissIndex(tuning=IndexTuning(flat_rows=2, inline_rows=2))
    rows = units(5)
    for number, row in enumerate(rows):
        await index.add(HOME, EntryId(str(number)), Embedding(row, E5))
    await index.aclose()
    await index.aclose()
    with pytest.raises(VectorIndexError) as refused:
        await index.search(HOME, Embedding(rows[0], E5), 3)
    assert refused.value.kind == "closed"
    index.check_integrity()


async def test_a_cancelled_scan_gives_its_turn_up_only_when_it_is_over() -> None:
    worker, order = ScanThread(), []
    may_end = threading.Event()

    def slow() -> None:
        may_end.wait(5)
        order.append("first ran")

    def errand(job: Callable[[], None], name: str) -> Errand[None, None]:
        return Errand(
            lambda: job, lambda _: order.append(f"{name} ended"), lambda: order.append(f"{name} over")
        )

    first = asyncio.create_task(worker.run(errand(slow, "first")))
    await asyncio.sleep(0.02)
    second = asyncio.create_task(worker.run(errand(lambda: order.append("second ran"), "second")))
    await asyncio.sleep(0.02)
    first.cancel()
    await asyncio.wait([first])
    await asyncio.sleep(0.02)
    assert first.cancelled()
    assert order == []
    may_end.set()
    await second
    await worker.aclose()
    assert order == ["first ran", "first over", "second ran", "second ended", "second over"]


@pytest.mark.parametrize("where", ["begin", "job", "end"])
async def test_whatever_fails_gives_its_turn_up(where: str) -> None:
    worker, released = ScanThread(), []

    def fail(*_: object) -> int:
        raise MemoryError

    def one() -> int:
        return 1

    errand = Errand(
        fail if where == "begin" else lambda: fail if where == "job" else one,
        fail if where == "end" else lambda result: result,
        lambda: released.append(where),
    )
    with pytest.raises(MemoryError):
        await worker.run(errand)  # type: ignore[arg-type]  # begin gives no job when it fails
    assert await worker.run(Errand(lambda: one, lambda result: result + 1, lambda: None)) == 2
    assert released == [where]
    await worker.aclose()


async def test_an_ignored_failure_is_not_complained_of() -> None:
    worker, complaints, may_end = ScanThread(), [], threading.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))

    def fail() -> None:
        may_end.wait(5)
        raise MemoryError

    task = asyncio.create_task(worker.run(Errand(lambda: fail, lambda _: None, lambda: None)))
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])
    may_end.set()
    await worker.aclose()
    gc.collect()
    assert complaints == []


async def test_scanning_leaves_other_threads_openmp_setting_alone() -> None:
    before = faiss.omp_get_max_threads()
    worker = ScanThread()
    ask = Errand(lambda: faiss.omp_get_max_threads, lambda threads: threads, lambda: None)
    inside = await worker.run(ask)
    await worker.aclose()
    assert (inside, faiss.omp_get_max_threads()) == (1, before)


class BrokenGpu:
    """A device that goes away at the second search."""

    def __init__(self, dimension: int) -> None:
        self._index = faiss.IndexFlatIP(dimension)
        self._searches = 0

    def add(self, rows: np.ndarray) -> None:
        self._index.add(rows)

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        self._searches += 1
        if self._searches > 1:
            raise RuntimeError("CUDA error 999")
        found: tuple[np.ndarray, np.ndarray] = self._index.search(query, k)
        return found


@pytest.mark.event(29)
async def test_a_lost_gpu_is_replaced_by_the_cpu_for_good() -> None:
    tuning = IndexTuning(flat_rows=8, inline_rows=16, gpu_rows=20)
    index = FaissIndex(new_gpu_index=BrokenGpu, tuning=tuning)
    rows = units(100)
    for number, row in enumerate(rows):
        await index.add(HOME, EntryId(str(number)), Embedding(row, E5))
    for number in range(5):
        (near,) = await index.search(HOME, Embedding(rows[number], E5), 1)
        assert near.entry_id == str(number)
    assert index.gpu_faults == 1
    await index.aclose()


def test_a_mirror_is_made_anew_when_too_much_is_stale() -> None:
    made: list[object] = []

    def new_index(dimension: int) -> object:
        made.append(dimension)
        return faiss.IndexFlatIP(dimension)

    rows = units(60)
    arena = filled(rows)
    mirror = Mirror(new_index, 32, arena.size)
    for round_ in range(1500):
        mirror.touch(round_ % 60)
        slots = mirror.snapshot(60).candidates(arena.parts(), rows[7], 60).slots
        assert sorted(slots.tolist()) == list(range(60))
    assert len(made) == 2


async def test_given_dimensions_outlive_a_clear_and_a_bad_first_vector() -> None:
    index = FaissIndex(dimensions={E5: 32})
    wrong = Embedding(units(1, 16)[0], E5)
    for _ in range(2):
        with pytest.raises(VectorIndexError) as refused:
            await index.add(HOME, EntryId("1"), wrong)
        assert refused.value.kind == "dimension"
        await index.clear()
