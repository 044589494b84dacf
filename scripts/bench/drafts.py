"""Measure what an old answer is worth as a draft of a new one, on real pairs of questions.

    python scripts/bench/drafts.py [--pairs 12] [--tokens 64] [--seed 1] [--data DIR] [--json FILE]

The stored answer is the shipped model's own greedy answer to the stored question; the asked question is answered
plainly and with that text as a draft, by turns in one process and one thread. Three classes of pairs:

- paraphrase: the same question in other words;
- one slot: the same words but for one or two (a name, a number, an opposite), from the pairs that must be kept apart;
- unrelated: the stored question of another pair, far from the asked one.

Accepted is the share of the new answer's tokens that came out of the draft; steps saved the share of forward passes
of plain decoding; CPU the median over pairs of CPU seconds with the draft to those without (below 1: it pays). `same`
says how much of both answers is equal anyhow (longest common subsequence of tokens), which bounds what any draft can do.
WRONG says that an answer changed.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from pathlib import Path
from statistics import median

from engine_drafts import Answer, Engine, engine
from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import ROOT, models_folder

PARAPHRASES = ("fow_pairs_en.jsonl", "adversarial.jsonl", "written_pairs.jsonl")
SLOTS = ("adversarial.jsonl", "written_pairs.jsonl", "fow_pairs_en.jsonl", "checklist_en.jsonl")
SLOT_WORDS = 2
"""Words at most that a pair of the class `one slot` differs in, on either side."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One pair, answered plainly and with a draft; `ratio` is of their CPU seconds."""

    kind: str
    tokens: int
    steps: int
    accepted: int
    rejected: int
    ratio: float
    same: float
    changed: bool
    draft: list[int]
    answer: list[int]


def words(text: str) -> list[str]:
    """Split a question roughly."""
    return text.lower().replace("?", " ").replace(".", " ").replace(",", " ").split()


def differs_in_a_slot(a: str, b: str) -> bool:
    """True when only one place of a few words differs."""
    changes = [
        op for op in SequenceMatcher(None, words(a), words(b), False).get_opcodes() if op[0] != "equal"
    ]
    return (
        len(changes) == 1 and max(changes[0][2] - changes[0][1], changes[0][4] - changes[0][3]) <= SLOT_WORDS
    )


def read(folder: Path, names: Sequence[str], *, same: bool) -> list[tuple[str, str]]:
    """Read the pairs of some files that have one answer, or that must be kept apart."""
    lines = [line for name in names for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    pairs = [json.loads(line) for line in lines]
    return [(pair["a"], pair["b"]) for pair in pairs if pair["same"] is same and pair["a"] != pair["b"]]


def chosen(folder: Path, count: int, seed: int) -> dict[str, list[tuple[str, str]]]:
    """Draw the pairs of every class."""
    rng = random.Random(seed)
    paraphrases = rng.sample(read(folder, PARAPHRASES, same=True), count)
    slots = [pair for pair in read(folder, SLOTS, same=False) if differs_in_a_slot(*pair)]
    far = rng.sample(read(folder, PARAPHRASES, same=True), 2 * count)
    strangers = [(a, b) for (a, _), (_, b) in zip(far[:count], far[count:], strict=True)]
    return {"paraphrase": paraphrases, "one slot": rng.sample(slots, count), "unrelated": strangers}


def common(one: Sequence[int], other: Sequence[int]) -> float:
    """Share of `other` that a longest common subsequence with `one` covers."""
    row = [0] * (len(other) + 1)
    for ours in one:
        before = 0
        for at, theirs in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if ours == theirs else max(row[at], row[at - 1])
    return row[-1] / len(other) if other else 0.0


def tried(real: Engine, kind: str, pair: tuple[str, str], tokens: int) -> Tried:
    """Answer a pair's stored question, then the asked one, plainly and with that answer as a draft."""
    stored = real.answer(real.prompt(pair[0]), tokens)
    draft, prompt = real.tokens(stored.text), real.prompt(pair[1])
    real.answer(prompt, 1)  # the prompt is cached for both
    plain, drafted = real.answer(prompt, tokens), real.answer(prompt, tokens, draft)
    made, answer = plain.done.completion_tokens, real.tokens(plain.text)
    return Tried(
        kind,
        made,
        drafted.done.steps,
        drafted.done.accepted_draft,
        drafted.done.rejected_draft,
        _ratio(drafted, plain),
        common(draft, answer),
        drafted.text != plain.text,
        draft,
        answer,
    )


def _ratio(drafted: Answer, plain: Answer) -> float:
    return drafted.cpu / plain.cpu


def table(found: list[Tried], title: str) -> Table:
    """Put the classes side by side."""
    shown = Table(title=title)
    for column in (
        "class",
        "pairs",
        "tokens",
        "same",
        "accepted",
        "rejected",
        "steps saved",
        "CPU",
        "quartiles",
        "",
    ):
        shown.add_column(column, justify="right")
    for kind in dict.fromkeys(one.kind for one in found):
        some = [one for one in found if one.kind == kind]
        made = sum(one.tokens for one in some)
        ratios = sorted(one.ratio for one in some)
        shown.add_row(
            kind,
            str(len(some)),
            str(made),
            f"{median(one.same for one in some):.2f}",
            f"{sum(one.accepted for one in some) / made:.1%}",
            f"{sum(one.rejected for one in some) / made:.1%}",
            f"{1 - sum(one.steps for one in some) / made:.1%}",
            f"{median(ratios):.2f}",
            f"{ratios[len(ratios) // 4]:.2f}-{ratios[3 * len(ratios) // 4]:.2f}",
            "WRONG" if any(one.changed for one in some) else "",
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=12, help="of each class")
    parser.add_argument("--tokens", type=int, default=64, help="longest answer")
    parser.add_argument("--seed", type=int, default=1, help="draws the pairs")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--limit", type=int, default=16, help="longest guess of one step")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    say, facts = console(), circumstances()
    say.print(headline(facts))
    pairs = chosen(args.data, args.pairs, args.seed)
    with engine(models_folder() / "SmolLM2-135M-Instruct", args.precision, args.limit) as real:
        # By turns, so that a busy moment of the machine does not fall on one class.
        found = [
            tried(real, kind, some[at], args.tokens)
            for at in range(args.pairs)
            for kind, some in pairs.items()
        ]
    say.print(
        table(sorted(found, key=lambda one: list(pairs).index(one.kind)), "Lossless drafts, local engine")
    )
    save(
        args.json,
        {"circumstances": facts, "arguments": str(vars(args)), "pairs": [asdict(one) for one in found]},
    )


if __name__ == "__main__":
    main()
