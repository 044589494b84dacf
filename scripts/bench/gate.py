"""Measure the gate on labelled pairs: share of good pairs refused, share of bad pairs caught, time.

With two converted encoder folders (`--encoders LATIN MULTILINGUAL`) a second count takes only the
pairs that are near enough to be served at all: cosine 0.95 of all-MiniLM-L6-v2, or 0.977 of
multilingual-e5-small, which lets through as many different pairs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from semcache.core import GateRules
from semcache.decide.features import extract
from semcache.decide.gate import Comparison, compare
from semcache.embed.onnx_encoder import OnnxModel

FILES = (
    "adversarial", "checklist_en", "paws_wiki_en", "pawsx_zh", "cmedqq_zh", "rqe_medical_en", "medquad_en",
    "fow_pairs_en", "written_pairs", "gptcache_mock_en",
)  # fmt: skip


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    if total == 0:
        return 0.0, 1.0
    share = hits / total
    centre = share + z * z / (2 * total)
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, centre - half) / (1 + z * z / total), (centre + half) / (1 + z * z / total)


@dataclass
class Cell:
    pairs: int = 0
    vetoed: int = 0
    raised: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def add(self, found: Comparison) -> None:
        self.pairs += 1
        self.vetoed += bool(found.vetoes)
        self.raised += bool(found.raised and not found.vetoes)
        self.words.update(found.vetoes)

    def shares(self) -> tuple[str, str]:
        """Percent vetoed and percent only raised."""
        if not self.pairs:
            return "-", "-"
        return f"{100 * self.vetoed / self.pairs:.1f}", f"{100 * self.raised / self.pairs:.1f}"

    def row(self) -> tuple[str, str, str, str, str]:
        low, high = wilson(self.vetoed, self.pairs)
        words = " ".join(f"{word}:{n}" for word, n in self.words.most_common(5))
        return (
            str(self.pairs),
            f"{100 * self.vetoed / self.pairs:.1f}",
            f"{100 * low:.1f} - {100 * high:.1f}",
            f"{100 * self.raised / self.pairs:.1f}",
            words,
        )


@dataclass
class Nearness:
    """Says whether a pair is near enough to be served; a text that the encoder refuses never is."""

    latin: OnnxModel
    multilingual: OnnxModel

    def __call__(self, one: str, other: str) -> bool:
        han = any("\u4e00" <= character <= "\u9fff" for character in one + other)
        model, bar = (self.multilingual, 0.977) if han else (self.latin, 0.95)
        left, right = model.embed([one, other])
        if isinstance(left, Exception) or isinstance(right, Exception):
            return False
        return float(left @ right) >= bar


@dataclass
class Times:
    """CPU seconds of a pair: both texts new, one of them known (as a stored question mostly is), both known."""

    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    known: list[float] = field(default_factory=list)


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    start = time.process_time()
    result = call(*arguments)
    return result, time.process_time() - start


Cells = dict[tuple[str, bool], Cell]


def measure(path: Path, near: Nearness | None, times: Times) -> Cells:
    rules = GateRules()
    cells: defaultdict[tuple[str, bool], Cell] = defaultdict(Cell)
    for line in path.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        one, reading = timed(extract, pair["a"])
        other, reading_other = timed(extract, pair["b"])
        found, comparing = timed(compare, one, other, rules)
        times.cold.append(reading + reading_other + comparing)
        times.warm.append(reading_other + comparing)
        times.known.append(comparing)
        crosses = pair.get("lang") in ("mixed", "en-zh")
        cells["all, across languages" if crosses else "all, one language", pair["same"]].add(found)
        cells[pair.get("category") or "-", pair["same"]].add(found)
        if near is not None and near(pair["a"], pair["b"]):
            cells["all, near enough to serve", pair["same"]].add(found)
    return cells


def print_file(console: Console, name: str, cells: Cells, *, brief: bool) -> None:
    table = Table("category", "pairs are", "n", "vetoed %", "95 % interval", "raised %", "by", title=name)
    for (category, same), cell in sorted(
        cells.items(), key=lambda item: (not item[0][0].startswith("all"), item[0])
    ):
        if category != "-" and not (brief and not category.startswith("all")):
            table.add_row(category, "same" if same else "different", *cell.row())
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(__file__).resolve().parents[3] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=shared, help="folder of the pair files")
    parser.add_argument("--brief", action="store_true", help="no rows by category")
    parser.add_argument("--encoders", type=Path, nargs=2, metavar=("LATIN", "MULTILINGUAL"))
    parser.add_argument("files", nargs="*", default=FILES, help="names without .jsonl")
    chosen = parser.parse_args()
    near = Nearness(*map(OnnxModel, chosen.encoders)) if chosen.encoders else None
    console = Console(width=150)
    extract("warm up 热身 1")
    summary = Table(
        "file", "good vetoed %", "raised %", "traps vetoed %", "raised %", title="all, one language"
    )
    ordinary = Times()
    for name in chosen.files:
        path = chosen.data / f"{name}.jsonl"
        if not path.exists():
            console.print(f"{name}: not here, skipped")
            continue
        cells = measure(path, near, ordinary)
        print_file(console, name, cells, brief=chosen.brief)
        shares = [cells.get(("all, one language", same), Cell()) for same in (True, False)]
        summary.add_row(name, *(text for cell in shares for text in cell.shares()))
    console.print(summary)
    for label, seconds in (
        ("both texts new", ordinary.cold),
        ("one text new", ordinary.warm),
        ("none new", ordinary.known),
    ):
        if seconds:
            seconds.sort()
            p50, p99 = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
            console.print(
                f"one pair, {label}: p50 {1e3 * p50:.3f} ms, p99 {1e3 * p99:.3f} ms CPU, n {len(seconds)}"
            )


if __name__ == "__main__":
    main()
