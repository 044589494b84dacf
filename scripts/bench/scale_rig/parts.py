"""The parts of the bench; each prints what it found."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import faiss
import numpy as np
import psutil

from scale_rig import corpus, rebuilding
from semcache.core import Embedding, EncoderId, EntryId, Namespace, TenantId
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.keeping import Keeper, KeepingTuning
from semcache.lookup.snapshot_format import MOST_ROWS, Block
from semcache.ports import StreamCursor

E = EncoderId("bench@1")
HOME = Namespace(TenantId("bench"), "aa" * 32)
K = 8


def name(number: int) -> EntryId:
    return EntryId(f"{number:016x}")


def filled(rows: np.ndarray, index: FaissIndex | None = None) -> FaissIndex:
    """An index with all rows in one namespace."""
    index = index or FaissIndex(max_vectors=len(rows) + 1000)
    for start in range(0, len(rows), MOST_ROWS):
        some = rows[start : start + MOST_ROWS]
        index.take(Block(HOME, E, tuple(map(name, range(start, start + len(some)))), some))
    return index


def rank(times: list[float]) -> str:
    ms = np.array(times) * 1e3
    return f"p50 {np.median(ms):6.2f}  p95 {np.quantile(ms, 0.95):6.2f}  p99 {np.quantile(ms, 0.99):6.2f}  max {ms.max():6.2f} ms"


@contextlib.asynccontextmanager
async def other_work(share: float) -> AsyncIterator[list[float]]:
    """Keep the event loop busy for a share of the time, 0.3 ms at a stretch; gives by how much it was late."""
    late: list[float] = []

    async def work() -> None:
        while True:
            rest = 0.0003 / share - 0.0003
            began = time.perf_counter()
            await asyncio.sleep(rest)
            late.append(time.perf_counter() - began - rest)
            until = time.perf_counter() + 0.0003
            while time.perf_counter() < until:
                pass

    task = asyncio.create_task(work()) if share else None
    try:
        yield late
    finally:
        if task is not None:
            task.cancel()


@contextlib.contextmanager
def urgent(wanted: bool) -> Iterator[None]:
    """Go before all other processes for a while: so a shared machine measures about as a quiet one (needs root)."""

    def to(policy: int, priority: int) -> None:
        for thread in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))

    if wanted:
        to(os.SCHED_FIFO, 1)
    try:
        yield
    finally:
        if wanted:
            to(os.SCHED_OTHER, 0)


async def arriving(index: FaissIndex, queries: np.ndarray, rate: float, share: float) -> str:
    """Questions that come when they come, so many a second on average, however long the others take."""
    times: list[float] = []
    pauses = np.random.default_rng(7).exponential(1 / rate, len(queries))

    async def ask(query: np.ndarray) -> None:
        began = time.perf_counter()
        await index.search(HOME, Embedding(query, E), K)
        times.append(time.perf_counter() - began)

    async with other_work(share), asyncio.TaskGroup() as group:
        for query, pause in zip(queries, pauses.tolist(), strict=True):
            group.create_task(ask(query))
            await asyncio.sleep(pause)
    return rank(times)


async def timed(index: FaissIndex, queries: np.ndarray, at_once: int, share: float) -> str:
    times: list[float] = []
    waiting = iter(queries)

    async def ask() -> None:
        for query in waiting:
            began = time.perf_counter()
            await index.search(HOME, Embedding(query, E), K)
            times.append(time.perf_counter() - began)

    async with other_work(share) as late:
        await asyncio.gather(*(ask() for _ in range(at_once)))
    loop = f"; loop late p99 {np.quantile(np.array(late) * 1e3, 0.99):.2f} ms" if late else ""
    return rank(times) + loop


def truth(rows: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Brute force in float32: the K best cosines and slots of each query."""
    best = np.full((len(queries), K), -2.0, np.float32)
    slots = np.zeros((len(queries), K), np.int64)
    for start in range(0, len(rows), 100_000):
        found, labels = faiss.knn(
            queries, rows[start : start + 100_000], K, metric=faiss.METRIC_INNER_PRODUCT
        )
        both, names = np.concatenate([best, found], 1), np.concatenate([slots, labels + start], 1)
        order = np.argsort(-both, axis=1, kind="stable")[:, :K]
        best, slots = np.take_along_axis(both, order, 1), np.take_along_axis(names, order, 1)
    return best, slots


