"""Measure speculative drafts: steps, tokens accepted, and CPU time against plain decoding, by agreement.

    python scripts/bench/engine_drafts.py [--precision int8] [--limit 32] [--quick] [--json FILE]

A draft is an answer of which a share of the tokens is left alone. Edits are scattered (single tokens replaced,
deleted, inserted) or come as passages of 8 to 40 tokens, as a revised text has them. At 0 % nothing is left but
what two English texts have in common. Two parts:

- simulated: the draft machinery alone with a model that says a given text (this project's pages); a step costs one
  and `--row-cost` for each row more. `--simulated` stops there: no model needed, some seconds.
- engine: the real model's own greedy answers as texts, in this process, one thread. Plain decoding and every draft
  take turns, the prompt is cached for all, and CPU time is that of the whole process; medians over questions and
  rounds of the ratio to plain decoding just before. WRONG in capitals says that an answer changed.
"""

from __future__ import annotations

import argparse
import queue
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import ROOT, models_folder
from tokenizers import Tokenizer

from semcache.engine.drafting.draft import Draft
from semcache.engine.drafting.judge import judge
from semcache.engine.generation import Delta, Done, Event, Failed, GenerationRequest, Sampling
from semcache.engine.model.loading import Settings, load_model
from semcache.engine.modes import Precision
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.runner import PagedRunner

SHARES = (0.0, 0.25, 0.5, 0.9, 1.0)
PLAIN_EVERY = 3
"""Drafts between two measurements of plain decoding."""

