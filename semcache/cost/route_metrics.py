"""Metrics of upstreams and routes: who was asked and why, how busy each is, whom nobody asks at present.

Label values come from the configuration and closed vocabularies only. Knows no routes; it is told, and looks at loads
when it is scraped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class Loaded(Protocol):
    """An upstream whose load can be seen."""

    @property
    def name(self) -> str:
        """Name from the configuration."""
        ...

    @property
    def active(self) -> int:
        """Calls under way, those that wait included."""
        ...

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        ...

    @property
    def refuses(self) -> bool:
        """True while calls would fail at once."""
        ...


class RouteMetrics:
    """Counters and gauges in the registry of `Metrics`.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "semcache_route_calls",
            "Calls of routes, by who was asked and what came of it.",
            ("route", "upstream", "result"),
            registry=registry,
        )
        self.loads = Loads()
        registry.register(self.loads)

    def routed(self, route: str, upstream: str, result: str) -> None:
        """Count an upstream that was asked for a route."""
        self._calls.labels(route, upstream, result).inc()


class Loads(Collector):
    """Reads how busy upstreams are when scraped; of this worker alone."""

    def __init__(self) -> None:
        self.members: Sequence[Loaded] = ()
        """Whom to look at."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Give a gauge for each kind of load."""
        active = _gauge("semcache_upstream_active", "Calls of this worker under way.")
        waiting = _gauge("semcache_upstream_waiting", "Calls of this worker that wait for a place.")
        refuses = _gauge("semcache_upstream_refuses", "1 while calls are refused, since it failed too often.")
        for member in self.members:
            active.add_metric([member.name], member.active)
            waiting.add_metric([member.name], member.waiting)
            refuses.add_metric([member.name], float(member.refuses))
        return (active, waiting, refuses)


def _gauge(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=("upstream",))
