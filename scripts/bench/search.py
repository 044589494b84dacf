"""Searching alone: time, recall, memory and build rate of the index's tiers, side by side in one run.

    .venv/bin/python scripts/bench/search.py [--full] [--model FOLDER --texts FOLDER --cache FILE.npz]

With `--model` (an encoder folder as `semcache models fetch` makes) and `--texts` (JSON lines with `a`/`b`
or `text`) real questions are stored and asked; jittered copies fill up to n. Without, clusters are
synthesised. Recall is against brute force in float32: recall@1 counts a row as good as the best
(within 1e-6), recall@8 the share of the true eight.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import faiss
import numpy as np
import psutil

from semcache.core import Embedding, EncoderId, EntryId, Namespace, TenantId
from semcache.lookup import scan
from semcache.lookup.arena import Arena
from semcache.lookup.faiss_index import FaissIndex

D = 384
E5 = EncoderId("bench")
HOME = Namespace(TenantId("bench"), "aa" * 32)
WIDTHS = ((32, 32), (128, 128), (512, 512), (1024, 1024), (scan.WIDTH, scan.MOST))
"""At least and at most so many rescored."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--full", action="store_true", help="also a million vectors")
    options.add_argument("--sizes", type=int, nargs="*")
    options.add_argument(
        "--near",
        type=float,
        default=0.8,
        help="recall is also given for questions whose best is at least so near: others are never served",
    )
    options.add_argument("--queries", type=int, default=500)
    options.add_argument("--model", type=Path)
    options.add_argument("--texts", type=Path)
    options.add_argument("--cache", type=Path, help="where the embedded texts are kept between runs")
    options.add_argument("--memory", choices=["one", "many"], help="internal: measure memory only")
    chosen = options.parse_args()
    if chosen.memory:
        asyncio.run(memory(chosen.memory, chosen.sizes[0]))
        return
    print(
        f"{platform.processor() or platform.machine()}, one thread, FAISS {faiss.__version__}, {time.ctime()}"
    )
    stored, asked = corpus(chosen)
    print(f"{len(stored)} base vectors, {len(asked)} queries\n")
    sizes = chosen.sizes or [1000, 10_000, 100_000, *([1_000_000] if chosen.full else [])]
    for n in sizes:
        kinds = (("topics", 4, 0.35), ("near-duplicates", 50, 0.1))
        for name, copies, spread in kinds if n < 500_000 else kinds[:1]:
            measure(n, name, grown(stored, n, copies, spread), asked[: chosen.queries], chosen.near)
    for kind, n in (("one", 100_000), ("many", 20_000)):
        subprocess.run([sys.executable, __file__, "--memory", kind, "--sizes", str(n)], check=True)


