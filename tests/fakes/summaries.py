"""Summaries in memory, under the same contract suite as the real ones (tests/contracts/test_summaries.py)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.errors import StoreError


@dataclass
class FakeSummaries:
    values: dict[tuple[TenantId, int, str], str] = field(default_factory=dict)
    epochs: Counter[TenantId] = field(default_factory=Counter)
    away: bool = False

    def flush(self, tenant: TenantId) -> None:
        """What deleting a tenant does."""
        self.epochs[tenant] += 1

    def _reached(self) -> None:
        if self.away:
            raise StoreError("entry store: away", kind="down")

    async def get(self, tenant: TenantId, name: str) -> str | None:
        self._reached()
        return self.values.get((tenant, self.epochs[tenant], name))

    async def put(self, tenant: TenantId, name: str, summary: str) -> str:
        self._reached()
        if len(summary.encode("utf-8", "replace")) > 1 << 18:
            raise ValueError
        readable = summary.encode("utf-8", "replace").decode()
        return self.values.setdefault((tenant, self.epochs[tenant], name), readable)
