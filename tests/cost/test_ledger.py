"""The ledger: every record counted and written once, never in the way of a request."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost.cells import Cells
from semcache.cost.ledger import Ledger, Pricing
from semcache.cost.lines import log_line
from semcache.cost.metrics import Metrics
from semcache.cost.prices import PriceBook
from semcache.cost.savings import Prices
from semcache.cost_rules import CostPolicy, HitCharge
from semcache.records import SideKind, SideRecord
from tests.cost.told import MISS, NOON

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
    assert line["labels"] == {"project": "a"}
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


# -- money ------------------------------------------------------------------------------


class Rows:
    """Keeps the lines that were written."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.closed = 0

    def write(self, lines: Sequence[bytes]) -> None:
        self.lines += lines

    def close(self) -> None:
        self.closed += 1

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


class Broken:
    """A price table with a defect."""

    version = "v"

    def cost(self, model: str, usage: Usage, *, backend: str = "", at: float | None = None) -> int | None:
        raise ZeroDivisionError(model)

    def embedding(self, tokens: int) -> int | None:
        return 0


@dataclass
class Bench:
    prices: Prices = field(default_factory=PriceBook)
    policy: CostPolicy = field(default_factory=CostPolicy)
    size: int = 100

    def __post_init__(self) -> None:
        self.metrics, self.out, self.rows = Metrics(no_gauges), io.BytesIO(), Rows()
        self.cells = Cells(lambda _: None)
        self.heard: list[tuple[str, int | None]] = []
        self.ledger = Ledger(
            self.metrics,
            self.out,
            self.size,
            pricing=Pricing(self.prices, lambda tenant: self.policy),
            rows=self.rows,
            sums=self.cells,
            heard=[lambda record, money: self.heard.append((record.request_id, money.cost))],
        )

    def of(self, *records: RequestRecord | SideRecord) -> list[dict[str, Any]]:
        """Take records and give the log lines."""
        for record in records:
            if isinstance(record, SideRecord):
                self.ledger.note(record)
            else:
                self.ledger.emit(record)
        self.ledger.flush()
        return [json.loads(line) for line in self.out.getvalue().splitlines()]


def test_a_call_is_written_with_its_money_everywhere() -> None:
    bench = Bench()
    (line,) = bench.of(MISS)
    # gpt-4o-mini: 200 tokens at 0.15 and 800 cached at 0.075 USD a million, 200 of output at 0.60.
    assert (line["cost"], line["without_caches"], line["saved_by"]) == (210, 270, {"provider": 60})
    assert line["charged"] == 210
    assert line["price_version"] == bench.prices.version
    (row,) = bench.rows.told()
    assert (row["cost"], row["by_provider"], row["by_response"], row["charged"]) == (210, 60, 0, 210)
    assert (row["project"], row["environment"], row["labels"]) == ("search", "prod", '{"team":"x"}')
    ((key, sums),) = bench.cells.take().items()
    assert (key.project, key.model, key.outcome, sums.cost, sums.by_provider) == (
        "search",
        "gpt-4o-mini",
        "miss",
        210,
        60,
    )
    assert value(bench.metrics, 'semcache_cost_micro_usd_total{kind="answers",tenant="acme"}') == 210
    assert value(bench.metrics, 'semcache_saved_micro_usd_total{by="provider",tenant="acme"}') == 60
    assert bench.heard == [("req_1", 210)]


def test_a_hit_saves_what_the_original_call_was_billed() -> None:
    bench = Bench(policy=CostPolicy(hit_charge=HitCharge.FIXED, hit_price=5))
    hit = replace(MISS, outcome=Outcome.SEMANTIC, usage=None, saved=MISS.usage)
    (line,) = bench.of(hit)
    assert (line["cost"], line["saved_by"], line["without_caches"], line["charged"]) == (
        0,
        {"response": 210},
        210,
        5,
    )
    assert value(bench.metrics, 'semcache_saved_micro_usd_total{by="response",tenant="acme"}') == 210


def test_losses_are_counted_as_such() -> None:
    bench = Bench()
    bench.of(replace(MISS, model="claude-sonnet-4-5", usage=Usage(1000, 10, 0, 1000)))
    assert value(bench.metrics, 'semcache_lost_micro_usd_total{by="provider",tenant="acme"}') > 0
    assert value(bench.metrics, 'semcache_saved_micro_usd_total{by="provider",tenant="acme"}') == 0
    assert bench.rows.told()[0]["by_provider"] < 0


