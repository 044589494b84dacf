"""Metrics of the evidence: audits, labels, money, and how many hits seem to be wrong.

Label values come from policies and closed vocabularies only. Knows no audits; it is told.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class EvidenceMetrics:
    """Counters and a gauge in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._audits = Counter(
            "semcache_audits",
            "Hits that the backend answered once more, by how both answers compare.",
            ("tenant", "domain", "verdict"),
            registry=registry,
        )
        self._labels = Counter(
            "semcache_labels", "Labels counted as evidence.", ("source", "verdict"), registry=registry
        )
        self._drops = Counter(
            "semcache_audit_drops", "Audits that were due and not made.", ("reason",), registry=registry
        )
        self._spend = Counter(
            "semcache_audit_spend_micro_usd", "Money that audits cost.", ("tenant",), registry=registry
        )
        self._estimate = Gauge(
            "semcache_hits_wrong_estimate",
            "Share of wrong hits among those labelled by audits and shadow answers.",
            ("tenant", "domain"),
            registry=registry,
            multiprocess_mode="mostrecent",
        )

    def audited(self, tenant: str, domain: str, verdict: str) -> None:
        """Count an audit: `right`, `wrong`, `undecided` or `failed`."""
        self._audits.labels(tenant, domain, verdict).inc()

    def labelled(self, source: str, verdict: str) -> None:
        """Count a label."""
        self._labels.labels(source, verdict).inc()

    def dropped(self, reason: str) -> None:
        """Count an audit that was not made: `queue`, `pace`, `cap`, `pause` or `store`."""
        self._drops.labels(reason).inc()

    def spent(self, tenant: str, micro_usd: int) -> None:
        """Count money."""
        if micro_usd > 0:
            self._spend.labels(tenant).inc(micro_usd)

    def estimated(self, tenant: str, domain: str, share: float) -> None:
        """Set how many hits seem to be wrong, in [0, 1]."""
        self._estimate.labels(tenant, domain).set(share)
