"""A book of costs in memory, under the same contract suite as the real one (tests/contracts/test_cost_book.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from semcache.core import TenantId
from semcache.cost_port import CostKey, CostSums
from semcache.errors import StoreError

MOST = (1 << 53) - 1


@dataclass
class FakeCostBook:
    """`away`: nothing is reached. `room`: keys a day."""

    sums: dict[CostKey, CostSums] = field(default_factory=dict)
    last: dict[tuple[str, str], int] = field(default_factory=dict)
    room: int = 5000
    away: bool = False

    def _reached(self) -> None:
        if self.away:
            raise StoreError("book of costs: away", kind="down")

    async def add(self, batch: str, sums: Mapping[CostKey, CostSums]) -> None:
        writer, _, number = batch.rpartition(".")
        if not writer or not (number.isascii() and number.isdigit()):
            raise ValueError("a batch is named <writer>.<number>")
        if any(not 0 <= key.day <= 2_932_896 for key in sums):
            raise ValueError("day")
        self._reached()
        again = {key.tenant for key in sums if self.last.get((writer, key.tenant), -1) >= int(number)}
        for key, counters in sums.items():
            if key.tenant not in again:
                self._count(key, counters)
                self.last[writer, key.tenant] = int(number)

    def _count(self, key: CostKey, counters: CostSums) -> None:
        if key not in self.sums and self._is_full(key):
            key = replace(
                key,
                model="~other",
                key_name="~other",
                project="~other",
                environment="~other",
                business_line="~other",
                task="~other",
            )
        kept = self.sums.setdefault(key, CostSums())
        kept.add(counters)
        for name in CostSums.__slots__:
            setattr(kept, name, max(-MOST, min(MOST, getattr(kept, name))))

    def _is_full(self, key: CostKey) -> bool:
        """True when the day of a key has as many as it may have; most books hold fewer in all, and need no counting."""
        if len(self.sums) < self.room:
            return False
        return sum((known.tenant, known.day) == (key.tenant, key.day) for known in self.sums) >= self.room

    async def read(self, tenant: TenantId, first: int, last: int) -> Mapping[CostKey, CostSums]:
        self._reached()
        return {
            key: replace(sums)
            for key, sums in self.sums.items()
            if key.tenant == tenant and first <= key.day <= last
        }

    async def tenants(self) -> tuple[TenantId, ...]:
        self._reached()
        return tuple(sorted({TenantId(key.tenant) for key in self.sums}))

    async def forget(self, tenant: TenantId) -> int:
        self._reached()
        gone = [key for key in self.sums if key.tenant == tenant]
        for key in gone:
            del self.sums[key]
        return len({key.day for key in gone})
