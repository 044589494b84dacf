"""What calls beside requests may spend: taken from the tenant's day before a call, corrected after it.

All replicas share the allowance. Where the store is away nothing is spent. A model without a price is
bounded by the number of calls alone. Each call leaves a record on the account of the request that caused it.
Knows neither what is asked nor where the allowance is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from semcache.core import CachePolicy, TenantId, Usage
from semcache.cost_rules import Labels
from semcache.errors import StoreError
from semcache.evidence_port import AuditBudget, Spending
from semcache.journey import Asked, Backend
from semcache.ports import SideSink
from semcache.records import SideKind, SideRecord

Price = Callable[[str, Usage | None], int | None]
"""Gives the micro-USD of tokens of a model; None: not known."""

Caps = Callable[[CachePolicy], Spending]
"""Gives the most that a day may cost under a policy."""

_UNKNOWN = Usage(1000, 500)
"""Tokens that a call is taken to cost where the stored answer does not say."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a call is made, who is asked, and on whose account: the request that it belongs to."""

    kind: SideKind
    domain: str
    backend: str
    is_local: bool = False
    request_id: str = ""
    labels: Labels = ()
    key_name: str = ""


def cause_of(kind: SideKind, domain: str, asked: Asked, backend: Backend) -> Cause:
    """Give the cause of a call that is made for a request."""
    return Cause(
        kind,
        domain,
        backend.generator.name,
        backend.prefixes is not None,
        asked.request_id,
        asked.labels,
        asked.caller.key_name,
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """Money set aside for one call."""

    tenant: TenantId
    model: str
    at: float
    money: int
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Purse:
    """Spends a tenant's allowance.

    Args:
        budget: the allowance that replicas share.
        price: of tokens.
        caps: how much it is.
        sides: gets a record of each call that names its cause, or None.
    """

    budget: AuditBudget
    price: Price
    caps: Caps
    sides: SideSink | None = None

    async def take(
        self, policy: CachePolicy, model: str, expected: Usage | None, at: float, cause: Cause | None = None
    ) -> Taken | str:
        """Set money aside for a call; or say why not: `cap`, or `store` when nobody can tell.

        Args:
            policy: whose caps apply.
            model: who is asked.
            expected: tokens that the call will about cost.
            at: Unix seconds.
            cause: why.
        """
        money = await self._priced(model, expected or _UNKNOWN) or 0
        try:
            allowed = await self.budget.reserve(policy.tenant, at, Spending(money, 1), self.caps(policy))
        except StoreError:
            return "store"
        return Taken(policy.tenant, model, at, money, cause) if allowed else "cap"

    async def settle(self, taken: Taken, usage: Usage | None, *, refused: bool = False) -> int:
        """Correct what was set aside by what was used; gives the micro-USD that the call cost.

        A call that failed or does not say what it used costs what was expected. One that was `refused` (nobody was reached, or an
        error came back) is billed by nobody and leaves no record.
        """
        if self.sides is not None and taken.cause is not None and not refused:
            self.sides.note(_record(taken, taken.cause, usage))
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


def _record(taken: Taken, cause: Cause, usage: Usage | None) -> SideRecord:
    return SideRecord(
        kind=cause.kind,
        at=taken.at,
        tenant=taken.tenant,
        domain=cause.domain,
        model=taken.model,
        backend=cause.backend,
        usage=usage,
        request_id=cause.request_id,
        labels=cause.labels,
        key_name=cause.key_name,
        is_local=cause.is_local,
    )
