"""The index against brute force, step by step, with scans in flight while it is written to."""

from __future__ import annotations

import asyncio

import faiss
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from semcache.core import Embedding, EncoderId, EntryId, Namespace, Neighbour, TenantId
from semcache.lookup.faiss_index import FaissIndex, IndexTuning
from tests.lookup.manual_worker import ManualWorker

D = 16
NAMESPACES = [Namespace(TenantId(t), d) for t, d in (("a", "x"), ("a", "y"), ("b", "x"))]
ENCODERS = [EncoderId("e5"), EncoderId("minilm")]
_POOL = np.random.default_rng(7).standard_normal((40, D))
# Every other vector is nearly the one before it: signs tie, floats do not.
_POOL[1::2] = _POOL[0::2] + 0.02 * _POOL[1::2]
POOL = (_POOL / np.linalg.norm(_POOL, axis=1, keepdims=True)).astype(np.float32)

namespaces = st.sampled_from(NAMESPACES[:1] * 4 + NAMESPACES)
encoders = st.sampled_from(ENCODERS[:1] * 4 + ENCODERS)
ids = st.integers(0, 30).map(lambda number: EntryId(f"entry-{number}"))
vectors = st.integers(0, len(POOL) - 1)

Key = tuple[Namespace, EncoderId]


class IndexMachine(RuleBasedStateMachine):
    tuning = IndexTuning(flat_rows=2, inline_rows=3)
    new_gpu_index = None

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.index = FaissIndex(tuning=self.tuning, new_gpu_index=self.new_gpu_index)
        self.worker = ManualWorker()
        self.index._worker = self.worker  # type: ignore[assignment]  # same interface
        self.model: dict[EntryId, tuple[Key, int]] = {}
        self.touched: set[EntryId] = set()
        self.flight: tuple[asyncio.Task[list[Neighbour]], Key, int] | None = None

    @initialize(held=st.lists(vectors, max_size=20))
    def begin(self, held: list[int]) -> None:
        for number, vector in enumerate(held):
            self.add(NAMESPACES[0], ENCODERS[0], EntryId(f"entry-{number}"), vector)

    @rule(namespace=namespaces, encoder=encoders, entry_id=ids, vector=vectors)
    def add(self, namespace: Namespace, encoder: EncoderId, entry_id: EntryId, vector: int) -> None:
        self.runner.run(self.index.add(namespace, entry_id, Embedding(POOL[vector], encoder)))
        self.model[entry_id] = ((namespace, encoder), vector)
        self.touched.add(entry_id)

    @rule(gone=st.lists(ids, max_size=6))
    def remove(self, gone: list[EntryId]) -> None:
        known = sum(self.model.pop(entry_id, None) is not None for entry_id in gone)
        assert self.runner.run(self.index.remove(gone)) == known
        self.touched.update(gone)

    @rule()
    def clear(self) -> None:
        self.runner.run(self.index.clear())
        self.touched.update(self.model)
        self.model.clear()

    @rule(namespace=namespaces, encoder=encoders, vector=vectors, k=st.integers(-1, 40))
    def search(self, namespace: Namespace, encoder: EncoderId, vector: int, k: int) -> None:
        key = (namespace, encoder)
        if self._is_threaded(key) and k > 0:
            return
        found = self.runner.run(self.index.search(namespace, Embedding(POOL[vector], encoder), k))
        expected = sorted(self.truth(key, vector).values(), reverse=True)[: max(0, k)]
        assert np.allclose([near.cosine for near in found], expected, atol=1e-5)
        self.is_true(found, key, vector)

    @precondition(lambda self: self.flight is None)
    @rule(namespace=namespaces, encoder=encoders, vector=vectors)
    def begin_scan(self, namespace: Namespace, encoder: EncoderId, vector: int) -> None:
        key = (namespace, encoder)
        if not self._is_threaded(key):
            return
        self.touched.clear()

        async def begin() -> asyncio.Task[list[Neighbour]]:
            query = Embedding(POOL[vector], encoder)
            task = asyncio.create_task(self.index.search(namespace, query, 100))
            for _ in range(3):
                await asyncio.sleep(0)
            return task

        self.flight = (self.runner.run(begin()), key, vector)
        assert self.worker.running

    @precondition(lambda self: self.flight is not None)
    @rule()
    def end_scan(self) -> None:
        assert self.flight is not None
        task, key, vector = self.flight
        self.flight = None

        async def end() -> list[Neighbour]:
            self.worker.end()
            return await task

        found = self.runner.run(end())
        self.is_true(found, key, vector)
        untouched = {i for i, (held, _) in self.model.items() if held == key} - self.touched
        assert untouched <= {near.entry_id for near in found}

    @precondition(lambda self: self.flight is not None)
    @rule()
    def cancel_scan(self) -> None:
        assert self.flight is not None
        task = self.flight[0]
        self.flight = None

        async def cancel() -> None:
            task.cancel()
            await asyncio.wait([task])
            # A thread cannot be stopped midway: the scan goes on, and others' turns come after it.
            self.worker.end()
            for _ in range(3):
                await asyncio.sleep(0)

        self.runner.run(cancel())
        assert task.cancelled()
        assert not self.worker.running

    @invariant()
    def integrity(self) -> None:
        self.index.check_integrity()
        spaces = {key[0] for key, _ in self.model.values()}
        assert self.index.sizes() == (len(self.model), len(spaces))
        assert sorted(self.index.entry_ids()) == sorted(self.model)
        for namespace in NAMESPACES:
            held = sorted(i for i, (key, _) in self.model.items() if key[0] == namespace)
            assert self.index.count(namespace) == len(held)
            assert sorted(self.index.entry_ids(namespace)) == held

    def truth(self, key: Key, vector: int) -> dict[EntryId, float]:
        return {
            i: float(np.clip(POOL[v] @ POOL[vector], -1, 1)) for i, (k, v) in self.model.items() if k == key
        }

    def is_true(self, found: list[Neighbour], key: Key, vector: int) -> None:
        truth = self.truth(key, vector)
        assert len({near.entry_id for near in found}) == len(found)
        for near in found:
            assert abs(near.cosine - truth[near.entry_id]) < 1e-5
        assert [near.cosine for near in found] == sorted((near.cosine for near in found), reverse=True)

    def _is_threaded(self, key: Key) -> bool:
        return sum(held == key for held, _ in self.model.values()) > self.tuning.inline_rows

    def teardown(self) -> None:
        if self.flight is not None:
            self.cancel_scan()
        self.runner.close()


class MirroredMachine(IndexMachine):
    """The same with a stand-in for the GPU's index: exact, append-only, on the CPU."""

    tuning = IndexTuning(flat_rows=2, inline_rows=3, gpu_rows=4)
    new_gpu_index = staticmethod(faiss.IndexFlatIP)


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestMirroredMachine = MirroredMachine.TestCase
TestMirroredMachine.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
