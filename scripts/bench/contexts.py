"""Measure right and wrong hits in conversations: what the resolved contexts let through.

    .venv/bin/python scripts/bench/contexts.py [FILE.jsonl ...] [--plain] [--json FILE]

A file has a JSON object a line with `turns_a` and `turns_b` (chats), `same` (true: the answer to a is right
for b too) and `category`. For each pair four counts, each a part of the one before:

- agree: nothing that needs no vectors speaks against (with `--plain`: the two readings agree by words alone);
- near: and last questions and resolved texts are near enough on the reference scale, and the
  judge of chats has nothing against the whole;
- gate: and the gate has nothing against the last questions;
- policy: and the last questions reach the chat domain's own threshold (equal ones always do).

Beside them `alike`: pairs that do not agree but may be one case in other words; such a pair is never served
directly.

Shares are of good pairs (served rightly) and of traps (served wrongly) with Wilson 95 % intervals, category
by category. CPU time of reading and comparing is reported beside it. Files that are not there are skipped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table
from rig.report import circumstances, console, headline, quantile, save, wilson
from rig.serving import ROOT

from semcache.core import GateRules, TenantId
from semcache.decide.context import (
    NEAR,
    Judge,
    Nearness,
    Reading,
    agree,
    alike,
    open_judge,
    open_texts,
    read,
    settle,
)
from semcache.decide.gate import vetoes
from semcache.decide.verify.verifier import open_verifier
from semcache.embed.canonical import canonical_text
from semcache.embed.open import open_encoder
from semcache.embed.router import RoutedEncoder
from semcache.errors import EncoderError
from semcache.judging import similarity_of
from semcache.meeting import MOST_TEXTS
from semcache.parts import encoder_options
from semcache.policy.loader import load_default
from semcache.settings import Settings

STEPS = ("agree", "near", "gate", "policy")
_FILES = ("fow_conversations_en", "written_chats")
_DEADLINE = 10.0


@dataclass
class Tally:
    """Pairs of one kind, how many passed each step, and why the others did not agree."""

    pairs: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


Tallies = dict[tuple[str, bool], Tally]


class Meter:
    """Judges pairs of chats with the real encoder under the built-in chat domain."""

    def __init__(self, encoder: RoutedEncoder, kin: Judge | None) -> None:
        self.encoder = encoder
        self.kin = kin
        self.policy = load_default().by_tenant[TenantId("default")].domains["chat"]
        self.read_times: list[float] = []
        self.agree_times: list[float] = []
        self.encoder_times: list[float] = []
        self.texts: list[float] = []
        self.all_times: list[float] = []

    async def similarity(self, a: str, b: str) -> float:
        """Give the nearness of two texts on the reference scale; -1 where nothing can be said."""
        if canonical_text(a) == canonical_text(b):
            return 1.0
        start = time.process_time()
        try:
            one, other = await self.encoder.encode(a), await self.encoder.encode(b)
        except EncoderError:
            return -1.0
        self.encoder_times.append(time.process_time() - start)
        if one.encoder != other.encoder:
            return -1.0
        found = similarity_of(self.encoder, self.policy, one.encoder, float(one.vector @ other.vector))
        return -1.0 if found is None else found

    async def reading(self, turns: list[dict[str, str]]) -> Reading:
        """Read a chat, note the time, and settle what words leave open."""
        system = "\n".join(turn["content"] for turn in turns if turn["role"] in ("system", "developer"))
        start = time.process_time()
        found = read(turns, system)
        self.read_times.append(time.process_time() - start)
        if found.otherwise is None:
            return found
        return settle(found, await self.similarity(found.text, found.background))

    async def talk(self, text: str) -> float | None:
        """Give the log-odds that a text is small talk."""
        try:
            vector = await self.encoder.encode(text)
        except EncoderError:
            return None
        return self.kin and self.kin.small_talk(self.encoder.name_of(vector.encoder), vector.vector)

    async def steps(self, row: dict[str, Any], tally: Tally) -> None:
        """Take one pair through the steps."""
        stored, asked = await self.reading(row["turns_a"]), await self.reading(row["turns_b"])
        a, b = row["turns_a"][-1]["content"], row["turns_b"][-1]["content"]
        tally.pairs += 1
        tally.kinds[f"{stored.kind}/{asked.kind}"] += 1
        last = await self.similarity(a, b)
        nearness = Nearness(await self.similarity(stored.text, asked.text), last)
        start = time.process_time()
        reasons = agree(asked, stored, kin=self.kin)
        texts = open_texts(asked, stored, self.kin) if self.kin and not reasons else ()
        spent = time.process_time() - start
        start = time.process_time()
        few = texts if len(texts) <= MOST_TEXTS else ()
        talk = {text: odds for text in few if (odds := await self.talk(text)) is not None}
        embedding = time.process_time() - start
        against = agree(asked, stored, nearness, self.kin, talk.get if len(texts) <= MOST_TEXTS else None)
        self.agree_times.append(spent + time.process_time() - start - embedding)
        self.all_times.append(spent + time.process_time() - start)
        self.texts.append(float(len(texts)))
        tally.reasons.update(reasons or against)
        if reasons:
            tally.passed["alike"] += alike(asked, stored, nearness) and not vetoes(a, b, GateRules())
            return
        near = not against
        gate = near and not vetoes(a, b, GateRules())
        policy = gate and last >= self.policy.threshold
        tally.passed.update(step for step, ok in zip(STEPS, (True, near, gate, policy), strict=True) if ok)


async def measure(paths: list[Path], data: Path, kin: Judge | None) -> tuple[dict[str, Tallies], Meter]:
    """Judge all pairs of all files."""
    encoder = await open_encoder(encoder_options(Settings(data=data), _DEADLINE))
    try:
        await encoder.warm()
        meter = Meter(encoder, kin)
        found: dict[str, Tallies] = {}
        for path in paths:
            tallies: defaultdict[tuple[str, bool], Tally] = defaultdict(Tally)
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                await meter.steps(row, tallies[str(row.get("category") or "-"), bool(row["same"])])
            found[path.name] = dict(tallies)
        return found, meter
    finally:
        await encoder.aclose()


def wording() -> Judge:
    """Open the shipped judge of chats."""
    return open_judge(open_verifier())


def total(tallies: Tallies, *, same: bool) -> Tally:
    """Add up all good pairs, or all traps, of a file."""
    out = Tally()
    for (_, is_same), tally in tallies.items():
        if is_same is same:
            out.pairs += tally.pairs
            out.passed += tally.passed
            out.reasons += tally.reasons
            out.kinds += tally.kinds
    return out


def table(name: str, tallies: Tallies) -> Table:
    """Lay out one file."""
    screen = Table("category", "pairs are", "n", *STEPS, "alike", "95 % (gate)", "why not", title=name)
    rows = [("all", same, total(tallies, same=same)) for same in (True, False)]
    rows += [(category, same, tally) for (category, same), tally in sorted(tallies.items())]
    for category, same, tally in rows:
        low, high = wilson(tally.passed["gate"], tally.pairs)
        screen.add_row(
            category,
            "good" if same else "traps",
            str(tally.pairs),
            *(str(tally.passed[step]) for step in (*STEPS, "alike")),
            f"{100 * low:.0f}-{100 * high:.0f} %",
            " ".join(f"{word.removeprefix('context-')}:{n}" for word, n in tally.reasons.most_common(4)),
        )
    return screen


def figures(tallies: Tallies) -> list[dict[str, object]]:
    """Give one file's counts for the JSON file."""
    return [
        {
            "category": category,
            "same": same,
            "pairs": tally.pairs,
            **{step: tally.passed[step] for step in (*STEPS, "alike")},
            "reasons": dict(tally.reasons),
            "kinds": dict(tally.kinds),
        }
        for (category, same), tally in sorted(tallies.items())
    ]


