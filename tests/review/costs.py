"""Costs over fakes: a book, budgets that were used, alarms and findings, for the API and the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.cost_port import AlarmKind, Cause, Claim, CostAlarm, LintFinding
from semcache.cost_rules import BudgetRule
from semcache.ports import Clock
from semcache.review.costing import CostShelves
from tests.cost.month import month
from tests.fakes.alarm_shelf import FakeAlarmShelf
from tests.fakes.budgets import FakeBudgets
from tests.fakes.cost_book import FakeCostBook
from tests.fakes.lint_shelf import FakeLintShelf


@dataclass
class Costs:
    """What the pages and routes of costs stand on."""

    clock: Clock
    book: FakeCostBook = field(default_factory=FakeCostBook)
    budgets: FakeBudgets = field(default_factory=FakeBudgets)
    lint: FakeLintShelf = field(default_factory=FakeLintShelf)
    alarms: FakeAlarmShelf = field(init=False)

    def __post_init__(self) -> None:
        self.alarms = FakeAlarmShelf(self.clock)

    @property
    def shelves(self) -> CostShelves:
        return CostShelves(self.book, self.budgets, self.lint, self.alarms)

    @property
    def today(self) -> int:
        return int(self.clock.now()) // 86_400


async def spend(
    shelves: CostShelves,
    tenant: TenantId,
    rule: BudgetRule,
    now: float,
    spent: int,
    held: int = 0,
    requests: int = 1,
) -> None:
    """Book money on a budget, and set some aside."""
    await shelves.budgets.settle(tenant, f"s-{rule.name}", [Claim(rule, spent, requests)], now)
    if held:
        await shelves.budgets.reserve(tenant, f"h-{rule.name}", [Claim(rule, held, 0)], now, 600.0)


def finding(tenant: str, day: int, **more: object) -> LintFinding:
    fields: dict[str, object] = {
        "tenant": tenant, "day": day, "group": "f" * 16, "cause": Cause.TIME, "where": "system", "byte": 118, "token": 29,
        "sample": "0000-00-00T00:00:00Z", "prompts": 2_400, "seen": 2_391, "tokens": 3_204_000, "money": 801_000,
        "fix": "Move the time behind the last message, or round it to the day.", "model": "gpt-5-mini",
    }  # fmt: skip
    return LintFinding(**{**fields, **more})  # type: ignore[arg-type]  # a table of its own fields


def alarm(
    tenant: str,
    kind: AlarmKind,
    subject: str,
    at: float,
    *,
    is_raised: bool = True,
    value: float = 0.83,
    limit: float = 0.8,
) -> CostAlarm:
    return CostAlarm(tenant, kind, subject, is_raised, at - 60, at, value, limit, f"semcache ALARM: {kind}")


async def seed_costs(shelves: CostShelves, tenant: TenantId, rules: Sequence[BudgetRule], now: float) -> None:
    """Fill a month: costs by day, budgets that are used, alarms, and what lint found."""
    today = int(now) // 86_400
    await shelves.book.add("seed.1", month(tenant, today))
    whole, ward, trials = rules
    await spend(shelves, tenant, whole, now, 112_400_000, 1_200_000, 217_620)
    await spend(shelves, tenant, ward, now, 2_180_000, 60_000, 900)
    await spend(shelves, tenant, trials, now, 5_100_000, 0, 5_000)
    await shelves.alarms.put(
        [
            alarm(tenant, AlarmKind.BUDGET, "ward-assistants", now - 3_000, value=0.88, limit=0.8),
            alarm(tenant, AlarmKind.INPUT_GROWING, "intake", now - 90_000, value=0.41, limit=0.3),
            alarm(tenant, AlarmKind.PRICE_UNKNOWN, "qwen3-8b-ft", now - 200_000, value=34, limit=10),
        ]
    )
    await shelves.alarms.put(
        [
            alarm(
                tenant,
                AlarmKind.PRICE_UNKNOWN,
                "qwen3-8b-ft",
                now - 100_000,
                is_raised=False,
                value=0,
                limit=10,
            )
        ]
    )
    await shelves.lint.put(
        "seed",
        [
            finding(tenant, today),
            finding(
                tenant, today, cause=Cause.TOOLS_REORDERED, where="tools", byte=0, token=0, sample="", prompts=830, seen=411,
                tokens=1_190_000, money=1_190_000, fix="Send tools sorted by name.", model="claude-haiku-4-5",
                labels=(("project", "intake"),),
            ),
            finding(
                tenant, today - 1, cause=Cause.USER_TEXT, where="messages[0]", byte=42, token=10, sample="Xxxxx Xxx (00)",
                prompts=300, seen=290, tokens=402_000, money=None, model="qwen3-0.6b",
                fix="Put the handbook before the name and age of the patient.",
            ),
        ],
    )  # fmt: skip
