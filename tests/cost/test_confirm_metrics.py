"""Metrics of confirmations and crowds."""

from __future__ import annotations

from semcache.cost.metrics import Metrics


def test_what_is_told_is_shown() -> None:
    metrics = Metrics(lambda: ())
    metrics.confirmations.confirmed("acme", "agreed")
    metrics.confirmations.confirmed("acme", "agreed")
    metrics.confirmations.crowded("acme")
    lines = metrics.render().decode().splitlines()
    assert 'semcache_confirmations_total{result="agreed",tenant="acme"} 2.0' in lines
    assert 'semcache_crowded_total{tenant="acme"} 1.0' in lines
