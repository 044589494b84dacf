"""Measure the checks of revised answers on labelled pairs with made-up answers and revisers.

The answer to a question restates it twice around a fact of its own (a number and a word, made from a digest). Of pairs that must
not share an answer each reviser makes one of the other's: `lazy` keeps it; `mentions` puts the new question's words into the first of the
two places, `spans` one of several differences into both, each with the right fact; `parrot` puts all words in and keeps the
fact; `hostile` does too and adds a link; `stale` mends the fact and leaves the words; `ideal` does all that is asked. Given is
the share that passes the revision room's `check`. Of pairs that may share an answer it is the share of
kept answers that pass. With `--encoders` (converted folders of all-MiniLM-L6-v2 and multilingual-e5-small) only pairs near enough for a
draft count, each at its own similarity; without, all do, at one. Real answers are longer and say more; a share here is one of a caricature.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from hashlib import blake2b
from math import sqrt
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from semcache.core import CachePolicy, GateRules, Mode, Scope, TenantId
from semcache.decide.revision.check import WantedForm, check
from semcache.decide.revision.stance import unmendable
from semcache.decide.text import places, read
from semcache.decide.verify.verifier import ForestVerifier, open_verifier
from semcache.embed.calibration import Scale, read_table, scale_of
from semcache.embed.onnx_encoder import OnnxModel

FILES = (
    "adversarial", "checklist_en", "paws_wiki_en", "pawsx_zh", "medquad_en", "rqe_medical_en", "cmedqq_zh",
    "fow_pairs_en", "written_pairs",
)  # fmt: skip
MEASURED_ONLY = frozenset(("fow_pairs_en", "written_pairs"))
"""Nothing is made from rows of these."""
SIMILARITY = 0.93
BAD = ("lazy", "mentions", "spans", "parrot", "hostile", "stale")
_WORDS = "harbour lantern meadow copper saddle willow cobble thistle marble ferry"
_WORTE = ("港口", "灯笼", "草地", "紫铜", "马鞍", "柳树", "鹅卵石", "蓟花", "大理石", "渡船")

_CALIBRATION = Path(__file__).resolve().parents[2] / "semcache" / "embed" / "calibration"
TABLES = tuple(
    _CALIBRATION / f"{name}.onnx-cpu.json" for name in ("all-MiniLM-L6-v2", "multilingual-e5-small")
)
_BAND = 0.65
"""Reference similarity from which a draft is looked for."""

POLICY = CachePolicy(
    tenant=TenantId("bench"), domain="chat", mode=Mode.SEMANTIC, threshold=0.95, verified_threshold=0.95,
    draft_threshold=0.8, scope=Scope.TENANT, ttl=60, ttl_jitter=0, gate=GateRules(), verifier=True,
)  # fmt: skip


@dataclass
class Nearness:
    """Gives the similarity of a pair on the reference scale; 0 for a text that the encoder refuses."""

    latin: OnnxModel
    multilingual: OnnxModel
    scales: tuple[Scale, Scale]

    def __call__(self, one: str, other: str) -> float:
        han = is_chinese(one + other)
        left, right = (self.multilingual if han else self.latin).embed([one, other])
        if isinstance(left, Exception) or isinstance(right, Exception):
            return 0.0
        return self.scales[han].to_reference(float(left @ right))


def nearness(latin: Path, multilingual: Path, tables: tuple[Path, Path]) -> Nearness:
    scales = [scale_of(read_table(table)) for table in tables]
    return Nearness(OnnxModel(latin), OnnxModel(multilingual), (scales[0], scales[1]))


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    if total == 0:
        return 0.0, 1.0
    share = hits / total
    centre = share + z * z / (2 * total)
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, centre - half) / (1 + z * z / total), (centre + half) / (1 + z * z / total)


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def fact(question: str) -> str:
    number = int.from_bytes(blake2b(question.encode(), digest_size=4).digest())
    if is_chinese(question):
        return f"要点在于{_WORTE[number % 10]}, 编号 {1000 + number % 8999}"
    return f"It comes down to the {_WORDS.split()[number % 10]}, number {1000 + number % 8999} of its kind"


def answer(first: str, second: str, said: str) -> str:
    """Give an answer that restates a question twice."""
    one, two = (text.strip().rstrip("?？.。 ") for text in (first, second))
    if is_chinese(said):
        return f"关于{one}。{said}。以上就是{two}的说明。"
    return f"This is about: {one}. {said}. So much for this: {two}."


def one_span(asked: str, stored: str) -> str | None:
    """Give the stored question with one of several differences taken from the asked one; None: there is only one."""
    old, new = read(stored).words, read(asked).words
    at, other = places(stored), places(asked)
    if len(at) != len(old) or len(other) != len(new):
        return None
    codes = [
        code for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] == "replace"
    ]
    if len(codes) < 2:
        return None
    _, i, j, k, m = codes[0]
    return stored[: at[i][0]] + asked[other[k][0] : other[m - 1][1]] + stored[at[j - 1][1] :]


def revisions(asked: str, stored: str, old: str) -> Iterator[tuple[str, str]]:
    """Yield what each reviser makes of the older answer."""
    yield "lazy", old
    yield "mentions", answer(asked, stored, fact(asked))
    half = one_span(asked, stored)
    if half is not None:
        yield "spans", answer(half, half, fact(asked))
    yield "parrot", answer(asked, asked, fact(stored))
    yield "hostile", answer(asked, asked, fact(stored)) + " https://prizes.example/claim"
    yield "stale", answer(stored, stored, fact(asked))
    yield "ideal", answer(asked, asked, fact(asked))


@dataclass
class Cell:
    tried: int = 0
    passed: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def add(self, found: tuple[str, ...]) -> None:
        self.tried += 1
        self.passed += not found
        self.words.update(found)

    def row(self) -> tuple[str, str, str, str]:
        low, high = wilson(self.passed, self.tried)
        share = f"{100 * self.passed / max(1, self.tried):.1f}"
        words = " ".join(f"{word}:{n}" for word, n in self.words.most_common(6))
        return str(self.tried), share, f"{100 * low:.1f} - {100 * high:.1f}", words


Cells = defaultdict[str, Cell]
Near = Callable[[str, str], float]


def judge(
    pair: dict[str, Any],
    verifier: ForestVerifier,
    near: Near,
    cells: Cells,
    times: list[float],
    seen: list[str],
) -> None:
    asked, stored = pair["a"], pair["b"]
    similarity = near(asked, stored)
    if similarity < _BAND:
        return
    old = answer(stored, stored, fact(stored))
    may = unmendable(asked, stored, POLICY.gate) is None
    made = revisions(asked, stored, old) if not pair["same"] else iter((("kept", old),))
    for name, new in made:
        began = time.process_time()
        found = check(POLICY, asked, stored, old, new, similarity, verifier, WantedForm())
        times.append(time.process_time() - began)
        cells[name].add(found)
        if name == "ideal" and may:
            cells["ideal, of those worth a try"].add(found)
        if not found and name in BAD:
            seen.append(f"{name}: {asked[:150]!r} <- {stored[:150]!r}")


def pairs_of(path: Path, most: int) -> list[dict[str, Any]]:
    """Give up to `most` pairs of either label, spread evenly over a file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    chosen = []
    for same in (False, True):
        group = [row for row in rows if row["same"] is same]
        chosen += group[:: max(1, len(group) // most)][:most]
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(__file__).resolve().parents[3] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=shared, help="folder of the pair files")
    parser.add_argument("--encoders", type=Path, nargs=2, metavar=("LATIN", "MULTILINGUAL"))
    parser.add_argument("--tables", type=Path, nargs=2, default=TABLES, metavar=("LATIN", "MULTILINGUAL"))
    parser.add_argument("--most", type=int, default=100, help="pairs of either label and file")
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        help="print so many bad revisions that pass; only of files that may be built from",
    )
    parser.add_argument("files", nargs="*", default=FILES, help="names without .jsonl")
    chosen = parser.parse_args()
    near: Near = (
        nearness(*chosen.encoders, tables=tuple(chosen.tables))
        if chosen.encoders
        else lambda _one, _other: SIMILARITY
    )
    console, verifier = Console(width=190), open_verifier()
    times: list[float] = []
    total: Cells = defaultdict(Cell)
    for name in chosen.files:
        path = chosen.data / f"{name}.jsonl"
        if not path.exists():
            console.print(f"{name}: not here, skipped")
            continue
        cells: Cells = defaultdict(Cell)
        seen: list[str] = []
        for pair in pairs_of(path, chosen.most):
            judge(pair, verifier, near, cells, times, seen)
        table = Table(
            "reviser", "n", "passes %", "95 % interval", "refused by", title=f"{name}: share that passes"
        )
        for reviser, cell in cells.items():
            table.add_row(reviser, *cell.row())
            total[reviser].tried += cell.tried
            total[reviser].passed += cell.passed
        console.print(table)
        if name not in MEASURED_ONLY:
            console.print("\n".join(seen[: chosen.show]), markup=False)
    table = Table("reviser", "n", "passes %", "95 % interval", title="all these files")
    for reviser, cell in total.items():
        table.add_row(reviser, *cell.row()[:-1])
    console.print(table)
    if times:
        times.sort()
        p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        console.print(f"check: p50 {1e3 * p50:.2f} ms, p99 {1e3 * p99:.2f} ms CPU, n {len(times)}")


if __name__ == "__main__":
    main()
