"""The shipped rules ask for metrics and labels that there are, and say what they mean."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily

from semcache.cost.metrics import Metrics
from semcache.cost_port import AlarmKind
from tests.house.promql import AGGREGATES, FUNCTIONS, WORDS, check_brackets, groupings, metrics, tokens

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy/prometheus/semcache-rules.yml"
GROUPS: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
NAMES = [rule.get("record") or rule["alert"] for rule in RULES]
DURATION = re.compile(r"\d+[smhd]")

WATCHED = {
    AlarmKind.HIT_RATIO_LOW: "SemcacheHitRatioLow",
    AlarmKind.CACHED_RATIO_LOW: "SemcacheCachedRatioLow",
    AlarmKind.HITS_JUMPED: "SemcacheHitsJumped",
    AlarmKind.INPUT_GROWING: "SemcacheInputGrowing",
    AlarmKind.REPETITION: "SemcacheRepetition",
    AlarmKind.RETRIES: "SemcacheRetries",
    AlarmKind.BUDGET: "SemcacheBudgetUsed",
    AlarmKind.PRICE_UNKNOWN: "SemcachePriceUnknown",
    AlarmKind.BOUND_BROKEN: "SemcacheBoundBroken",
}


def labels_of_all_metrics() -> dict[str, frozenset[str]]:
    """What a worker exposes: the name of each series, and its labels."""
    registry: CollectorRegistry = Metrics(lambda: ())._registry
    known: dict[str, frozenset[str]] = {}
    for collector in list(registry._collector_to_names):
        own = frozenset(getattr(collector, "_labelnames", ()))
        for family in collector.collect():
            labels = frozenset(family._labelnames) if isinstance(family, GaugeMetricFamily) else own
            for end in ("", "_total", "_bucket", "_sum", "_count"):
                known[family.name + end] = labels
    return known


EXPOSED = labels_of_all_metrics()


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_expressions_read_as_promql(rule: dict[str, Any]) -> None:
    check_brackets(rule["expr"])
    found = tokens(rule["expr"])
    for token, after in pairwise(found):
        if token.kind == "name" and after.text == "(":
            assert token.text in FUNCTIONS | AGGREGATES | WORDS


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_metrics_and_labels_exist(rule: dict[str, Any]) -> None:
    own = {one["record"]: one["expr"] for one in RULES if "record" in one}
    asked = list(metrics(rule["expr"]))
    assert asked
    for name, labels in asked:
        if name in own:
            assert not labels
            continue
        assert name.startswith("semcache_")
        assert name in EXPOSED, f"{name} is on no page of metrics"
        assert labels <= EXPOSED[name]
    raw = [EXPOSED[name] for name, _ in asked if name in EXPOSED]
    for group in groupings(rule["expr"]):
        assert all(group <= labels for labels in raw)


def test_recorded_before_used() -> None:
    known: set[str] = set()
    for rule in RULES:
        assert {name for name, _ in metrics(rule["expr"]) if ":" in name} <= known
        known.add(rule.get("record", ""))


def test_every_alarm_has_its_rule_and_every_rule_its_words() -> None:
    alerts = {rule["alert"]: rule for rule in RULES if "alert" in rule}
    assert set(WATCHED) == set(AlarmKind)
    assert set(WATCHED.values()) <= set(alerts)
    assert len(set(NAMES)) == len(NAMES)
    for rule in alerts.values():
        assert set(rule) <= {"alert", "expr", "for", "keep_firing_for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("none", "info", "warning", "critical")
        grouped = {label for group in groupings(rule["expr"]) for label in group} | {"tenant"}
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= grouped
        assert all(DURATION.fullmatch(rule[word]) for word in ("for", "keep_firing_for") if word in rule)


def test_alerts_are_documented() -> None:
    docs = (ROOT / "docs/alarms.md").read_text(encoding="utf-8")
    for rule in RULES:
        if "alert" in rule:
            assert rule["alert"] in docs


@pytest.mark.parametrize("bad", ["sum(a", "a)", "a{b='c'}", "a[5m)", "a ~ b"])
def test_mistakes_are_found(bad: str) -> None:
    with pytest.raises(ValueError, match=r"no token|closes nothing|is missing"):
        check_brackets(bad)


def test_metrics_are_found_in_expressions() -> None:
    text = 'sum by (tenant, x) (rate(a_total{b="c", d=~"e"}[5m])) / (g:h > 0) and max by (i) (j) offset 2d'
    assert list(metrics(text)) == [("a_total", frozenset("bd")), ("g:h", frozenset()), ("j", frozenset())]
    assert list(groupings(text)) == [frozenset(("tenant", "x")), frozenset("i")]
