"""Prometheus metrics: one view of the request records, and gauges read when scraped.

Label values come from configuration or closed vocabularies only (tenants, domains, reasons);
never from a caller. With several workers the client library's shared directory joins them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost.alarm_metrics import AlarmMetrics
from semcache.cost.budget_metrics import BudgetMetrics
from semcache.cost.call_metrics import CallMetrics
from semcache.cost.confirm_metrics import ConfirmMetrics
from semcache.cost.draft_metrics import DraftMetrics
from semcache.cost.evidence_metrics import EvidenceMetrics
from semcache.cost.ledger_metrics import LedgerMetrics
from semcache.cost.review_metrics import ReviewMetrics
from semcache.cost.route_metrics import RouteMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_FAST = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
_SLOW = (0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

_FORWARDED = frozenset((Outcome.MISS, Outcome.BYPASS, Outcome.DRAFT))

Gauges = Callable[[], Iterable[tuple[str, str, float]]]
"""Gives (name, help, value) at scrape time."""


class Metrics:
    """All metrics of a process, in a registry of their own.

    Args:
        gauges: read at each scrape.
    """

    def __init__(self, gauges: Gauges) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self._requests = Counter(
            "semcache_requests",
            "Requests by outcome and reason.",
            ("tenant", "domain", "outcome", "reason"),
            registry=registry,
        )
        self._duration = Histogram(
            "semcache_request_seconds",
            "Whole time of a request.",
            ("outcome",),
            buckets=_SLOW,
            registry=registry,
        )
        self._overhead = Histogram(
            "semcache_overhead_seconds",
            "Time spent in the proxy itself.",
            ("outcome",),
            buckets=_FAST,
            registry=registry,
        )
        self._faults = Counter(
            "semcache_cache_faults",
            "Cache faults that turned a request into a miss.",
            ("fault",),
            registry=registry,
        )
        self._tokens = Counter(
            "semcache_tokens",
            "Tokens billed by upstreams, or saved by hits.",
            ("tenant", "kind"),
            registry=registry,
        )
        self._guessed = Counter(
            "semcache_usage_guessed", "Calls whose tokens were guessed.", ("tenant",), registry=registry
        )
        self._odd = Counter(
            "semcache_usage_inconsistent",
            "Calls whose counts of tokens do not fit each other.",
            ("tenant",),
            registry=registry,
        )
        self._collapsed = Counter(
            "semcache_collapsed", "Requests that shared another's upstream call.", registry=registry
        )
        self._stored = Counter(
            "semcache_entries_stored", "Entries stored by this process.", registry=registry
        )
        self._shadow = Counter(
            "semcache_shadow_hits", "Hits that shadow mode kept back.", ("tenant", "tier"), registry=registry
        )
        self._dropped = Counter(
            "semcache_records_dropped", "Records lost to a full queue.", registry=registry
        )
        self._prewarmed = Counter(
            "semcache_prewarm_heads",
            "Prompt beginnings computed beforehand.",
            ("outcome",),
            registry=registry,
        )
        self._prewarm_tokens = Counter(
            "semcache_prewarm_tokens",
            "Their tokens; no request's and on nobody's account.",
            ("kind",),
            registry=registry,
        )
        self._prewarm_seconds = Counter(
            "semcache_prewarm_seconds", "Time the engine spent on them.", registry=registry
        )
        self.evidence = EvidenceMetrics(registry)
        """Told of audits and labels."""
        self.drafts = DraftMetrics(registry)
        self.budgets = BudgetMetrics(registry)
        self.review = ReviewMetrics(registry)
        self.confirmations = ConfirmMetrics(registry)
        self.costs = LedgerMetrics(registry)
        self.alarms = AlarmMetrics(registry)
        self.routes = RouteMetrics(registry)
        self.calls = CallMetrics(registry)
        self._gauges = _GaugeCollector(gauges)
        registry.register(self._gauges)
        self._children: dict[tuple[str, str, str, str], Counter] = {}
        self._timers: dict[str, tuple[Histogram, Histogram]] = {}

    def observe(self, record: RequestRecord) -> None:
        """Count one request."""
        reason = record.reason.partition(":")[0]
        key = (record.tenant, record.domain, record.outcome.value, reason)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._requests.labels(*key)
        child.inc()
        timers = self._timers.get(record.outcome)
        if timers is None:
            word = record.outcome.value
            timers = self._timers[record.outcome] = (self._duration.labels(word), self._overhead.labels(word))
        timers[0].observe(record.duration)
        if record.outcome in _FORWARDED:
            timers[1].observe(record.overhead)
        if record.faults or record.collapsed or record.stored or record.shadow:
            self._observe_rare(record)
        if record.usage is not None:
            self._count_usage(record.tenant, record.usage)
        if record.estimated:
            self._guessed.labels(record.tenant).inc()
        if record.saved is not None:
            self._count_tokens(record.tenant, "saved_input", record.saved.prompt_tokens)
            self._count_tokens(record.tenant, "saved_output", record.saved.completion_tokens)

    def count_dropped(self) -> None:
        """Count a record that found the queue full."""
        self._dropped.inc()

    def count_prewarm(self, outcome: str, computed: int = 0, cached: int = 0, seconds: float = 0.0) -> None:
        """Count a prompt beginning that was computed beforehand (or was to be): its own line, in no hit rate."""
        self._prewarmed.labels(outcome).inc()
        self._prewarm_tokens.labels("computed").inc(max(0, computed))
        self._prewarm_tokens.labels("cached").inc(max(0, cached))
        self._prewarm_seconds.inc(max(0.0, seconds))

    def render(self) -> bytes:
        """Give the exposition text; joins all workers when they share a directory."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        joined = CollectorRegistry()
        multiprocess.MultiProcessCollector(joined)  # type: ignore[no-untyped-call]  # the library has no types here
        joined.register(self._gauges)
        joined.register(self.alarms.gauge)
        joined.register(self.routes.loads)
        return generate_latest(joined)

    def _observe_rare(self, record: RequestRecord) -> None:
        for fault in record.faults:
            self._faults.labels(fault).inc()
        if record.collapsed:
            self._collapsed.inc()
        if record.stored:
            self._stored.inc()
        if record.shadow:
            self._shadow.labels(record.tenant, record.shadow).inc()

    def _count_usage(self, tenant: str, usage: Usage) -> None:
        self._count_tokens(tenant, "input", usage.prompt_tokens)
        self._count_tokens(tenant, "cached_input", usage.cached_tokens)
        self._count_tokens(tenant, "written_input", usage.written_tokens)
        self._count_tokens(tenant, "output", usage.completion_tokens)
        self._count_tokens(tenant, "reasoning_output", usage.reasoning_tokens)
        if usage.is_odd:
            self._odd.labels(tenant).inc()

    def _count_tokens(self, tenant: str, kind: str, tokens: int) -> None:
        if tokens > 0:
            self._tokens.labels(tenant, kind).inc(tokens)


class _GaugeCollector(Collector):
    """Reads gauges when scraped, so that nobody has to keep them up to date."""

    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[GaugeMetricFamily]:
        for name, text, value in self._gauges():
            yield GaugeMetricFamily(name, text, value=value)
