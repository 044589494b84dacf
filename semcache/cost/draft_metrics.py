"""Metrics of drafts: what became of them, and what they saved or lost.

Label values come from policies and closed vocabularies only. Knows no drafts; it is told.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from semcache.core import DraftRecord


class DraftMetrics:
    """Counters in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        self._drafts = counter(
            "semcache_drafts", "Near answers, by what became of them.", "tenant", "domain", "way", "result"
        )
        self._tokens = counter("semcache_draft_tokens", "Tokens of drafts.", "tenant", "way", "kind")
        self._saved = counter(
            "semcache_draft_saved_micro_usd", "Money that drafts saved.", "tenant", "domain", "way"
        )
        self._lost = counter(
            "semcache_draft_lost_micro_usd", "Money that drafts cost in vain.", "tenant", "domain", "way"
        )
        self._faster = counter(
            "semcache_draft_saved_seconds", "Time that drafts saved.", "tenant", "domain", "way"
        )
        self._slower = counter(
            "semcache_draft_lost_seconds", "Time that drafts cost.", "tenant", "domain", "way"
        )

    def drafted(self, tenant: str, domain: str, record: DraftRecord) -> None:
        """Count a draft that made an answer, failed, or was not tried."""
        self._drafts.labels(tenant, domain, record.way, record.result).inc()
        for kind in ("output", "original", "accepted", "rejected"):
            tokens: int = getattr(record, kind)
            if tokens > 0:
                self._tokens.labels(tenant, record.way, kind).inc(tokens)
        for value, gain, loss in (
            (record.saved, self._saved, self._lost),
            (record.seconds, self._faster, self._slower),
        ):
            if value:
                (gain if value > 0 else loss).labels(tenant, domain, record.way).inc(abs(value))