def times(meter: Meter) -> dict[str, float]:
    """Give CPU milliseconds: of reading one chat, comparing two, and embedding two texts."""
    return {
        f"{name}_{mark}_ms": round(1e3 * quantile(values, share), 3)
        for name, values in (
            ("read", meter.read_times),
            ("agree", meter.agree_times),
            ("encode_pair", meter.encoder_times),
            ("compare_with_small_talk", meter.all_times),
        )
        for mark, share in (("p50", 0.5), ("p99", 0.99))
    }


def main() -> None:
    """Judge the files that are there, print, save."""
    parser = argparse.ArgumentParser(description="Right and wrong hits in conversations.")
    shared = ROOT.parent / "shared" / "data"
    parser.add_argument("files", type=Path, nargs="*", default=[shared / f"{name}.jsonl" for name in _FILES])
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--plain", action="store_true", help="without the judge of chats")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    for path in chosen.files:
        if not path.is_file():
            screen.print(f"{path}: not here, skipped")
    found, meter = asyncio.run(
        measure(
            [path for path in chosen.files if path.is_file()],
            chosen.data,
            None if chosen.plain else wording(),
        )
    )
    for name, tallies in found.items():
        screen.print(table(name, tallies))
    spent = times(meter)
    screen.print(", ".join(f"{name} {value}" for name, value in spent.items()))
    save(
        chosen.json,
        {
            "circumstances": facts,
            "near": {"resolved": NEAR.resolved, "last": NEAR.last},
            "times": spent,
            "files": {name: figures(tallies) for name, tallies in found.items()},
        },
    )


if __name__ == "__main__":
    main()
