"""Who hears what budgets do."""

from __future__ import annotations

from typing import Protocol


class Told(Protocol):
    """Metrics of budgets. Names of budgets come from policies, never from clients."""

    def refused(self, tenant: str, budget: str, limit: str) -> None:
        """Count a request that a budget refused: `money`, `requests`, `price` (unknown) or `store` (nobody could tell)."""
        ...

    def failed(self, kind: str) -> None:
        """Count a fault of the store."""
        ...

    def settled(self, tenant: str, result: str) -> None:
        """Count what was set aside: `counted`, `estimated`, `unpriced`, `lost`."""
        ...
