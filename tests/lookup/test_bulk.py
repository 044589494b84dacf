"""Many vectors at once: taken in as one by one, given out whole while the index changes, mirrored when there are many."""

from __future__ import annotations

import asyncio

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Embedding, EncoderId, EntryId, Namespace, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup.arena import Arena
from semcache.lookup.faiss_index import GPU_ROWS, FaissIndex, IndexTuning
from semcache.lookup.partition import SPLIT_ROWS
from semcache.lookup.signs import directions
from semcache.lookup.snapshot_format import Block
from tests.lookup.snapshots import rows

E = EncoderId("e")
HOME, OTHER = Namespace(TenantId("a"), "aa"), Namespace(TenantId("b"), "aa")


def names(start: int, stop: int) -> tuple[EntryId, ...]:
    return tuple(EntryId(str(number)) for number in range(start, stop))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 90), min_size=1, max_size=8), st.sampled_from([4, 24, 600]))
def test_an_arena_filled_at_once_is_one_filled_row_by_row(sizes: list[int], dimension: int) -> None:
    one, other = Arena(dimension, flat_rows=32), Arena(dimension, flat_rows=32)
    vectors = rows(sum(sizes), dimension)
    done = 0
    for size in sizes:
        assert one.extend(vectors[done : done + size]) == done
        for row in vectors[done : done + size]:
            other.append(row)
        done += size
    assert one.size == other.size == done
    assert one.is_coded == other.is_coded
    for arena in (one, other):
        assert np.array_equal(arena.copy(0, done), vectors)
        if done > 3:
            assert np.array_equal(arena.copy(2, done - 1), vectors[2 : done - 1])


async def test_what_is_held_already_stays_and_what_is_too_much_is_left() -> None:
    index = FaissIndex(max_vectors=30)
    vectors = rows(50, 8)
    await index.add(OTHER, EntryId("3"), Embedding(vectors[40], E))
    assert index.take(Block(HOME, E, names(0, 10), vectors[:10])) == 9
    assert index.take(Block(HOME, E, ("5", "5", "x", "x"), vectors[10:14])) == 1  # type: ignore[arg-type] # ids
    assert index.take(Block(HOME, E, names(10, 50), vectors[10:])) == 19
    assert index.take(Block(HOME, E, names(60, 62), rows(2, 9))) == 0, "another dimension"
    assert index.sizes() == (30, 2)
    index.check_integrity()
    (near,) = await index.search(OTHER, Embedding(vectors[40], E), 3)
    assert near.entry_id == "3"
    with pytest.raises(VectorIndexError):
        await index.add(HOME, EntryId("more"), Embedding(vectors[0], E))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_stays_while_pieces_are_taken_is_in_them(data: st.DataObject) -> None:
    # Not a test that is itself a coroutine: a draw may end it by what no task should raise.
    asyncio.run(pieces_taken(data))


async def pieces_taken(data: st.DataObject) -> None:
    index = FaissIndex(tuning=IndexTuning(flat_rows=16))
    vectors = rows(120, 8)
    index.take(Block(HOME, E, names(0, 40), vectors[:40]))
    index.take(Block(OTHER, E, names(40, 60), vectors[40:60]))
    staying, given_out = set(names(0, 60)), dict[EntryId, np.ndarray]()
    fresh = 60
    for piece in index.pieces(7):
        assert len(piece.ids) == len(piece.rows) <= 7
        given_out.update(zip(piece.ids, piece.rows, strict=True))
        for _ in range(data.draw(st.integers(0, 3))):
            if data.draw(st.booleans()) or fresh == 120:
                gone = EntryId(str(data.draw(st.integers(0, fresh - 1))))
                await index.remove([gone])
                staying.discard(gone)
            else:
                await index.add(HOME, EntryId(str(fresh)), Embedding(vectors[fresh], E))
                fresh += 1
    assert staying <= given_out.keys()
    for entry_id, row in given_out.items():
        assert np.array_equal(row, vectors[int(entry_id)])
    index.check_integrity()


def test_directions_fill_codes_up_to_a_good_length() -> None:
    for dimension, more in ((24, 40), (64, None), (384, 128), (512, None), (768, None), (1000, None)):
        found = directions(dimension)
        assert (None if found is None else found.shape[1]) == more
        assert found is directions(dimension)


async def test_a_large_partition_is_scanned_in_two_halves() -> None:
    count = SPLIT_ROWS + 501
    vectors = rows(count, 32, seed=3)
    index = FaissIndex()
    for start in range(0, count, 8192):
        some = vectors[start : start + 8192]
        index.take(Block(HOME, E, names(start, start + len(some)), some))
    # Of each half, and on both sides of the cut.
    for number in (0, 1, count // 2 - 1, count // 2, count // 2 + 1, count - 2, count - 1):
        found = await index.search(HOME, Embedding(vectors[number], E), 3)
        assert (found[0].entry_id, found[0].cosine) == (str(number), pytest.approx(1.0, abs=1e-5))
    await index.aclose()


async def test_from_many_rows_on_a_gpu_proposes_and_follows_what_is_taken_in() -> None:
    """The same code as with a GPU, with FAISS' exact index on the CPU in its place."""
    made: list[faiss.IndexFlatIP] = []

    def factory(dimension: int) -> faiss.IndexFlatIP:
        made.append(faiss.IndexFlatIP(dimension))
        return made[-1]

    index = FaissIndex(new_gpu_index=factory)
    vectors = rows(GPU_ROWS + 2000, 32, seed=4)
    first = GPU_ROWS - 1
    index.take(Block(HOME, E, names(0, first), vectors[:first]))
    assert (await index.search(HOME, Embedding(vectors[7], E), 1))[0].entry_id == "7"
    assert made == [], "not yet worth its memory"
    index.take(Block(HOME, E, names(first, GPU_ROWS + 1000), vectors[first : GPU_ROWS + 1000]))
    truth = vectors[: GPU_ROWS + 1000]
    for query in rows(20, 32, seed=9):
        best = np.argsort(-(truth @ query), kind="stable")[:5]
        found = await index.search(HOME, Embedding(query, E), 5)
        assert [near.entry_id for near in found] == [str(number) for number in best]
    assert made[0].ntotal == GPU_ROWS + 1000
    index.take(Block(HOME, E, names(GPU_ROWS + 1000, GPU_ROWS + 2000), vectors[GPU_ROWS + 1000 :]))
    await index.remove([EntryId("7")])
    for number in (GPU_ROWS + 1500, 8):
        assert (await index.search(HOME, Embedding(vectors[number], E), 1))[0].entry_id == str(number)
    assert (await index.search(HOME, Embedding(vectors[7], E), 1))[0].entry_id != "7"
    index.check_integrity()
    await index.aclose()
