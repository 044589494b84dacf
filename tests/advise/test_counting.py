"""Money and tokens, prices of rows, cache sizes, and everything in one pass over a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from semcache.advise.analysis import AnalysisOrder, analysed, counted
from semcache.advise.chains import chain_of
from semcache.advise.exact import ExactRepeats
from semcache.advise.findings import Findings, Sizes
from semcache.advise.overlap import PrefixOverlap
from semcache.advise.pricing import Pricing
from semcache.advise.reading import opened_logs
from semcache.advise.rows import LogRow, Watcher
from semcache.advise.sizes import INDEX_BYTES, SizeCount
from semcache.advise.spending import SpendingCount
from semcache.core import Usage
from semcache.cost.prices import PriceBook
from semcache.errors import SemcacheError
from semcache.policy.loader import load_default
from semcache.settings import Settings
from tests.advise.reading_parts import written

SNAPSHOT = load_default()
TENANT = SNAPSHOT.tenants[0]
NOON = 1767355200.0
PRICING = Pricing(PriceBook())


def row(text: str = "q", **fields: Any) -> LogRow:
    model = fields.get("model", "m")
    body = {"model": model or "unknown", "temperature": 0, "messages": [{"role": "user", "content": text}]}
    return LogRow(body, "f", 1, **{"model": "m", "response": "a", **fields})


def test_sums_by_model_tenant_and_day() -> None:
    found = SpendingCount()
    for each, cost in (
        (row(model="a", tenant="t", at=NOON, usage=Usage(10, 2, 4, 1, 0, 1), seconds=1.0), 7),
        (row(model="a", tenant="u", at=NOON + 86_400, usage=Usage(20, 3), seconds=3.0), None),
        (row(model="b", failed=True, usage=Usage(1, 0)), None),
        (row(model="b", from_cache=True), 0),
    ):
        found.add(each, each.usage or Usage(5, 5), cost, logged=cost == 7)
    spending = found.findings("v")
    total = spending.total
    assert (total.requests, total.input, total.cached, total.written, total.output, total.reasoning) == (
        4,
        36,
        4,
        1,
        10,
        1,
    )
    assert (total.cost, total.logged, total.unpriced, total.estimated) == (7, 1, 1, 1)
    assert (total.failed, total.from_cache) == (1, 1)
    assert [(name, spent.requests) for name, spent in spending.by_model] == [("a", 2), ("b", 2)]
    assert [(day, spent.requests) for day, spent in spending.by_day] == [("2026-01-02", 1), ("2026-01-03", 1)]
    assert spending.seconds_p50 == pytest.approx(1.0, rel=0.05)
    assert spending.seconds_p95 == pytest.approx(3.0, rel=0.05)
    assert (spending.timed, spending.price_version) == (2, "v")


def test_many_names_are_put_together() -> None:
    found = SpendingCount()
    for number in range(1000):
        found.add(row(model=f"m{number}"), Usage(1, 1), 1, logged=False)
    spending = found.findings()
    assert len(spending.by_model) == 21
    assert spending.by_model[-1][0] == "~other"
    assert sum(spent.requests for _, spent in spending.by_model) == 1000


def test_what_a_row_costs() -> None:
    usage = Usage(1000, 100)
    assert PRICING.cost(row(cost=9), usage) == 9
    listed = PRICING.cost(row(model="gpt-4o"), usage)
    assert listed is not None
    assert listed > 0
    assert PRICING.cost(row(model="gpt-4o", cost=0), usage) == listed, (
        "gateways log 0 where they know no price"
    )
    assert PRICING.cost(row(model="gpt-4o", cost=0, from_cache=True), usage) == 0
    assert PRICING.cost(row(model="nobody-knows-it"), usage) is None
    assert PRICING.cost(row(model=""), usage) is None
    lost = PRICING.lost("gpt-4o")(1_000_000)
    assert lost is not None
    assert lost > 0
    assert PRICING.lost("nobody-knows-it")(1000) is PRICING.lost("")(1000) is None


def test_tokens_are_guessed_where_the_log_is_silent() -> None:
    assert PRICING.usage(row(usage=Usage(7, 1))) == Usage(7, 1)
    guessed = PRICING.usage(row("word " * 100, response="word " * 40))
    assert guessed.prompt_tokens == 125 + 4
    assert guessed.completion_tokens == pytest.approx(50, rel=0.2)


def sized(*rows: LogRow) -> Sizes:
    sizes, overlap, exact = SizeCount(), PrefixOverlap(), ExactRepeats(SNAPSHOT, TENANT)
    for each in rows:
        chain = chain_of(each)
        sizes.prefix(chain, overlap.add(each, chain))
        sizes.answer(each, exact.add(each, Usage(10, 10), None), Usage(10, 10))
    return sizes.findings()


def test_sizes_of_a_log_that_goes_round() -> None:
    found = sized(*(row(f"question {number % 10}", at=NOON + number) for number in range(50)))
    assert found.answers is not None
    assert [each.items for each in found.answers.sizes] == [10, 10, 10], "oldest out first needs all ten"
    assert found.answers.distinct == 10
    assert found.answers.curve[-1] == (10, 1.0)
    assert all(each.bytes == each.items * found.answers.item_bytes for each in found.answers.sizes)
    assert INDEX_BYTES + 800 < found.answers.item_bytes < 4096


def test_a_longer_answer_takes_more_room() -> None:
    import random

    rng = random.Random(1)
    long = sized(*(row("q", response=rng.randbytes(5000).hex()) for _ in range(2))).answers
    short = sized(row(), row()).answers
    assert long is not None
    assert short is not None
    assert long.item_bytes > short.item_bytes + 4000


def test_prefixes_are_held_front_first() -> None:
    head = "h" * 4000
    rows = [row(head + f"{number}" * 1000, at=NOON + number) for number in range(30)]
    found = sized(*rows)
    assert found.prefixes is not None
    # All that is shared is the head: it is enough to hold that, and what one prompt has behind it.
    assert 900 < found.prefixes.sizes[2].items < 2600
    assert found.answers is None
    assert found.kv_bytes


def test_nothing_twice_needs_nothing() -> None:
    found = sized(row("one", at=NOON), row("two", at=NOON))
    assert found.answers is found.prefixes is None


def log(folder: Path, lines: int = 40) -> Path:
    rows = [
        {
            "ts": NOON + number,
            "request": {
                "model": "gpt-4o",
                "temperature": 0,
                "messages": [
                    {"role": "system", "content": "Be kind. " * 200},
                    {"role": "user", "content": f"question {number % 8}"},
                ],
            },
            "response": {"choices": [{"message": {"role": "assistant", "content": "answer"}}]},
            "usage": {"prompt_tokens": 460, "completion_tokens": 3},
            "latency": 1.5,
        }
        for number in range(lines)
    ]
    return written(folder, "log.jsonl", "".join(json.dumps(each) + "\n" for each in rows))


def order(*files: Path, **more: Any) -> AnalysisOrder:
    return AnalysisOrder(files, SNAPSHOT, TENANT, **{"semantic": False, **more})


def never() -> Settings:
    raise AssertionError("settings are asked for only where models are needed")


def test_everything_in_one_pass(tmp_path: Path) -> None:
    found = analysed(never, order(log(tmp_path)), PRICING, Watcher())
    assert (found.reading.rows, found.spending.total.input) == (40, 40 * 460)
    assert found.exact.hits == 32
    assert found.exact.saved_seconds == pytest.approx(48)
    assert found.overlap.all.share > 0.9
    assert found.sizes.answers is not None
    assert found.lint is not None
    assert found.semantic is None
    assert found.worth is not None
    assert found.advice is not None
    assert found.advice.policy
    assert orjson.loads(orjson.dumps(found))["exact"]["hits"] == 32


def test_the_same_log_gives_the_same_findings(tmp_path: Path) -> None:
    path = log(tmp_path)

    def once() -> Findings:
        with opened_logs([path], Watcher()) as logs:
            return counted(logs, order(path), PRICING, Watcher())

    assert once() == once()


def test_what_breaks_beginnings_is_added_up_over_the_days(tmp_path: Path) -> None:
    rows = [
        {
            "ts": NOON + number * 3000,
            "model": "gpt-4o",
            "messages": [
                {
                    "role": "system",
                    "content": f"It is {12 + number // 60}:{number % 60:02d}:07. " + "Be kind. " * 400,
                },
                {"role": "user", "content": f"question {number}"},
            ],
        }
        for number in range(90)
    ]
    path = written(tmp_path, "log.jsonl", "".join(json.dumps(each) + "\n" for each in rows))
    found = analysed(never, order(path), PRICING, Watcher())
    assert found.lint
    assert found.lint[0].cause == "time"
    assert found.lint[0].seen > 80, "three days are one finding"
    assert found.lint[0].money is not None
    assert found.overlap.all.share < 0.1


def test_nothing_to_read_is_told_of_every_file(tmp_path: Path) -> None:
    with pytest.raises(SemcacheError) as told:
        analysed(never, order(tmp_path / "none", tmp_path), PRICING, Watcher())
    assert "there is no such file" in str(told.value)
    assert "is a directory" in str(told.value)


def test_nothing_to_read_in_many_rows_is_told_by_reason(tmp_path: Path) -> None:
    path = written(tmp_path, "pairs.jsonl", '{"a": "x", "b": "y"}\n' * 500)
    with pytest.raises(SemcacheError) as told:
        analysed(never, order(path), PRICING, Watcher())
    assert "500 times: has no field" in str(told.value)
    assert str(told.value).count("\n") == 7


def test_no_text_of_the_log_is_in_the_findings(tmp_path: Path) -> None:
    found = analysed(never, order(log(tmp_path), lint=False), PRICING, Watcher())
    assert "question" not in orjson.dumps(found).decode().replace('"question"', "")
