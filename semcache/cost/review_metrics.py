"""Metrics of what comes before reviewers, and of the judge that looks beforehand.

Label values come from policies and closed vocabularies only. Knows no queue and no judge; it is told.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class ReviewMetrics:
    """Counters in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        self._sightings = counter(
            "semcache_sightings", "Stored answers that met a question.", "outcome", "queued"
        )
        self._drops = counter("semcache_sighting_drops", "Sightings and opinions that were let go.", "reason")
        self._opinions = counter(
            "semcache_judge_opinions", "What the judge of the grey zone said.", "tenant", "domain", "verdict"
        )
        self._spend = counter("semcache_judge_spend_micro_usd", "Money that this judge cost.", "tenant")
        self._promoted = counter(
            "semcache_promotions", "Answers approved on the judge's word.", "tenant", "domain"
        )

    def sighted(self, outcome: str, weighty: bool) -> None:
        """Count a sighting."""
        self._sightings.labels(outcome, "yes" if weighty else "no").inc()

    def dropped(self, what: str, count: int) -> None:
        """Count what was let go."""
        self._drops.labels(what).inc(count)

    def judged(self, tenant: str, domain: str, word: str) -> None:
        """Count an opinion."""
        self._opinions.labels(tenant, domain, word).inc()

    def spent(self, tenant: str, micro_usd: int) -> None:
        """Count money."""
        if micro_usd > 0:
            self._spend.labels(tenant).inc(micro_usd)

    def promoted(self, tenant: str, domain: str) -> None:
        """Count a promotion."""
        self._promoted.labels(tenant, domain).inc()
