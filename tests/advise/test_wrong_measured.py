"""Expected wrong hits held against the truth: questions with classes as logs, one answer a class, the real encoder and verifier."""

from __future__ import annotations

import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from semcache.advise.findings import DomainReplay
from semcache.advise.replay import LogClock, ReplayOrder, replay
from semcache.advise.rows import LogRow, Watcher
from semcache.core import TenantId
from semcache.evaluate.rig import Rig, opened
from semcache.policy.loader import load_default
from semcache.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
MODELS = Path(os.environ.get("SEMCACHE_TEST_MODELS") or ROOT / "semcache-data" / "models")
TENANT = TenantId("default")
FILES = ("clinc150_classes_en.jsonl", "banking77_classes_en.jsonl")
pytestmark = pytest.mark.skipif(
    not SHARED.is_dir() or not MODELS.is_dir(), reason="no question sets, or no models"
)


def rows(file: str, seed: int, count: int, begin: float, *, answered: bool) -> list[LogRow]:
    """Questions in random order, a second apart, each answered as its class is."""
    told = [json.loads(line) for line in (SHARED / file).read_text(encoding="utf-8").splitlines()]
    random.Random(seed).shuffle(told)
    return [
        LogRow(
            {"model": "m", "messages": [{"role": "user", "content": one["text"]}], "temperature": 0},
            file,
            number,
            at=begin + number,
            response=answer(one["cls"]) if answered else None,
        )
        for number, one in enumerate(told[:count], 1)
    ]


def answer(kind: str) -> str:
    draw = random.Random(kind)
    page, option = draw.randrange(1000), f"{draw.choice('ABCDEFGH')}{draw.randrange(100)}"
    return (
        f"To deal with {kind.replace('_', ' ')}, open page {page} of the handbook and choose option {option}."
    )


@asynccontextmanager
async def rigged() -> AsyncIterator[tuple[Rig, LogClock]]:
    clock = LogClock()
    async with opened(Settings(data=MODELS.parent), load_default(), TENANT, clock) as rig:
        yield rig, clock


async def chat(rig: Rig, clock: LogClock, asked: list[LogRow], seed: int) -> DomainReplay:
    order = ReplayOrder(load_default(), TENANT, 30.0, seed)
    found = await replay(rig, clock, order, lambda: iter(asked), lambda *_: None, Watcher())
    await rig.forget()
    return next(domain for domain in found.domains if domain.domain == "chat")


async def inside(rig: Rig, clock: LogClock, file: str, seed: int, count: int) -> tuple[bool, bool]:
    """Say whether the true share of wrong hits lies in the interval: by compared answers, and by the calibration."""
    # A year later all that was stored is dead.
    first, second = clock.now() + 3e7, clock.now() + 6e7
    known = await chat(rig, clock, rows(file, seed, count, first, answered=True), seed)
    guessed = await chat(rig, clock, rows(file, seed, count, second, answered=False), seed)
    right, wrong, undecided = known.compared
    # All hits were compared, and answers of one class are equal: so this is the truth.
    assert right + wrong == known.semantic > 10
    assert undecided == 0
    assert (known.wrong_method, guessed.wrong_method) == ("compared", "calibrated")
    assert guessed.semantic == known.semantic
    held = []
    for domain in (known, guessed):
        assert domain.wrong_interval is not None
        low, high = domain.wrong_interval
        assert 0 <= low < high < 0.2 * domain.semantic
        held.append(low <= wrong <= high)
    return held[0], held[1]


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_the_true_share_lies_in_both_intervals() -> None:
    async with rigged() as (rig, clock):
        assert await inside(rig, clock, FILES[0], 0, 400) == (True, True)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
async def test_the_true_share_lies_in_both_intervals_in_most_runs() -> None:
    async with rigged() as (rig, clock):
        held = [await inside(rig, clock, file, seed, 1_500) for file in FILES for seed in range(4)]
    assert sum(by_answers for by_answers, _ in held) >= 7
    assert sum(by_calibration for _, by_calibration in held) >= 7
