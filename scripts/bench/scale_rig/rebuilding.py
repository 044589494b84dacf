"""A real Valkey full of entries, and what it takes to fill an index from it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from semcache.core import (
    Completion,
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    ExactKey,
    TenantId,
    Usage,
)
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.placing import Placer
from semcache.process import SystemClock
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.redis_store import Quota, RedisStore, StoreRules

_ANSWER = " ".join(["An answer of some length, as models give them, about what was asked."] * 12)


def _entry(number: int, row: np.ndarray, encoder: EncoderId) -> Entry:
    body = f'{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"{number} {_ANSWER}"}}}}]}}'
    now = time.time()
    return Entry(
        EntryId(f"{number:016x}"),
        TenantId("bench"),
        "aa" * 32,
        ExactKey(f"{number:064x}"),
        "chat",
        "small",
        f"What is the answer to question {number}?",
        Completion(body.encode(), Usage(40, 200)),
        created_at=now,
        expires_at=now + 1e6,
        embedding=Embedding(row, encoder),
    )


async def run(rows: np.ndarray, folder: Path, encoder: EncoderId) -> None:
    where = Path(tempfile.mkdtemp(dir=folder))
    try:
        child = ValkeyChild(where, ChildRules())
        await child.start()
        rules = StoreRules(
            link=LinkRules(deadline=30.0), quota_of=lambda _: Quota(entries=10**8, bytes=10**12)
        )
        store = RedisStore(child.url, SystemClock(), rules)
        await _fill(store, rows, encoder)
        await _measure(store, len(rows), encoder)
        await store.aclose()
        await child.stop()
    finally:
        shutil.rmtree(where, ignore_errors=True)


async def _fill(store: RedisStore, rows: np.ndarray, encoder: EncoderId) -> None:
    began = time.perf_counter()
    numbers = iter(range(len(rows)))

    async def put() -> None:
        for number in numbers:
            await store.put(_entry(number, rows[number], encoder))

    await asyncio.gather(*(put() for _ in range(32)))
    took = time.perf_counter() - began
    print(f"  {len(rows):,} entries put in {took:.0f} s ({len(rows) / took:,.0f} a second)", flush=True)


async def _measure(store: RedisStore, count: int, encoder: EncoderId) -> None:
    index = FaissIndex(max_vectors=count + 1)
    placer = Placer(store, index, lambda: frozenset({encoder}))
    for words in ("filled from an empty index", "compared, nothing differs"):
        began = time.perf_counter()
        await placer.compare(lost=lambda: False, hurried=True)
        took = time.perf_counter() - began
        print(
            f"  {words}: {took:.1f} s for {index.sizes()[0]:,}, so {took / count * 1e6:.1f} s a million",
            flush=True,
        )
    await index.aclose()
