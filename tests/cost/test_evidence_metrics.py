"""Metrics of the evidence, and what tokens cost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from semcache.core import Usage
from semcache.cost.metrics import Metrics
from semcache.cost.prices import micro_usd


def tell(metrics: Metrics) -> None:
    evidence = metrics.evidence
    evidence.audited("acme", "chat", "right")
    evidence.labelled("audit", "right")
    evidence.dropped("cap")
    evidence.spent("acme", 120)
    evidence.spent("acme", -5)
    evidence.estimated("acme", "chat", 0.25)


def test_what_is_told_is_shown() -> None:
    metrics = Metrics(lambda: ())
    tell(metrics)
    lines = metrics.render().decode().splitlines()
    assert 'semcache_audits_total{domain="chat",tenant="acme",verdict="right"} 1.0' in lines
    assert 'semcache_labels_total{source="audit",verdict="right"} 1.0' in lines
    assert 'semcache_audit_drops_total{reason="cap"} 1.0' in lines
    assert 'semcache_audit_spend_micro_usd_total{tenant="acme"} 120.0' in lines
    assert 'semcache_hits_wrong_estimate{domain="chat",tenant="acme"} 0.25' in lines


def test_several_workers_show_one_estimate(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, '.')\n"
        "from semcache.cost.metrics import Metrics\n"
        "from tests.cost.test_evidence_metrics import tell\n"
        "m = Metrics(lambda: ()); tell(m); print(m.render().decode())"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        shown = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    assert 'semcache_hits_wrong_estimate{domain="chat",tenant="acme"} 0.25' in shown
    assert 'semcache_labels_total{source="audit",verdict="right"} 2.0' in shown


def test_prices_are_micro_dollars_rounded_to_the_nearest() -> None:
    per_million = micro_usd("gpt-4o", Usage(1_000_000, 0))
    assert per_million is not None
    assert per_million > 100_000
    assert micro_usd("gpt-4o", Usage(1, 0)) == (per_million + 500_000) // 1_000_000
    assert micro_usd("gpt-4o", Usage(0, 0)) == 0


@pytest.mark.parametrize("model", ["", "no-such-model-anywhere", "x" * 201, "a\x00b", "m"])
def test_what_has_no_price_has_none(model: str) -> None:
    assert micro_usd(model, Usage(1000, 1000)) is None


def test_unknown_tokens_have_no_price() -> None:
    assert micro_usd("gpt-4o", None) is None
