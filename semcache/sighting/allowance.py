"""The judge's own allowance, beside that of audits, on the same shared budget. Knows no prices."""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import CachePolicy, TenantId
from semcache.evidence_port import AuditBudget, Spending

_MARK = "~judge."
"""Begins the names of judges' accounts; no tenant's name may."""


@dataclass(frozen=True, slots=True)
class JudgeAllowance:
    """An `AuditBudget` that spends from another account of each tenant. Every method may raise StoreError.

    Args:
        budget: the shared one.
    """

    budget: AuditBudget

    async def reserve(self, tenant: TenantId, at: float, wanted: Spending, most: Spending) -> bool:
        """Take from the day's allowance; False, and nothing taken, when it would go over."""
        return await self.budget.reserve(_account(tenant), at, wanted, most)

    async def settle(self, tenant: TenantId, at: float, correction: int) -> None:
        """Correct the money taken on that day."""
        await self.budget.settle(_account(tenant), at, correction)

    async def spent(self, tenant: TenantId, at: float) -> Spending:
        """Give what that day has cost so far."""
        return await self.budget.spent(_account(tenant), at)

    async def allows(self, tenant: TenantId, who: str, most: int, seconds: float) -> bool:
        """Count an event of `who`; False once there were `most` within the window."""
        return await self.budget.allows(_account(tenant), who, most, seconds)


def judge_caps(policy: CachePolicy) -> Spending:
    """Give the most that a day's judging may cost."""
    return Spending(policy.review.judge_money, policy.review.judge_calls)


def _account(tenant: TenantId) -> TenantId:
    return TenantId(_MARK + tenant)
