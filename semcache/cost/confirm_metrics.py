"""Metrics of answers that are their author's alone so far, and of authors with many near answers.

Label values come from policies and closed vocabularies only. Knows no entries; it is told.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class ConfirmMetrics:
    """Counters in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._confirmed = Counter(
            "semcache_confirmations",
            "Fresh answers held against stored ones that were their author's alone.",
            ("tenant", "result"),
            registry=registry,
        )
        self._crowded = Counter(
            "semcache_crowded",
            "Answers kept from being found by meaning, since their author has many so near.",
            ("tenant",),
            registry=registry,
        )

    def confirmed(self, tenant: str, result: str) -> None:
        """Count a comparison."""
        self._confirmed.labels(tenant, result).inc()

    def crowded(self, tenant: str) -> None:
        """Count an answer."""
        self._crowded.labels(tenant).inc()
