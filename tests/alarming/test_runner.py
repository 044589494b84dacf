"""A worker that looks for alarms, and others beside it, through everything that can fail around them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
import structlog

from semcache.alarming.bounds import IsBroken
from semcache.alarming.looking import Look, read, written
from semcache.alarming.rules import DAY, AlarmRules
from semcache.alarming.runner import Alarms, _used
from semcache.core import TenantId
from semcache.cost_port import AlarmKind, BudgetState, Claim, CostAlarm, CostSums
from semcache.cost_rules import BudgetRule
from semcache.errors import StoreError
from semcache.evidence_port import Alarm
from tests.alarming.sums import key, sums
from tests.fakes.alarm_shelf import FakeAlarmShelf
from tests.fakes.budgets import FakeBudgets
from tests.fakes.cost_book import FakeCostBook
from tests.fakes.evidence import FakeEvidence

ACME, OTHER = TenantId("acme"), TenantId("other")
NOON = 20_000 * DAY + 43_200.0
RULES = AlarmRules(least=100)
TEAM = BudgetRule("team", window="day", hard=1000)


@dataclass
class Clock:
    at: float = NOON

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Tell:
    faults: Counter[str] = field(default_factory=Counter)
    changes: list[tuple[AlarmKind, bool]] = field(default_factory=list)
    alarms: Sequence[CostAlarm] = ()
    used: Sequence[tuple[str, str, float]] = ()
    counts: Counter[str] = field(default_factory=Counter)

    def failed(self, part: str) -> None:
        self.faults[part] += 1

    def changed(self, kind: AlarmKind, raised: bool) -> None:
        self.changes.append((kind, raised))

    def counted(self, tenant: str, retries: int, repetitive: int) -> None:
        self.counts[f"{tenant} retries"] += retries
        self.counts[f"{tenant} repetitive"] += repetitive

    def show_alarms(self, alarms: Sequence[CostAlarm]) -> None:
        self.alarms = alarms

    def show_budgets(self, used: Sequence[tuple[str, str, float]]) -> None:
        self.used = used


@dataclass
class Posts:
    sent: list[CostAlarm] = field(default_factory=list)

    def post(self, alarms: Sequence[CostAlarm]) -> None:
        self.sent += alarms


class World:
    """What all replicas share, and the traffic in it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.shelf = FakeAlarmShelf(self.clock)
        self.book = FakeCostBook()
        self.budgets = FakeBudgets()
        self.evidence = FakeEvidence()
        self.rules: dict[TenantId, tuple[BudgetRule, ...]] = {ACME: (TEAM,)}
        self.is_broken: IsBroken | None = None
        self.holds = 0

    def worker(self, name: str, rules: AlarmRules = RULES) -> Worker:
        return Worker(self, name, rules)

    def traffic(self, hits: int, misses: int, tenant: TenantId = ACME, **others: int) -> None:
        day = int(self.clock.at // DAY)
        for outcome, count, more in (("exact", hits, {}), ("miss", misses, others)):
            place = key(outcome, day, tenant=tenant)
            self.book.sums.setdefault(place, CostSums()).add(sums(count, **more))

    async def spend(self, money: int, rule: BudgetRule = TEAM) -> None:
        self.holds += 1
        await self.budgets.settle(ACME, f"h{self.holds}", [Claim(rule, money)], self.clock.at)


class Worker:
    def __init__(self, world: World, name: str, rules: AlarmRules) -> None:
        self.world, self.tell, self.posts = world, Tell(), Posts()
        look = Look(
            rules=rules,
            book=world.book,
            budgets=world.budgets,
            rules_of=lambda tenant: world.rules.get(tenant, ()),
            evidence=world.evidence,
            told=self.tell,
            is_broken=world.is_broken,
        )
        self.alarms = Alarms(name, look, world.shelf, world.clock, self.tell, lambda: world.rules, self.posts)

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.world.clock.at += 30
            await self.alarms.once()

    @property
    def told(self) -> list[tuple[str, str, bool]]:
        return [(one.kind.value, one.subject, one.is_raised) for one in self.posts.sent]


async def low_for(world: World, worker: Worker, hours: float) -> None:
    for _ in range(int(hours * 120)):
        world.traffic(0, 5)
        await worker.look()


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


async def test_one_of_all_workers_looks_and_the_others_show() -> None:
    world = World()
    first, second = world.worker("a"), world.worker("b")
    await world.spend(600)
    await first.look()
    await second.look()
    assert first.told == [("budget", "team 50%", True)]
    assert second.told == []
    assert second.tell.alarms == first.tell.alarms != ()
    assert second.tell.used == [("acme", "team", 0.6)]


async def test_another_leader_goes_on_where_the_last_one_stopped() -> None:
    world = World()
    first, second = world.worker("a"), world.worker("b")
    await world.spend(600)
    await first.look()
    await low_for(world, first, 0.9)
    await second.look()
    assert second.told == []
    await first.alarms.stop()
    await low_for(world, second, 0.4)
    assert first.told == [("budget", "team 50%", True)]
    # What was low for almost an hour under the first is an alarm soon after.
    assert second.told == [("hit_ratio_low", "", True)]


async def test_a_leader_that_was_away_reads_what_another_knew() -> None:
    world = World()
    first, second = world.worker("a"), world.worker("b")
    await first.look()
    world.clock.at += 1000
    await world.spend(600)
    await second.look()
    assert second.told == [("budget", "team 50%", True)]
    world.clock.at += 1000
    await first.look()
    assert first.told == []
    assert [alarm.subject for alarm in first.tell.alarms] == ["team 50%"]


@pytest.mark.parametrize("part", ["book", "budgets", "evidence"])
async def test_a_part_that_fails_does_not_stop_the_others(part: str) -> None:
    world = World()
    worker = world.worker("a")
    await worker.look()
    getattr(world, part).away = True
    await world.spend(600) if part != "budgets" else None
    world.evidence.alarms[ACME, "chat"] = Alarm(world.clock.at, "closed")
    world.evidence.words[ACME, "chat"][1, "exact"] = 1
    world.traffic(0, 200, unpriced=3)
    await worker.look(2)
    expected = {
        ("price_unknown", "m", True): "book",
        ("budget", "team 50%", True): "budgets",
        ("bound_broken", "chat", True): "evidence",
    }
    assert set(worker.told) == {change for change, source in expected.items() if source != part}
    assert worker.tell.faults
    getattr(world, part).away = False
    if part == "budgets":
        await world.spend(600)
    await worker.look(2)
    assert set(worker.told) == set(expected)


async def test_a_change_that_cannot_be_written_down_comes_later_and_once() -> None:
    world = World()
    worker = world.worker("a")
    await worker.look()
    world.shelf.broken = {"put"}
    await world.spend(600)
    await worker.look(5)
    assert worker.told == []
    assert worker.tell.changes == []
    assert worker.tell.faults["shelf"] == 5
    world.shelf.broken = set()
    await worker.look(3)
    assert worker.told == [("budget", "team 50%", True)]


async def test_what_is_known_need_not_be_saved_to_be_remembered() -> None:
    world = World()
    worker = world.worker("a")
    world.shelf.broken = {"save"}
    await world.spend(600)
    await worker.look(5)
    assert worker.told == [("budget", "team 50%", True)]
    assert worker.tell.faults["shelf"] == 5
    world.shelf.broken = set()
    await worker.look()
    assert "team 50%" in world.shelf.known[ACME]


async def test_what_a_leader_left_behind_is_over_in_its_time() -> None:
    world = World()
    world.evidence.words[ACME, "chat"][1, "exact"] = 1
    world.evidence.alarms[ACME, "chat"] = Alarm(world.clock.at, "closed")
    first, second = world.worker("a"), world.worker("b")
    await second.look()
    world.shelf.broken = {"save"}
    await second.alarms.stop()
    await world.spend(600)
    await first.look()
    assert len(await world.shelf.raised()) == 2
    world.shelf.known.clear()
    world.shelf.broken = set()
    await first.alarms.stop()
    world.clock.at += DAY
    # Nothing is known of them but what the shelf says.
    await second.look(3)
    assert await world.shelf.raised() == ()
    assert [one[2] for one in second.told[-2:]] == [False, False]


async def test_a_shelf_that_was_emptied_is_filled_again_and_nobody_is_told() -> None:
    world = World()
    worker = world.worker("a")
    await world.spend(600)
    await worker.look(2)
    world.shelf.standing.clear()
    world.shelf.listed.clear()
    await worker.look()
    assert [one.subject for one in await world.shelf.raised()] == ["team 50%"]
    assert [one.subject for one in worker.tell.alarms] == ["team 50%"]
    assert len(worker.told) == 1


@pytest.mark.parametrize("broken", ["lead", "load", "raised"])
async def test_a_shelf_that_is_away_costs_nothing_but_time(broken: str) -> None:
    world = World()
    worker = world.worker("a")
    world.shelf.broken = {broken}
    await world.spend(600)
    await worker.look(3)
    world.shelf.broken = set()
    await worker.look()
    assert worker.told == [("budget", "team 50%", True)]
    assert worker.tell.faults


async def test_a_store_that_is_away_altogether() -> None:
    world = World()
    worker = world.worker("a")
    for part in (world.shelf, world.book, world.budgets, world.evidence):
        part.away = True
    await worker.look(3)
    await worker.alarms.stop()
    assert worker.told == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"v": 2}', '{"v": 1, "levels": 7, "trail": [], "grown": "x"}']
)
async def test_what_another_release_left_begins_anew(text: str) -> None:
    world = World()
    world.shelf.known[ACME] = text
    worker = world.worker("a")
    await world.spend(600)
    await worker.look()
    assert worker.told == [("budget", "team 50%", True)]


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
