"""The `costs` part of a policy file: budgets, and what answers from the cache are charged at.

Knows the knobs, their limits and their built-in defaults; not what is spent. Money is written in US dollars and read
exactly: a micro-dollar is the least there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from semcache.cost_rules import LABELS, BudgetRule, CostPolicy, Counts, HitCharge, OnHard, OnUnknownPrice
from semcache.policy.parts import Knobs
from semcache.policy.risk_knobs import ShortName
from semcache.policy.values import as_list

MICRO = 1_000_000
"""Micro-dollars of a dollar."""


def parse_money(value: object) -> Decimal:
    """Read US dollars: a number from 0 to a thousand million, with six decimals at most.

    Raises:
        ValueError: none such.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("should be a number of US dollars, as in 12.50")
    money = Decimal(str(value))  # as it was written: 0.1 is a tenth here
    if not money.is_finite() or not 0 <= money <= 10**9:
        raise ValueError("should be a number of US dollars from 0 to 1e9")
    if (money * MICRO) % 1:
        raise ValueError("should have six decimals at most: a millionth of a dollar is the least there is")
    return money


Usd = Annotated[Decimal, BeforeValidator(parse_money)]
LabelText = Annotated[str, Field(min_length=1, max_length=64)]
KeyLabel = LabelText | None
Names = BeforeValidator(as_list)


class LabelKnobs(Knobs):
    """Labels of requests; a label left out says nothing."""

    project: KeyLabel = Field(None, description="The project.")
    environment: KeyLabel = Field(None, description="The environment, such as prod.")
    business_line: KeyLabel = Field(None, description="The line of business.")
    task: KeyLabel = Field(None, description="The kind of work.")

    @field_validator(*LABELS)
    @classmethod
    def _is_printable(cls, value: str | None) -> str | None:
        if value is not None and not value.isprintable():
            raise ValueError("should be printable text")
        return value

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Give what is stated, by the usual names."""
        stated = ((name, getattr(self, name)) for name in LABELS)
        return tuple((name, value) for name, value in stated if value is not None)


class BudgetKnobs(Knobs):
    """One budget: for whom, how much, and what happens beyond."""

    name: ShortName = Field(
        description="Shown to clients over it, in reports and alarms; unique in the file."
    )
    window: Literal["hour", "day", "week", "month"] = Field(
        "month", description="How long it lasts, in UTC; weeks begin on Monday. Then it begins anew."
    )
    labels: LabelKnobs = Field(LabelKnobs(), description="Only requests with all these labels. None: all.")
    models: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Names, Field(max_length=100)
    ] = Field((), description='Only these models; a final "*" means every name that begins so. None: all.')
    keys: Annotated[tuple[ShortName, ...], Names, Field(max_length=1000)] = Field(
        (), description="Only callers with these keys of access.keys, by name. None: all."
    )
    soft_usd: Usd | None = Field(
        None, description="From here on an alarm warns. null: no warning before hard_usd."
    )
    hard_usd: Usd | None = Field(None, description="Never more than this. null: no limit.")
    requests: Annotated[int, Field(strict=True, ge=0, le=10**12)] | None = Field(
        None, description="Requests at most, answers from the cache included. null: no limit."
    )
    counts: Counts = Field(
        Counts.COST,
        description="cost: what providers bill. charged: what the tenant is charged, for hits too.",
    )
    on_hard: OnHard = Field(
        OnHard.CACHE_ONLY,
        description="Beyond hard_usd: cache_only (answers from the cache are served, the rest is refused) or refuse"
        " (nothing is served).",
    )
    unknown_price: OnUnknownPrice = Field(
        OnUnknownPrice.REFUSE,
        description="Models whose price nobody knows, under hard_usd: refuse, or allow (uncounted).",
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.soft_usd is None and self.hard_usd is None and self.requests is None:
            raise ValueError("should state soft_usd, hard_usd or requests: a budget without a limit is none")
        if self.soft_usd is not None and self.hard_usd is not None and self.soft_usd > self.hard_usd:
            raise ValueError("soft_usd should be at most hard_usd")
        return self

    def rule(self) -> BudgetRule:
        """Give it as the shared vocabulary has it."""
        return BudgetRule(
            name=self.name,
            window=self.window,
            labels=self.labels.pairs(),
            models=self.models,
            keys=self.keys,
            soft=micro(self.soft_usd),
            hard=micro(self.hard_usd),
            requests=self.requests,
            counts=self.counts,
            on_hard=self.on_hard,
            unknown_price=self.unknown_price,
        )


class CostKnobs(Knobs):
    """Money: budgets, and what answers from the cache are charged at."""

    budgets: Annotated[tuple[BudgetKnobs, ...], Field(max_length=200)] = Field(
        (), description="All that a request matches hold for it."
    )
    hit_charge: HitCharge = Field(
        HitCharge.NONE,
        description="What is charged for an answer from the cache: none, fixed (hit_usd), full (as the call it saved).",
    )
    hit_usd: Usd = Field(Decimal(0), description="US dollars a hit, where hit_charge is fixed.")
    assumed_output: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = Field(
        1024, description="Output tokens set aside for a call that states no limit of its own."
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if (self.hit_usd > 0) != (self.hit_charge is HitCharge.FIXED):
            raise ValueError("hit_usd and hit_charge: fixed belong together")
        return self

    def policy(self) -> CostPolicy:
        """Give it as the shared vocabulary has it."""
        return CostPolicy(
            budgets=tuple(budget.rule() for budget in self.budgets),
            hit_charge=self.hit_charge,
            hit_price=micro(self.hit_usd) or 0,
            assumed_output=self.assumed_output,
        )

    def twice(self) -> Iterator[int]:
        """Give the places of budgets whose name stands before."""
        seen: set[str] = set()
        for index, budget in enumerate(self.budgets):
            if budget.name in seen:
                yield index
            seen.add(budget.name)


def micro(money: Decimal | None) -> int | None:
    """Give micro-USD."""
    return None if money is None else int(money * MICRO)