async def recall(index: FaissIndex, rows: np.ndarray, queries: np.ndarray) -> str:
    """Recall@1: the best found is as near as the best there is (1e-6); recall@8: how many of the 8 are found."""
    best, slots = truth(rows, queries)
    first, eight = [], []
    for query, cosines, right in zip(queries, best, slots, strict=True):
        found = await index.search(HOME, Embedding(query, E), K)
        first.append(bool(found) and found[0].cosine >= cosines[0] - 1e-6)
        eight.append(len({near.entry_id for near in found} & {name(slot) for slot in right.tolist()}) / K)
    served = best[:, 0] >= 0.8
    words = f"recall@1 {np.mean(first):.4f}  recall@8 {np.mean(eight):.4f}  (best at {np.median(best[:, 0]):.2f} in the middle"
    if served.any() and not served.all():
        words += f"; of the {served.sum()} at 0.8 and nearer {np.array(first)[served].mean():.4f}"
    return words + ")"


async def _asked(
    index: FaissIndex, rows: np.ndarray, questions: dict[str, np.ndarray], chosen: argparse.Namespace
) -> None:
    for kind, queries in questions.items():
        print(f"  {kind:7} {await recall(index, rows, queries)}, {len(queries)} questions", flush=True)
        for at_once, share in ((1, 0.0), (1, 0.2), (8, 0.2)):
            load = os.getloadavg()[0]
            with urgent(chosen.urgent):
                said = [await timed(index, queries[: chosen.timed], at_once, share) for _ in range(3)]
            # Of three runs the middle one by its p99.
            middle = sorted(said, key=lambda words: float(words.split("p99")[1].split()[0]))[1]
            print(
                f"  {kind:7} {at_once} at once, loop {share:.0%} busy: {middle}  (load {load:.1f})",
                flush=True,
            )
        for rate in (50, 100, 200):
            with urgent(chosen.urgent):
                said = await arriving(index, queries[: chosen.timed], rate, 0.2)
            print(f"  {kind:7} {rate} a second, loop 20% busy: {said}", flush=True)
    await index.aclose()


def lookup(source: corpus.Base, chosen: argparse.Namespace) -> None:
    """Questions near and far against n vectors of one namespace."""
    rows = corpus.grown(source.rows, chosen.n)
    some = np.random.default_rng(5).permutation(len(rows))[:2000]
    kin = truth(rows, rows[some])[0][:, 1]
    real = faiss.knn(source.rows[:4000], source.rows, 2, metric=faiss.METRIC_INNER_PRODUCT)[0][:, 1]
    for words, these in (("of the made", kin), ("of the real", real)):
        print(
            f"  cosine to the nearest other, {words}: 10/50/90 % {np.quantile(these, [0.1, 0.5, 0.9]).round(3)}"
        )
    questions = {"near": corpus.near(rows, source, chosen.queries), "far": source.far[: chosen.queries]}
    asyncio.run(_asked(filled(rows), rows, questions, chosen))


def random(source: corpus.Base, chosen: argparse.Namespace) -> None:
    """The adversarial case: nothing is near anything. Near ones are stored ones turned by 37 degrees (0.8)."""
    del source
    rows = corpus.random(chosen.n)
    away = corpus.random(chosen.queries, 4)
    picked = rows[np.random.default_rng(6).integers(len(rows), size=chosen.queries)]
    close = corpus.unit(picked + 0.75 * away)
    asyncio.run(_asked(filled(rows), rows, {"near": close, "far": away}, chosen))


def churn(source: corpus.Base, chosen: argparse.Namespace) -> None:
    """How fast single vectors come and go in a full index."""
    rows = corpus.grown(source.rows, chosen.n)

    async def run() -> None:
        index = FaissIndex(max_vectors=len(rows) + 1000)
        began = time.perf_counter()
        pauses = []
        for number, row in enumerate(rows):
            step = time.perf_counter()
            await index.add(HOME, name(number), Embedding(row, E))
            pauses.append(time.perf_counter() - step)
        built = time.perf_counter() - began
        print(
            f"  built one by one: {len(rows) / built:,.0f} a second; longest add {max(pauses) * 1e3:.1f} ms"
        )
        for words, numbers in (("replaced", range(0, len(rows), 97)), ("removed", range(1, len(rows), 97))):
            began = time.perf_counter()
            for number in numbers:
                if words == "removed":
                    await index.remove((name(number),))
                else:
                    await index.add(HOME, name(number), Embedding(rows[-1 - number], E))
            print(f"  {words}: {len(numbers) / (time.perf_counter() - began):,.0f} a second")
        index.check_integrity()
        await index.aclose()

    asyncio.run(run())