def test_what_nobody_knows_the_price_of_is_null_and_never_nothing() -> None:
    bench = Bench()
    (line,) = bench.of(replace(MISS, model="nobody-knows-me"))
    assert line["cost"] is None
    assert line["without_caches"] is None
    assert line["charged"] is None
    assert bench.rows.told()[0]["cost"] is None
    ((_, sums),) = bench.cells.take().items()
    assert (sums.unpriced, sums.cost, sums.requests) == (1, 0, 1)
    assert value(bench.metrics, "semcache_unpriced_total") == 1


def test_where_no_tokens_were_used_no_money_is_missing() -> None:
    (line,) = Bench().of(replace(MISS, usage=None, labels=(), outcome=Outcome.ERROR, status=401))
    assert not {"cost", "without_caches", "saved_by", "charged", "price_version", "usage", "labels"} & set(
        line
    )


def test_work_beside_requests_is_a_row_and_a_sum_and_no_line() -> None:
    bench = Bench()
    usage = Usage(1000, 100)
    side = SideRecord(
        SideKind.JUDGE, NOON, "acme", "chat", "gpt-4o-mini", "openai", usage, "req_1", MISS.labels, "k1"
    )
    assert bench.of(side, replace(side, usage=None)) == []
    first, second = bench.rows.told()
    assert (
        first["kind"],
        first["id"],
        first["cost"],
        first["input"],
        first.get("task", ""),
    ) == (
        "judge",
        "req_1",
        210,
        1000,
        "",
    )
    assert second["cost"] is None
    ((key, sums),) = bench.cells.take().items()
    assert (key.outcome, key.project, sums.requests, sums.side, sums.unpriced) == (
        "judge",
        "search",
        0,
        210,
        1,
    )
    assert value(bench.metrics, 'semcache_cost_micro_usd_total{kind="side",tenant="acme"}') == 210


def test_a_defect_in_pricing_costs_no_record(capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(prices=Broken())
    side = SideRecord(SideKind.AUDIT, NOON, "acme", "chat", "secret-model", "openai", Usage(1, 1))
    lines = bench.of(
        replace(MISS, model="secret-model"), side, replace(MISS, usage=None, saved=None, status=400)
    )
    assert len(lines) == 2
    assert len(bench.rows.lines) == 3
    assert bench.rows.told()[0]["cost"] is None
    assert value(bench.metrics, "semcache_pricing_failures_total") == 2
    said = capsys.readouterr().out
    assert said.count("ZeroDivisionError") == 1
    assert "secret-model" not in said
    assert sum(sums.unpriced for sums in bench.cells.take().values()) == 2


def test_one_impossible_record_costs_no_other() -> None:
    bench = Bench()
    impossible = replace(MISS, outcome=None)  # type: ignore[arg-type] - that is the point
    assert len(bench.of(MISS, impossible, MISS)) == 2
    assert value(bench.metrics, "semcache_pricing_failures_total") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"model": "\ud800", "labels": (("task", "\udfff"), ("\ud800", "x"))},
        {"usage": Usage(1 << 80, 1 << 70, 1 << 69)},
        {"duration": float("nan"), "overhead": float("inf"), "similarity": float("-inf")},
        {"at": float("nan")},
        {"at": 1e300},
        {"at": -1.0},
        {"waited": float("nan"), "saved": Usage(-1, -2), "outcome": Outcome.EXACT, "usage": None},
        {"model": "x" * 100_000},
        {"embedded": -5, "trimmed": -1, "repetition": float("nan")},
    ],
)
def test_whatever_a_record_holds_its_line_and_row_are_json(change: dict[str, Any]) -> None:
    bench = Bench()
    assert len(bench.of(replace(MISS, **change), MISS)) == 2
    assert [row["kind"] for row in bench.rows.told()] == ["request", "request"]
    assert sum(sums.requests for sums in bench.cells.take().values()) == 2
    assert value(bench.metrics, "semcache_pricing_failures_total") == 0


def test_work_beside_requests_is_dropped_where_the_queue_is_full() -> None:
    bench = Bench(size=1)
    side = SideRecord(SideKind.AUDIT, NOON, "acme", "chat", "m", "openai", None)
    bench.of(side, side, side)
    assert len(bench.rows.lines) == 1
    assert value(bench.metrics, "semcache_records_dropped_total") == 2


def test_the_end_closes_the_rows_after_the_last_record() -> None:
    bench = Bench()
    bench.ledger.start()
    bench.ledger.emit(MISS)
    bench.ledger.stop()
    assert (len(bench.rows.lines), bench.rows.closed) == (1, 1)


def test_taking_a_record_costs_a_request_next_to_nothing() -> None:
    bench = Bench(size=50_000)
    begin = time.perf_counter()
    for _ in range(20_000):
        bench.ledger.emit(MISS)
    # A tenth of a microsecond on an idle machine.
    assert (time.perf_counter() - begin) / 20_000 < 5e-6
