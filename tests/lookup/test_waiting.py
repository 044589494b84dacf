"""Searches that come at once are made together, and each gets what it would have got alone."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId, EntryId, Namespace, Neighbour, TenantId
from semcache.errors import VectorIndexError
from semcache.lookup import scan
from semcache.lookup.faiss_index import FaissIndex, IndexTuning
from semcache.lookup.snapshot_format import Block
from semcache.lookup.waiting import TOGETHER
from tests.lookup.snapshots import rows

E = EncoderId("e")
HOMES = [Namespace(TenantId(name), "aa") for name in "ab"]
COUNT = 600
VECTORS = rows(2 * COUNT, 32)


def filled() -> FaissIndex:
    index = FaissIndex(tuning=IndexTuning(flat_rows=16, inline_rows=32))
    for number, home in enumerate(HOMES):
        ids = tuple(EntryId(f"{number}-{row}") for row in range(COUNT))
        index.take(Block(home, E, ids, VECTORS[number * COUNT : (number + 1) * COUNT]))
    return index


async def ask(index: FaissIndex, home: int, row: int, k: int = 3) -> list[Neighbour]:
    return await index.search(HOMES[home], Embedding(VECTORS[home * COUNT + row], E), k)


async def test_each_gets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    index, turns = filled(), 0
    run = index._worker.run

    async def counted(errand: object) -> object:
        nonlocal turns
        turns += 1
        return await run(errand)  # type: ignore[arg-type] # whatever it was

    monkeypatch.setattr(index._worker, "run", counted)
    asked = [(row % 2, row, 1 + row % 5) for row in range(100)]
    found = await asyncio.gather(*(ask(index, *one) for one in asked))
    for (home, row, k), near in zip(asked, found, strict=True):
        assert (near[0].entry_id, len(near)) == (f"{home}-{row}", k)
        truth = np.sort(VECTORS[home * COUNT : (home + 1) * COUNT] @ VECTORS[home * COUNT + row])[::-1][:1]
        assert near[0].cosine == pytest.approx(float(truth[0]), abs=1e-5)
    assert turns <= 100 // TOGETHER + 8
    index.check_integrity()
    await index.aclose()


async def test_who_leaves_harms_nobody() -> None:
    index = filled()
    tasks = [asyncio.create_task(ask(index, 0, row)) for row in range(40)]
    await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    await asyncio.wait(tasks)
    for row, task in enumerate(tasks):
        assert task.cancelled() == (row % 3 == 0)
        if not task.cancelled():
            assert task.result()[0].entry_id == f"0-{row}"
    # All of a line may leave.
    lost = [asyncio.create_task(ask(index, 1, row)) for row in range(5)]
    await asyncio.sleep(0)
    for task in lost:
        task.cancel()
    await asyncio.wait(lost)
    assert (await ask(index, 1, 7))[0].entry_id == "1-7"
    await index.aclose()


async def test_what_goes_meanwhile_is_in_nobodys_answer() -> None:
    index = filled()
    tasks = [asyncio.create_task(ask(index, 0, row, 4)) for row in range(60)]
    await asyncio.sleep(0.002)
    gone = {EntryId(f"0-{row}") for row in range(0, 60, 2)}
    await index.remove(sorted(gone))
    for task in tasks[20:]:
        await task
    late = await asyncio.gather(*(ask(index, 0, row, 4) for row in range(60)))
    for near in late:
        assert len(near) == 4
        assert not {one.entry_id for one in near} & gone
    index.check_integrity()
    await index.remove([EntryId(f"0-{row}") for row in range(COUNT)])
    assert await ask(index, 0, 1) == []
    await asyncio.gather(*tasks)
    await index.aclose()


async def test_a_fault_is_told_to_all_and_the_next_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled()

    def broken(*_: object) -> object:
        raise RuntimeError("no")

    monkeypatch.setattr(scan, "rescored", broken)
    told = await asyncio.gather(*(ask(index, 0, row) for row in range(20)), return_exceptions=True)
    assert {type(one) for one in told} == {VectorIndexError}
    monkeypatch.undo()
    assert (await ask(index, 0, 3))[0].entry_id == "0-3"
    index.check_integrity()
    waiting = [asyncio.create_task(ask(index, row % 2, row)) for row in range(40)]
    await asyncio.sleep(0)
    await index.aclose()
    for one in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(one, list) or (isinstance(one, VectorIndexError) and one.kind == "closed")