def snapshot(source: corpus.Base, chosen: argparse.Namespace) -> None:
    """Writing and loading a snapshot as a worker does, with the loop's pauses."""
    rows = corpus.grown(source.rows, chosen.n)
    folder = Path(tempfile.mkdtemp(dir=chosen.folder))
    index = filled(rows)
    try:
        asyncio.run(_snapshot(index, folder))
    finally:
        shutil.rmtree(folder)


class _Settled:
    """A follower that has nothing to do."""

    settled = StreamCursor("bench", 1)


async def _snapshot(index: FaissIndex, folder: Path) -> None:
    generations = frozenset({E})
    tuning = KeepingTuning(every=1e9, first=1e9, end_within=1e9)
    for hurried in (False, True):
        keeper = Keeper(folder / "index", index, lambda: generations, tuning=tuning)
        keeper.follow(_Settled())
        async with other_work(0.05) as late:
            began = time.perf_counter()
            await keeper.write(hurried=hurried, until=float("inf"))
            took = time.perf_counter() - began
        size = keeper.counts.bytes
        how = "at the end of a process" if hurried else "while serving"
        print(
            f"  written {how}: {took:.1f} s, {size / 1e6:,.0f} MB, {size / max(1, index.sizes()[0]):.0f} B a vector;"
            f" loop late p99 {np.quantile(np.array(late) * 1e3, 0.99):.1f} ms, most {max(late) * 1e3:.1f} ms"
        )
        await keeper.aclose()
    for _ in range(2):
        other = FaissIndex(max_vectors=index.sizes()[0] + 1)
        keeper = Keeper(folder / "index", other, lambda: generations, tuning=tuning)
        async with other_work(0.05) as late:
            began = time.perf_counter()
            await keeper.open()
            await keeper.load("bench")
            took = time.perf_counter() - began
        print(
            f"  loaded: {took:.1f} s, {other.sizes()[0]:,} vectors in {other.sizes()[1]:,} namespaces;"
            f" loop late p99 {np.quantile(np.array(late) * 1e3, 0.99):.1f} ms, most {max(late) * 1e3:.1f} ms"
        )
        if other.sizes() != index.sizes():
            raise AssertionError("what was written was not what was loaded")
        await keeper.aclose()


def small(source: corpus.Base, chosen: argparse.Namespace) -> None:
    """As many vectors in namespaces of ten."""
    rows = corpus.grown(source.rows, chosen.n)
    spaces = [Namespace(TenantId(f"t{n % 100}"), f"{n:064x}") for n in range(len(rows) // 10)]
    index = FaissIndex(max_vectors=len(rows) + 1000)
    process = psutil.Process()
    gc.collect()
    before = process.memory_info().rss

    async def run() -> None:
        began = time.perf_counter()
        for number, row in enumerate(rows):
            await index.add(spaces[number % len(spaces)], name(number), Embedding(row, E))
        built = time.perf_counter() - began
        each = (process.memory_info().rss - before) / len(rows)
        print(
            f"  {len(spaces):,} namespaces: built at {len(rows) / built:,.0f} a second; {each:,.0f} B a vector"
        )
        times = []
        rng = np.random.default_rng(1)
        for at in rng.integers(len(spaces), size=5000).tolist():
            step = time.perf_counter()
            await index.search(spaces[at], Embedding(rows[at], E), K)
            times.append(time.perf_counter() - step)
        print(f"  search: {rank(times)}")
        folder = Path(tempfile.mkdtemp(dir=chosen.folder))
        try:
            await _snapshot(index, folder)
        finally:
            shutil.rmtree(folder)

    asyncio.run(run())


def memory(source: corpus.Base, chosen: argparse.Namespace) -> None:
    """Resident bytes a vector, all in one namespace."""
    del source
    process = psutil.Process()
    gc.collect()
    index = FaissIndex(max_vectors=chosen.n + 1)
    before = process.memory_info().rss
    for start in range(0, chosen.n, MOST_ROWS):
        count = min(MOST_ROWS, chosen.n - start)
        some = corpus.random(count, start)
        index.take(Block(HOME, E, tuple(map(name, range(start, start + count))), some))
    gc.collect()
    each = (process.memory_info().rss - before) / chosen.n
    print(f"  {each:,.0f} B a vector, of which the vector itself is {4 * corpus.D}")


def rebuild(source: corpus.Base, chosen: argparse.Namespace) -> None:
    """Filling an index from a real Valkey, comparing it again, and loading it from a snapshot instead."""
    rows = corpus.grown(source.rows, chosen.entries)
    asyncio.run(rebuilding.run(rows, chosen.folder, E))
