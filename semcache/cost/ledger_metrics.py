"""Metrics of money, and of the ledger's own health: what was paid and saved, written, booked, and lost.

Label values are tenants and closed words. Knows no records; it is told.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from semcache.cost_port import CostKey, CostSums

_SPENT = (("answers", "cost"), ("embedding", "embedding"), ("side", "side"), ("charged", "charged"))
_SAVED = (("response", "by_response"), ("provider", "by_provider"), ("local", "by_local"))


class LedgerMetrics:
    """Counters in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        self._spent = counter("semcache_cost_micro_usd", "Money paid or charged.", "tenant", "kind")
        self._saved = counter("semcache_saved_micro_usd", "Money that reuse saved.", "tenant", "by")
        self._lost = counter("semcache_lost_micro_usd", "Money that reuse cost in vain.", "tenant", "by")
        self._unpriced = counter("semcache_unpriced", "Calls whose price nobody knows.", "tenant")
        self._failures = counter("semcache_pricing_failures", "Records that could not be priced.")
        self._rows = counter("semcache_ledger_rows", "Rows of the ledger's files.", "state")
        self._segments = counter("semcache_ledger_segments", "Files of the ledger.", "state")
        self._folded = counter("semcache_cost_folded", "Sums added up under ~other.", "why")
        self._batches = counter("semcache_cost_batches", "Sums sent to the store.", "result")
        self._children: dict[str, tuple[tuple[str, Counter, Counter], ...]] = {}

    def counted(self, key: CostKey, sums: CostSums) -> None:
        """Count what one record came to."""
        for name, gain, loss in self._of(key.tenant):
            value: int = getattr(sums, name)
            if value:
                (gain if value > 0 else loss).inc(abs(value))
        if sums.unpriced:
            self._unpriced.labels(key.tenant).inc(sums.unpriced)

    def _of(self, tenant: str) -> tuple[tuple[str, Counter, Counter], ...]:
        """Give the counters of a tenant: the name of a sum, what counts it, and what counts it where it is negative."""
        found = self._children.get(tenant)
        if found is None:
            spent = [(name, self._spent.labels(tenant, word)) for word, name in _SPENT]
            saved = [
                (name, self._saved.labels(tenant, by), self._lost.labels(tenant, by)) for by, name in _SAVED
            ]
            found = self._children[tenant] = (*((name, kind, kind) for name, kind in spent), *saved)
        return found

    def failed_to_price(self) -> None:
        """Count a record that could not be put into money or sums."""
        self._failures.inc()

    def rows(self, state: str, count: int = 1) -> None:
        """Count rows: `written`, `lost`, or `skipped` (half lines left by a crash)."""
        self._rows.labels(state).inc(count)

    def segment(self, state: str) -> None:
        """Count files: `closed`, `packed`, `deleted` or `failed`."""
        self._segments.labels(state).inc()

    def folded(self, why: str) -> None:
        """Count sums that lost their labels: `keys`, `models` (too many a day) or `waiting` (the store was away)."""
        self._folded.labels(why).inc()

    def batch(self, result: str) -> None:
        """Count what was sent to the store: `booked`, `failed` (it is sent again)."""
        self._batches.labels(result).inc()
