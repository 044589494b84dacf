"""How many of the hits come before reviewers, and what that costs a request.

    .venv/bin/python scripts/bench/attention.py [FILE.jsonl ...] [--rows N] [--users N] [--near X] [--json FILE]

A class file has a JSON object a line with `text` and `cls`; by default those of `../shared/data`, where they are. Its
questions are asked once each in random order, by random users, under the built-in policy's chat domain, with real encoder,
gate and verifier; what is no hit is stored. So every hit is one by meaning, of a question nobody asked before: repeats,
which are answered exactly, seldom come before anybody. `wrong` counts hits on a question of another class: intents
are coarser than answers, so right ones may be wrong too. Time does not pass: answers about the moment, which
live for minutes, are met more often than in life. CPU time is of one thread.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import ROOT

from semcache.core import (
    CachePolicy,
    Completion,
    Directives,
    Draft,
    Embedding,
    Entry,
    EntryId,
    ExactKey,
    Hit,
    Miss,
    Namespace,
    Scope,
    TenantId,
)
from semcache.decide.decision import Candidate, decide
from semcache.embed.fingerprint import Partition, asker_digest
from semcache.errors import EncoderError
from semcache.judging import similarity_of
from semcache.parts import open_or_do_without, verifier_or_none
from semcache.policy.loader import load_default
from semcache.ports import Encoder, Verifier
from semcache.settings import Settings
from semcache.sighting.shelf import Met
from semcache.sighting.weighing import Weigher

_SHARED = ROOT.parent / "shared" / "data"
_FILES = ("banking77_classes_en", "clinc150_classes_en")
_TENANT = TenantId("default")
_PLACE = Namespace(_TENANT, "00" * 32)
_PARTITION = Partition(_TENANT, Scope.TENANT, "", "", "up")
_ANSWER = Completion(b'{"choices":[{"message":{"content":"Open the settings and follow the steps."}}]}', None)


@dataclass
class Tally:
    """What came of one stream."""

    asked: int = 0
    hits: int = 0
    wrong: int = 0
    looked_at: int = 0
    wrong_looked_at: int = 0
    nearly: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    entries: set[str] = field(default_factory=set)
    weighing: float = 0.0
    weighed: int = 0


@dataclass
class Stream:
    """One worker that stores what it does not serve."""

    policy: CachePolicy
    encoder: Encoder
    verifier: Verifier | None
    users: int
    rows: int

    def __post_init__(self) -> None:
        self.random = random.Random(2)
        self.weigher = Weigher(self.random.random)
        self.entries: list[Entry] = []
        self.classes: dict[str, str] = {}
        self.vectors: np.ndarray | None = None
        self.tally = Tally()

    def ask(self, text: str, cls: str, embedding: Embedding) -> None:
        """Ask one question."""
        user = f"user {self.random.randrange(self.users)}"
        found = self._near(embedding)
        decision = (
            decide(self.policy, Directives(), text, found, 1.0, self.verifier) if found else Miss("empty")
        )
        self.tally.asked += 1
        if isinstance(decision, Hit | Draft):
            self._weigh(text, cls, user, decision)
        if not isinstance(decision, Hit):
            self._store(text, cls, user, embedding)

    def _near(self, embedding: Embedding) -> list[Candidate]:
        if self.vectors is None:
            return []
        cosines = self.vectors[: len(self.entries)] @ embedding.vector
        found = []
        for at in np.argsort(-cosines)[: self.policy.neighbours]:
            similarity = similarity_of(self.encoder, self.policy, embedding.encoder, float(cosines[at]))
            if similarity is not None and similarity >= self.policy.floor:
                found.append(Candidate(self.entries[at], similarity))
        return found

    def _weigh(self, text: str, cls: str, user: str, decision: Hit | Draft) -> None:
        tally, served = self.tally, isinstance(decision, Hit)
        met = Met(1.0, self.policy, Directives(), decision, text, _PLACE, _PARTITION, user, None, served)
        began = time.process_time()
        weighed = self.weigher.weigh(met)
        tally.weighing += time.process_time() - began
        tally.weighed += 1
        looked_at = weighed is not None and weighed.sighting.risk > 0
        if not served:
            tally.nearly += looked_at
            return
        wrong = self.classes[decision.entry.id] != cls
        tally.hits += 1
        tally.wrong += wrong
        if looked_at and weighed is not None:
            tally.looked_at += 1
            tally.wrong_looked_at += wrong
            tally.reasons.update(weighed.sighting.reasons)
            tally.entries.add(decision.entry.id)

    def _store(self, text: str, cls: str, user: str, embedding: Embedding) -> None:
        if self.vectors is None:
            self.vectors = np.zeros((self.rows, len(embedding.vector)), np.float32)
        self.vectors[len(self.entries)] = embedding.vector
        entry = Entry(
            id=EntryId(str(len(self.entries))),
            tenant=_TENANT,
            namespace=_PLACE.digest,
            key=ExactKey("key"),
            domain=self.policy.domain,
            model="m",
            prompt=text,
            completion=_ANSWER,
            created_at=0.0,
            expires_at=1e12,
            embedding=embedding,
            author=asker_digest(_PARTITION, user),
        )
        self.classes[entry.id] = cls
        self.entries.append(entry)


async def run(files: list[Path], options: argparse.Namespace) -> dict[str, Tally]:
    """Ask all files."""
    chat = load_default().by_tenant[_TENANT].domains["chat"]
    policy = (
        replace(chat, review=replace(chat.review, near=options.near)) if options.near is not None else chat
    )
    found: dict[str, Tally] = {}
    async with AsyncExitStack() as stack:
        encoder = await open_or_do_without(Settings(), stack)
        if encoder is None:
            raise SystemExit("no encoder: see README for how to get one")
        await encoder.warm()
        for path in files:
            rows = [
                json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
            ]
            random.Random(1).shuffle(rows)
            rows = rows[: options.rows]
            stream = Stream(policy, encoder, verifier_or_none()[0], options.users, len(rows))
            for row in rows:
                try:
                    embedding = await encoder.encode(row["text"])
                except EncoderError:
                    continue  # slow for a moment, or a text it refuses: not asked
                stream.ask(row["text"], str(row["cls"]), embedding)
            found[path.stem] = stream.tally
    return found


def table(found: dict[str, Tally]) -> Table:
    """Show what came of each file."""
    shown = Table(
        "file", "asked", "hits", "wrong", "looked at", "of them wrong", "entries", "reasons", "µs a hit"
    )
    for name, of in found.items():
        share = of.looked_at / of.hits if of.hits else 0.0
        words = ", ".join(f"{word} {count}" for word, count in of.reasons.most_common())
        each = of.weighing / max(1, of.weighed) * 1e6
        shown.add_row(
            name, str(of.asked), str(of.hits), str(of.wrong), f"{of.looked_at} ({share:.1%})", str(of.wrong_looked_at),
            str(len(of.entries)), words, f"{each:.0f}",
        )  # fmt: skip
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--near", type=float)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    files = options.files or [path for name in _FILES if (path := _SHARED / f"{name}.jsonl").exists()]
    found = asyncio.run(run(files, options))
    facts = circumstances()
    console().print(headline(facts))
    console().print(table(found))
    rows: list[dict[str, Any]] = [
        {
            "file": name,
            "hits": of.hits,
            "looked_at": of.looked_at,
            "wrong": of.wrong,
            "reasons": dict(of.reasons),
        }
        for name, of in found.items()
    ]
    save(options.json, {"circumstances": facts, "rows": rows})


if __name__ == "__main__":
    main()
