"""Who goes first where a tenant's room is short: hit rate and saved money of several orders on made-up traffic.

    .venv/bin/python scripts/bench/eviction.py [--quick] [--seeds N] [--json FILE]

Questions are asked with the frequencies of Zipf's law (exponent 0.9), and cost what lognormal numbers say (middle 400
micro-USD, sigma 1.2), whatever their frequency. Three kinds of traffic: `steady`; `drifting`, where a tenth of the questions
change places twenty times in the run; `flooded`, where three in ten requests are a cheap question that never comes again. The
room holds a share of the distinct questions (of `flooded`: of those that come again). Orders:

    fifo    the oldest stored goes first (as it was in semcache before scores)
    lru     the longest unused one
    dual    GreedyDual: cost upon a floor that rises to what went last
    worth   semcache's: savings that halve every `store.worth.HALF_LIFE` turnovers of the room
    bound   no order can do better: of hits by Belady's rule, of money by the best use of places times time

The same rules in the store's own scripts are held against `store.worth` by tests; here only the arithmetic runs.
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
from rich.progress import track
from rich.table import Table
from rig.report import circumstances, console, headline, save

from semcache.store.worth import HALF_LIFE, added, level, step

SHARES = (0.05, 0.10, 0.20, 0.50)
KINDS = ("steady", "drifting", "flooded")
_EXPONENT, _MIDDLE, _SIGMA = 0.9, 400.0, 1.2
_CHEAP = 20.0
_NEVER = 1 << 60


@dataclass(frozen=True)
class Stream:
    """Which question comes when, and what each costs (micro-USD); `again` of them come more than once."""

    asked: Sequence[int]
    cost: Sequence[float]
    again: int


def stream(kind: str, questions: int, requests: int, seed: int) -> Stream:
    """Make traffic of one kind."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, questions + 1) ** _EXPONENT
    asked = rng.choice(questions, size=requests, p=weights / weights.sum())
    cost = _MIDDLE * np.exp(rng.normal(0, _SIGMA, questions))
    if kind == "drifting":
        places, part = np.arange(questions), max(1, requests // 20)
        for start in range(0, requests, part):
            some = rng.choice(questions, questions // 10, replace=False)
            places[some] = places[rng.permutation(some)]
            asked[start : start + part] = places[asked[start : start + part]]
    if kind == "flooded":
        once = rng.random(requests) < 0.3
        asked[once] = questions + np.arange(once.sum())
        cost = np.concatenate([cost, np.full(once.sum(), _CHEAP)])
    return Stream(asked.tolist(), cost.tolist(), questions)


Score = Callable[[float | None, float, float, float], float]
"""Of what had a score (or None), at a time, of a cost, above a floor."""

ORDERS: dict[str, Score] = {
    "fifo": lambda before, at, _cost, _floor: at if before is None else before,
    "lru": lambda _before, at, _cost, _floor: at,
    "dual": lambda _before, _at, cost, floor: floor + cost,
    "worth": lambda before, at, cost, _floor: added(before, at + level(cost)),
}


def replay(traffic: Stream, room: int, order: str) -> tuple[float, float]:
    """Give the shares of requests and of money that a room under an order saves."""
    score, turns = ORDERS[order], step(1, room, _NEVER) if order == "worth" else 1.0
    held: dict[int, float] = {}
    queue: list[tuple[float, int]] = []
    hits = saved = floor = at = 0.0
    for question in traffic.asked:
        cost, before = traffic.cost[question], held.get(question)
        if before is not None:
            hits, saved = hits + 1, saved + cost
        if before is None or order == "lru":
            at += turns
        if before is None and len(held) >= room:
            floor = _let_go(held, queue)
        now = held[question] = score(before, at, cost, floor)
        if now != before:
            heapq.heappush(queue, (now, question))
    return hits / len(traffic.asked), saved / _all(traffic)


def _let_go(held: dict[int, float], queue: list[tuple[float, int]]) -> float:
    while True:
        least, question = heapq.heappop(queue)
        if held.get(question) == least:
            del held[question]
            return least


def bounds(traffic: Stream, room: int) -> tuple[float, float]:
    """Give what no order goes beyond: share of requests (reached by Belady's rule), and of money (reached by none)."""
    return _belady(traffic, room) / len(traffic.asked), _best_use(traffic, room) / _all(traffic)


def _gaps(traffic: Stream) -> list[int]:
    """Give for each request when the same question comes next."""
    after, last = [_NEVER] * len(traffic.asked), dict[int, int]()
    for at in range(len(traffic.asked) - 1, -1, -1):
        after[at] = last.get(traffic.asked[at], _NEVER)
        last[traffic.asked[at]] = at
    return after


def _belady(traffic: Stream, room: int) -> int:
    after, held, queue, hits = _gaps(traffic), dict[int, int](), list[tuple[int, int]](), 0
    for at, question in enumerate(traffic.asked):
        hits += question in held
        held.pop(question, None)
        if after[at] == _NEVER:
            continue
        held[question] = after[at]
        heapq.heappush(queue, (-after[at], question))
        while len(held) > room:
            due, other = heapq.heappop(queue)
            if held.get(other) == -due:
                del held[other]
    return hits


def _best_use(traffic: Stream, room: int) -> float:
    """Give what can be saved where a place may change its tenant at any time: dearest savings a step first."""
    after = np.array(_gaps(traffic))
    comes = np.flatnonzero(after < _NEVER)
    lengths = after[comes] - comes
    costs = np.array(traffic.cost)[np.array(traffic.asked)[comes]]
    order = np.argsort(-costs / lengths)
    used = np.cumsum(lengths[order])
    fits = used <= room * len(traffic.asked)
    return float(costs[order][fits].sum() + costs[order][~fits][:1].sum())


def _all(traffic: Stream) -> float:
    return float(np.array(traffic.cost)[np.array(traffic.asked)].sum())


def main() -> None:
    """Replay everything and print one table."""
    parser = argparse.ArgumentParser(description="Orders of eviction on made-up traffic.")
    parser.add_argument("--quick", action="store_true", help="small, to see that it runs")
    parser.add_argument("--seeds", type=int, default=3, help="streams of each kind")
    parser.add_argument("--json", type=Path, help="keep the figures in a file")
    chosen = parser.parse_args()
    questions, requests = (500, 5_000) if chosen.quick else (10_000, 150_000)
    screen, facts = console(), circumstances()
    names = [*ORDERS, "bound"]
    figures: dict[str, dict[str, dict[str, list[float]]]] = {}
    jobs = [(kind, share) for kind in KINDS for share in SHARES]
    for kind, share in track(jobs, "replaying", console=screen):
        room = int(share * questions)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for seed in range(1 if chosen.quick else chosen.seeds):
            traffic = stream(kind, questions, requests, seed)
            for name in ORDERS:
                found[name].append(replay(traffic, room, name))
            found["bound"].append(bounds(traffic, room))
        figures.setdefault(kind, {})[f"{share:g}"] = {
            name: [mean(rate for rate, _ in pairs), mean(money for _, money in pairs)]
            for name, pairs in found.items()
        }
    screen.print(_table(figures, names))
    screen.print(f"{requests} requests, {questions} questions that come again; {headline(facts)}")
    save(chosen.json, {"circumstances": facts, "half_life": HALF_LIFE, "shares": figures})


def _table(figures: dict[str, dict[str, dict[str, list[float]]]], names: Sequence[str]) -> Table:
    table = Table("traffic", "room", *names, title="hit rate / money saved, in per cent")
    for kind, rooms in figures.items():
        for share, row in rooms.items():
            cells = (f"{100 * row[name][0]:.1f} / {100 * row[name][1]:.1f}" for name in names)
            table.add_row(kind, f"{100 * float(share):.0f} %", *cells)
    return table


if __name__ == "__main__":
    main()
