"""Metrics of the calls that tenants have under way."""

from __future__ import annotations

from semcache.answer.tenant_places import Load
from semcache.cost.metrics import Metrics


def test_refusals_are_counted_and_loads_are_looked_at() -> None:
    metrics = Metrics(lambda: ())
    metrics.calls.refused("acme")
    metrics.calls.refused("acme")
    metrics.calls.loads.of = lambda: [Load("acme", 3, 1), Load("other", 1, 0)]
    lines = metrics.render().decode().splitlines()
    for line in (
        'semcache_tenant_refusals_total{tenant="acme"} 2.0',
        'semcache_tenant_calls{tenant="acme"} 3.0',
        'semcache_tenant_waiting{tenant="acme"} 1.0',
        'semcache_tenant_calls{tenant="other"} 1.0',
    ):
        assert line in lines
