"""The ledger: every record counted and written once, never in the way of a request."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost.ledger import Ledger, log_line
from semcache.cost.metrics import Metrics

RECORD = RequestRecord(
    request_id="req_1",
    at=1.5,
    tenant="acme",
    domain="chat",
    route="chat",
    model="m",
    stream=False,
    outcome=Outcome.SEMANTIC,
    reason="hit",
    status=200,
    duration=0.002,
    overhead=0.001,
    similarity=0.97,
    entry_id="e1",
    saved=Usage(10, 5),
    labels=(("project", "a"),),
)


def no_gauges() -> list[tuple[str, str, float]]:
    return [("semcache_test", "A gauge.", 3.0)]


def value(metrics: Metrics, start: str) -> float:
    lines = metrics.render().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))


def test_a_line_holds_what_happened_and_no_empty_fields() -> None:
    line = json.loads(log_line(RECORD))
    assert line["event"] == "request"
    assert (line["outcome"], line["entry_id"], line["similarity"]) == ("semantic", "e1", 0.97)
    assert line["saved"] == {"prompt_tokens": 10, "completion_tokens": 5}
    assert line["labels"] == [["project", "a"]]
    assert not {"usage", "shadow", "faults", "stream"} & set(line)


def test_records_are_counted_and_written_on_flush() -> None:
    metrics, out = Metrics(no_gauges), io.BytesIO()
    ledger = Ledger(metrics, out)
    for _ in range(3):
        ledger.emit(RECORD)
    ledger.flush()
    assert len(out.getvalue().splitlines()) == 3
    assert value(metrics, 'semcache_requests_total{domain="chat",outcome="semantic"') == 3
    assert value(metrics, 'semcache_tokens_total{kind="saved_output",tenant="acme"}') == 15
    assert value(metrics, "semcache_test") == 3


def test_the_writer_writes_by_itself_and_stop_writes_the_rest() -> None:
    out = io.BytesIO()
    ledger = Ledger(Metrics(no_gauges), out)
    ledger.start()
    ledger.emit(RECORD)
    ledger.stop()
    ledger.stop()
    assert len(out.getvalue().splitlines()) == 1


def test_a_full_queue_drops_and_counts() -> None:
    metrics = Metrics(no_gauges)
    ledger = Ledger(metrics, None, size=2)
    for _ in range(5):
        ledger.emit(RECORD)
    ledger.flush()
    assert value(metrics, "semcache_records_dropped_total") == 3
    assert value(metrics, "semcache_requests_total") == 2


def test_a_log_nobody_reads_ends_the_writing_not_the_counting() -> None:
    class Broken(io.BytesIO):
        def write(self, data: object) -> int:
            raise BrokenPipeError

    metrics = Metrics(no_gauges)
    ledger = Ledger(metrics, Broken())
    for _ in range(2):
        ledger.emit(RECORD)
        ledger.flush()
    assert value(metrics, "semcache_requests_total") == 2


@pytest.mark.parametrize(
    ("change", "metric"),
    [
        ({"faults": ("store:late", "encoder:busy")}, 'semcache_cache_faults_total{fault="store:late"}'),
        ({"collapsed": True}, "semcache_collapsed_total"),
        ({"stored": True}, "semcache_entries_stored_total"),
        ({"shadow": "exact"}, 'semcache_shadow_hits_total{tenant="acme",tier="exact"}'),
        ({"usage": Usage(7, 3, 2)}, 'semcache_tokens_total{kind="cached_input",tenant="acme"}'),
    ],
)
def test_rare_things_have_their_counters(change: dict[str, object], metric: str) -> None:
    metrics = Metrics(no_gauges)
    metrics.observe(replace(RECORD, **change))  # type: ignore[arg-type]
    assert value(metrics, metric) >= 1


def test_reasons_are_counted_without_their_details() -> None:
    metrics = Metrics(no_gauges)
    metrics.observe(replace(RECORD, outcome=Outcome.MISS, reason="gate:numbers,names"))
    assert (
        value(metrics, 'semcache_requests_total{domain="chat",outcome="miss",reason="gate",tenant="acme"}')
        == 1
    )


def test_overhead_is_that_of_requests_that_went_upstream() -> None:
    metrics = Metrics(no_gauges)
    metrics.observe(RECORD)
    assert value(metrics, "semcache_overhead_seconds_count") == 0
    metrics.observe(replace(RECORD, outcome=Outcome.MISS))
    assert value(metrics, "semcache_overhead_seconds_count") == 1
