"""Metrics of the calls that tenants have under way: how many, how many wait, how many found no place.

Label values are tenants of the policies only. Knows no policies; looks at loads when it is scraped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class TenantLoad(Protocol):
    """What one tenant has under way."""

    @property
    def tenant(self) -> str:
        """Whose."""
        ...

    @property
    def used(self) -> int:
        """Calls under way."""
        ...

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        ...


class CallMetrics:
    """A counter and gauges in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._refusals = Counter(
            "semcache_tenant_refusals",
            "Calls refused since their tenant had as many under way as it may.",
            ("tenant",),
            registry=registry,
        )
        self.loads = TenantLoads()
        registry.register(self.loads)

    def refused(self, tenant: str) -> None:
        """Count a call that found no place."""
        self._refusals.labels(tenant).inc()


class TenantLoads(Collector):
    """Reads what tenants have under way when scraped; of this worker alone."""

    def __init__(self) -> None:
        self.of: Callable[[], Iterable[TenantLoad]] = tuple
        """Gives whom to look at."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Give a gauge for each kind of load."""
        calls = _gauge("semcache_tenant_calls", "Calls of this worker under way.")
        waiting = _gauge(
            "semcache_tenant_waiting", "Calls of this worker that wait for a place of their tenant."
        )
        for load in self.of():
            calls.add_metric([load.tenant], load.used)
            waiting.add_metric([load.tenant], load.waiting)
        return (calls, waiting)


def _gauge(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=("tenant",))
