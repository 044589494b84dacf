"""The engine in Prometheus' words: histograms of requests as they end, and the report at each scrape.

One registry for each application. Label values are closed vocabularies, and short digests of the
largest tenants, as the report has them; the rest of them is one series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from semcache.engine.generation import Done
from semcache.engine.report import EngineReport, TenantShare

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

MAX_TENANTS = 50
"""Tenants with series of their own."""

_FIRST = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_MATCH = (0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05)

_PREFIX = "semcache_engine_"

_COUNTERS = {
    "prompt": ("prompt_tokens", "Prompt tokens of users' requests."),
    "cached": ("cached_tokens", "Prompt tokens of users' requests whose state was found computed."),
    "generated": ("generated_tokens", "Tokens of answers."),
    "recomputed": ("recomputed_tokens", "Tokens computed again after a preemption."),
    "background": ("background_tokens", "Tokens computed ahead, for later requests."),
    "accepted_draft": ("draft_accepted_tokens", "Draft tokens that the model confirmed."),
    "rejected_draft": ("draft_rejected_tokens", "Draft tokens that the model was asked about in vain."),
    "steps": ("steps", "Forward passes."),
    "decode_rows": ("decode_rows", "Rows of forward passes that made answer tokens; by steps: mean batch."),
    "preemptions": ("preemptions", "Requests set back for want of memory."),
    "failures": ("failures", "Requests that failed inside the engine."),
    "recoveries": ("recoveries", "Faults inside the engine after which all prefixes were dropped."),
}
_GAUGES = {
    "capacity": ("capacity_tokens", "Tokens that the pool can hold."),
    "free": ("free_tokens", "Free slots of the pool."),
    "tree": ("tree_tokens", "Tokens held by the prefix tree."),
    "running": ("running_tokens", "Slots of requests under way that the tree does not hold."),
    "pinned": ("pinned_tokens", "Tokens of the tree that requests under way use."),
    "nodes": ("tree_nodes", "Nodes of the prefix tree."),
    "high_water": ("high_water_tokens", "Most slots ever in use at once."),
    "bytes_per_token": ("token_bytes", "Bytes of one token's keys and values."),
    "host_tokens": ("host_tokens", "Tokens held in host memory, behind the pool."),
    "active": ("active_choices", "Answers being made."),
    "queued": ("queued_requests", "Requests that wait."),
}


class EngineMetrics:
    """All metrics of one engine.

    Args:
        report: Gives the present report; None while there is no engine. May block.
    """

    def __init__(self, report: Callable[[], EngineReport | None]) -> None:
        self._registry = CollectorRegistry()
        self._parts = {
            "queue": self._histogram("queue_seconds", "Wait before a request began.", _FIRST),
            "match": self._histogram("match_seconds", "Search for the longest computed prefix.", _MATCH),
            "prefill": self._histogram("prefill_seconds", "Computing the rest of the prompt.", _FIRST),
            "first_token": self._histogram("sample_seconds", "From the prompt to the first token.", _MATCH),
        }
        self._first = self._histogram("first_token_seconds", "From arrival to the first token.", _FIRST)
        self._whole = self._histogram("request_seconds", "Whole time of a complete answer.", _FIRST)
        self._requests = Counter(
            f"{_PREFIX}requests", "Requests by how they ended.", ("end",), registry=self._registry
        )
        for end in ("done", "failed", "left", "warmed"):
            self._requests.labels(end)
        self._registry.register(_ReportCollector(report))

    def done(self, done: Done, seconds: float) -> None:
        """Count a complete answer that took so long."""
        self._requests.labels("done").inc()
        timing = done.timing
        self._parts["queue"].observe(timing.queue)
        self._parts["match"].observe(timing.match)
        self._parts["prefill"].observe(timing.prefill)
        self._parts["first_token"].observe(timing.first_token)
        self._first.observe(timing.queue + timing.match + timing.prefill + timing.first_token)
        self._whole.observe(seconds)

    def ended(self, how: str) -> None:
        """Count another end: `failed`, `left` (its client), or `warmed`."""
        self._requests.labels(how).inc()

    def render(self) -> bytes:
        """Give the exposition text; blocks as long as the report does.

        Raises:
            EngineError: the engine cannot tell about itself now.
        """
        return generate_latest(self._registry)

    def _histogram(self, name: str, words: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(_PREFIX + name, words, buckets=buckets, registry=self._registry)


class _ReportCollector(Collector):
    """Turns a report into metric families."""

    def __init__(self, report: Callable[[], EngineReport | None]) -> None:
        self._report = report

    def describe(self) -> Iterator[Metric]:
        """Give nothing: the names are this module's own, and asking for a report may block."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Ask for a report and give its families."""
        report = self._report()
        yield GaugeMetricFamily(f"{_PREFIX}ready", "1 when requests are answered.", float(report is not None))
        if report is None:
            return
        for field, (name, words) in _COUNTERS.items():
            yield CounterMetricFamily(_PREFIX + name, words, getattr(report, field))
        for field, (name, words) in _GAUGES.items():
            yield GaugeMetricFamily(_PREFIX + name, words, getattr(report, field))
        evicted = CounterMetricFamily(
            f"{_PREFIX}evicted_tokens", "Tokens dropped from the tree.", labels=("reason",)
        )
        for reason, tokens in report.evictions:
            evicted.add_metric((reason,), tokens)
        yield evicted
        held = GaugeMetricFamily(
            f"{_PREFIX}tenant_tokens", "Tokens that a tenant holds in the tree.", labels=("tenant",)
        )
        for tenant, tokens in by_tenant(report.tenants):
            held.add_metric((tenant,), tokens)
        yield held


def by_tenant(shares: tuple[TenantShare, ...]) -> list[tuple[str, int]]:
    """Give what the largest tenants hold, and the rest as "other"."""
    held: dict[str, int] = {}
    for share in shares:  # short names may meet
        held[share.tenant] = held.get(share.tenant, 0) + share.tokens
    ordered = sorted(held.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(tokens for _, tokens in ordered[MAX_TENANTS:])
    return ordered[:MAX_TENANTS] + ([("other", rest)] if len(ordered) > MAX_TENANTS else [])
