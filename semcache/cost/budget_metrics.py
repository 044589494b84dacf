"""Metrics of budgets: what they refused, and how well what they count is known.

Label values come from policies and closed vocabularies only. Knows no budgets; it is told.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class BudgetMetrics:
    """Counters in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._refusals = Counter(
            "semcache_budget_refusals",
            "Requests that a budget refused.",
            ("tenant", "budget", "limit"),
            registry=registry,
        )
        self._settled = Counter(
            "semcache_budget_settled",
            "Requests and side work counted against budgets, by how well their cost is known.",
            ("tenant", "result"),
            registry=registry,
        )
        self._faults = Counter(
            "semcache_budget_faults",
            "Times that the store did not answer about budgets.",
            ("kind",),
            registry=registry,
        )

    def refused(self, tenant: str, budget: str, limit: str) -> None:
        """Count a request that a budget refused: `money`, `requests`, `price` (unknown) or `store` (nobody could tell)."""
        self._refusals.labels(tenant, budget, limit).inc()

    def failed(self, kind: str) -> None:
        """Count a fault of the store."""
        self._faults.labels(kind).inc()

    def settled(self, tenant: str, result: str) -> None:
        """Count a settlement: `counted`, `estimated`, `unpriced` or `lost`."""
        self._settled.labels(tenant, result).inc()
