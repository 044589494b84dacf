"""What it costs that a new answer is its author's alone until others got the same: hit rates by rule, on labelled questions.

    .venv/bin/python scripts/bench/confirmation.py [FILE.jsonl ...] [--users 50] [--queries N] [--near N] [--quick] [--json FILE]

Each file of classes (`text`, `cls` a line) is asked twice over, under each rule: every question once, in random order; and as many
questions drawn with repeats, the n-th most popular 1/n as often as the first. Who asks is drawn the same way from so many
users, who come with a key of the tenant's. Everything is the product's own (built-in policy, real encoders and verifier,
store and index) but for two things: the evidence allows every hit, and the upstream answers by the class of
the question, in one of two wordings and with figures that no other class has. So equal classes confirm each other
as far as comparing answers sees it, and a hit is wrong when its class is another. `--near` bounds how many near answers one
author may have; *crowded* are those that were kept from being found by meaning for it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from rich.progress import Progress
from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import ROOT

from semcache.asking.likeness import similar_by
from semcache.asking.pace import Pace
from semcache.core import Caller, Confirmation, ConfirmedBy, Hit, TenantId
from semcache.evaluate.answering import ConstantReply
from semcache.evaluate.asking import ask_of, model_for
from semcache.evaluate.domains import Variation
from semcache.evaluate.rig import Rig, opened
from semcache.evaluate.rows import Labelled, read_labelled
from semcache.pipeline import Pipeline
from semcache.policy.loader import load_default
from semcache.ports import UpstreamCall
from semcache.settings import Settings

_SHARED = ROOT.parent / "shared" / "data"
_FILES = ("banking77_classes_en", "clinc150_classes_en")
RULES: Mapping[str, Confirmation] = {
    "none": Confirmation(),
    "2 users": Confirmation(ConfirmedBy.USERS, 2),
    "3 users": Confirmation(ConfirmedBy.USERS, 3),
    "human": Confirmation(ConfirmedBy.HUMAN),
}
TENANT = TenantId("default")


@dataclass
class Tally:
    """What became of a stream: numbers of requests."""

    n: int = 0
    exact: int = 0
    semantic: int = 0
    wrong: int = 0
    unconfirmed: int = 0
    crowded: int = 0

    @property
    def hits(self) -> int:
        """Answers from the cache."""
        return self.exact + self.semantic


class Answers:
    """A `ports.Generator` that answers by class."""

    name = "eval"

    def __init__(self, rows: Sequence[Labelled]) -> None:
        self._cls = {row.text: row.cls for row in rows}

    async def open(self, call: UpstreamCall) -> ConstantReply:
        """Answer the question of the call."""
        assert isinstance(call.body, bytes)
        question = orjson.loads(call.body)["messages"][-1]["content"]
        return Reply(answer(self._cls[question], question))

    async def aclose(self) -> None:
        """Have nothing to close."""


class Reply(ConstantReply):
    """A chat completion with a text of its own."""

    def __init__(self, text: str) -> None:
        message = {"role": "assistant", "content": text}
        self._body = orjson.dumps(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 0,
                "model": "eval",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4},
            }
        )

    async def body(self) -> AsyncIterator[bytes]:
        """Give the whole answer in one piece."""
        yield self._body


def answer(cls: str, question: str) -> str:
    """Give the answer of a class: figures are its own, the wording is one of two."""
    digest = hashlib.sha256(cls.encode()).digest()
    days, fee = 2 + digest[0] % 97, 100 + int.from_bytes(digest[1:3], "big") % 9000
    about = cls.replace("_", " ")
    if hashlib.sha256(question.encode()).digest()[0] % 2:
        return f"Concerning {about}: it takes {days} days and the limit is {fee} dollars."
    return f"For {about} the limit is {fee} dollars, and you should allow {days} days."


def streams(rows: Sequence[Labelled], queries: int, seed: int) -> dict[str, list[Labelled]]:
    """Give the two streams of a file."""
    order = list(rows)
    random.Random(seed).shuffle(order)
    order = order[:queries] if queries else order
    weights = [1 / rank for rank in range(1, len(order) + 1)]
    drawn = random.Random(seed + 1).choices(order, weights, k=len(order))
    return {"each once": order, "popular ones again": drawn}


async def run(rig: Rig, pipeline: Pipeline, stream: Sequence[Labelled], users: int, name: str) -> Tally:
    """Ask a stream, each question by somebody."""
    tally, cls_of = Tally(), {}
    weights = [1 / rank for rank in range(1, users + 1)]
    askers = random.Random(7).choices(range(users), weights, k=len(stream))
    model = model_for(rig.parts.snapshot.tenant(TENANT))
    for row, user in zip(stream, askers, strict=True):
        asked = ask_of(({"role": "user", "content": row.text},), TENANT, model, name)
        request = replace(asked.request, end_user=f"user {user}", keys={})
        asked = replace(asked, request=request, caller=Caller(TENANT, key_name="bench"))
        await rig.embed(row.text)
        trace = (await rig.ask(pipeline, asked)).trace
        await asyncio.sleep(0)
        decision = trace.decision
        tally.n += 1
        tally.crowded += trace.crowded
        if isinstance(decision, Hit) and trace.served:
            tally.exact += decision.exact
            tally.semantic += not decision.exact
            tally.wrong += cls_of.get(decision.entry.prompt) != row.cls
        elif isinstance(decision, Hit):
            tally.unconfirmed += decision.unconfirmed
        cls_of.setdefault(row.text, row.cls)
    await rig.forget()
    return tally


def ruled(rig: Rig, rule: Confirmation, near: int | None) -> Pipeline:
    """Give the pipeline under a rule and a cap; answers are compared with the encoder's help, at any pace."""
    made = rig.pipeline("", Variation(confirmation=rule, max_near=near))
    similar = similar_by(rig.parts.encoder, Pace(1e9, 1e9), rig.parts.clock)
    return replace(made, memory=replace(made.memory, similar=similar))


