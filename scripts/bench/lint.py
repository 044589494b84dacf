"""Measure the prefix lint: what it names in made-up traffic, right and wrong, and how long a request takes.

Traffic is made by `tests/linting/traffic`: kinds with one defect each, and kinds without, of made-up texts and of real
ones (this project's documents, sources of Python's library). Precision is findings that
name the defect / all findings; recall is streams whose defect was named / streams that have one. Times are CPU time of
reading a body and feeding it, in one thread.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2]))

from semcache.linting.linter import Linter
from semcache.linting.prompt import prompt_of
from tests.linting.traffic.broken import Make
from tests.linting.traffic.judging import ALL_BROKEN, ALL_SOUND, DIALECTS, findings_of, real_texts
from tests.linting.traffic.words import in_dialect, prose, question, said


@dataclass
class Score:
    """One kind of traffic."""

    streams: int = 0
    named: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)


def judged(seeds: int, texts: tuple[str, ...]) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    kinds: list[tuple[str, Make, Any]] = [(name, make, cause) for name, (make, cause) in ALL_BROKEN.items()]
    kinds += [(f"sound: {name}", make, None) for name, make in ALL_SOUND.items()]
    for name, make, cause in kinds:
        score = scores[name] = Score()
        for seed in range(seeds):
            for dialect in DIALECTS:
                found = findings_of(make, seed, dialect, texts)
                right = sum(one.cause is cause for one in found)
                score.streams += 1
                score.named += bool(right)
                score.right += right
                score.wrong += [
                    f"{one.cause.value} at {one.where}" for one in found if one.cause is not cause
                ]
    return scores


Bodies = Iterator[dict[str, Any]]


def _static(size: int, rng: random.Random) -> Bodies:
    rules = prose(rng, max(1, size // 75))
    while True:
        yield in_dialect("chat", rules, [said("user", question(rng))])


def _clock(size: int, rng: random.Random) -> Bodies:
    rules = prose(rng, max(1, size // 75))
    while True:
        yield in_dialect(
            "chat", f"Now: {rng.randrange(24):02}:{rng.randrange(60):02}:00 {rules}", [said("user", "?")]
        )


def _questions(size: int, rng: random.Random) -> Bodies:
    pool = [prose(rng, 1) for _ in range(5000)]
    while True:
        yield in_dialect(
            "chat", "Be brief.", [said("user", " ".join(rng.choices(pool, k=max(1, size // 75))))]
        )


def _talks(size: int, rng: random.Random) -> Bodies:
    rules, pool = prose(rng, 10), [prose(rng, 3) for _ in range(2000)]
    while True:
        history: list[dict[str, Any]] = []
        while sum(len(one["content"]) for one in history) < 2 * size:
            history.append(said("user", rng.choice(pool)))
            yield in_dialect("chat", rules, list(history))
            history.append(said("assistant", rng.choice(pool)))


SHAPES: dict[str, Callable[[int, random.Random], Bodies]] = {
    "static head": _static,
    "clock in the head": _clock,
    "questions of their own": _questions,
    "conversations": _talks,
}


def timed(shape: str, size: int, count: int) -> dict[str, float]:
    bodies = SHAPES[shape](size, random.Random(shape))
    linter, times, sizes = Linter(), [], 0
    for number in range(count):
        body = json.loads(json.dumps(next(bodies)))  # new strings, as on the wire
        sizes += len(str(body))
        begun = time.thread_time()
        linter.feed(prompt_of(body), 1.795e9 + number, "acme", "m")
        times.append((time.thread_time() - begun) * 1e6)
    times.sort()
    return {
        "bytes": sizes / count,
        "mean_us": sum(times) / count,
        "p50_us": times[count // 2],
        "p99_us": times[int(count * 0.99)],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--json", type=Path)
    asked = options.parse_args()
    seeds = 1 if asked.quick else asked.seeds
    scores = {
        "made-up texts": judged(seeds, ()),
        "texts of others": judged(seeds, real_texts(Path(__file__).parents[2])),
    }
    times = {
        f"{shape}, {size // 1000} KB": timed(shape, size, 300 if asked.quick else 60_000_000 // size // 6)
        for size in (2_000, 50_000)
        for shape in SHAPES
    }
    for name, found in scores.items():
        _show(name, found)
    _show_times(times)
    if asked.json:
        kept = {
            texts: {name: vars(score) for name, score in found.items()} for texts, found in scores.items()
        }
        asked.json.write_text(json.dumps({"scores": kept, "times": times}, indent=1))


def _show(texts: str, scores: dict[str, Score]) -> None:
    table = Table("traffic", "streams", "named", "findings right", "wrong", "which")
    for name, score in scores.items():
        named = "" if name.startswith("sound") else str(score.named)
        numbers = str(score.streams), named, str(score.right), str(len(score.wrong))
        table.add_row(name, *numbers, ", ".join(sorted(set(score.wrong))))
    right = sum(score.right for score in scores.values())
    wrong = sum(len(score.wrong) for score in scores.values())
    broken = [score for name, score in scores.items() if not name.startswith("sound")]
    named, streams = sum(score.named for score in broken), sum(score.streams for score in broken)
    console = Console()
    console.print(table)
    console.print(f"{texts}: precision {right}/{right + wrong} = {right / max(1, right + wrong):.4f}")
    console.print(f"recall {named}/{streams} = {named / max(1, streams):.4f}")


def _show_times(times: dict[str, dict[str, float]]) -> None:
    speed = Table("traffic", "mean bytes", "mean us", "median", "99th percentile")
    for name, figures in times.items():
        speed.add_row(name, *(f"{value:.0f}" for value in figures.values()))
    Console().print(speed)


if __name__ == "__main__":
    main()
