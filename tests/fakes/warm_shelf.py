"""A shelf in memory, under the same contract suite as the real one (tests/contracts/test_warm_shelf.py)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.errors import StoreError
from semcache.ports import Clock


@dataclass
class FakeWarmShelf:
    clock: Clock
    values: dict[TenantId, tuple[int, bytes]] = field(default_factory=dict)
    epochs: Counter[TenantId] = field(default_factory=Counter)
    held: tuple[str, float] = ("", 0.0)
    away: bool = False

    def flush(self, tenant: TenantId) -> None:
        """What deleting a tenant does."""
        self.epochs[tenant] += 1
        self.values.pop(tenant, None)

    def _reached(self) -> None:
        if self.away:
            raise StoreError("entry store: away", kind="down")

    async def epoch(self, tenant: TenantId) -> int:
        self._reached()
        return self.epochs[tenant]

    async def tenants(self) -> list[TenantId]:
        self._reached()
        return sorted(self.values)

    async def read(self, tenant: TenantId) -> bytes | None:
        self._reached()
        epoch, value = self.values.get(tenant, (-1, b""))
        return value if epoch == self.epochs[tenant] else None

    async def write(self, tenant: TenantId, epoch: int, value: bytes) -> bool:
        self._reached()
        if len(value) > 1 << 20:
            raise ValueError
        if epoch != self.epochs[tenant]:
            self.values.pop(tenant, None)
            return False
        self.values[tenant] = (epoch, value)
        return True

    async def drop(self, tenant: TenantId) -> None:
        self._reached()
        self.values.pop(tenant, None)

    async def lease(self, holder: str, seconds: float) -> bool:
        self._reached()
        owner, until = self.held
        if owner not in ("", holder) and self.clock.monotonic() < until:
            return False
        self.held = (holder, self.clock.monotonic() + seconds) if seconds else ("", 0.0)
        return True