QUESTIONS = (
    "Explain in some detail how a bicycle stays upright.",
    "Write a short story about a lighthouse keeper who finds a letter.",
    "How do I make bread at home? Give all steps.",
    "Describe the water cycle for a pupil of twelve.",
    "What should I consider before I adopt a dog?",
    "Summarise what a relational database is and when to use one.",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table; `rows` went through the model, `gain` is plain cost over cost."""

    kind: str
    agreement: float
    tokens: int
    steps: int
    accepted: int
    rejected: int
    gain: float
    note: str = ""

    @property
    def rows(self) -> int:
        return self.steps + self.accepted + self.rejected


Edit = Callable[[Sequence[int], float, Sequence[int], random.Random], list[int]]


def scattered(tokens: Sequence[int], share: float, others: Sequence[int], rng: random.Random) -> list[int]:
    """Leave `share` of the tokens alone; replace or delete the others, insert half as many."""
    edited: list[int] = []
    for token in tokens:
        kept = rng.random() < share
        if kept and rng.random() < (1 - share) / 2:
            edited.append(rng.choice(others))
        if kept:
            edited.append(token)
        elif rng.random() < 0.5:
            edited.append(rng.choice(others))
    return edited


def passages(tokens: Sequence[int], share: float, others: Sequence[int], rng: random.Random) -> list[int]:
    """Leave `share` of passages of 8 to 40 tokens alone; replace or delete others, insert half as many."""

    def other() -> Sequence[int]:
        start = rng.randrange(max(len(others) - 30, 1))
        return others[start : start + rng.randint(5, 30)]

    edited: list[int] = []
    at = 0
    while at < len(tokens):
        part = tokens[at : at + rng.randint(8, 40)]
        at += len(part)
        kept = rng.random() < share
        if kept and rng.random() < (1 - share) / 2:
            edited += other()
        if kept:
            edited += part
        elif rng.random() < 0.5:
            edited += other()
    return edited


KINDS: dict[str, Edit] = {"scattered": scattered, "passages": passages}


def plans() -> Iterator[tuple[str, float]]:
    """All kinds of draft that are tried; without a single edit there is only one."""
    for kind in KINDS:
        for share in SHARES:
            if share < 1 or kind == "passages":
                yield kind, share


def said(answer: Sequence[int], draft: Draft, limit: int) -> tuple[int, int, int]:
    """Have a scripted model say an answer; gives steps, accepted and rejected tokens."""
    done: list[int] = []
    steps = accepted = rejected = 0

    def draw(_row: int) -> int:
        done.append(answer[len(done)])
        draft.observe(done[-1])
        return done[-1]

    while len(done) < len(answer):
        guess = draft.propose(min(limit, len(answer) - len(done) - 1))
        verdict = judge(guess, draw, lambda: len(done) == len(answer))
        steps += 1
        accepted += verdict.accepted
        rejected += verdict.rejected
    return steps, accepted, rejected


def simulated(texts: list[list[int]], limit: int, row_cost: float, seed: int) -> list[Figure]:
    """Follow every text with drafts of it."""
    others = [token for text in texts for token in text]
    figures = []
    for kind, share in plans():
        total = [0, 0, 0]
        for number, text in enumerate(texts):
            draft = Draft(KINDS[kind](text, share, others, random.Random(seed + number)))
            total = [one + more for one, more in zip(total, said(text, draft, limit), strict=True)]
        steps, accepted, rejected = total
        tokens = sum(map(len, texts))
        gain = tokens / (steps + row_cost * (accepted + rejected))
        figures.append(Figure(kind, share, tokens, steps, accepted, rejected, gain))
    return figures


def page_texts(folder: Path, length: int = 400, count: int = 30) -> list[list[int]]:
    """Cut this project's pages into texts of `length` tokens."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pages = [tokenizer.encode(page.read_text()).ids for page in sorted((ROOT / "docs").rglob("*.md"))]
    texts = [page[at : at + length] for page in pages for at in range(0, len(page) - length, length)]
    random.Random(0).shuffle(texts)
    return texts[:count]


class Engine:
    """The real model behind its runner, in this process."""

    def __init__(self, folder: Path, precision: str, limit: int) -> None:
        settings = Settings(precision=Precision(precision), kv_bytes=1 << 29)
        self.model = load_model(folder, settings, lambda _: None)
        self.runner = PagedRunner(self.model, limits=Limits(draft=limit))

    def prompt(self, question: str) -> tuple[int, ...]:
        """Give a chat prompt's tokens."""
        messages = [{"role": "user", "content": question}]
        ids: Any = self.model.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_dict=False
        )
        return tuple(ids)

    def answer(self, prompt: tuple[int, ...], tokens: int, draft: Sequence[int] = ()) -> Answer:
        """Answer greedily; a draft changes what that costs."""
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        request = GenerationRequest(prompt, Sampling(temperature=0.0), tokens, draft=tuple(draft))
        began = time.process_time()
        self.runner.submit(request, events.put)
        text = ""
        while True:
            match events.get():
                case Delta(text=more):
                    text += more
                case Done() as done:
                    return Answer(text, time.process_time() - began, done)
                case Failed(error=error):
                    raise error

    def tokens(self, text: str) -> list[int]:
        """Tokenise an answer."""
        ids: Any = self.model.tokenizer(text, add_special_tokens=False)["input_ids"]
        return list(ids)


@dataclass(frozen=True, slots=True)
class Answer:
    """A text, its CPU seconds, and what the runner says of it."""

    text: str
    cpu: float
    done: Any


@contextmanager
def engine(folder: Path, precision: str, limit: int) -> Iterator[Engine]:
    """Load the model; end its thread in the end."""
    found = Engine(folder, precision, limit)
    try:
        yield found
    finally:
        found.runner.close()


