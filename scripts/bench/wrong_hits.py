"""Wrong hits on labelled pairs of questions: the product's own judgement against the bare threshold.

    .venv/bin/python scripts/bench/wrong_hits.py [FILE.jsonl ...] [--quick] [--pairs N] [--json FILE]

A pair file has a JSON object a line with `a`, `b` and `same` (true: the answer to a is right for b too).
Each pair is judged as the proxy would judge b when the answer to a is stored: real encoders, reference
scale, gate, under the built-in policy's chat domain with its threshold set to each of several values.
Beside it the same without the gate: what every cache does that has a threshold and nothing else. Shares
are of good pairs (served rightly) and of traps (served wrongly), with Wilson 95 % intervals, file by file;
they are never averaged over files. Files that are not there are skipped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from rich.progress import Progress
from rich.table import Table
from rig.report import circumstances, console, headline, save, wilson
from rig.serving import ROOT

from semcache.core import CachePolicy, Effect, GateRules, Hit, TenantId
from semcache.parts import open_judge
from semcache.policy.loader import load_default
from semcache.policy.trial import Judge
from semcache.settings import Settings

THRESHOLDS = (0.85, 0.90, 0.92, 0.95, 0.97)
GATED, BARE = "with gate", "threshold alone"
_NO_GATE = GateRules.all(Effect.OFF)
_SHARED = ROOT.parent / "shared" / "data"
_FILES = (
    "written_pairs", "fow_pairs_en", "adversarial", "checklist_en", "medquad_en", "paws_wiki_en", "cmedqq_zh",
    "pawsx_zh",
)  # fmt: skip


class Pair(NamedTuple):
    """Two questions, whether one answer is right for both, and what kind of pair it is."""

    a: str
    b: str
    same: bool
    category: str


@dataclass
class Tally:
    """Of one kind of pair: how many, and how many were served by judgement and threshold."""

    pairs: int = 0
    served: dict[tuple[str, float], int] = field(default_factory=dict)

    def share(self, way: str, threshold: float) -> tuple[float, float, float]:
        """Give the share served with its interval."""
        served = self.served.get((way, threshold), 0)
        return (served / self.pairs if self.pairs else 0.0, *wilson(served, self.pairs))


Tallies = dict[tuple[str, bool], Tally]
"""By (category, same); the category "" holds all."""


def read(path: Path, limit: int) -> list[Pair]:
    """Read a pair file; above the limit a sample of it, always the same."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    pairs = [Pair(row["a"], row["b"], bool(row["same"]), str(row.get("category") or "")) for row in rows]
    return random.Random(5).sample(pairs, limit) if limit and len(pairs) > limit else pairs


def policies() -> Iterator[tuple[str, float, CachePolicy]]:
    """Give the policies to judge under: the chat domain at each threshold, with and without the gate."""
    chat = load_default().by_tenant[TenantId("default")].domains["chat"]
    for threshold in THRESHOLDS:
        at = replace(chat, threshold=threshold, verified_threshold=threshold, draft_threshold=threshold)
        yield GATED, threshold, at
        yield BARE, threshold, replace(at, gate=_NO_GATE)


async def judged(judge: Judge, pairs: Iterable[Pair]) -> Tallies:
    """Judge all pairs under all policies."""
    ways = list(policies())
    found: Tallies = {}
    for pair in pairs:
        kinds = [found.setdefault((name, pair.same), Tally()) for name in {"", pair.category}]
        for tally in kinds:
            tally.pairs += 1
        for way, threshold, policy in ways:
            if isinstance(await judge(pair.a, pair.b, policy), Hit):
                for tally in kinds:
                    tally.served[way, threshold] = tally.served.get((way, threshold), 0) + 1
    return found


def table(name: str, tallies: Tallies, by_category: bool) -> Table:
    """Lay one file out: shares served in percent, intervals below."""
    shown = Table("pairs", "n", "judged by", *(f"{t:.2f}" for t in THRESHOLDS), title=f"{name}: % served")
    for (category, same), tally in sorted(tallies.items(), key=lambda item: (item[0][0], not item[0][1])):
        if category and not by_category:
            continue
        label = f"{category or 'all'}, {'good' if same else 'traps'}"
        for way in (GATED, BARE):
            shares = [tally.share(way, threshold) for threshold in THRESHOLDS]
            cells = [
                f"{100 * share:.1f} [dim]({100 * low:.1f}-{100 * high:.1f})[/]" for share, low, high in shares
            ]
            shown.add_row(label, str(tally.pairs), way, *cells)
    return shown


def figures(tallies: Tallies) -> list[dict[str, object]]:
    """Give the counts as plain records."""
    return [
        {
            "category": category,
            "same": same,
            "pairs": tally.pairs,
            "served": {f"{way} {threshold}": count for (way, threshold), count in tally.served.items()},
        }
        for (category, same), tally in tallies.items()
    ]


async def measure(files: Sequence[Path], limit: int, data: Path) -> dict[str, Tallies]:
    """Judge the pairs of all files."""
    found: dict[str, Tallies] = {}
    loaded = {path.name: read(path, limit) for path in files}
    async with open_judge(Settings(data=data)) as judge:
        with Progress(transient=True) as progress:
            for name, pairs in loaded.items():
                found[name] = await judged(judge, progress.track(pairs, description=name))
    return found


def main() -> None:
    """Judge the files that are there, print, save."""
    parser = argparse.ArgumentParser(description="Wrong hits on labelled pairs.")
    parser.add_argument("files", type=Path, nargs="*", default=[_SHARED / f"{name}.jsonl" for name in _FILES])
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--pairs", type=int, default=0, help="pairs a file at most; 0: all")
    parser.add_argument("--categories", action="store_true", help="also by category of pair")
    parser.add_argument("--quick", action="store_true", help="ten pairs a file")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    present = [path for path in chosen.files if path.is_file()]
    for path in chosen.files:
        if path not in present:
            screen.print(f"{path}: not here, skipped")
    limit = 10 if chosen.quick else chosen.pairs
    found = asyncio.run(measure(present, limit, chosen.data))
    for name, tallies in found.items():
        screen.print(table(name, tallies, chosen.categories))
    save(
        chosen.json,
        {
            "circumstances": facts,
            "thresholds": THRESHOLDS,
            "files": {name: figures(tallies) for name, tallies in found.items()},
        },
    )


if __name__ == "__main__":
    main()