@dataclass(frozen=True)
class Wish:
    """How many users and questions, and how many near answers an author may have."""

    users: int
    queries: int
    near: int | None


async def measure(files: Sequence[Path], wish: Wish, data: Path) -> dict[str, dict[str, Tally]]:
    """Ask all streams under all rules."""
    found: dict[str, dict[str, Tally]] = {}
    async with opened(Settings(data=data), load_default(), TENANT) as plain:
        with Progress(transient=True) as progress:
            for path in files:
                rows = read_labelled(path)
                rig = plain.answered_by(Answers(rows))
                for title, stream in streams(rows, wish.queries, 3).items():
                    tallies = found[f"{path.stem}, {title}"] = {}
                    for name, rule in progress.track(RULES.items(), description=f"{path.stem}, {title}"):
                        namespace = f"{path.stem}-{title}-{name}"
                        tallies[name] = await run(
                            rig, ruled(rig, rule, wish.near), stream, wish.users, namespace
                        )
    return found


def table(title: str, tallies: Mapping[str, Tally]) -> Table:
    """Lay one stream out."""
    n = next(iter(tallies.values())).n
    shown = Table(
        "rule",
        "hits %",
        "exact %",
        "by meaning %",
        "held back %",
        "crowded %",
        "wrong per hit %",
        title=f"{title}, n {n}",
    )
    for name, tally in tallies.items():
        shares = (tally.hits, tally.exact, tally.semantic, tally.unconfirmed, tally.crowded)
        cells = [f"{100 * count / max(1, tally.n):.1f}" for count in shares]
        shown.add_row(name, *cells, f"{100 * tally.wrong / max(1, tally.hits):.2f}")
    return shown


def main() -> None:
    """Measure the files that are there, print, save."""
    parser = argparse.ArgumentParser(description="Hit rates by rule of confirmation.")
    parser.add_argument("files", type=Path, nargs="*", default=[_SHARED / f"{name}.jsonl" for name in _FILES])
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--near", type=int, help="quotas.max_near_per_author; absent: no limit")
    parser.add_argument("--queries", type=int, default=0, help="questions a file at most; 0: all")
    parser.add_argument("--quick", action="store_true", help="60 questions a file")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    facts = circumstances()
    screen = console()
    screen.print(headline(facts))
    files = [path for path in chosen.files if path.exists()]
    queries = 60 if chosen.quick else chosen.queries
    found = asyncio.run(measure(files, Wish(chosen.users, queries, chosen.near), chosen.data))
    for title, tallies in found.items():
        screen.print(table(title, tallies))
    figures = {
        title: {name: json.loads(orjson.dumps(tally)) for name, tally in tallies.items()}
        for title, tallies in found.items()
    }
    save(chosen.json, {"circumstances": facts, "users": chosen.users, "streams": figures})


if __name__ == "__main__":
    main()
