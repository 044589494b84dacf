"""Metrics of drafts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from semcache.core import DraftRecord
from semcache.cost.draft_metrics import DraftMetrics


def test_gains_and_losses_are_counted_apart() -> None:
    registry = CollectorRegistry()
    metrics = DraftMetrics(registry)
    metrics.drafted(
        "acme", "chat", DraftRecord("revise", "edited", saved=120, seconds=1.5, output=20, original=300)
    )
    metrics.drafted("acme", "chat", DraftRecord("revise", "failed-check", saved=-30, seconds=-0.5))
    metrics.drafted("acme", "chat", DraftRecord("prediction", "predicted", accepted=7, rejected=2))
    metrics.drafted("acme", "chat", DraftRecord("revise", "declined-closed"))
    lines = generate_latest(registry).decode().splitlines()
    for line in (
        'semcache_drafts_total{domain="chat",result="edited",tenant="acme",way="revise"} 1.0',
        'semcache_drafts_total{domain="chat",result="declined-closed",tenant="acme",way="revise"} 1.0',
        'semcache_draft_saved_micro_usd_total{domain="chat",tenant="acme",way="revise"} 120.0',
        'semcache_draft_lost_micro_usd_total{domain="chat",tenant="acme",way="revise"} 30.0',
        'semcache_draft_saved_seconds_total{domain="chat",tenant="acme",way="revise"} 1.5',
        'semcache_draft_lost_seconds_total{domain="chat",tenant="acme",way="revise"} 0.5',
        'semcache_draft_tokens_total{kind="original",tenant="acme",way="revise"} 300.0',
        'semcache_draft_tokens_total{kind="rejected",tenant="acme",way="prediction"} 2.0',
    ):
        assert line in lines
