"""Metrics of alarms: those that are raised, how often they were, and what became of telling them.

Which alarms are raised is read from this worker's memory when scraped; a worker that does not look for alarms shows what
the one that does has written down. Knows no conditions; it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from semcache.cost_port import AlarmKind, CostAlarm

SHOWN = 200
"""Alarms in one scrape at most: their subjects may be names that clients chose."""


class AlarmMetrics:
    """Counters in the registry of `Metrics`, and the gauge of raised alarms.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        self._changes = counter("semcache_alarm_changes", "Alarms raised, and over.", "kind", "state")
        self._faults = counter("semcache_alarm_faults", "Looks for alarms that failed.", "part")
        self._posts = counter("semcache_alarm_webhook", "Posts to the webhook, by how they ended.", "outcome")
        self._retries = counter("semcache_retries", "Requests that ask the same again at once.", "tenant")
        self._repeats = counter("semcache_repetitive_answers", "Answers that repeat themselves.", "tenant")
        self.gauge = Raised()
        """Registered once more where workers' metrics are joined."""
        registry.register(self.gauge)

    def changed(self, kind: AlarmKind, raised: bool) -> None:
        """Count an alarm that was raised or is over."""
        self._changes.labels(kind.value, "raised" if raised else "over").inc()

    def failed(self, part: str) -> None:
        """Count a look that failed: `costs`, `growth`, `budgets`, `bounds`, `shelf`, `lead` or `defect`."""
        self._faults.labels(part).inc()

    def posted(self, outcome: str) -> None:
        """Count a post to the webhook: `delivered`, `refused`, `late` or `dropped`."""
        self._posts.labels(outcome).inc()

    def counted(self, tenant: str, retries: int, repetitive: int) -> None:
        """Count what came to the book since the last look, of all workers and replicas."""
        if retries > 0:
            self._retries.labels(tenant).inc(retries)
        if repetitive > 0:
            self._repeats.labels(tenant).inc(repetitive)

    def show_alarms(self, alarms: Sequence[CostAlarm]) -> None:
        """Show these as the ones raised, from now on."""
        self.gauge.alarms = tuple(alarms[:SHOWN])

    def show_budgets(self, used: Sequence[tuple[str, str, float]]) -> None:
        """Show how far budgets are used from now on: tenant, budget, share of its limit."""
        self.gauge.used = tuple(used[:SHOWN])


class Raised(Collector):
    """Gauges of what was last shown: an alarm that is over is not in them any more."""

    def __init__(self) -> None:
        self.alarms: tuple[CostAlarm, ...] = ()
        self.used: tuple[tuple[str, str, float], ...] = ()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Give the gauges at scrape time."""
        labels = ("tenant", "kind", "subject")
        raised = GaugeMetricFamily("semcache_alarm", "1 while an alarm is raised.", labels=labels)
        for tenant, kind, subject in dict.fromkeys(
            (alarm.tenant, alarm.kind.value, alarm.subject) for alarm in self.alarms
        ):
            raised.add_metric((tenant, kind, subject), 1.0)
        yield raised
        used = GaugeMetricFamily(
            "semcache_budget_used",
            "Share of a budget that is spent in its window.",
            labels=("tenant", "budget"),
        )
        for (tenant, budget), share in {
            (tenant, budget): share for tenant, budget, share in self.used
        }.items():
            used.add_metric((tenant, budget), share)
        yield used
