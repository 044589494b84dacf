"""A whole evaluation: files read, everything opened once, every file run, records and panels given."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from semcache.core import TenantId
from semcache.evaluate.baselines.named import Baseline
from semcache.evaluate.baselines.rule import Peer
from semcache.evaluate.curves import pair_panel, stream_panel
from semcache.evaluate.learning import LearnRun, run_learning
from semcache.evaluate.pairs import PairRun, run_pairs
from semcache.evaluate.plot import Panel
from semcache.evaluate.rig import Rig, opened
from semcache.evaluate.rows import Labelled, Pair, read_chats, read_labelled, read_pairs
from semcache.evaluate.streams import StreamRun, run_stream
from semcache.evaluate.sweeps import VARIATIONS
from semcache.evaluate.tally import Record, pair_records, stream_records
from semcache.policy.snapshot import PolicySnapshot
from semcache.settings import Settings

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be measured.

    Args:
        files: in this order.
        snapshot, tenant: by whose policy.
        baselines: beside it.
        seed: of the sample, of a stream's order, and of chance in baselines.
        limit: rows a file at most; 0: all.
        curves: also what a plot needs: sweeps, and panels.
        learn: of streams, also what the tenant's own evidence makes of them.
    """

    files: Sequence[Path]
    snapshot: PolicySnapshot
    tenant: TenantId
    baselines: Sequence[Baseline] = ()
    seed: int = 0
    limit: int = 0
    curves: bool = False
    learn: LearnRun | None = None


@dataclass(slots=True)
class Findings:
    """What was measured."""

    records: list[Record] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)


class Watcher:
    """Hears how far an evaluation is; this one does not care."""

    def loading(self) -> None:
        """Models and store are being opened."""

    def begins(self, file: str, total: int) -> None:
        """A file of so many rows is begun."""

    def advance(self) -> None:
        """One more row of it is done."""


async def evaluate_pairs(
    settings: Settings, order: Order, what: Literal["pairs", "chats"], watcher: Watcher
) -> Findings:
    """Measure files of pairs or of conversations.

    Raises:
        SemcacheError: a file, a model or a part of the cache is not as it should be.
    """
    read = read_pairs if what == "pairs" else read_chats
    # All files first: a mistake in the last one should not cost the time of the others.
    rows = [sampled(read(path), order) for path in order.files]
    watcher.loading()
    async with opened(settings, order.snapshot, order.tenant) as rig:
        return await measure_pairs(rig, order, rows, watcher)


async def measure_pairs(rig: Rig, order: Order, rows: Sequence[Sequence[Pair]], watcher: Watcher) -> Findings:
    """Measure rows that are read already, on a rig that is open; one sequence a file of the order."""
    findings = Findings()
    names = [each.name for each in order.baselines]
    for number, (path, pairs) in enumerate(zip(order.files, rows, strict=True)):
        watcher.begins(path.name, len(pairs))
        run = PairRun(f"file{number}", _makers(rig, order), VARIATIONS if order.curves else (), order.seed)
        seen = await run_pairs(rig, pairs, run, watcher.advance)
        findings.records += pair_records(str(path), seen, names)
        if order.curves:
            findings.panels.append(pair_panel(path.name, seen, names))
    return findings


async def evaluate_streams(settings: Settings, order: Order, watcher: Watcher) -> Findings:
    """Measure files of questions with classes.

    Raises:
        SemcacheError: see `evaluate_pairs`.
    """
    rows = [read_labelled(path) for path in order.files]
    watcher.loading()
    async with opened(settings, order.snapshot, order.tenant) as rig:
        return await measure_streams(rig, order, rows, watcher)


async def measure_streams(
    rig: Rig, order: Order, rows: Sequence[Sequence[Labelled]], watcher: Watcher
) -> Findings:
    """Measure rows that are read already, on a rig that is open; one sequence a file of the order."""
    findings = Findings()
    names = [each.name for each in order.baselines]
    for number, (path, questions) in enumerate(zip(order.files, rows, strict=True)):
        watcher.begins(path.name, min(order.limit, len(questions)) or len(questions))
        run = StreamRun(f"file{number}", _makers(rig, order), order.seed, order.limit)
        courses = await run_stream(rig, questions, run, watcher.advance)
        records = stream_records(str(path), order.seed, courses, names)
        findings.records += records
        if order.learn is not None:
            records[0]["learn"] = await _learnt(rig, order, order.learn, questions, watcher, run.name)
        if order.curves:
            findings.panels.append(stream_panel(path.name, courses, names))
    return findings


async def _learnt(
    rig: Rig, order: Order, learn: LearnRun, questions: Sequence[Labelled], watcher: Watcher, name: str
) -> Record:
    rows = min(order.limit, len(questions)) or len(questions)
    watcher.begins("with evidence", rows * learn.passes * (2 * len(learn.variations()) + 1))
    ways = await run_learning(rig, questions, learn, name, order.seed, order.limit, watcher.advance)
    return {
        "per_day": learn.per_day,
        "passes": learn.passes,
        "renew": learn.renew,
        "ways": [way.record() for way in ways],
    }


def sampled(rows: list[_T], order: Order) -> list[_T]:
    """Take a sample of the file where it has more rows than asked for, always the same for a seed."""
    if not order.limit or len(rows) <= order.limit:
        return rows
    return random.Random(order.seed).sample(rows, order.limit)  # noqa: S311 - an experiment, repeatable by its seed


def _makers(rig: Rig, order: Order) -> list[Callable[[random.Random], Peer]]:
    return [partial(each.make, rig.peer_scale) for each in order.baselines]
