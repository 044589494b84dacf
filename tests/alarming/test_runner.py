"""Who looks for alarms: what is raised, told and over, and what is counted on the way."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

import pytest
import structlog

from semcache.alarming.looking import read, written
from semcache.alarming.rules import DAY
from semcache.alarming.runner import _used
from semcache.core import TenantId
from semcache.cost_port import AlarmKind, BudgetState
from semcache.cost_rules import BudgetRule
from semcache.errors import StoreError
from semcache.evidence_port import Alarm
from tests.alarming.sums import key, sums
from tests.alarming.world import ACME, NOON, OTHER, RULES, TEAM, World, low_for


async def test_an_alarm_is_raised_told_everywhere_and_over() -> None:
    world = World()
    worker = world.worker("a")
    await worker.look()
    with structlog.testing.capture_logs() as lines:
        await low_for(world, worker, 1.5)
    assert worker.told == [("hit_ratio_low", "", True)]
    raised = worker.posts.sent[0]
    assert (raised.tenant, raised.value, raised.limit) == ("acme", 0.0, 0.05)
    assert await world.shelf.raised() == (raised,)
    assert worker.tell.alarms == (raised,)
    assert worker.tell.changes == [(AlarmKind.HIT_RATIO_LOW, True)]
    assert [line["kind"] for line in lines] == ["hit_ratio_low"]
    assert lines[0]["log_level"] == "warning"
    for _ in range(120):
        world.traffic(5, 5)
        await worker.look()
    assert worker.told[1:] == [("hit_ratio_low", "", False)]
    assert worker.posts.sent[1].since == raised.since
    assert worker.tell.alarms == ()
    assert not worker.tell.faults


async def test_budgets_tell_each_step_once_a_window() -> None:
    world = World()
    worker = world.worker("a")
    for _ in range(30):
        await world.spend(50)
        await worker.look()
    assert worker.told == [("budget", f"team {step}%", True) for step in (50, 80, 100)]
    assert worker.tell.used == [("acme", "team", 1.5)]
    world.clock.at += DAY
    await worker.look()
    assert worker.told[3:] == [("budget", f"team {step}%", False) for step in (50, 80, 100)]
    assert worker.tell.used == [("acme", "team", 0.0)]
    world.rules = {}
    await worker.look(3)
    assert len(worker.told) == 6


async def test_a_bound_is_broken_until_the_standings_say_otherwise() -> None:
    world = World()
    broken: dict[str, bool | None] = {"chat": True}

    async def is_broken(tenant: TenantId, domain: str) -> bool | None:
        return broken.get(domain)

    world.is_broken = is_broken
    worker = world.worker("a")
    world.evidence.words[ACME, "chat"][1, "exact"] = 1
    world.evidence.words[ACME, "code"][1, "exact"] = 1
    await worker.look()
    world.evidence.alarms[ACME, "chat"] = Alarm(world.clock.at, "alarmed")
    await worker.look(3)
    assert worker.told == [("bound_broken", "chat", True)]
    broken["chat"] = False
    await worker.look(3)
    assert worker.told[1:] == [("bound_broken", "chat", False)]
    # Where nobody can say, the alarm is believed for a day.
    broken["chat"] = None
    world.evidence.alarms[ACME, "chat"] = Alarm(world.clock.at, "closed")
    await worker.look(2)
    assert worker.told[2:] == [("bound_broken", "chat", True)]
    world.clock.at += DAY
    await worker.look()
    assert worker.told[3:] == [("bound_broken", "chat", False)]


async def test_counts_of_the_book_reach_the_metrics_once() -> None:
    world = World()
    worker = world.worker("a")
    world.traffic(0, 10, retries=5, repetitive=5)
    await worker.look()
    world.traffic(0, 10, retries=2, repetitive=1)
    await worker.look(3)
    assert worker.tell.counts["acme retries"] == 2
    assert worker.tell.counts["acme repetitive"] == 1


async def test_who_comes_while_somebody_looks_counts_from_the_first_request() -> None:
    world = World()
    worker = world.worker("a")
    world.traffic(0, 10, TenantId("old"), retries=7)
    await worker.look()
    world.traffic(0, 10, OTHER, retries=4)
    await worker.look(2)
    assert +worker.tell.counts == {"other retries": 4}


async def test_who_could_not_be_read_is_not_taken_for_new() -> None:
    world = World()
    worker = world.worker("a")
    world.traffic(0, 10, OTHER, retries=4)
    world.book.away = True
    await worker.look(2)
    world.book.away = False
    await worker.look(2)
    assert not +worker.tell.counts


async def test_growth_is_looked_at_now_and_then() -> None:
    world = World()
    day = int(world.clock.at // DAY)
    for age, each in ((0, 2000), (4, 1000)):
        world.book.sums[key("miss", day - age, task="support")] = sums(500, input=500 * each)
    worker = world.worker("a")
    await worker.look()
    assert worker.told == [("input_growing", "support", True)]
    world.book.sums[key("miss", day, task="support")] = sums(5000, input=5000 * 1000)
    await worker.look(10)
    assert len(worker.told) == 1
    await worker.look(25)
    assert worker.told[1:] == [("input_growing", "support", False)]


async def test_what_is_switched_off_is_over_at_once() -> None:
    world = World()
    world.evidence.words[ACME, "chat"][1, "exact"] = 1
    world.evidence.alarms[ACME, "chat"] = Alarm(world.clock.at, "closed")
    first = world.worker("a")
    await world.spend(600)
    await first.look()
    await first.alarms.stop()
    second = world.worker("b", replace(RULES, limits={}))
    await second.look(2)
    assert second.told == [("bound_broken", "chat", False)]
    assert [one.kind for one in second.tell.alarms] == [AlarmKind.BUDGET]


async def test_tenants_are_apart() -> None:
    world = World()
    world.rules[OTHER] = (TEAM,)
    worker = world.worker("a")
    await worker.look()
    world.traffic(0, 200, OTHER, unpriced=200)
    await worker.look()
    assert [(one.tenant, one.kind) for one in worker.posts.sent] == [("other", AlarmKind.PRICE_UNKNOWN)]


def test_what_is_known_is_bounded() -> None:
    known = read("", RULES)
    for minute in range(3 * 1440):
        now = NOON + 60 * minute
        busy = {"": tuple([10**9 + minute] * 9)} | {
            f"backend/model-name-{at}": (10**9 + minute,) * 9 for at in range(32)
        }
        known.trail.look({int(now // DAY): busy}, now)
    text = written(known)
    assert len(text) < 1 << 17
    assert written(read(text, RULES)) == text


async def test_it_runs_until_it_is_told_to_stop() -> None:
    world = World()
    worker = world.worker("a", replace(RULES, every=0.01))
    await world.spend(600)
    task = asyncio.create_task(worker.alarms.run())
    async with asyncio.timeout(5):
        while not worker.told:  # noqa: ASYNC110 - it has no event of its own
            await asyncio.sleep(0.01)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await worker.alarms.stop()
    assert await world.shelf.lead("b", 30)


def test_store_errors_are_the_only_ones_that_are_expected() -> None:
    # A defect must show: what is caught is the store's.
    world = World()
    worker = world.worker("a")

    def broken() -> None:
        raise KeyError

    world.book.tenants = broken  # type: ignore[assignment,method-assign]  # a defect on purpose
    with pytest.raises(KeyError):
        asyncio.run(worker.look())
    assert issubclass(StoreError, Exception)


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        (BudgetRule("b", hard=200), 0.5),
        (BudgetRule("b", soft=400), 0.25),
        (BudgetRule("b", hard=200, requests=20), 0.75),
        (BudgetRule("b", requests=60), 0.25),
        (BudgetRule("b", hard=0), 1.0),
        (BudgetRule("b"), None),
    ],
)
def test_a_budget_is_used_by_its_money_or_its_requests(rule: BudgetRule, part: float | None) -> None:
    assert _used(BudgetState(rule, 0.0, 1.0, 100, 7, 15)) == part
