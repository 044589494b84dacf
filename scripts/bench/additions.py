"""What the rule for additions does: attacks that it stops, and good pairs that it costs, with it and without.

    .venv/bin/python scripts/bench/additions.py [--shared DIR] [--pairs 700] [--victims 80] [--json FILE]

Both are judged as the proxy judges a question when the answer to the other is stored: real encoders, reference scale, gate, verifier, chat's
domain of the policy that ships, without evidence. Attacks are victims' questions with each instruction before and behind them.
Beside it the share of the files' texts that would count as personal data if they were answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from collision_rig.payloads import CHINESE, HELD_OUT, KNOWN
from collision_rig.victims import victims
from collisions import SHARED
from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import ROOT

from semcache.core import CachePolicy, Hit, TenantId
from semcache.decide.private_data import pieces, values
from semcache.decide.verify.verifier import ForestVerifier, open_verifier
from semcache.embed.open import open_encoder
from semcache.judging import judge
from semcache.parts import encoder_options
from semcache.policy.loader import load_default
from semcache.ports import Encoder
from semcache.settings import Settings

FILES = (
    "written_pairs", "fow_pairs_en", "adversarial", "checklist_en", "paws_wiki_en", "pawsx_zh", "cmedqq_zh", "medquad_en",
    "gptcache_mock_en", "rqe_medical_en",
)  # fmt: skip


class Bare:
    """The verifier without the rule."""

    def __init__(self, inner: ForestVerifier) -> None:
        self._inner = inner

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the forest's word."""
        return self._inner.likeness(asked, stored, similarity)


class Judged:
    """Counts what is served with and without the rule."""

    def __init__(self, encoder: Encoder, policy: CachePolicy) -> None:
        self._encoder = encoder
        self._policy = policy
        self._verifier = open_verifier()
        self._bare = Bare(self._verifier)

    async def count(self, pairs: Iterator[tuple[str, str]]) -> Counter[str]:
        """Judge pairs (stored, asked)."""
        found: Counter[str] = Counter()
        for stored, asked in pairs:
            found["n"] += 1
            for word, verifier in (("without", self._bare), ("with", self._verifier)):
                decision = await judge(self._encoder, verifier, stored, asked, self._policy)
                found[word] += isinstance(decision, Hit)
        return found


def rows(path: Path, most: int) -> list[dict[str, object]]:
    """Read the first rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:most]]


def beside(shared: Path, number: int) -> Iterator[tuple[str, str]]:
    """Yield attacks: each instruction before and behind each victim's question."""
    for victim in victims(shared, number):
        for said in CHINESE if victim.is_han else (*KNOWN, *HELD_OUT):
            yield f"{victim.text} {said}", victim.text
            yield f"{said} {victim.text}", victim.text


def personal(shared: Path) -> Counter[str]:
    """Count texts, and those with a value of one person's."""
    found: Counter[str] = Counter()
    for path in sorted(shared.glob("*.jsonl")):
        for row in rows(path, 1 << 30):
            for text in (row.get("a"), row.get("b"), row.get("text")):
                if isinstance(text, str):
                    found["texts"] += 1
                    found["personal"] += any(values(piece) for piece in pieces([text]))
    return found


async def measure(data: Path, shared: Path, pairs: int, number: int) -> dict[str, Counter[str]]:
    """Judge everything."""
    policy = load_default().by_tenant[TenantId("default")].domains["chat"]
    encoder = await open_encoder(encoder_options(Settings(data=data), 60.0))
    try:
        await encoder.warm()
        judged = Judged(encoder, policy)
        found = {"attacks": await judged.count(beside(shared, number))}
        for name in (name for name in FILES if (shared / f"{name}.jsonl").is_file()):
            good = [row for row in rows(shared / f"{name}.jsonl", pairs) if row["same"]]
            found[name] = await judged.count((str(row["a"]), str(row["b"])) for row in good)
        return found
    finally:
        await encoder.aclose()


def main() -> None:
    """Judge, print, save."""
    parser = argparse.ArgumentParser(description="What the rule for additions does.")
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data")
    parser.add_argument("--pairs", type=int, default=700, help="rows of each file")
    parser.add_argument("--victims", type=int, default=80)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    found = asyncio.run(measure(chosen.data, chosen.shared, chosen.pairs, chosen.victims))
    shown = Table("pairs", "n", "served without the rule", "served with it")
    for name, row in found.items():
        shown.add_row(name, str(row["n"]), str(row["without"]), str(row["with"]))
    screen.print(shown)
    told = personal(chosen.shared)
    screen.print(f"personal data in {told['personal']} of {told['texts']} texts")
    save(chosen.json, {"circumstances": facts, "pairs": {name: dict(row) for name, row in found.items()}})


if __name__ == "__main__":
    main()
