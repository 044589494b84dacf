"""The dashboard asks for metrics and labels that a worker exposes; so do the files beside it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.house.promql import AGGREGATES, FUNCTIONS, WORDS, check_brackets, groupings, metrics, tokens
from tests.house.test_prometheus_rules import EXPOSED

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy/grafana"
DASHBOARD: dict[str, Any] = json.loads((GRAFANA / "dashboards/semcache.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ASKED = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
HEALTH = (ROOT / "semcache/health.py").read_text(encoding="utf-8")
PARTS = ("store", "index", "encoder", "classifier", "policies")
GAUGES = {*re.findall(r'yield "(semcache_\w+)"', HEALTH), *(f"semcache_degraded_{part}" for part in PARTS)}
KNOWN = {**EXPOSED, **dict.fromkeys(GAUGES, frozenset[str]())}
GIVEN = frozenset(("instance", "job", "le"))
"""Labels that Prometheus adds, and that of a histogram's buckets."""


def plain(expression: str) -> str:
    """Put values where Grafana does."""
    return expression.replace("$__rate_interval", "5m").replace("$tenant", "x")


@pytest.mark.parametrize(("title", "expression"), ASKED)
def test_every_metric_and_label_exists(title: str, expression: str) -> None:
    asked = list(metrics(plain(expression)))
    assert asked, title
    for name, labels in asked:
        assert name in KNOWN, f"{name} is on no page of metrics"
        assert labels <= KNOWN[name] | GIVEN
    own = [KNOWN[name] for name, _ in asked]
    for group in groupings(plain(expression)):
        assert any(group <= labels | GIVEN for labels in own)


@pytest.mark.parametrize(("title", "expression"), ASKED)
def test_expressions_read_as_promql(title: str, expression: str) -> None:
    check_brackets(plain(expression))
    for token, after in pairwise(tokens(plain(expression))):
        if token.kind == "name" and after.text == "(":
            assert token.text in FUNCTIONS | AGGREGATES | WORDS, title


def test_legends_name_labels_that_remain() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            kept = {label for group in groupings(plain(target["expr"])) for label in group}
            raw = {label for name, _ in metrics(plain(target["expr"])) for label in KNOWN[name]}
            assert named <= (kept or raw | GIVEN), panel["title"]


def test_panels_lie_on_the_grid_and_none_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_it_asks_the_source_that_is_provisioned() -> None:
    sources = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yaml").read_text("utf-8"))
    known = {source["uid"] for source in sources["datasources"]}
    used = [panel["datasource"]["uid"] for panel in PANELS]
    used += [variable["datasource"]["uid"] for variable in DASHBOARD["templating"]["list"]]
    assert set(used) <= known
    places = yaml.safe_load((GRAFANA / "provisioning/dashboards/semcache.yaml").read_text("utf-8"))
    compose = (ROOT / "docker-compose.yml").read_text("utf-8")
    for provider in places["providers"]:
        assert f"/dashboards:{provider['options']['path']}:ro" in compose
