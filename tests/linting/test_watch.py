"""Lint beside live traffic: never waits, drops and counts, looks at whole conversations, writes down and forgets."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

import pytest

from semcache.core import TenantId
from semcache.cost_port import DAY, Cause
from semcache.linting.watch import LintWatch, WatchRules
from tests.fakes.lint_shelf import FakeLintShelf
from tests.linting.test_linter import clocked
from tests.linting.traffic.words import Body, in_dialect, prose, said

TODAY = 20_800
ACME = TenantId("acme")


@dataclass
class Hand:
    """A clock set by hand."""

    at: float = TODAY * DAY + 60.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


def watch(shelf: FakeLintShelf, hand: Hand | None = None, **bounds: float) -> LintWatch:
    rules = WatchRules(**{"every": 0.05, "share": 0.9, **bounds})
    return LintWatch(shelf, hand or Hand(), "w1", lambda _model, _at: lambda tokens: tokens * 2, rules)


async def until_found(shelf: FakeLintShelf, deadline: float = 10.0) -> None:
    ends = time.monotonic() + deadline
    while not await shelf.findings(ACME, 0, 99_999):
        assert time.monotonic() < ends, "nothing was written down"
        await asyncio.sleep(0.02)


async def test_what_passes_is_written_down() -> None:
    shelf, hand = FakeLintShelf(), Hand()
    lint = watch(shelf, hand)
    task = asyncio.create_task(lint.run())
    for n in range(20):
        lint.seen(clocked(n), hand.at, ACME, "m", (("project", "a"),))
    await until_found(shelf)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (one,) = await shelf.findings(ACME, TODAY, TODAY)
    assert (one.cause, one.where, one.labels) == (Cause.TIME, "system", (("project", "a"),))
    assert one.money == one.tokens * 2
    assert lint.dropped == lint.left_out == lint.faults == 0


async def test_a_full_queue_drops_and_counts_and_a_store_away_is_survived() -> None:
    shelf = FakeLintShelf(away=True)
    lint = watch(shelf, waiting=10)
    for n in range(25):
        lint.seen(clocked(n), Hand().at, ACME, "m")
    assert lint.dropped == 15
    assert lint.work_off(10.0) > 0
    await lint.flush()
    assert lint.faults == 1
    shelf.away = False
    await lint.flush()
    assert (await shelf.findings(ACME, TODAY, TODAY))[0].prompts == 10


async def test_yesterday_is_kept_and_older_days_are_forgotten() -> None:
    shelf, hand = FakeLintShelf(), Hand()
    lint = watch(shelf, hand)
    for day in (TODAY - 2, TODAY - 1, TODAY):
        for n in range(10):
            lint.seen(clocked(n + 10 * day), day * DAY + n, ACME, "m")
    lint.work_off(10.0)
    await lint.flush()
    assert {day for _, day, _ in shelf.kept} == {TODAY - 1, TODAY}
    hand.at += 3 * DAY
    shelf.kept.clear()
    await lint.flush()
    assert shelf.kept == {}


def talks(count: int, turns: int) -> list[tuple[int, Body]]:
    rng, made = random.Random(1), []
    histories: list[list[Body]] = [[] for _ in range(count)]
    for _ in range(turns):
        for number, history in enumerate(histories):
            history.append(said("user", prose(rng, 2)))
            made.append((number, in_dialect("chat", "Rules.", list(history))))
            history.append(said("assistant", prose(rng, 2)))
    return made


async def test_under_load_whole_conversations_are_left_out() -> None:
    lint = watch(FakeLintShelf(), waiting=1000)
    lint._weight = 4
    taken: dict[int, int] = {}
    for number, body in talks(60, 5):
        before = len(lint._waiting)
        lint.seen(body, 0.0, ACME, "m")
        taken[number] = taken.get(number, 0) + len(lint._waiting) - before
    assert set(taken.values()) == {0, 5}
    assert 4 <= sum(map(bool, taken.values())) <= 28
    assert lint.left_out == 300 - len(lint._waiting)
    assert {seen.weight for seen in lint._waiting} == {4}


def test_the_pace_follows_the_queue() -> None:
    lint = watch(FakeLintShelf(), waiting=8)
    for n in range(8):
        lint.seen(clocked(n), 0.0, ACME, "m")
    for _ in range(30):
        lint._pace()
    assert lint._weight == 1024
    lint._waiting.clear()
    for _ in range(50 * 10):
        lint._pace()
    assert lint._weight == 1


def test_no_more_time_is_taken_than_allowed() -> None:
    lint = watch(FakeLintShelf(), waiting=1000)
    for n in range(600):
        lint.seen(clocked(n), 0.0, ACME, "m")
    spent = lint.work_off(0.001)
    assert 0.001 <= spent < 0.1
    assert len(lint._waiting) > 100


async def test_a_prompt_that_breaks_the_linter_ends_nothing() -> None:
    lint = LintWatch(FakeLintShelf(), Hand(), "w1", _failing)
    lint.seen(clocked(1), 0.0, ACME, "m")
    lint.work_off(1.0)
    assert lint.faults == 1
    await lint.flush()


def _failing(model: str, at: float) -> None:
    raise RuntimeError(model, at)
