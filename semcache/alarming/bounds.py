"""Which domains have broken their bound on wrong hits, read from what the evidence keeps.

The evidence keeps when a domain was last closed or tightened; whether it still is, is asked of the standings, where
somebody can say. Knows no shelf and no levels.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from semcache.alarming.rules import DAY
from semcache.core import TenantId
from semcache.evidence_port import Alarm

BELIEVED = DAY
"""Seconds for which an alarm of the evidence counts where nobody can say how the domain stands now."""

IsBroken = Callable[[TenantId, str], Awaitable[bool | None]]
"""Says whether a domain breaks its bound at present; None: not known."""


class Evidence(Protocol):
    """What is read of an `evidence_port.EvidenceStore`."""

    async def alarm(self, tenant: TenantId, domain: str) -> Alarm | None:
        """Give the last alarm."""
        ...

    async def domains(self, tenant: TenantId) -> tuple[str, ...]:
        """Name the domains that have labels or tallies."""
        ...

    async def tenants(self) -> tuple[TenantId, ...]:
        """Name the tenants that have evidence."""
        ...


async def broken_of(
    evidence: Evidence, tenant: TenantId, is_broken: IsBroken | None, now: float
) -> dict[str, bool]:
    """Say of each domain that ever had an alarm whether its bound is broken.

    Raises:
        StoreError: unreachable or late.
    """
    found: dict[str, bool] = {}
    for domain in await evidence.domains(tenant):
        alarm = await evidence.alarm(tenant, domain)
        if alarm is None:
            continue
        present = None if is_broken is None else await is_broken(tenant, domain)
        found[domain] = now - alarm.at < BELIEVED if present is None else present
    return found