class Turns:
    """Collects what every kind of draft took, side by side with plain decoding."""

    def __init__(self, real: Engine, tokens: int, seed: int) -> None:
        self._real = real
        self._tokens = tokens
        self._seed = seed
        self._ratios: dict[tuple[str, float], list[float]] = {plan: [] for plan in plans()}
        self._sums: dict[tuple[str, float], list[int]] = {plan: [0] * 4 for plan in plans()}
        self._changed: dict[tuple[str, float], int] = dict.fromkeys(plans(), 0)
        self.plain_ms: list[float] = []

    def take(self, number: int, others: Sequence[int]) -> None:
        """Ask one question plainly and with every draft."""
        prompt = self._real.prompt(QUESTIONS[number])
        self._real.answer(prompt, 1)  # the prompt is cached for all
        for at, (kind, share) in enumerate(plans()):
            if at % PLAIN_EVERY == 0:
                plain = self._real.answer(prompt, self._tokens)
                made = plain.done.completion_tokens
                self.plain_ms.append(1e3 * plain.cpu / made)
            rng = random.Random(f"{self._seed} {number} {kind} {share}")
            draft = KINDS[kind](self._real.tokens(plain.text), share, others, rng)
            drafted = self._real.answer(prompt, self._tokens, draft)
            done = drafted.done
            plan = (kind, share)
            self._ratios[plan].append(plain.cpu / drafted.cpu)
            self._changed[plan] += drafted.text != plain.text
            counted = (made, done.steps, done.accepted_draft, done.rejected_draft)
            self._sums[plan] = [one + more for one, more in zip(self._sums[plan], counted, strict=True)]

    def figures(self) -> list[Figure]:
        """Give a line for every kind of draft."""
        return [
            Figure(
                *plan,
                *self._sums[plan],
                gain=median(self._ratios[plan]),
                note=f"{self._changed[plan]} WRONG" if self._changed[plan] else "",
            )
            for plan in self._ratios
        ]


def table(title: str, figures: list[Figure]) -> Table:
    """Show figures, a line each."""
    shown = Table(title=title, title_justify="left")
    for name in ("draft", "agreement", "tokens a step", "accepted %", "rejected %", "gain", ""):
        shown.add_column(name, justify="left" if name in ("draft", "") else "right")
    for each in figures:
        shown.add_row(
            each.kind,
            f"{100 * each.agreement:.0f} %",
            f"{each.tokens / each.steps:.2f}",
            f"{100 * each.accepted / each.tokens:.0f}",
            f"{100 * each.rejected / each.tokens:.0f}",
            f"{each.gain:.2f}",
            each.note,
        )
    return shown


def measure(args: argparse.Namespace, say: Console) -> dict[str, Any]:
    """Run both parts."""
    texts = page_texts(args.model)
    figures = simulated(texts, args.limit, args.row_cost, args.seed)
    say.print(table(f"simulated, a row costs {args.row_cost} of a step, at most {args.limit}", figures))
    found: dict[str, Any] = {"simulated": [asdict(each) for each in figures]}
    if args.simulated:
        return found
    others = [token for text in texts for token in text]
    with engine(args.model, args.precision, args.limit) as real:
        turns = Turns(real, args.tokens, args.seed)
        for _ in range(args.rounds):
            for number in range(args.questions):
                turns.take(number, others)
        figures = turns.figures()
        plain = median(turns.plain_ms)
        title = f"engine {args.precision}, plain decoding {plain:.1f} CPU ms a token, at most {args.limit}"
        say.print(table(title, figures))
    return found | {"engine": [asdict(each) for each in figures], "plain_cpu_ms": plain}


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Speculative drafts against plain decoding.")
    parser.add_argument("--model", type=Path, default=models_folder() / "SmolLM2-135M-Instruct")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "int8"))
    parser.add_argument("--limit", type=int, default=32, help="most guesses verified in one step")
    parser.add_argument("--row-cost", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=128, help="length of an answer")
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--simulated", action="store_true", help="without the model")
    parser.add_argument("--quick", action="store_true", help="short answers, once: shows that it runs")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    args.questions = min(args.questions, len(QUESTIONS))
    if args.quick:
        args.tokens, args.questions, args.rounds = 24, 1, 1
    facts = circumstances()
    say = console()
    say.print(headline(facts))
    save(args.json, {"circumstances": facts, **measure(args, say)})


if __name__ == "__main__":
    main()