def unit(rows: np.ndarray) -> np.ndarray:
    rows = np.asarray(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def corpus(chosen: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Give (stored, asked), float32 [n, 384], unit rows."""
    if chosen.cache and chosen.cache.exists():
        held = np.load(chosen.cache)
        return held["stored"], held["asked"]
    if not (chosen.model and chosen.texts):
        rng = np.random.default_rng(1)
        # Real embeddings fill a fraction of the dimensions; so do these.
        basis = rng.standard_normal((96, D))
        stored = unit(rng.standard_normal((20_000, 96)) @ basis)
        asked = unit(stored[::10] + 0.45 * unit(rng.standard_normal((2000, 96)) @ basis))
        return stored, asked
    # Only here, since it needs the encoder's libraries and the rest does not.
    from semcache.embed.onnx_encoder import OnnxModel  # noqa: PLC0415  # see above

    first: dict[str, None] = {}
    second: dict[str, None] = {}
    for path in [*sorted(chosen.texts.glob("*_en.jsonl")), chosen.texts / "adversarial.jsonl"]:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            first[str(row.get("a") or row.get("text") or "")] = None
            second[str(row.get("b") or "")] = None
    model = OnnxModel(chosen.model)
    asked_texts = [text for text in second if text and text not in first][:3000]

    def embedded(texts: list[str]) -> np.ndarray:
        return np.array([v for text in texts for v in model.embed([text]) if isinstance(v, np.ndarray)])

    stored, asked = embedded([text for text in first if text]), embedded(asked_texts)
    np.random.default_rng(0).shuffle(asked)
    if chosen.cache:
        np.savez(chosen.cache, stored=stored, asked=asked)
    return stored, asked


def grown(base: np.ndarray, n: int, copies: int, spread: float) -> np.ndarray:
    """Give n rows: base rows, each with up to `copies` jittered ones (`spread`: length of the jitter)."""
    rng = np.random.default_rng(2)
    centres = base[rng.permutation(len(base))[: max(1, min(len(base), n // copies))]]
    rows = np.empty((n, base.shape[1]), np.float32)
    for start in range(0, n, 50_000):
        stop = min(n, start + 50_000)
        picked = centres[np.arange(start, stop) % len(centres)]
        noise = rng.standard_normal(picked.shape).astype(np.float32) * (spread / base.shape[1] ** 0.5)
        noise[np.arange(start, stop) < len(centres)] = 0
        rows[start:stop] = unit(picked + noise)
    return rows


def p50(call: Callable[[np.ndarray], object], queries: np.ndarray) -> float:
    """Give the median microseconds of one call."""
    times = []
    for query in queries:
        began = time.perf_counter()
        call(query)
        times.append(time.perf_counter() - began)
    return median(times) * 1e6


def measure(n: int, name: str, rows: np.ndarray, queries: np.ndarray, bar: float) -> None:
    truth_cosine, truth = faiss.knn(queries, rows, min(8, n), metric=faiss.METRIC_INNER_PRODUCT)
    few = queries[: 30 if n > 200_000 else 200]
    near = int((truth_cosine[:, 0] >= bar).sum())
    print(f"n = {n:,}, {name}; {near} of {len(queries)} questions have one at {bar} or nearer")
    print(f"  {'FAISS flat':24} p50 {flat_p50(rows, few):8.0f} us")
    print(f"  {'NumPy matmul, argmax':24} p50 {p50(lambda q: int(np.argmax(rows @ q)), few):8.0f} us")
    signs(rows, queries, truth, truth_cosine, bar)
    asyncio.run(whole(rows, queries))


def flat_p50(rows: np.ndarray, queries: np.ndarray) -> float:
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return p50(lambda query: index.search(query[None], 8), queries)


def signs(rows: np.ndarray, queries: np.ndarray, truth: np.ndarray, cosines: np.ndarray, bar: float) -> None:
    arena = Arena(rows.shape[1])
    for row in rows:
        arena.append(row)
    if not arena.is_coded:
        return
    for width, most in WIDTHS:
        taken = p50(lambda query, width=width, most=most: coded(arena, query, width, most), queries)
        found = recalls(arena, queries, truth, cosines, width, most, bar)
        label = f"sign bits, best {width}" + (f" to {most}" if most > width else "")
        mark = " <- used" if (width, most) == (scan.WIDTH, scan.MOST) else ""
        print(f"  {label:24} p50 {taken:8.0f} us  {found}{mark}")


def coded(arena: Arena, query: np.ndarray, width: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    codes = arena.signs()
    assert codes is not None
    return scan.rescored(arena.parts(), query, scan.ranked(codes, query, most), 8, width)


def recalls(
    arena: Arena,
    queries: np.ndarray,
    truth: np.ndarray,
    cosines: np.ndarray,
    width: int,
    most: int,
    bar: float,
) -> str:
    first, eight = [], []
    for query, best, cosine in zip(queries, truth, cosines, strict=True):
        slots, found = coded(arena, query, width, most)
        first.append(found[0] >= cosine[0] - 1e-6)
        eight.append(len(np.intersect1d(slots[: len(best)], best)) / len(best))
    near = cosines[:, 0] >= bar
    words = f"recall@1 {np.mean(first):.4f}  recall@8 {np.mean(eight):.4f}"
    if near.any():
        of_near = np.mean(np.array(first)[near]), np.mean(np.array(eight)[near])
        words += f"  near: {of_near[0]:.4f} {of_near[1]:.4f}"
    return words


async def whole(rows: np.ndarray, queries: np.ndarray) -> None:
    """The index as the pipeline sees it: gate, partition, thread and all."""
    index = FaissIndex(max_vectors=len(rows))
    pauses = []
    began = time.perf_counter()
    for number, row in enumerate(rows):
        step = time.perf_counter()
        await index.add(HOME, EntryId(f"{number:016d}"), Embedding(row, E5))
        pauses.append(time.perf_counter() - step)
    built = time.perf_counter() - began
    times = []
    for query in queries:
        step = time.perf_counter()
        await index.search(HOME, Embedding(query, E5), 8)
        times.append(time.perf_counter() - step)
    times.sort()
    print(
        f"  FaissIndex.search, k=8   p50 {median(times) * 1e6:8.0f} us  p99 {times[int(len(times) * 0.99)] * 1e6:.0f} us;"
        f"  added {len(rows) / built:,.0f} a second, longest add {max(pauses) * 1e3:.2f} ms\n"
    )
    await index.aclose()


async def memory(kind: str, n: int) -> None:
    """Resident bytes an entry: all in one namespace, or one namespace each."""
    rng = np.random.default_rng(0)
    index = FaissIndex(max_vectors=n)
    process = psutil.Process()
    await index.add(HOME, EntryId("first"), Embedding(unit(rng.standard_normal(D)), E5))
    before = process.memory_info().rss
    for _ in range(n - 1):
        namespace = HOME if kind == "one" else Namespace(TenantId("bench"), secrets.token_hex(32))
        await index.add(
            namespace, EntryId(secrets.token_urlsafe(12)), Embedding(unit(rng.standard_normal(D)), E5)
        )
    each = (process.memory_info().rss - before) / n
    where = "one namespace" if kind == "one" else "a namespace of its own"
    print(f"memory: {each:,.0f} bytes an entry in {where} ({n:,} entries; the vector itself is {4 * D})")
    await index.aclose()


if __name__ == "__main__":
    main()
