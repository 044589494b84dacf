"""Metrics of upstreams and routes."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest

from semcache.cost.metrics import Metrics
from semcache.cost.route_metrics import RouteMetrics


@dataclass
class Busy:
    name: str
    active: int = 0
    waiting: int = 0
    refuses: bool = False


def test_calls_are_counted_and_loads_are_looked_at() -> None:
    registry = CollectorRegistry()
    metrics = RouteMetrics(registry)
    metrics.routed("pool", "a", "home")
    metrics.routed("pool", "a", "home")
    metrics.routed("pool", "b", "fallback")
    upstream = Busy("a", active=3, waiting=1)
    metrics.loads.members = [upstream, Busy("b", refuses=True)]
    lines = generate_latest(registry).decode().splitlines()
    for line in (
        'semcache_route_calls_total{result="home",route="pool",upstream="a"} 2.0',
        'semcache_route_calls_total{result="fallback",route="pool",upstream="b"} 1.0',
        'semcache_upstream_active{upstream="a"} 3.0',
        'semcache_upstream_waiting{upstream="a"} 1.0',
        'semcache_upstream_refuses{upstream="a"} 0.0',
        'semcache_upstream_refuses{upstream="b"} 1.0',
    ):
        assert line in lines
    upstream.active = 0
    assert 'semcache_upstream_active{upstream="a"} 0.0' in generate_latest(registry).decode()


def test_they_are_part_of_the_page() -> None:
    metrics = Metrics(lambda: ())
    metrics.routes.routed("pool", "a", "spill")
    metrics.routes.loads.members = [Busy("a", active=2)]
    page = metrics.render().decode()
    assert 'semcache_route_calls_total{result="spill",route="pool",upstream="a"} 1.0' in page
    assert 'semcache_upstream_active{upstream="a"} 2.0' in page
