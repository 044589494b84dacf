"""Metrics of alarms: raised ones show, and vanish when they are over; names are bounded."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client import CollectorRegistry, generate_latest

from semcache.cost.alarm_metrics import SHOWN, AlarmMetrics
from semcache.cost.metrics import Metrics
from semcache.cost_port import AlarmKind, CostAlarm

ALARM = CostAlarm("acme", AlarmKind.REPETITION, "up/m", True, 1.0, 2.0, 0.5, 0.05, "text")


def page(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


def test_raised_alarms_show_until_they_are_over() -> None:
    registry = CollectorRegistry()
    metrics = AlarmMetrics(registry)
    metrics.show_alarms([ALARM, replace(ALARM, at=3.0), replace(ALARM, subject='o"dd\n')])
    metrics.show_budgets([("acme", "team", 0.25)])
    told = page(registry)
    assert told.count('semcache_alarm{kind="repetition",subject="up/m",tenant="acme"} 1.0') == 1
    assert r'subject="o\"dd\n"' in told
    assert 'semcache_budget_used{budget="team",tenant="acme"} 0.25' in told
    metrics.show_alarms([])
    metrics.show_budgets([])
    assert "acme" not in page(registry)


def test_counts() -> None:
    registry = CollectorRegistry()
    metrics = AlarmMetrics(registry)
    metrics.changed(AlarmKind.BUDGET, raised=True)
    metrics.changed(AlarmKind.BUDGET, raised=False)
    metrics.failed("costs")
    metrics.posted("late")
    metrics.counted("acme", 2, 0)
    metrics.counted("acme", -1, 3)
    told = page(registry)
    for line in (
        'semcache_alarm_changes_total{kind="budget",state="raised"} 1.0',
        'semcache_alarm_changes_total{kind="budget",state="over"} 1.0',
        'semcache_alarm_faults_total{part="costs"} 1.0',
        'semcache_alarm_webhook_total{outcome="late"} 1.0',
        'semcache_retries_total{tenant="acme"} 2.0',
        'semcache_repetitive_answers_total{tenant="acme"} 3.0',
    ):
        assert line in told


def test_a_scrape_is_bounded() -> None:
    registry = CollectorRegistry()
    metrics = AlarmMetrics(registry)
    metrics.show_alarms([replace(ALARM, subject=f"m{at}") for at in range(10 * SHOWN)])
    assert page(registry).count("semcache_alarm{") == SHOWN


def test_they_are_on_the_page_of_a_worker() -> None:
    metrics = Metrics(lambda: ())
    metrics.alarms.show_alarms([ALARM])
    assert b'semcache_alarm{kind="repetition"' in metrics.render()
