"""Records counted by hand, their intervals, and what a gate holds them to."""

from __future__ import annotations

import pytest

from semcache.evaluate.bounds import broken, pair_bounds, stream_bounds
from semcache.evaluate.pairs import Kind, Seen
from semcache.evaluate.streams import Course
from semcache.evaluate.tally import Record, pair_records, quantile, stream_records, wilson, words
from tests.evaluate.scene import pair


def seen(
    kind: Kind, *, same: bool, category: str = "", reason: str = "", vetoes: tuple[str, ...] = ()
) -> Seen:
    row = pair("a", "b", same=same, category=category)
    return Seen(row, kind, reason, vetoes, 0.002, 0.001, (kind is Kind.DRAFT,), (), None)


SEEN = [
    seen(Kind.EXACT, same=True, category="repeat"),
    seen(Kind.SEMANTIC, same=True, category="repeat"),
    seen(Kind.MISS, same=True, reason="below-threshold"),
    seen(Kind.SEMANTIC, same=False, category="number"),
    seen(Kind.DRAFT, same=False, category="number", vetoes=("numbers", "units")),
    seen(Kind.MISS, same=False, category="number", reason="gate", vetoes=("numbers: 5/8", "numbers: 6/9")),
]


def test_pairs_by_file_and_category() -> None:
    records = {(r["judge"], r["category"]): r for r in pair_records("f.jsonl", SEEN, ["static:0.9"])}
    assert list(records) == [
        ("semcache", ""), ("semcache", "number"), ("semcache", "repeat"),
        ("static:0.9", ""), ("static:0.9", "number"), ("static:0.9", "repeat"),
    ]  # fmt: skip
    whole = records["semcache", ""]
    assert {k: whole[k] for k in whole if k.startswith(("n_", "served_", "draft_", "exact_")) and "interval" not in k} == {
        "n_same": 3, "n_trap": 3, "served_same": 2, "served_trap": 1, "draft_same": 0, "draft_trap": 1,
        "exact_same": 1, "exact_trap": 0,
    }  # fmt: skip
    assert whole["served_trap_interval"] == wilson(1, 3)
    assert whole["reasons_same"] == {"below-threshold": 1}
    assert whole["reasons_trap"] == {"gate": 1}
    assert whole["vetoes_trap"] == {"numbers": 2, "units": 1}
    assert whole["decision_ms"] == {"p50": 2.0, "p99": 2.0, "cpu_p50": 1.0, "cpu_p99": 1.0}
    peer = records["static:0.9", "number"]
    assert (peer["n_trap"], peer["served_trap"], peer["draft_trap"]) == (3, 1, 0)


def test_every_record_has_the_promised_keys() -> None:
    promised = {
        "file",
        "category",
        "n_same",
        "n_trap",
        "served_same",
        "served_trap",
        "draft_same",
        "draft_trap",
    }
    assert all(promised <= record.keys() for record in pair_records("f", SEEN, ["gptcache"]))
    courses = [Course(4, 2, 1, 1, 0, [(4, 2, 1)], [0.1], [0.1]), Course()]
    ours, empty = stream_records("f", 3, courses, ["gptcache"])
    assert {"file", "n", "hits", "wrong", "seed"} <= ours.keys() == empty.keys()
    assert (ours["wrong_per_hit"], ours["wrong_per_request"], ours["seed"]) == (0.5, 0.25, 3)
    assert (empty["wrong_per_hit"], empty["wrong_per_request"], empty["decision_ms"]["p50"]) == (
        None,
        None,
        None,
    )


def test_wilson() -> None:
    # Newcombe 1998, table I.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(0, 20)[0] == 0.0
    assert wilson(20, 20)[1] == 1.0
    assert wilson(0, 0) == (0.0, 1.0)


def test_quantiles_are_values_that_occurred() -> None:
    assert quantile([], 0.5) is None
    assert quantile([3.0], 0.99) == 3.0
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert quantile([float(n) for n in range(1, 101)], 0.99) == 99.0


def test_vetoes_are_counted_by_rule() -> None:
    assert words(("numbers", "numbers: 5 / 8", "only-these (x)", "")) == ["numbers", "only-these", ""]


def record(**changes: object) -> Record:
    known: Record = {
        "judge": "semcache", "file": "f.jsonl", "category": "", "n_same": 10, "n_trap": 20, "served_same": 7,
        "served_trap": 1, "n": 100, "hits": 10, "wrong": 1,
    }  # fmt: skip
    return {**known, **changes}


def test_bounds_say_which_file_and_category() -> None:
    bounds = pair_bounds(0.05, 0.7)
    assert broken([record()], bounds, by_category=True) == [], "at the limit it holds"
    worse = [
        record(served_trap=2),
        record(category="negation", served_same=6),
        record(judge="gptcache", served_trap=20),
    ]
    assert broken(worse, bounds, by_category=False) == ["f.jsonl: traps served 10.00% (2 of 20) > 5.00%"]
    assert broken(worse, bounds, by_category=True)[1] == (
        "f.jsonl, category negation: good pairs served 60.00% (6 of 10) < 70.00%"
    )
    assert broken(worse, pair_bounds(None, None), by_category=True) == []
    nothing = record(n_same=0, n_trap=0, served_same=0, served_trap=0)
    assert broken([nothing], bounds, by_category=True) == []


def test_bounds_of_streams() -> None:
    assert broken([record()], stream_bounds(0.1, 0.1), by_category=False) == []
    assert broken([record()], stream_bounds(0.05, 0.2), by_category=False) == [
        "f.jsonl: wrong per hit 10.00% (1 of 10) > 5.00%",
        "f.jsonl: hits 10.00% (10 of 100) < 20.00%",
    ]
