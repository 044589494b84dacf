"""What somebody else counts of a tenant's requests, for the page of numbers. Knows no metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from semcache.core import TenantId


class Counters(Protocol):
    """Counts requests. Never waits."""

    def requests(self, tenant: TenantId) -> Mapping[str, int]:
        """Give requests by outcome (`core.Outcome`)."""
        ...

    def drafts(self, tenant: TenantId) -> Mapping[str, int]:
        """Give drafts by result (`core.DraftRecord.result`)."""
        ...

    def saved(self, tenant: TenantId) -> int | None:
        """Give what drafts saved together, in micro-USD; None where no price is known."""
        ...
