"""The prefix tree alone: memory, and CPU time of match, insert and eviction, by number of nodes.

    .venv/bin/python scripts/bench/prefix_tree.py [--quick] [--sizes N ...] [--requests N] [--json FILE]

No model and no tensors. Two shapes, slots scattered so that no two nodes lie side by side:
`heads`, 1,000-token prompts of a head of 968 tokens shared by 100 and a tail of 32 (two nodes on the way),
`turns`, conversations that grew 32 tokens at a time, each turn asked for once more (31 nodes on the way).
A lookup is match, lock with the count of a hit, the tuple of runs, and unlock; `match` is the first alone.
`lru` is the order of eviction at its plainest, `hybrid` the one that is shipped, which learns at every hit.
Memory is what the process grew by: index, tokens and eviction queue, KV of course not.
Then `--requests` of 2,000 tokens are replayed through a tree of bounded size that makes room by evicting:
a system prompt (of 200, by Zipf) of 1,200 tokens, 600 of a document (of 20,000) and 200 of its own.
CPU seconds of one thread; the best of five rounds for lookups, means otherwise.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate
from pathlib import Path

import psutil
from rich.table import Table
from rig.report import circumstances, console, headline, save

from semcache.engine.layers import PUBLIC, Layer, Layers, Owner
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.eviction import HybridPolicy
from semcache.engine.prefix.frequency import HalfLife
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.prefix.victims import Nodes, Victim
from semcache.engine.runs import Run, total

TOKEN = 4
STEP = 32
TURNS = 31
NODE = (1 << 28) - 1
LAYERS: Layers = (Layer(TURNS * STEP, PUBLIC), Layer(1 << 30, Owner("tenant", b"salt")))


class LeastRecent:
    """The plainest queue: a heap by last use, entries of what left stay until they come up or are half."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self.clear()

    def add(self, node: int) -> None:
        if node >= len(self._queued):
            self._queued.extend(bytes(node + 1 - len(self._queued) + len(self._queued) // 16))
        self._queued[node] = 1
        self._living += 1
        heappush(self._heap, self._entry(node))
        if len(self._heap) > 2 * self._living + 16:
            self._heap = [entry for entry in set(self._heap) if self._is_current(entry)]
            heapify(self._heap)

    def remove(self, node: int) -> None:
        self._queued[node] = 0
        self._living -= 1

    def pop(self, _now: float, _tenant: str | None = None, *, floors: bool = True) -> Victim | None:  # noqa: ARG002 - the interface of the real one
        while self._heap:
            entry = heappop(self._heap)
            if self._is_current(entry):
                self.remove(node := entry & NODE)
                return Victim(node, "recency")
        return None

    def clear(self) -> None:
        self._heap: list[int] = []
        self._queued = bytearray()
        self._living = 0

    def __len__(self) -> int:
        return self._living

    def queued(self) -> Iterable[int]:
        return [node for node, is_queued in enumerate(self._queued) if is_queued]

    def check_integrity(self) -> None:
        living = {entry & NODE for entry in self._heap if self._is_current(entry)}
        assert len(living) == self._living

    def _entry(self, node: int) -> int:
        return int(self._nodes.touched[node] * 1e6) << 28 | node

    def _is_current(self, entry: int) -> bool:
        node = entry & NODE
        return bool(self._queued[node]) and self._entry(node) == entry


@dataclass
class Figures:
    """What one tree of one size took. Times in CPU microseconds."""

    order: str
    shape: str
    nodes: int
    megabytes: float
    bytes_per_node: float
    match_us_per_1k: float
    lookup_us_per_1k: float
    insert_us: float
    evict_us_per_1k: float
    first_evict_us: float
    top_ms: float


@dataclass
class Replay:
    """What a long run of requests took."""

    order: str
    requests: int
    capacity: int
    megabytes: float
    nodes: int
    reused: float
    match_us: float
    lookup_us: float
    insert_us: float
    evict_us_per_1k: float
    evicted_tokens: int


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true", help="small sizes, only to see that it runs")
    options.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    options.add_argument(
        "--requests", type=int, default=20_000, help="of the replay; 1,000,000 takes minutes"
    )
    options.add_argument("--capacity", type=int, default=8_000_000, help="of the replayed tree, in tokens")
    options.add_argument("--orders", nargs="*", choices=["lru", "hybrid"], default=["lru", "hybrid"])
    options.add_argument("--json", type=Path)
    options.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.requests, chosen.capacity = [1_000], 300, 100_000
    if chosen.one:
        what, order, size = chosen.one
        one = replay(order, int(size), chosen.capacity) if what == "replay" else build(order, what, int(size))
        json.dump(asdict(one), sys.stdout)
        return
    facts = circumstances()
    trees = [
        apart(shape, order, size, chosen.capacity)
        for size in chosen.sizes
        for shape in ("heads", "turns")
        for order in chosen.orders
    ]
    replays = [apart("replay", order, chosen.requests, chosen.capacity) for order in chosen.orders]
    screen = console()
    screen.print(headline(facts))
    screen.print(table("Trees (CPU us; lookups for 1,000 tokens, eviction of 1,000 tokens)", trees))
    screen.print(table("Requests of 2,000 tokens through a bounded tree (CPU us a request)", replays))
    save(chosen.json, {"circumstances": facts, "trees": trees, "replays": replays})


def apart(what: str, order: str, size: int, capacity: int) -> dict[str, object]:
    """Measure in a process of its own, so that memory is the tree's."""
    command = [sys.executable, __file__, "--one", what, order, str(size), "--capacity", str(capacity)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def table(title: str, rows: Sequence[dict[str, object]]) -> Table:
    shown = Table(title=title)
    for name in rows[0]:
        shown.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        shown.add_row(
            *[
                f"{value:,.2f}"
                if isinstance(value, float)
                else f"{value:,}"
                if isinstance(value, int)
                else value
                for value in row.values()
            ]
        )
    return shown


def resident() -> float:
    """Give this process's memory in MB."""
    return psutil.Process().memory_info().rss / 1e6


def new_tree(order: str, capacity: int) -> PrefixTree:
    if order == "lru":
        return PrefixTree(capacity, LeastRecent, HalfLife())
    policy = HybridPolicy(capacity)
    return PrefixTree(capacity, policy.order, policy)


def clocked(do: Callable[[], object]) -> float:
    before = time.process_time()
    do()
    return (time.process_time() - before) * 1e6


def build(order: str, shape: str, nodes: int) -> Figures:
    """Fill a tree with about `nodes` nodes, then look up, insert and evict."""
    chance = random.Random(7)
    tails = 100 if shape == "heads" else TURNS
    trunks = max(1, nodes // tails)
    capacity = nodes * STEP + trunks * TURNS * STEP + 8192
    gc.collect()
    gc.freeze()
    before = resident()
    tree = new_tree(order, capacity)
    slots = Slots(capacity)
    asked: list[bytes] = []
    for trunk in range(trunks):
        head = chance.randbytes((TURNS - 1) * STEP * TOKEN) if shape == "heads" else b""
        for turn in range(tails):
            prompt = head + chance.randbytes(STEP * TOKEN)
            head = head if shape == "heads" else prompt
            add(tree, prompt, slots, trunk + turn / 128)
            if shape == "turns":
                tree.unlock(tree.lock(match := tree.match(prompt, LAYERS), match.length, trunk + turn / 128))
        if trunk % (trunks // 200 + 1) == 0:
            asked.append(prompt)
    megabytes = resident() - before
    now = float(trunks)
    thousands = sum(len(prompt) for prompt in asked) / TOKEN / 1000
    found = [tree.match(prompt, LAYERS) for prompt in asked]
    assert all(match.length * TOKEN == len(prompt) for match, prompt in zip(found, asked, strict=True))

    def look_up() -> None:
        for prompt in asked:
            match = tree.match(prompt, LAYERS)
            tree.unlock(tree.lock(match, match.length, now))

    match_us = min(clocked(lambda: [tree.match(prompt, LAYERS) for prompt in asked]) for _ in range(5))
    lookup_us = min(clocked(look_up) for _ in range(5))
    more = [prompt[: -STEP * TOKEN] + chance.randbytes(STEP * TOKEN) for prompt in asked]
    insert_us = clocked(lambda: [add(tree, prompt, slots, now) for prompt in more])
    first = clocked(lambda: tree.evict(1000, now + 1))
    evict_us = sum(clocked(lambda: tree.evict(1000, now + 1)) for _ in range(20)) / 20
    top_us = clocked(lambda: tree.top(100, now + 1))
    count = tree.counts().nodes
    return Figures(
        order,
        shape,
        count,
        megabytes,
        megabytes * 1e6 / count,
        match_us / thousands,
        lookup_us / thousands,
        insert_us / len(more),
        evict_us,
        first,
        top_us / 1e3,
    )


class Slots:
    """Hands out runs from both ends of the pool in turn, so that what comes one after the other lies apart."""

    def __init__(self, capacity: int) -> None:
        self._low, self._high = 0, capacity
        self._from_below = True

    def take(self, count: int) -> tuple[Run, ...]:
        self._from_below = not self._from_below
        if self._from_below:
            self._low += count
            return (Run(self._low - count, count),)
        self._high -= count
        return (Run(self._high, count),)


def add(tree: PrefixTree, prompt: bytes, slots: Slots, now: float) -> None:
    match = tree.match(prompt, LAYERS)
    handle = tree.lock(match, match.length, now, counts=False)
    runs = slots.take(len(prompt) // TOKEN - match.length)
    tree.unlock(tree.insert(handle, prompt, LAYERS, runs, now).handle)


def replay(order: str, requests: int, capacity: int) -> Replay:
    """Send requests through a tree that is smaller than what they bring."""
    chance = random.Random(11)
    systems = [chance.randbytes(1200 * TOKEN) for _ in range(200)]
    shares = list(accumulate(1 / rank for rank in range(1, len(systems) + 1)))
    documents = 20_000
    gc.collect()
    gc.freeze()
    before = resident()
    tree = new_tree(order, capacity)
    pool = RunAllocator(capacity)
    layers = (Layer(1200, PUBLIC), Layer(1800, Owner("t", b"shared")), Layer(1 << 30, Owner("t", b"user")))
    spent = dict.fromkeys(("match", "lock", "insert", "evict"), 0.0)
    reused = evicted = 0
    clock = time.process_time
    for number in range(requests):
        now = number * 0.05
        document = int(documents * chance.random() ** 3)
        prompt = systems[bisect_right(shares, chance.random() * shares[-1])]
        prompt += random.Random(document).randbytes(600 * TOKEN) + chance.randbytes(200 * TOKEN)
        begun = clock()
        match = tree.match(prompt, layers)
        found = clock()
        handle = tree.lock(match, match.length, now)
        locked = clock()
        reused += match.length
        need = 2000 - match.length
        if pool.free < need:
            room = tree.evict(max(need - pool.free, 4000), now)
            evicted += total(room)
            spent["evict"] += clock() - locked
            pool.give(room)
        runs = pool.take(need)
        assert runs is not None
        begin = clock()
        handle = tree.insert(handle, prompt, layers, runs, now).handle
        inserted = clock()
        tree.unlock(handle)
        spent["match"] += found - begun
        spent["lock"] += locked - found + clock() - inserted
        spent["insert"] += inserted - begin
    us = {name: seconds * 1e6 / requests for name, seconds in spent.items()}
    return Replay(
        order,
        requests,
        capacity,
        resident() - before,
        tree.counts().nodes,
        reused / (2000 * requests),
        us["match"],
        us["match"] + us["lock"],
        us["insert"],
        spent["evict"] * 1e9 / max(evicted, 1),
        evicted,
    )


if __name__ == "__main__":
    main()
