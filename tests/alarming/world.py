"""Workers that look for alarms, with everything around them in reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from semcache.alarming.bounds import IsBroken
from semcache.alarming.looking import Look
from semcache.alarming.rules import DAY, AlarmRules
from semcache.alarming.runner import Alarms
from semcache.core import TenantId
from semcache.cost_port import AlarmKind, Claim, CostAlarm, CostSums
from semcache.cost_rules import BudgetRule
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
