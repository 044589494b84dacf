"""What calls beside requests may spend: taken from the tenant's day before a call, corrected after it.

All replicas share the allowance. Where the store is away nothing is spent. A model without a price is
bounded by the number of calls alone. Knows neither what is asked nor where the allowance is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from semcache.core import CachePolicy, TenantId, Usage
from semcache.errors import StoreError
from semcache.evidence_port import AuditBudget, Spending

Price = Callable[[str, Usage | None], int | None]
"""Gives the micro-USD of tokens of a model; None: not known."""

Caps = Callable[[CachePolicy], Spending]
"""Gives the most that a day may cost under a policy."""

_UNKNOWN = Usage(1000, 500)
"""Tokens that a call is taken to cost where the stored answer does not say."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Money set aside for one call."""

    tenant: TenantId
    model: str
    at: float
    money: int


@dataclass(frozen=True, slots=True)
class Purse:
    """Spends a tenant's allowance.

    Args:
        budget: the allowance that replicas share.
        price: of tokens.
        caps: how much it is.
    """

    budget: AuditBudget
    price: Price
    caps: Caps

    async def take(self, policy: CachePolicy, model: str, expected: Usage | None, at: float) -> Taken | str:
        """Set money aside for a call; or say why not: `cap`, or `store` when nobody can tell.

        Args:
            policy: whose caps apply.
            model: who is asked.
            expected: tokens that the call will about cost.
            at: Unix seconds.
        """
        money = await self._priced(model, expected or _UNKNOWN) or 0
        try:
            allowed = await self.budget.reserve(policy.tenant, at, Spending(money, 1), self.caps(policy))
        except StoreError:
            return "store"
        return Taken(policy.tenant, model, at, money) if allowed else "cap"

    async def settle(self, taken: Taken, usage: Usage | None) -> int:
        """Correct what was set aside by what was used; gives the micro-USD that the call cost.

        A call that failed or does not say what it used costs what was expected.
        """
        price = await self._priced(taken.model, usage)
        if price is None:
            return taken.money
        try:
            await self.budget.settle(taken.tenant, taken.at, price - taken.money)
        except StoreError:
            return price  # the estimate stands
        return price

    async def _priced(self, model: str, usage: Usage | None) -> int | None:
        """Look a price up in a thread: the first look loads a large table."""
        return await asyncio.to_thread(self.price, model, usage)
